//! `dtn-firstboot metrics`, and the file that a run leaves for node_exporter.

use crate::node::Node;
use std::collections::BTreeMap;

const DIRECTORY: &str = "/var/lib/prometheus/node-exporter";

/// The samples of a text by name and labels. Fails on what a reader of the format would not take.
fn parse(text: &str) -> BTreeMap<String, f64> {
    let mut samples = BTreeMap::new();
    let mut announced = Vec::new();
    assert!(text.ends_with('\n'), "the last line must end");
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert_eq!(kind, "gauge");
            announced.push(name.to_owned());
            continue;
        }
        if line.starts_with("# HELP ") {
            continue;
        }
        let (key, value) = line.rsplit_once(' ').unwrap();
        let name = key.split('{').next().unwrap();
        assert_eq!(
            Some(name),
            announced.last().map(String::as_str),
            "{line}: its type comes first"
        );
        assert!(key == name || key.ends_with("\"}"), "{line}");
        let value = value.parse().unwrap_or_else(|error| panic!("{line}: {error}"));
        assert!(samples.insert(key.to_owned(), value).is_none(), "{line} twice");
    }
    samples
}

#[test]
fn a_committed_node_is_told_in_numbers() {
    let node = Node::committed();
    node.write("/proc/sys/vm/swappiness", "60\n");
    let samples = parse(&node.agent(&["metrics"]).out);
    assert_eq!(samples["dtnforge_state{state=\"committed\"}"], 1.0);
    assert_eq!(samples["dtnforge_state{state=\"stock\"}"], 0.0);
    assert_eq!(samples["dtnforge_drift_knobs"], 1.0);
    assert_eq!(samples["dtnforge_active"], 1.0);
    assert!(samples["dtnforge_knobs"] >= 14.0);
    assert_eq!(samples["dtnforge_verdict{outcome=\"keep\"}"], 1.0);
    assert_eq!(
        samples["dtnforge_verdict_ratio{metric=\"emulated-path/throughput\"}"],
        2.03
    );
    assert_eq!(
        samples["dtnforge_verdict_ratio_limit{metric=\"emulated-path/throughput\"}"],
        0.95
    );
    assert_eq!(samples["dtnforge_trials_left"], 2.0);
    let info = samples
        .keys()
        .find(|key| key.starts_with("dtnforge_info{"))
        .unwrap();
    assert!(
        info.contains("profile=\"dtn-100g-nvme\"") && info.contains("version=\""),
        "{info}"
    );
    let absent = ["dtnforge_boot_tries_left", "dtnforge_last_run_exit_code"];
    assert!(
        absent.iter().all(|name| !samples.contains_key(*name)),
        "no counter, and no run yet"
    );
}

#[test]
fn a_node_that_never_tried_has_no_verdict() {
    let samples = parse(&Node::new().agent(&["metrics"]).out);
    assert_eq!(samples["dtnforge_state{state=\"stock\"}"], 1.0);
    assert_eq!(
        (samples["dtnforge_knobs"], samples["dtnforge_active"]),
        (0.0, 0.0)
    );
    assert!(samples.keys().all(|key| !key.starts_with("dtnforge_verdict")));
}

#[test]
fn a_run_leaves_the_file_where_the_directory_is_and_makes_none() {
    let node = Node::new();
    node.write("/etc/dtnforge/site.toml", "");
    let ended = node.agent(&["run"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(
        !node.path("/var/lib/prometheus").exists(),
        "no node_exporter here"
    );
    std::fs::create_dir_all(node.path(DIRECTORY)).unwrap();
    node.agent(&["run"]);
    let file = format!("{DIRECTORY}/dtnforge.prom");
    let samples = parse(&(node.read(&file) + "\n"));
    assert_eq!(samples["dtnforge_last_run_exit_code"], 0.0);
    assert!(samples["dtnforge_last_run_timestamp_seconds"] > 1.7e9);
    assert_eq!(samples["dtnforge_state{state=\"stock\"}"], 1.0);
    node.agent(&["hold"]);
    let samples = parse(&(node.read(&file) + "\n"));
    assert_eq!(
        samples["dtnforge_state{state=\"held\"}"], 1.0,
        "a hold is seen at once"
    );
    let left: Vec<_> = std::fs::read_dir(node.path(DIRECTORY)).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing beside it");
}

#[test]
fn the_site_may_name_the_directory_and_a_run_does_not_depend_on_it() {
    let node = Node::new();
    node.write("/etc/dtnforge/site.toml", "metrics_dir = \"/srv/metrics\"\n");
    node.write("/srv/metrics/other.prom", "x 1\n");
    assert_eq!(node.agent(&["run"]).code, 0);
    assert!(node.read("/srv/metrics/dtnforge.prom").contains("dtnforge_state"));
    std::fs::remove_file(node.path("/srv/metrics/dtnforge.prom")).unwrap();
    std::fs::create_dir(node.path("/srv/metrics/dtnforge.prom")).unwrap();
    let ended = node.agent(&["run"]);
    assert_eq!(ended.code, 0, "monitoring that cannot be written fails no run");
    assert!(ended.err.contains("no metrics: cannot write "), "{}", ended.err);
}

#[test]
fn a_file_of_the_callers_choice_is_written_whole() {
    let node = Node::committed();
    let file = node.path("/x.prom");
    let ended = node.agent(&["metrics", "--out", file.to_str().unwrap()]);
    assert_eq!((ended.code, ended.out.as_str()), (0, ""));
    parse(&std::fs::read_to_string(file).unwrap());
    let ended = node.agent(&["metrics", "--out", "/dev/full/x.prom"]);
    assert_eq!(ended.code, 1);
    assert!(
        ended.err.contains("no metrics: cannot write /dev/full/x.prom"),
        "{}",
        ended.err
    );
}
