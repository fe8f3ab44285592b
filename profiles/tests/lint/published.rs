//! Published sets of values, and what an expert would say of each: no less, and nothing else.
//!
//! Values are those of the sources that each file names. The hosts are made up, so that lints that need one can speak.

use crate::{files, here, input, short};
use dtnforge_profiles::lint::{Input, check};
use std::collections::BTreeSet;

const OSG: &str = "/etc/sysctl.d/90-fasterdata.conf";
const OSG_UNIT: &str = "/etc/systemd/system/ethtool-persist.service";
const SYSCTL_CONF: &str = "/etc/sysctl.conf";
const RC_LOCAL: &str = "/etc/rc.local";

/// File, line and lint.
type Fault = (&'static str, usize, &'static str);

/// What every class of fasterdata-tuning.sh has.
const OSG_ALWAYS: &[Fault] = &[
    // A quarter of rmem_max for each socket that is not TCP.
    (OSG, 4, "default-buffer-huge"),
    (OSG, 5, "default-buffer-huge"),
    (OSG, 6, "backlog-huge"),
    (OSG, 10, "bbr-version-1"),
    (OSG, 15, "obsolete-key"),
    // The first setting that a driver refuses ends the unit.
    (OSG_UNIT, 8, "unit-stops-at-first"),
    // No effect under fq, delay under tbf.
    (OSG_UNIT, 9, "txqueuelen"),
];

/// Directory, whether it is of fasterdata-tuning.sh, and what is found in it beside what that always has.
const EXPECTED: &[(&str, bool, &[Fault])] = &[
    // 48 MiB, interpolated: 8 streams at 100 ms carry 16 Gb/s. And one root fq for all queues of a 25G port.
    (
        "osg-dtn-25g",
        true,
        &[
            (OSG, 8, "buffers-below-link"),
            (OSG, 9, "buffers-below-link"),
            (OSG_UNIT, 10, "root-qdisc-replaces-mq"),
        ],
    ),
    // The class for measurement hosts fills the link; it is the rest that hurts.
    (
        "osg-measurement-25g",
        true,
        &[(OSG_UNIT, 10, "root-qdisc-replaces-mq")],
    ),
    // 1 GiB is four times what 64 GiB of memory bear with 8 streams, and the cap caps nothing.
    (
        "osg-dtn-100g-on-64-gib",
        true,
        &[
            (OSG, 8, "buffers-over-memory"),
            (OSG, 9, "buffers-over-memory"),
            (OSG_UNIT, 10, "rate-in-bytes"),
            (OSG_UNIT, 10, "tbf-cap"),
        ],
    ),
    // The pages themselves: rmem_max at twice tcp_rmem[2] is no fault.
    ("fasterdata-10g", false, &[]),
    ("fasterdata-100g", false, &[]),
    // The script of the same author: /etc/sysctl.conf, and rc.local with rings that an XL710 of this kind lacks.
    (
        "fasterdata-script-40g",
        false,
        &[
            (SYSCTL_CONF, 2, "sysctl-conf-not-read"),
            (RC_LOCAL, 4, "txqueuelen"),
            (RC_LOCAL, 6, "ring-at-maximum"),
            (RC_LOCAL, 6, "ring-above-device"),
            (RC_LOCAL, 8, "root-qdisc-replaces-mq"),
        ],
    ),
    // On EL9 with one port: ARP settings for two, htcp in a package of its own, and 128 MiB for one stream at 10 Gb/s.
    (
        "perfsonar-toolkit-10g",
        false,
        &[
            (SYSCTL_CONF, 6, "arp-on-one-port"),
            (SYSCTL_CONF, 7, "arp-on-one-port"),
            (SYSCTL_CONF, 8, "arp-on-one-port"),
            (SYSCTL_CONF, 9, "arp-on-one-port"),
            (SYSCTL_CONF, 10, "module-missing"),
            (SYSCTL_CONF, 12, "buffers-below-link"),
            (SYSCTL_CONF, 13, "buffers-below-link"),
        ],
    ),
    // Values of a package below /usr/lib lose to the 16 MiB of network-throughput.
    (
        "tuned-network-throughput-25g",
        false,
        &[
            ("/usr/lib/sysctl.d/60-site.conf", 2, "tuned-resets"),
            ("/usr/lib/sysctl.d/60-site.conf", 3, "tuned-resets"),
            ("/etc/tuned/site/tuned.conf", 3, "buffers-below-link"),
            ("/etc/tuned/site/tuned.conf", 3, "dirty-ratio-of-large-memory"),
        ],
    ),
    // A guide of the days of single-queue block layers.
    (
        "beegfs-storage-guide",
        false,
        &[
            (RC_LOCAL, 3, "dirty-ratio-of-large-memory"),
            (RC_LOCAL, 4, "dirty-ratio-of-large-memory"),
            (RC_LOCAL, 6, "min-free-set"),
            (RC_LOCAL, 7, "zone-reclaim"),
            (RC_LOCAL, 9, "scheduler-gone"),
            (RC_LOCAL, 10, "nr-requests-over-limit"),
        ],
    ),
];

#[test]
fn published_sets_give_what_an_expert_would_say_and_nothing_else() {
    for (name, is_osg, own) in EXPECTED {
        let always = if *is_osg { OSG_ALWAYS } else { &[] };
        let expected: BTreeSet<String> = own
            .iter()
            .chain(always)
            .map(|(file, line, id)| format!("{file}:{line} [{id}]"))
            .collect();
        let report = check(&input(&here("published").join(name)));
        let found: BTreeSet<String> = report.findings.iter().map(short).collect();
        let said: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
        assert_eq!(found, expected, "in {name}:\n{}", said.join("\n"));
        assert_eq!(report.not_judged, [], "in {name}");
    }
}

#[test]
fn every_published_directory_is_expected_to_give_something_or_nothing() {
    for path in files(&here("published")) {
        let below = path.strip_prefix(here("published")).unwrap();
        let name = below.iter().next().unwrap().to_str().unwrap();
        assert!(EXPECTED.iter().any(|(known, ..)| *known == name), "{name}");
    }
}

#[test]
fn without_a_host_the_lints_that_need_one_say_so() {
    let mut input = input(&here("published").join("osg-dtn-25g"));
    input.host = None;
    let not_judged = |input: &Input| {
        let report = check(input);
        let not_judged = report.not_judged.into_iter();
        not_judged.map(|lint| (lint.lint, lint.needs)).collect::<Vec<_>>()
    };
    let lint = |id: &str, needs: &str| (id.to_owned(), needs.to_owned());
    let link = "--host FACTS with the speed of the link, or --link-mbps N";
    assert_eq!(
        not_judged(&input),
        [
            lint("buffers-over-memory", "--host FACTS"),
            lint("buffers-below-link", link),
            lint("buffers-beyond-link", link),
        ]
    );
    input.site.link_mbps = Some(25_000);
    assert_eq!(not_judged(&input), [lint("buffers-over-memory", "--host FACTS")]);
}
