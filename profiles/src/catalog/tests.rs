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
    let by_speed = |store: &str| {
        ["100g", "10g", "200g", "25g", "400g", "40g", "50g"].map(|speed| format!("dtn-{speed}-{store}"))
    };
    for store in ["nvme", "disks", "netstore"] {
        for name in by_speed(store) {
            assert!(names.contains(&name.as_str()), "{name} is not among {names:?}");
        }
    }
    let others: Vec<_> = names
        .iter()
        .filter(|name| !name.contains("0g-") && !name.contains("5g-"))
        .collect();
    assert_eq!(
        others,
        [
            &"dtn-1g",
            &"dtn-anystore",
            &"dtn-vm",
            &"dtn-vm-vf",
            &"perfsonar",
            &"perfsonar-vm",
            &"remote-processing",
            &"remote-processing-vm",
            &"stock",
            &"xrootd-frontend",
            &"xrootd-frontend-vm"
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
            knob("qdisc/<data>:maxrate", "value = '{pacing_mbps}'\nunit = 'Mb/s'\n"),
            "x.toml:9: key `id`: only fq holds a flow to a rate, and the profile does not set it",
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
            "x.toml:9: key `include`: \"network-throughput\" is unknown, expected one of throughput-performance, virtual-guest, latency-performance",
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
    let embedded = Catalog::embedded().unwrap();
    let before = embedded.profiles().count();
    let catalog = embedded.with_directory(dir.path()).unwrap();
    assert_eq!(catalog.get("dtn-vm").unwrap().title, "of the site");
    assert_eq!(catalog.profiles().count(), before);
}

#[test]
fn one_name_in_two_files_and_an_empty_directory_are_refused() {
    let twice = Catalog::parse(&[("a.toml", GOOD), ("b.toml", GOOD)])
        .unwrap_err()
        .to_string();
    assert!(
        twice.contains("b.toml:2: key `name`: \"x\" stands in another file"),
        "{twice}"
    );
    let dir = tempfile::tempdir().unwrap();
    let empty = Catalog::load(dir.path()).unwrap_err().to_string();
    assert!(empty.contains("has no *.toml file"), "{empty}");
}

const BASE: &str = "schema = 1\nname = 'base-x'\ntitle = 'B'\nbase = true\n\
    [[knob]]\nid = 'sysctl:vm.swappiness'\nvalue = 10\nwhy = 'w'\nsource = 's'\n\
    [[knob]]\nid = 'sysctl:net.core.optmem_max'\nvalue = 1048576\nunit = 'byte'\nmin_mbps = 100000\nwhy = 'w'\nsource = 's'\n";
const SPEEDS: &str = "schema = 1\nname = 'x-{speed}'\ntitle = 'X at {speed}'\nextends = ['base-x']\n\
    speeds = ['25G', '100G']\nroles = ['dtn']\n[buffer]\nstreams = 8\nram_divisor = 128\n\
    [tuned]\ninclude = 'virtual-guest'\n";

fn said(files: &[(&str, &str)]) -> String {
    Catalog::parse(files).unwrap_err().to_string()
}

#[test]
fn a_profile_for_several_speeds_is_one_for_each_with_its_own_lines_and_formula() {
    let catalog = Catalog::parse(&[("base.toml", BASE), ("x.toml", SPEEDS)]).unwrap();
    let names: Vec<_> = catalog.profiles().map(|profile| profile.name.as_str()).collect();
    assert_eq!(names, ["x-100g", "x-25g"]);
    for (name, title, mbps, knobs) in [
        ("x-25g", "X at 25G", 25_000, 1),
        ("x-100g", "X at 100G", 100_000, 2),
    ] {
        let profile = catalog.get(name).unwrap();
        assert_eq!((profile.title.as_str(), profile.knobs.len()), (title, knobs));
        assert_eq!(profile.buffer.as_ref().unwrap().speed_mbps, Some(mbps));
        assert_eq!(
            profile.matching.speed_classes,
            [crate::conclude::SpeedClass::of(mbps)]
        );
        assert!(profile.knobs.iter().all(|line| line.min_mbps.is_none()));
    }
}

#[test]
fn what_is_inherited_says_so_and_an_own_line_replaces_it() {
    let own = format!("{SPEEDS}[[knob]]\nid = 'sysctl:vm.swappiness'\nvalue = 1\nwhy = 'w'\nsource = 's'\n");
    let catalog = Catalog::parse(&[("base.toml", BASE), ("x.toml", &own)]).unwrap();
    let lines: Vec<_> = catalog.get("x-100g").unwrap().knobs.iter().collect();
    let origins: Vec<_> = lines
        .iter()
        .map(|line| {
            (
                line.id.to_string(),
                line.value.as_str(),
                line.inherited_from.as_deref(),
            )
        })
        .collect();
    assert_eq!(
        origins,
        [
            ("sysctl:net.core.optmem_max".to_owned(), "1048576", Some("base-x")),
            ("sysctl:vm.swappiness".to_owned(), "1", None),
        ]
    );
    // What tuned would reset follows from the whole.
    let repeat = &catalog.get("x-25g").unwrap().tuned.as_ref().unwrap().repeat;
    assert_eq!(
        repeat.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["sysctl:vm.swappiness"]
    );
}

#[test]
fn a_directory_may_extend_a_base_of_the_catalog_below_and_changes_no_other_profile() {
    let dir = tempfile::tempdir().unwrap();
    let site = "schema = 1\nname = 'site-dtn'\ntitle = 'Ours'\nextends = ['base-tcp']\nroles = ['dtn']\n\
        [buffer]\nstreams = 4\nram_divisor = 128\n";
    let base = BASE.replace("base-x", "base-writeback");
    std::fs::write(dir.path().join("site.toml"), site).unwrap();
    std::fs::write(dir.path().join("base.toml"), base).unwrap();
    let below = Catalog::embedded().unwrap();
    let catalog = below.clone().with_directory(dir.path()).unwrap();
    let profile = catalog.get("site-dtn").unwrap();
    assert!(
        profile
            .knobs
            .iter()
            .all(|line| line.inherited_from.as_deref() == Some("base-tcp"))
    );
    assert_eq!(catalog.get("dtn-vm"), below.get("dtn-vm"));
    assert_eq!(below.bases_only().profiles().count(), 0);
}

#[test]
fn inheritance_that_would_surprise_is_refused_with_its_place() {
    let twin = BASE.replace("base-x", "base-y");
    let both = SPEEDS.replace("['base-x']", "['base-x', 'base-y']");
    for (files, expected) in [
        (
            vec![("x.toml", SPEEDS)],
            "x.toml:4: key `extends`: \"base-x\" is no base of this catalog\n  hint: a base is a file with `base = true`",
        ),
        (
            vec![
                ("a.toml", BASE),
                ("b.toml", twin.as_str()),
                ("x.toml", both.as_str()),
            ],
            "x.toml:4: key `extends`: base-x and base-y both have a value for sysctl:net.core.optmem_max\n  \
             hint: say it in the profile itself",
        ),
        (
            vec![(
                "a.toml",
                "schema = 1\nname = 'a'\ntitle = 'A'\nbase = true\nextends = ['b']\n",
            )],
            "a.toml:5: key `extends`: a base extends nothing: what a profile inherits is one level away",
        ),
        (
            vec![(
                "a.toml",
                "schema = 1\nname = 'a'\ntitle = 'A'\nbase = true\nroles = ['dtn']\n",
            )],
            "a.toml:2: key `base`: a base has no roles, no speeds and no [match]",
        ),
        (
            vec![("x.toml", "schema = 1\nname = 'x-{speed}'\ntitle = 'X'\n")],
            "x.toml:2: key `name`: a profile with `speeds`, and only such a one, has {speed} in its name",
        ),
        (
            vec![(
                "x.toml",
                "schema = 1\nname = 'x-{speed}'\ntitle = '{speed}'\nspeeds = ['10G']\n[match]\nspeed_classes = ['10G']\n",
            )],
            "x.toml:6: key `speed_classes`: the classes follow from `speeds`",
        ),
        (
            vec![
                ("a.toml", BASE),
                (
                    "x.toml",
                    &format!(
                        "{SPEEDS}[[knob]]\nid = 'sysctl:vm.swappiness'\nvalue = 1\nwhy = 'w'\nsource = 's'\ninherited_from = 'base-x'\n"
                    ),
                ),
            ],
            "x.toml:13: key `inherited_from`: is only for the profile of a layer",
        ),
    ] {
        let said = said(&files);
        assert!(
            said.starts_with(expected),
            "said:     {said}\nexpected: {expected}"
        );
    }
}

#[test]
fn a_mistake_in_a_base_is_told_once_and_in_the_base() {
    let bad = BASE.replace("value = 10\n", "value = 300\n");
    let said = said(&[("base.toml", &bad), ("x.toml", SPEEDS)]);
    assert_eq!(
        said,
        "base.toml:7: key `value`: \"300\" is out of range, expected an integer from 0 to 200"
    );
}
