//! `dtnforge profile` as a user runs it: output, exit codes, and what is said of mistakes.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod check;
mod diff;
mod render;

use dtnforge_profiles::catalog::Catalog;
use std::path::Path;
use std::process::{Command, Output};

fn dtnforge(args: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_dtnforge");
    Command::new(program).arg("profile").args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The data of a `--json` answer.
fn data(output: &Output) -> serde_json::Value {
    assert!(output.status.success(), "{}", text(&output.stderr));
    let mut answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["schema"], 1);
    answer["data"].take()
}

fn file(dir: &Path, name: &str, content: &str) -> String {
    let path = dir.join(name);
    std::fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

const SERVER: &str = "[host]\ndmi_vendor = 'Supermicro'\nmemory_gib = 256.0\n\
    [[nic]]\nname = 'eth0'\nkind = 'physical'\ncarrier = true\nspeed_mbps = 100000\nnuma_node = 1\n\
    pci_slot = '0000:01:00.0'\nmac = '52:54:00:aa:bb:01'\nrings = { rx = 1024, rx_max = 1500 }\n\
    [[block]]\nname = 'nvme0n1'\ntransport = 'nvme'\nsize_bytes = 4000000000000\n";

#[test]
fn list_names_every_profile_of_the_catalog() {
    let listed = data(&dtnforge(&["list", "--json"]));
    let profiles = listed.as_array().unwrap().iter();
    let names: Vec<_> = profiles
        .map(|profile| profile["name"].as_str().unwrap())
        .collect();
    let catalog = Catalog::embedded().unwrap();
    let expected: Vec<_> = catalog.profiles().map(|profile| profile.name.as_str()).collect();
    assert_eq!(names, expected);
    for name in ["dtn-25g-nvme", "perfsonar", "xrootd-frontend-vm", "stock"] {
        assert!(names.contains(&name), "{name} is not among {names:?}");
    }
    assert!(!names.contains(&"base-tcp"), "a base is no profile");
}

#[test]
fn explain_answers_under_its_documented_keys() {
    let dir = tempfile::tempdir().unwrap();
    let host = file(dir.path(), "facts.toml", SERVER);
    let answer = data(&dtnforge(&[
        "explain", "--host", &host, "--role", "dtn", "--json",
    ]));
    for (key, expected) in [
        ("data_nics", serde_json::json!(["eth0"])),
        ("speed_class", "100G".into()),
        ("link_mbps", 100_000.into()),
        ("storage_class", "nvme".into()),
        ("virtualised", "no".into()),
        ("numa_node", 1.into()),
        ("cannot_tell", serde_json::json!([])),
        ("profile", "dtn-100g-nvme".into()),
    ] {
        assert_eq!(answer[key], expected, "{key}");
    }
    let steps = answer["plan"]["steps"].as_array().unwrap();
    let ring = steps
        .iter()
        .find(|step| step["knob"].as_str().unwrap().ends_with("ring.rx"))
        .unwrap();
    assert_eq!(
        (ring["from"].as_str(), ring["to"].as_str()),
        (Some("1024"), Some("1500"))
    );
    assert_eq!(ring["lowered"]["asked"], "2048");
}

#[test]
fn explain_without_a_role_or_without_a_speed_says_what_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let host = file(dir.path(), "facts.toml", SERVER);
    let said = text(&dtnforge(&["explain", "--host", &host]).stdout);
    assert!(said.contains("profile: role not set"), "{said}");
    let host = file(dir.path(), "facts.toml", &SERVER.replace("100000", "-1"));
    let said = text(&dtnforge(&["explain", "--host", &host, "--role", "dtn"]).stdout);
    assert!(
        said.contains("profile: link speed unknown, eth0 reports -1 (state it: key `link_mbps`"),
        "{said}"
    );
    let stated = data(&dtnforge(&[
        "explain",
        "--host",
        &host,
        "--role",
        "dtn",
        "--link-mbps",
        "25000",
        "--json",
    ]));
    assert_eq!(
        (&stated["profile"], &stated["link_stated"]),
        (&"dtn-25g-nvme".into(), &true.into())
    );
}

