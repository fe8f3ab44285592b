//! Whatever stands in a file, a check ends and says something.

use crate::site;
use dtnforge_profiles::lint::{Input, Source, check};
use proptest::prelude::*;

/// Paths of all kinds of files.
const PATHS: [&str; 7] = [
    "/etc/sysctl.d/90-site.conf",
    "/usr/lib/sysctl.d/50-vendor.conf",
    "/etc/tuned/site/tuned.conf",
    "/etc/udev/rules.d/90-site.rules",
    "/etc/rc.local",
    "/etc/systemd/system/site.service",
    "site.toml",
];

/// Words of all these languages, so that the readers get beyond their first character.
const WORDS: &[&str] = &[
    "net.ipv4.tcp_rmem",
    "net/core/rmem_max",
    "net.ipv4.conf.*.rp_filter",
    "vm.dirty_ratio",
    "vm.dirty_bytes",
    "=",
    " ",
    "\n",
    "-",
    "#",
    ";",
    "\\\n",
    "4096 131072 67108864",
    "99999999999999999999",
    "-1",
    "0x",
    "08",
    "64M",
    "[",
    "]",
    "[main]\n",
    "[sysctl]\n",
    "[Service]\n",
    "include=",
    "network-throughput",
    "throughput-performance",
    "${x}",
    ">",
    "ExecStart=-",
    "tc qdisc replace dev ",
    "eth0",
    " root fq maxrate ",
    "tbf rate ",
    "9gbps",
    "ethtool -G ",
    " rx ",
    "8192",
    "ip link set dev ",
    " txqueuelen ",
    "echo ",
    "> /proc/sys/net/core/",
    "sh -c '",
    "'",
    "\"",
    "<<EOF\n",
    "EOF",
    "ACTION==\"add\", ",
    "RUN+=\"",
    "ATTR{mtu}=\"",
    "SYSCTL{",
    "}",
    "ü",
    "\u{0}",
    "\u{feff}",
    "schema = 1\n",
    "name = 'a'\n",
    "[[knob]]\n",
    "id = 'sysctl:vm.swappiness'\n",
    "roles = ['dtn']\n",
    "min_mbps = 1\n",
    "[match]\n",
];

fn text() -> impl Strategy<Value = String> {
    let words = prop::collection::vec(prop::sample::select(WORDS), 0..60).prop_map(|words| words.concat());
    prop_oneof![words, any::<String>(), "\\PC{0,200}"]
}

const HOST: &str = "[host]\nmemory_gib = 64.0\n[[nic]]\nname = 'eth0'\ncarrier = true\nspeed_mbps = 10000\n";

fn input(texts: &[String], host: bool) -> Input {
    let mut input = Input::new(site("role = 'dtn'"));
    if host {
        input.host = Some(dtnforge_profiles::facts::Facts::read(HOST).unwrap());
    }
    for (path, text) in PATHS.iter().zip(texts) {
        input.add(Source::new(*path, text.as_str()));
    }
    input
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn any_text_is_looked_at_and_gives_the_same_report_twice(
        texts in prop::collection::vec(text(), PATHS.len()),
        host in any::<bool>(),
    ) {
        let input = input(&texts, host);
        let report = check(&input);
        prop_assert_eq!(&report, &check(&input));
        for finding in &report.findings {
            prop_assert!(!finding.message.is_empty() && !finding.hint.is_empty());
            prop_assert!(PATHS.contains(&finding.file.as_str()));
            // The lines of a text are never more than its line feeds and one.
            let at = PATHS.iter().position(|path| *path == finding.file).unwrap();
            prop_assert!(finding.line <= texts[at].lines().count().max(1), "{}", finding);
        }
    }

    #[test]
    fn any_bytes_read_with_loss_are_looked_at(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        check(&input(&vec![text; PATHS.len()], true));
    }
}
