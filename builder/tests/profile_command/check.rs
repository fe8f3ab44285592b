//! `dtnforge profile check`: findings as text and JSON, exit codes, and the lints themselves.

use crate::{SERVER, data, dtnforge, file, text};
use dtnforge_profiles::lint::registry;
use std::path::Path;
use std::process::Output;

/// Files of a host below `dir`, under their paths.
fn host(dir: &Path, files: &[(&str, &str)]) {
    for (path, content) in files {
        let path = dir.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
}

fn check(args: &[&str]) -> Output {
    dtnforge(&[&["check"], args].concat())
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

#[test]
fn the_built_in_catalog_is_clean_and_each_profile_can_be_packed() {
    let output = check(&["--strict"]);
    let said = text(&output.stdout);
    assert_eq!(code(&output), Some(0), "{said}");
    assert!(
        said.contains("dtn-100g-nvme: ") && said.ends_with("no errors, no warnings\n"),
        "{said}"
    );
    let checked = data(&check(&["--json"]));
    assert_eq!((&checked["errors"], &checked["warnings"]), (&0.into(), &0.into()));
    assert!(checked["profiles"].as_array().unwrap().len() > 3);
}

#[test]
fn findings_of_a_profile_are_told_with_file_line_and_lint_and_end_in_1() {
    let dir = tempfile::tempdir().unwrap();
    let slip = "schema = 1\nname = 'x'\ntitle = 'X'\nroles = ['dtn']\n[[knob]]\nid = 'sysctl:vm.swapiness'\n\
                value = 10\nwhy = 'w'\nsource = 's'\n";
    let profile = file(dir.path(), "x.toml", slip);
    let output = check(&[&profile]);
    assert_eq!(code(&output), Some(1));
    let expected = format!(
        "{profile}:6: error [unknown-key] key `id`: \"sysctl:vm.swapiness\" is not in the registry of knobs\n  \
         hint: did you mean sysctl:vm.swappiness?\n1 error, no warnings\n"
    );
    assert_eq!(text(&output.stdout), expected);
}

#[test]
fn what_is_no_profile_or_cannot_be_read_ends_in_2() {
    let dir = tempfile::tempdir().unwrap();
    let broken = file(dir.path(), "broken.toml", "schema = = 1\n");
    let facts = file(dir.path(), "facts.txt", "[[nic]\n");
    let conf = file(dir.path(), "90-site.conf", "vm.swappiness = 10\n");
    let empty = dir.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let empty = empty.to_str().unwrap();
    for (args, expected) in [
        (
            vec![broken.as_str()],
            format!("{broken}:1: error [profile-form] "),
        ),
        (
            vec!["/nowhere/x.toml"],
            "error: cannot read /nowhere/x.toml: No such file".to_owned(),
        ),
        (
            vec!["--sysctl", "/nowhere.conf"],
            "error: cannot read /nowhere.conf: No such file".to_owned(),
        ),
        (
            vec!["--sysctl", &conf, "--host", &facts],
            format!("error: {facts}: TOML parse error"),
        ),
        (
            vec!["--tuned", empty],
            format!("error: {empty} is no tuned.conf, and there is none in it"),
        ),
        (vec![empty], format!("error: {empty} has no *.toml file")),
        (
            vec!["--explain", "sack-of"],
            "error: no lint \"sack-of\"\nhint: did you mean sack-off?".to_owned(),
        ),
    ] {
        let output = check(&args);
        let said = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(code(&output), Some(2), "{args:?}: {said}");
        assert!(
            said.starts_with(&expected),
            "{args:?}\nsaid:     {said}\nexpected: {expected}"
        );
    }
}

#[test]
fn warnings_fail_only_when_they_are_asked_to() {
    let dir = tempfile::tempdir().unwrap();
    let conf = file(dir.path(), "90-site.conf", "net.core.rmem_default = 16777216\n");
    assert_eq!(code(&check(&["--sysctl", &conf])), Some(0));
    let strict = check(&["--sysctl", &conf, "--strict"]);
    assert_eq!(code(&strict), Some(1));
    assert!(text(&strict.stdout).ends_with("no errors, 1 warning\n"));
}

#[test]
fn directories_of_a_host_are_read_as_the_host_would() {
    let dir = tempfile::tempdir().unwrap();
    host(
        dir.path(),
        &[
            (
                "etc/sysctl.d/90-site.conf",
                "net.ipv4.tcp_rmem = 4096 131072 402653184\n",
            ),
            (
                "etc/sysctl.d/README.sysctl",
                "Files that end in .conf are read = yes\n",
            ),
            (
                "usr/lib/sysctl.d/95-vendor.conf",
                "net.ipv4.tcp_rmem = 4096 131072 6291456\n",
            ),
            ("etc/tuned/site/tuned.conf", "[main]\ninclude=base\n"),
            (
                "etc/tuned/base/tuned.conf",
                "[sysctl]\nnet.ipv4.tcp_rmem=4096 131072 16777216\n",
            ),
        ],
    );
    let path = |below: &str| dir.path().join(below).to_str().unwrap().to_owned();
    let (etc, vendor, tuned) = (
        path("etc/sysctl.d"),
        path("usr/lib/sysctl.d"),
        path("etc/tuned/site"),
    );
    let facts = file(dir.path(), "facts.toml", SERVER);
    let output = check(&[
        "--sysctl", &etc, "--sysctl", &vendor, "--tuned", &tuned, "--host", &facts, "--role", "dtn", "--json",
    ]);
    assert_eq!(code(&output), Some(1));
    let mut answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let checked = answer["data"].take();
    let found: Vec<String> = checked["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| {
            let file = finding["file"]
                .as_str()
                .unwrap()
                .strip_prefix(dir.path().to_str().unwrap());
            let (severity, lint) = (
                finding["severity"].as_str().unwrap(),
                finding["lint"].as_str().unwrap(),
            );
            format!("{}:{} {severity} {lint}", file.unwrap(), finding["line"])
        })
        .collect();
    assert_eq!(
        found,
        [
            "/etc/sysctl.d/90-site.conf:1 warning later-file-wins",
            "/etc/tuned/site/tuned.conf:2 warning buffers-below-link",
            "/usr/lib/sysctl.d/95-vendor.conf:1 warning buffers-below-link",
            "/usr/lib/sysctl.d/95-vendor.conf:1 error tuned-resets",
        ]
    );
    assert_eq!(checked["not_judged"], serde_json::json!([]));
}

#[test]
fn without_facts_of_a_host_it_is_said_what_was_not_judged() {
    let dir = tempfile::tempdir().unwrap();
    let conf = file(dir.path(), "90-site.conf", "vm.dirty_ratio = 40\n");
    let said = text(&check(&["--sysctl", &conf]).stdout);
    assert_eq!(
        said,
        "not judged: dirty-ratio-of-large-memory (needs --host FACTS)\nno errors, no warnings\n"
    );
}

#[test]
fn a_profile_of_a_site_is_held_against_the_catalog_that_it_is_laid_over() {
    let dir = tempfile::tempdir().unwrap();
    // It asks for what a profile of ours asks for, and has a name that comes later.
    let shadowed = "schema = 1\nname = 'zz-site'\ntitle = 'Site'\nextends = ['base-tcp']\nroles = ['dtn']\n[match]\n\
                    speed_classes = ['100G']\nstorage = ['nvme']\nvirtualised = 'no'\n[buffer]\nstreams = 8\n\
                    ram_divisor = 128\n";
    let path = file(dir.path(), "site.toml", shadowed);
    let dir = dir.path().to_str().unwrap().to_owned();
    let output = check(&["--catalog", &dir]);
    let said = text(&output.stdout);
    assert!(
        said.starts_with(&format!(
            "{path}:2: warning [profile-shadowed] zz-site is never chosen"
        )),
        "{said}"
    );
    assert_eq!(code(&output), Some(0), "{said}");
    // Alone it is chosen.
    assert!(text(&check(&[&dir]).stdout).ends_with("no errors, no warnings\n"));
}

#[test]
fn every_lint_is_listed_and_explained() {
    let listed = data(&check(&["--list", "--json"]));
    let ids: Vec<&str> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|lint| lint["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, registry().map(|lint| lint.id).collect::<Vec<_>>());
    let table = text(&check(&["--list"]).stdout);
    for lint in registry() {
        assert!(
            table.contains(&format!("\n{} ", lint.id)),
            "{} is not in\n{table}",
            lint.id
        );
    }
    let explained = text(&check(&["--explain", "root-qdisc-replaces-mq"]).stdout);
    for part in [
        "(error)",
        "one lock and one queue for all CPUs",
        "Source: ",
        "Bad:\n  # /etc/rc.local\n",
        "Good:",
    ] {
        assert!(explained.contains(part), "{part:?} is not in\n{explained}");
    }
}

#[test]
fn what_was_not_looked_at_is_not_said_to_be_right() {
    let dir = tempfile::tempdir().unwrap();
    let empty = dir.path().to_str().unwrap();
    for option in ["--sysctl", "--udev"] {
        let output = check(&[option, empty]);
        assert_eq!(
            text(&output.stdout),
            "no files: what was named has none of the kind that was asked for\n"
        );
    }
    let binary = file(dir.path(), "x.conf", "net.core.somaxconn = 1\0\n");
    let output = check(&["--sysctl", &binary]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("x.conf is no text: it has a byte 0"), "{said}");
    let output = check(&["--sysctl", "/dev/zero"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("/dev/zero has more than 16 MiB"), "{said}");
}

#[test]
fn a_slip_of_the_pen_is_answered_with_what_was_meant() {
    let dir = tempfile::tempdir().unwrap();
    let profile = file(
        dir.path(),
        "x.toml",
        "schema = 1\nname = 'x'\ntitle = 'x'\nrole = ['dtn']\n",
    );
    let said = text(&check(&[&profile]).stdout);
    assert!(
        said.contains("x.toml:4: error [profile-form] key `role`: unknown field `role`"),
        "{said}"
    );
    assert!(said.contains("hint: did you mean `roles`?"), "{said}");
    let site = file(dir.path(), "site.toml", "rtt = 100\n");
    let said = text(&check(&["--site", &site]).stderr);
    assert!(said.contains("hint: did you mean `rtt_ms`?"), "{said}");
    let said = text(&dtnforge(&["show", "dtn-100g-nvmee"]).stderr);
    assert!(said.ends_with("hint: did you mean dtn-100g-nvme?\n"), "{said}");
}

#[test]
fn a_signal_ends_a_command_that_waits_for_a_pipe() {
    use nix::sys::signal::{Signal, kill};
    use std::os::unix::process::ExitStatusExt as _;
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let program = env!("CARGO_BIN_EXE_dtnforge");
    let mut child = std::process::Command::new(program)
        .args(["profile", "check", "--sysctl"])
        .arg(&pipe)
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    let id = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    kill(id, Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(Signal::SIGTERM as i32));
}

#[test]
fn what_a_report_calls_a_port_does_not_steer_the_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let facts = "[[nic]]\nname = \"e\\u001b[2J\"\nkind = 'physical'\ncarrier = true\nspeed_mbps = 10000\n";
    let host = file(dir.path(), "facts.toml", facts);
    let output = dtnforge(&["explain", "--host", &host]);
    let said = text(&output.stdout);
    assert!(
        said.contains("e\\u{1b}[2J") && !said.contains('\u{1b}'),
        "{said:?}"
    );
}
