//! `report`: the JSON has the form that is written down, and the page has the same words.

use crate::node::Node;

/// What the written schema says against a report, one line each.
fn said(report: &serde_json::Value) -> Vec<String> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../docs/reference/schema/report.json"
    );
    let schema = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    validator
        .iter_errors(report)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

#[test]
fn the_report_of_a_committed_node_has_its_plan_and_fits_its_schema() {
    let node = Node::committed();
    let ended = node.agent(&["report", "--json"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    let report = ended.data();
    assert_eq!(said(&report), [""; 0]);
    assert_eq!(report["state"], "committed");
    assert_eq!(report["profile"], "dtn-100g-nvme");
    let knobs = report["knobs"].as_array().unwrap();
    let rmem = knobs
        .iter()
        .find(|knob| knob["knob"] == "sysctl:net.ipv4.tcp_rmem")
        .unwrap();
    assert_ne!(rmem["from"], rmem["to"]);
    assert!(rmem["now"].is_string() && !rmem["why"].as_str().unwrap().is_empty());
    let facts = report["node"]["facts"].to_string();
    assert!(
        facts.contains("AMD EPYC 7343") && facts.contains("NIC eth0"),
        "{facts}"
    );
}

#[test]
fn a_node_that_is_stock_reports_what_would_be_tried() {
    let node = Node::new();
    let report = node.agent(&["report", "--json"]).data();
    assert_eq!(said(&report), [""; 0]);
    assert_eq!(report["state"], "stock");
    assert!(!report["knobs"].as_array().unwrap().is_empty(), "{report}");
    assert!(report.get("outcome").is_none());
}

#[test]
fn the_page_has_the_words_of_the_json() {
    let node = Node::committed();
    let report = node.agent(&["report", "--json"]).data();
    let page = node.agent(&["report", "--html"]).out;
    assert!(page.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"), "{page}");
    for knob in report["knobs"].as_array().unwrap() {
        assert!(page.contains(knob["knob"].as_str().unwrap()), "{knob}");
    }
    assert!(page.contains(report["reason"].as_str().unwrap()));
}

#[test]
fn a_report_without_a_form_asks_for_one() {
    let ended = Node::new().agent(&["report"]);
    assert_eq!(ended.code, 2, "{ended:?}");
    assert!(ended.err.contains("--html"), "{}", ended.err);
}
