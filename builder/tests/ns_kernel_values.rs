//! What the lints say of a value, held against the kernel of this machine: each is written in a network namespace of its
//! own. Without `DTNFORGE_NS=1`, or without root, the test says that it is skipped.

#![expect(
    clippy::unwrap_used,
    reason = "what cannot be read or started here fails the test"
)]

use dtnforge_profiles::lint::{Input, check};
use std::process::Command;

/// Keys of a network namespace, and values on both sides of what kernels from 5.14 on take.
const VALUES: &[(&str, &str)] = &[
    ("net.ipv4.tcp_rmem", "4096 131072 2147483647"),
    ("net.ipv4.tcp_rmem", "4096 131072 2147483648"),
    ("net.ipv4.tcp_rmem", "4096 131072 64M"),
    ("net.ipv4.tcp_rmem", "4096 131072 0x4000000"),
    ("net.ipv4.tcp_rmem", "4096 131072 6291456 # twice"),
    ("net.ipv4.tcp_rmem", "4096 131072 # two only"),
    ("net.ipv4.tcp_rmem", "4096 131072 6291456 7"),
    ("net.ipv4.tcp_rmem", "67108864"),
    ("net.ipv4.tcp_rmem", "0 131072 6291456"),
    ("net.ipv4.tcp_wmem", "-1 16384 4194304"),
    ("net.ipv4.tcp_sack", "1 # on"),
    ("net.ipv4.tcp_sack", "1# on"),
    ("net.ipv4.tcp_sack", "255"),
    ("net.ipv4.tcp_sack", "256"),
    ("net.ipv4.tcp_sack", "-1"),
    ("net.ipv4.tcp_sack", "on"),
    ("net.ipv4.tcp_mtu_probing", "255"),
    ("net.ipv4.tcp_ecn", "2"),
    ("net.ipv4.tcp_ecn", "300"),
    ("net.ipv4.tcp_fin_timeout", "010"),
    ("net.ipv4.tcp_fin_timeout", "08"),
    ("net.ipv4.tcp_notsent_lowat", "4294967295"),
    ("net.ipv4.tcp_notsent_lowat", "4294967296"),
    ("net.ipv4.tcp_adv_win_scale", "-31"),
    ("net.ipv4.tcp_adv_win_scale", "-32"),
    ("net.ipv4.tcp_limit_output_bytes", "2147483648"),
    ("net.ipv4.tcp_pacing_ss_ratio", "1000"),
    ("net.ipv4.tcp_pacing_ss_ratio", "1001"),
    ("net.ipv4.conf.all.rp_filter", "2"),
    ("net.ipv4.conf.all.rp_filter", "2147483648"),
    ("net.core.somaxconn", "4096 8192"),
    ("net.core.somaxconn", "-1"),
    ("net.ipv4.tcp_congestion_control", "reno"),
    ("net.ipv4.tcp_congestion_control", "reno # the oldest"),
    ("net.ipv4.tcp_congestion_control", "bbr9"),
    ("net.ipv4.tcp_rmen", "1 2 3"),
    ("net.ipv4.tcp_available_congestion_control", "reno"),
];

/// Whether the kernel takes a value.
fn takes(key: &str, value: &str) -> bool {
    let path = format!("/proc/sys/{}", key.replace('.', "/"));
    let write = "printf '%s\\n' \"$2\" > \"$1\"";
    let mut command = Command::new("unshare");
    command.args(["--net", "sh", "-c", write, "sh", &path, value]);
    command.output().unwrap().status.success()
}

/// Whether no lint says that it is refused.
fn said_to_be_taken(key: &str, value: &str) -> bool {
    let text = format!("{key} = {value}\n");
    let host = format!("[host]\nkernel = '{}'\n", release());
    let input = Input::of(&[("/etc/sysctl.d/90-site.conf", &text)], &host, "").unwrap();
    let refusing = ["value-refused", "module-missing", "unknown-key", "bad-line"];
    let findings = check(&input).findings;
    !findings
        .iter()
        .any(|finding| refusing.contains(&finding.lint.as_str()))
}

fn release() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    release.trim().to_owned()
}

#[test]
fn lints_say_of_each_value_what_the_kernel_does() {
    let test = "lints_say_of_each_value_what_the_kernel_does";
    if std::env::var("DTNFORGE_NS").as_deref() != Ok("1") {
        eprintln!("skipped: {test}: needs DTNFORGE_NS=1");
        return;
    }
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: {test}: needs root");
        return;
    }
    let wrong: Vec<String> = VALUES
        .iter()
        .filter(|(key, value)| takes(key, value) != said_to_be_taken(key, value))
        .map(|(key, value)| format!("{key} = {value}: the kernel takes it: {}", takes(key, value)))
        .collect();
    assert!(wrong.is_empty(), "on {}:\n{}", release(), wrong.join("\n"));
}
