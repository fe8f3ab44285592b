//! The built-in catalog, and what is said of files with mistakes.

use super::*;
use crate::group::Group;

const GOOD: &str =
    "schema = 1\nname = 'x'\ntitle = 'X'\nroles = ['dtn']\n[buffer]\nstreams = 8\nram_divisor = 128\n";
const RMEM: &str = "[[knob]]\nid = 'sysctl:net.ipv4.tcp_rmem'\nvalue = '4096 131072 {buffer}'\nunit = 'byte'\n\
                    why = 'w'\nsource = 's'\n";

fn problems(text: &str) -> String {
    Profile::parse("x.toml", text).unwrap_err().to_string()
}

#[test]
fn the_built_in_catalog_is_valid_and_complete() {
    let catalog = Catalog::embedded().unwrap();
    let names: Vec<_> = catalog.profiles().map(|profile| profile.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "dtn-100g-netstore",
            "dtn-100g-nvme",
            "dtn-25g-nvme",
            "dtn-vm",
            "stock"
        ]
    );
    assert!(catalog.get("stock").unwrap().knobs.is_empty());
    assert!(!catalog.get("dtn-vm").unwrap().groups().contains(&Group::NicRings));
}

#[test]
fn a_profile_written_out_reads_back_the_same() {
    for profile in Catalog::embedded().unwrap().profiles() {
        let text = profile.to_toml().unwrap();
        assert_eq!(&Profile::parse("again.toml", &text).unwrap(), profile);
        assert_eq!(
            Profile::parse("again.toml", &text).unwrap().to_toml().unwrap(),
            text
        );
    }
}

#[test]
fn each_mistake_is_named_with_its_line_and_key() {
    let knob = |id: &str, rest: &str| format!("{GOOD}[[knob]]\nid = '{id}'\n{rest}why = 'w'\nsource = 's'\n");
    for (text, expected) in [
        (
            format!("{GOOD}colour = 'red'\n"),
            "x.toml:8: key `colour`: unknown field `colour`",
        ),
        (
            GOOD.replace("schema = 1", "schema = 2"),
            "x.toml:1: key `schema`: 2 is a form that this version",
        ),
        (
            GOOD.replace("schema = 1", "schema = 'one'"),
            "x.toml:1: key `schema`: invalid type",
        ),
        (
            GOOD.replace("streams = 8", "streams = 0"),
            "x.toml:6: key `streams`: 0 is out of range, expected 1 to 256",
        ),
        (
            GOOD.replace("'dtn'", "'dtm'"),
            "x.toml:4: key `roles`: \"dtm\" is unknown, expected one of dtn, perfsonar",
        ),
        (
            GOOD.replace("'x'", "'../x'"),
            "x.toml:2: key `name`: \"../x\" is no name",
        ),
        (
            knob("sysctl:net.ipv4.tcp_rmen", "value = 1\n"),
            "x.toml:9: key `id`: \"sysctl:net.ipv4.tcp_rmen\" is not in the registry of knobs\n  \
             hint: did you mean sysctl:net.ipv4.tcp_rmem?",
        ),
        (
            knob("sysctl:vm.swappiness", "value = 300\n"),
            "x.toml:10: key `value`: \"300\" is out of range, expected an integer from 0 to 200",
        ),
        (
            knob(
                "sysctl:net.ipv4.tcp_rmem",
                "value = '4096 9000000 131072'\nunit = 'byte'\n",
            ),
            "x.toml:10: key `value`: \"4096 9000000 131072\" is out of range, expected three integers",
        ),
        (
            knob("sysctl:net.core.rmem_max", "value = 9000\nunit = 'kB'\n"),
            "x.toml:11: key `unit`: \"kB\" is wrong, expected \"byte\"",
        ),
        (
            knob("sysctl:net.core.rmem_max", "value = 9000\n"),
            "x.toml:9: key `unit`: is missing, expected \"byte\"",
        ),
        (
            format!("{GOOD}{}", RMEM.replace("source = 's'\n", "")),
            "x.toml:9: key `source`: is missing or empty",
        ),
        (
            format!("{GOOD}{}", RMEM.replace("'w'", "''")),
            "x.toml:12: key `why`: is missing or empty",
        ),
        (
            format!("{GOOD}{RMEM}{RMEM}"),
            "x.toml:15: key `id`: sysctl:net.ipv4.tcp_rmem stands twice",
        ),
        (
            knob("tuned:profile", "value = 'x'\n"),
            "x.toml:9: key `id`: tuned:profile follows from the [tuned] table",
        ),
        (
            knob("cpu:governor", "value = 'performance'\n"),
            "x.toml:9: key `id`: cpu:governor is owned by tuned",
        ),
        (
            knob("qdisc/<data>:leaf", "value = 'fq'\n"),
            "x.toml:10: key `value`: the leaf of a device that comes up is net.core.default_qdisc",
        ),
        (
            knob("nic/eth0:ring.rx", "value = 9\nunit = 'descriptor'\n"),
            "x.toml:9: key `id`: \"nic/eth0:ring.rx\" names one",
        ),
        (
            RMEM.replace("[[knob]]", "schema = 1\nname = 'x'\ntitle = 'X'\n[[knob]]"),
            "x.toml:6: key `value`: {buffer} needs a [buffer] table",
        ),
        (
            format!("{GOOD}[tuned]\ninclude = 'network-throughput'\n"),
            "x.toml:9: key `include`: \"network-throughput\" is unknown, expected throughput-performance or virtual-guest",
        ),
    ] {
        let said = problems(&text);
        assert!(
            said.starts_with(expected),
            "{text}\nsaid:     {said}\nexpected: {expected}"
        );
    }
}