#[test]
fn show_has_the_formula_and_its_numbers_and_the_origin_of_each_value() {
    let unknown = text(&dtnforge(&["show", "dtn-vm"]).stdout);
    assert!(
        unknown.contains("\n[inherited from base-tcp]\nsysctl:net.core.rmem_max = {buffer} byte\n"),
        "{unknown}"
    );
    let known = text(&dtnforge(&["show", "dtn-vm", "--link-mbps", "10000"]).stdout);
    for expected in [
        "  buffer: 2 x 10000 Mb/s x 100 ms / 8 / 8 streams = 29.8 MiB, rounded up to 32 MiB, at most memory / 128\n",
        "sysctl:net.ipv4.tcp_rmem = 4096 131072 {buffer} byte  -> 4096 131072 33554432\n",
        "\n[for the administrator]\nas many queues as vCPUs",
    ] {
        assert!(known.contains(expected), "no {expected:?} in {known}");
    }
    let resolved = text(&dtnforge(&["show", "perfsonar", "--resolved", "--link-mbps", "1000"]).stdout);
    for expected in [
        "\n    origin: inherited from base-tcp, by the buffer formula\n",
        "nic/<data>:ring.rx: none, for links of 10000 Mb/s and more, and this one has 1000\n",
        "sysctl:net.ipv4.tcp_no_metrics_save = 1\n",
    ] {
        assert!(resolved.contains(expected), "no {expected:?} in {resolved}");
    }
    let answer = data(&dtnforge(&["show", "dtn-25g-nvme", "--json"]));
    let rmem = &answer["values"][0];
    assert_eq!(
        (
            rmem["value"].as_str(),
            rmem["resolved"].as_str(),
            &rmem["origin"]["inherited_from"]
        ),
        (Some("{buffer}"), Some("100663296"), &"base-tcp".into())
    );
}

#[test]
fn mistakes_are_named_with_file_line_and_key_and_end_in_exit_code_2() {
    let dir = tempfile::tempdir().unwrap();
    let slip = "schema = 1\nname = 'x'\ntitle = 'X'\n[[knob]]\nid = 'sysctl:vm.swapiness'\nvalue = 10\nwhy = 'w'\n\
                source = 's'\n";
    let profile = file(dir.path(), "x.toml", slip);
    let facts = file(dir.path(), "facts.txt", "[[nic]\n");
    let good = file(dir.path(), "good.txt", SERVER);
    let site = file(dir.path(), "site.txt", "rtt_ms = 0\n");
    let unknown = format!(
        "error: {profile}:5: key `id`: \"sysctl:vm.swapiness\" is not in the registry of knobs\n  \
         hint: did you mean sysctl:vm.swappiness?"
    );
    for (args, expected) in [
        (vec!["list", "--catalog", dir.path().to_str().unwrap()], unknown),
        (
            vec!["check", "/nowhere/x.toml"],
            "error: cannot read /nowhere/x.toml: No such file".to_owned(),
        ),
        (
            vec!["show", "fish"],
            "error: no profile \"fish\" in the catalog, which has dtn-100g-disks,".to_owned(),
        ),
        (
            vec!["explain", "--host", &facts],
            format!("error: {facts}: TOML parse error at line 1"),
        ),
        (
            vec!["explain", "--host", &good, "--site", &site],
            format!("error: {site}: key `rtt_ms`: 0 is out of range, expected 1 to 1000 ms"),
        ),
    ] {
        let output = dtnforge(&args);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(
            said.starts_with(&expected),
            "{args:?}\nsaid:     {said}\nexpected: {expected}"
        );
    }
}

#[test]
fn a_directory_replaces_profiles_of_the_same_name() {
    let dir = tempfile::tempdir().unwrap();
    file(
        dir.path(),
        "mine.toml",
        "schema = 1\nname = 'dtn-vm'\ntitle = 'Ours'\n",
    );
    let listed = data(&dtnforge(&[
        "list",
        "--catalog",
        dir.path().to_str().unwrap(),
        "--json",
    ]));
    let profiles = listed.as_array().unwrap();
    let vm = profiles
        .iter()
        .find(|profile| profile["name"] == "dtn-vm")
        .unwrap();
    let count = Catalog::embedded().unwrap().profiles().count();
    assert_eq!((vm["title"].as_str(), profiles.len()), (Some("Ours"), count));
}
