//! NIC settings on the real kernel: a veth pair with four queues in a namespace.
//!
//! A veth has no rings, no combined queues and no LRO; those need the guests of the VM rung. What it has shows that
//! both ways of ethtool and sysfs reach a driver.

mod links;
mod namespace;

use dtn_firstboot::door::ethtool::{Ethtool, KernelEthtool};
use dtn_firstboot::door::{Door, Doors};
use dtn_firstboot::host::Host;
use dtn_firstboot::netdev;
use dtnforge_profiles::plan::Reading;
use links::{ip, knob_of, run};
use namespace::inside;

const VETH: &str = "dtnt-veth-long";

fn make_veth() {
    ip(&[
        "link",
        "add",
        VETH,
        "numtxqueues",
        "4",
        "numrxqueues",
        "4",
        "type",
        "veth",
        "peer",
        "name",
        "dtnt-peer-long",
        "numtxqueues",
        "4",
        "numrxqueues",
        "4",
    ]);
    ip(&["link", "set", VETH, "up"]);
}

#[test]
fn an_mtu_is_set_and_taken_back() {
    if !inside("an_mtu_is_set_and_taken_back") {
        return;
    }
    make_veth();
    let doors = Doors::new(&Host::live());
    let mtu = knob_of("nic", VETH, "mtu");
    let undo = doors.undo_for(&mtu).unwrap();
    doors.write(&mtu, &"9000".into()).unwrap();
    assert!(run("ip", &["-o", "link", "show", VETH]).contains("mtu 9000"));
    doors.undo(&mtu, &undo).unwrap();
    doors.undo(&mtu, &undo).unwrap();
    assert_eq!(doors.read(&mtu).unwrap(), Reading::Is("1500".into()));
    assert_eq!(doors.limit(&mtu), Some(65_535));
    let error = doors.write(&mtu, &"70000".into()).unwrap_err().to_string();
    assert!(error.contains("the kernel refused \"70000\": EINVAL"), "{error}");
}

#[test]
fn a_feature_is_switched_as_ethtool_says() {
    if !inside("a_feature_is_switched_as_ethtool_says") {
        return;
    }
    make_veth();
    for on in [false, true] {
        KernelEthtool
            .set_feature(VETH, "tx-tcp-segmentation", on)
            .unwrap();
        let feature = KernelEthtool.feature(VETH, "tx-tcp-segmentation").unwrap();
        assert_eq!((feature.active, feature.fixed), (on, false));
        let word = if on { "on" } else { "off" };
        let listed = run("ethtool", &["-k", VETH]);
        assert!(
            listed.contains(&format!("tx-tcp-segmentation: {word}\n")),
            "{listed}"
        );
    }
}

#[test]
fn what_a_veth_has_not_is_unsupported_and_says_why() {
    if !inside("what_a_veth_has_not_is_unsupported_and_says_why") {
        return;
    }
    make_veth();
    let doors = Doors::new(&Host::live());
    for (key, why) in [
        ("ring.rx", "EOPNOTSUPP"),
        ("ring.tx", "EOPNOTSUPP"),
        ("channels.combined", "the driver has no combined queues"),
        ("coalesce.adaptive-rx", "EOPNOTSUPP"),
        ("feature.lro", "the driver keeps it off [fixed]"),
    ] {
        let reading = doors.read(&knob_of("nic", VETH, key)).unwrap();
        assert_eq!(reading, Reading::Unsupported(why.to_owned()), "{key}");
    }
    let channels = KernelEthtool.channels(VETH).unwrap();
    assert_eq!((channels.rx_max, channels.tx_max), (Some(4), Some(4)));
    assert_eq!(channels.combined, None);
}

#[test]
fn a_renamed_interface_is_found_and_a_removed_one_is_gone() {
    if !inside("a_renamed_interface_is_found_and_a_removed_one_is_gone") {
        return;
    }
    make_veth();
    let host = Host::live();
    let doors = Doors::new(&host);
    let mtu = knob_of("nic", VETH, "mtu");
    let id = netdev::identity(&host, VETH).unwrap();
    ip(&["link", "set", VETH, "down"]);
    ip(&["link", "set", VETH, "name", "dtnt-other-name"]);
    assert_eq!(netdev::find(&host, &id).as_deref(), Some("dtnt-other-name"));
    doors.write(&mtu, &"4000".into()).unwrap();
    ip(&["link", "del", "dtnt-other-name"]);
    assert_eq!(doors.read(&mtu).unwrap(), Reading::Absent);
}