#[test]
fn what_tuned_would_reset_has_to_be_repeated_and_nothing_else() {
    let text = |repeat: &str| {
        format!(
            "{GOOD}[tuned]\ninclude = 'throughput-performance'\nrepeat = [{repeat}]\n{RMEM}\
             [[knob]]\nid = 'sysctl:vm.swappiness'\nvalue = 10\nwhy = 'w'\nsource = 's'\n"
        )
    };
    assert!(Profile::parse("x.toml", &text("'sysctl:vm.swappiness'")).is_ok());
    let missing = problems(&text(""));
    assert!(
        missing.contains(
            "throughput-performance resets sysctl:vm.swappiness, so our tuned profile has to repeat it"
        ),
        "{missing}"
    );
    let second_owner = problems(&text("'sysctl:vm.swappiness', 'sysctl:net.ipv4.tcp_rmem'"));
    assert!(
        second_owner.contains("sysctl:net.ipv4.tcp_rmem has two owners"),
        "{second_owner}"
    );
}

#[test]
fn all_mistakes_of_all_files_are_reported_at_once() {
    let bad = GOOD.replace("streams = 8", "streams = 0").replace("'X'", "''");
    let said = Catalog::parse(&[("a.toml", bad.as_str()), ("b.toml", "")])
        .unwrap_err()
        .to_string();
    for expected in ["a.toml:3: key `title`", "a.toml:6: key `streams`", "b.toml:1"] {
        assert!(said.contains(expected), "{expected} not in\n{said}");
    }
}

#[test]
fn a_nearer_directory_replaces_a_profile_of_the_same_name() {
    let dir = tempfile::tempdir().unwrap();
    let text = GOOD
        .replace("name = 'x'", "name = 'dtn-vm'")
        .replace("'X'", "'of the site'");
    std::fs::write(dir.path().join("mine.toml"), text).unwrap();
    let catalog = Catalog::embedded()
        .unwrap()
        .overlaid_by(Catalog::load(dir.path()).unwrap());
    assert_eq!(catalog.get("dtn-vm").unwrap().title, "of the site");
    assert_eq!(catalog.profiles().count(), 5);
}

#[test]
fn one_name_in_two_files_and_an_empty_directory_are_refused() {
    let twice = Catalog::parse(&[("a.toml", GOOD), ("b.toml", GOOD)])
        .unwrap_err()
        .to_string();
    assert!(
        twice.contains("b.toml: key `name`: \"x\" stands in another file"),
        "{twice}"
    );
    let dir = tempfile::tempdir().unwrap();
    let empty = Catalog::load(dir.path()).unwrap_err().to_string();
    assert!(empty.contains("has no *.toml file"), "{empty}");
}
