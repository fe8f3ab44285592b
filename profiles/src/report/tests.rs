//! The page of a report that has one of everything.

use super::*;
use std::collections::BTreeMap;

fn metric(name: &str, more_is_better: bool, points: &[(f64, f64)]) -> MetricRow {
    MetricRow {
        name: name.to_owned(),
        unit: "Mb/s".to_owned(),
        more_is_better,
        only_reported: false,
        as_found: 100.0,
        ours: 190.0,
        ratio: 1.9,
        ratio_low: 1.8,
        ratio_high: 2.0,
        limit: if more_is_better { 0.95 } else { 1.10 },
        pairs: 6,
        smallest_effect: 0.05,
        points: points
            .iter()
            .map(|&(as_found, ours)| PointRow { as_found, ours })
            .collect(),
        conditions: BTreeMap::from([("tool".to_owned(), "iperf 3.18".to_owned())]),
    }
}

fn report() -> Report {
    let text = |text: &str| text.to_owned();
    let pairs = [(100.0, 190.0); 6];
    Report {
        schema: REPORT_SCHEMA,
        made_at: text("2026-11-30T10:53:20Z"),
        node: NodeRow {
            name: text("dtn<1>"),
            facts: vec![(text("Kernel"), text("6.12 \"x\" & y"))],
        },
        state: text("committed"),
        reason: text("kept: throughput 1.90x"),
        profile: Some(text("dtn-100g-nvme")),
        outcome: Some(text("keep")),
        metrics: vec![
            metric("emulated-path/throughput", true, &pairs),
            metric("peer/time", false, &[]),
        ],
        proofs: vec![ProofRow {
            by: text("emulated-path"),
            groups: vec![text("tcp-buffers"), text("congestion")],
            outcome: text("revert"),
            sentence: text("reverted: throughput 0.50x"),
            metrics: vec![metric("emulated-path/throughput", true, &pairs)],
        }],
        groups: vec![
            GroupRow {
                group: text("tcp-buffers"),
                evidence: EvidenceRow::Measured,
                by: Some(text("emulated-path")),
                why: text("no harm"),
            },
            GroupRow {
                group: text("nic-rings"),
                evidence: EvidenceRow::UnprovedHeld,
                by: None,
                why: text("held: it could flap a link"),
            },
        ],
        knobs: vec![KnobRow {
            knob: text("sysctl:net.ipv4.tcp_rmem"),
            device: None,
            group: text("tcp-buffers"),
            from: text("4096 131072 6291456"),
            to: text("4096 131072 67108864"),
            now: Some(text("4096 131072 67108864")),
            why: text("a window for <100 ms>"),
            source: text("RFC 7323"),
            lowered: Some(text("asked for 128 MiB: memory")),
        }],
        skipped: vec![SkippedRow {
            knob: text("boot:iommu"),
            group: text("boot"),
            why: text("needs a reboot"),
        }],
        checks: vec![CheckRow {
            name: text("link:eth0"),
            ok: true,
            required: true,
            detail: text("100000 Mb/s"),
        }],
        listeners: vec![Listener {
            program: text("xrootd.service"),
            local: text("0.0.0.0:1094"),
            has: text("cubic"),
            wanted: text("bbr"),
        }],
        findings: vec![text("a narrow PCIe link")],
        timeline: vec![Moment {
            at: text("2026-11-30T10:50:00Z"),
            boot: true,
            what: text("boot 01234567 good"),
        }],
    }
}

#[test]
fn everything_of_the_report_is_on_the_page() {
    let page = html::page(&report());
    for words in [
        "kept: throughput 1.90x",
        "a narrow PCIe link",
        "emulated-path/throughput",
        "1.90\u{d7}, 1.80 to 2.00",
        "reverted: throughput 0.50x",
        "unproved, held at stock",
        "1 of 2 groups are unproved.",
        "4096 131072 6291456",
        "Lowered: asked for 128 MiB: memory.",
        "needs a reboot",
        "xrootd.service",
        "100000 Mb/s",
        "boot 01234567 good",
        "No raw points were kept.",
    ] {
        assert!(page.contains(words), "{words} is not on the page");
    }
}

#[test]
fn no_text_of_a_node_is_markup_and_the_page_asks_for_nothing() {
    let page = html::page(&report());
    assert!(page.contains("dtn&lt;1&gt;") && !page.contains("dtn<1>"));
    assert!(page.contains("6.12 &quot;x&quot; &amp; y"));
    for request in ["http://", "https://", "src=\"", "@import", "url(", "fetch("] {
        assert!(!page.contains(request), "{request} is on the page");
    }
}

/// The names of the elements that are opened and not closed, by a reader that knows what has no end.
fn unclosed(page: &str) -> Vec<String> {
    let mut open: Vec<String> = Vec::new();
    let body = page.split("<script>").next().unwrap_or(page);
    for tag in body.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').unwrap();
        let name: String = tag
            .trim_start_matches('/')
            .chars()
            .take_while(char::is_ascii_alphanumeric)
            .collect();
        if tag.starts_with('/') {
            assert_eq!(open.pop().as_deref(), Some(name.as_str()), "</{name}> in {tag}");
        } else if !tag.ends_with('/') && !tag.starts_with('!') && name != "meta" && name != "link" {
            open.push(name);
        }
    }
    open
}

#[test]
fn every_element_is_closed_in_order() {
    assert_eq!(unclosed(&html::page(&report())), ["html", "body"]);
}

#[test]
fn a_node_that_tried_nothing_has_a_page_too() {
    let empty = Report {
        metrics: Vec::new(),
        proofs: Vec::new(),
        groups: Vec::new(),
        knobs: Vec::new(),
        skipped: Vec::new(),
        checks: Vec::new(),
        listeners: Vec::new(),
        findings: Vec::new(),
        timeline: Vec::new(),
        profile: None,
        outcome: None,
        ..report()
    };
    let page = html::page(&empty);
    assert!(page.contains("Nothing was measured.") && page.contains("no profile"));
    assert_eq!(unclosed(&page), ["html", "body"]);
}

#[test]
fn numbers_that_cannot_be_drawn_leave_the_page_whole() {
    for bad in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e300] {
        let mut report = report();
        let metric = &mut report.metrics[0];
        metric.points = vec![
            PointRow {
                as_found: bad,
                ours: bad
            };
            3
        ];
        (metric.ratio, metric.ratio_low) = (bad, bad);
        assert_eq!(unclosed(&html::page(&report)), ["html", "body"], "{bad}");
    }
}

#[test]
fn a_report_reads_back_from_its_json() {
    let report = report();
    let text = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
}
