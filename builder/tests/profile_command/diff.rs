//! `dtnforge profile diff`.

use crate::{SERVER, data, dtnforge, file, text};
use serde_json::Value;

fn differing<'a>(answer: &'a Value, knob: &str) -> &'a Value {
    let rows = answer["differ"].as_array().unwrap();
    rows.iter()
        .find(|row| row["knob"] == knob)
        .unwrap_or_else(|| panic!("no {knob} in {rows:?}"))
}

#[test]
fn two_profiles_show_both_values_with_their_reasons() {
    let said = text(&dtnforge(&["diff", "dtn-25g-nvme", "dtn-100g-nvme"]).stdout);
    for expected in [
        "- dtn-25g-nvme: DTN, one 25G port, local NVMe\n+ dtn-100g-nvme: ",
        "\nmatch.links\n  - 25G\n  + 100G\n",
        "\nsysctl:net.core.rmem_max\n  - 100663296  (a program that sets SO_RCVBUF itself gets as much",
        "are the same\n",
    ] {
        assert!(said.contains(expected), "no {expected:?} in {said}");
    }
}

#[test]
fn a_publication_is_taken_for_the_profiles_own_role_and_link() {
    let answer = data(&dtnforge(&["diff", "dtn-100g-nvme", "osg-script", "--json"]));
    assert_eq!(
        answer["for_hosts"],
        serde_json::json!({"role": "dtn", "link": "100G"})
    );
    assert_eq!(answer["right"]["name"], "osg-script");
    let row = differing(&answer, "sysctl:net.core.rmem_max");
    assert_eq!(
        (row["left"]["value"].as_str(), row["right"]["value"].as_str()),
        (Some("402653184"), Some("2147483647"))
    );
    let same = answer["same"].as_array().unwrap();
    assert!(same.contains(&"sysctl:net.ipv4.tcp_sack".into()), "{same:?}");
    let measuring = data(&dtnforge(&[
        "diff",
        "dtn-25g-nvme",
        "osg-script",
        "--role",
        "perfsonar",
        "--json",
    ]));
    assert_eq!(
        differing(&measuring, "sysctl:net.core.rmem_max")["right"]["value"],
        "402653184"
    );
}

#[test]
fn on_a_host_the_plans_are_compared_and_a_file_of_the_site_too() {
    let dir = tempfile::tempdir().unwrap();
    let host = file(dir.path(), "facts.toml", SERVER);
    let site = file(
        dir.path(),
        "90-site.conf",
        "# ours\nnet.ipv4.tcp_rmem = 4096 87380 16777216\nvm.swappiness = 10\n",
    );
    let answer = data(&dtnforge(&[
        "diff",
        "dtn-100g-nvme",
        &site,
        "--host",
        &host,
        "--role",
        "dtn",
        "--json",
    ]));
    let rmem = differing(&answer, "sysctl:net.ipv4.tcp_rmem");
    assert_eq!(rmem["left"]["value"], "4096 131072 402653184");
    assert_eq!(rmem["right"]["source"], format!("{site}:2"));
    let ring = differing(&answer, "nic/0000:01:00.0+52:54:00:aa:bb:01:ring.rx");
    assert_eq!(
        (ring["left"]["value"].as_str(), &ring["right"]),
        (Some("1500"), &Value::Null)
    );
    assert!(
        answer["same"]
            .as_array()
            .unwrap()
            .contains(&"sysctl:vm.swappiness".into())
    );
}

#[test]
fn what_cannot_be_compared_is_named_and_ends_in_exit_code_2() {
    let dir = tempfile::tempdir().unwrap();
    let bad = file(dir.path(), "bad.conf", "net.core.rmem_max 1\n");
    for (args, expected) in [
        (
            vec!["dtn-vm", "fish"],
            "error: \"fish\" is neither a file, nor a profile (dtn-100g-disks,".to_owned(),
        ),
        (
            vec!["dtn-vm", "osg-script"],
            "error: osg-script has nothing for role dtn and no link speed; it has".to_owned(),
        ),
        (
            vec!["dtn-vm", &bad],
            format!("error: {bad}: line 1: \"net.core.rmem_max 1\" is no assignment"),
        ),
    ] {
        let output = dtnforge(&[&["diff"], args.as_slice()].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.starts_with(&expected), "{args:?}: {said}");
    }
}
