//! Queue disciplines on the real kernel: ifb devices in a namespace, which have queues as a NIC has.
//!
//! This rung uses `pfifo`, which every kernel has; `fq`, and the part of `net.core.default_qdisc` in the way back
//! (absent in a namespace), belong to the VM rung.

mod links;
mod namespace;

use dtn_firstboot::door::{Door, Doors};
use dtn_firstboot::host::Host;
use dtnforge_profiles::plan::Reading;
use dtnforge_profiles::undo::Undo;
use links::{ip, knob_of, run};
use namespace::inside;

const IFB: &str = "dtnt-ifb-long";

fn make_ifb(queues: &str) {
    ip(&[
        "link",
        "add",
        IFB,
        "numtxqueues",
        queues,
        "numrxqueues",
        queues,
        "type",
        "ifb",
    ]);
    ip(&["link", "set", IFB, "up"]);
}

fn show() -> String {
    run("tc", &["-j", "qdisc", "show", "dev", IFB])
}

#[test]
fn every_queue_gets_its_leaf_below_mq_and_the_tree_comes_back() {
    if !inside("every_queue_gets_its_leaf_below_mq_and_the_tree_comes_back") {
        return;
    }
    make_ifb("12");
    let before = show();
    let doors = Doors::new(&Host::live());
    let leaf = knob_of("qdisc", IFB, "leaf");
    let Reading::Is(kind) = doors.read(&leaf).unwrap() else {
        panic!("no leaf in {before}");
    };
    let undo = doors.undo_for(&leaf).unwrap();
    assert_eq!(undo, Undo::DelQdisc { before: kind });
    doors.write(&leaf, &"pfifo".into()).unwrap();
    let during = show();
    assert_eq!(during.matches("\"pfifo\"").count(), 12, "{during}");
    assert!(
        during.contains(r#""kind":"mq","handle":"d7:","root":true"#),
        "{during}"
    );
    assert!(
        during.contains(r#""parent":"d7:c""#),
        "the twelfth queue: {during}"
    );
    assert_eq!(doors.read(&leaf).unwrap(), Reading::Is("pfifo".into()));
    doors.undo(&leaf, &undo).unwrap();
    assert_eq!(show(), before);
    doors.undo(&leaf, &undo).unwrap();
    assert_eq!(show(), before, "a second undo changed something");
}

#[test]
fn a_write_that_died_after_the_root_is_taken_back() {
    if !inside("a_write_that_died_after_the_root_is_taken_back") {
        return;
    }
    make_ifb("4");
    let before = show();
    let doors = Doors::new(&Host::live());
    let leaf = knob_of("qdisc", IFB, "leaf");
    let undo = doors.undo_for(&leaf).unwrap();
    run(
        "tc",
        &["qdisc", "replace", "dev", IFB, "root", "handle", "d7:", "mq"],
    );
    run("tc", &["qdisc", "replace", "dev", IFB, "parent", "d7:2", "pfifo"]);
    let error = doors.undo_for(&leaf).unwrap_err().to_string();
    assert!(
        error.contains("an earlier trial left its root qdisc d7:"),
        "{error}"
    );
    doors.undo(&leaf, &undo).unwrap();
    assert_eq!(show(), before);
}

#[test]
fn a_device_with_one_queue_gets_its_root_back() {
    if !inside("a_device_with_one_queue_gets_its_root_back") {
        return;
    }
    make_ifb("1");
    let before = show();
    let doors = Doors::new(&Host::live());
    let leaf = knob_of("qdisc", IFB, "leaf");
    let undo = doors.undo_for(&leaf).unwrap();
    doors.write(&leaf, &"pfifo".into()).unwrap();
    doors.write(&leaf, &"bfifo".into()).unwrap();
    assert_eq!(doors.read(&leaf).unwrap(), Reading::Is("bfifo".into()));
    doors.undo(&leaf, &undo).unwrap();
    assert_eq!(show(), before);
}

#[test]
fn a_root_that_an_admin_set_is_left_alone() {
    if !inside("a_root_that_an_admin_set_is_left_alone") {
        return;
    }
    make_ifb("4");
    run(
        "tc",
        &["qdisc", "replace", "dev", IFB, "root", "handle", "1:", "htb"],
    );
    let before = show();
    let doors = Doors::new(&Host::live());
    let leaf = knob_of("qdisc", IFB, "leaf");
    let reading = doors.read(&leaf).unwrap();
    assert_eq!(
        reading,
        Reading::Unsupported("the root qdisc htb 1: was set by someone and is left alone".to_owned())
    );
    assert!(doors.write(&leaf, &"pfifo".into()).is_err());
    assert!(
        doors
            .undo(
                &leaf,
                &Undo::DelQdisc {
                    before: "pfifo_fast".into()
                }
            )
            .is_err()
    );
    assert_eq!(show(), before);
}

#[test]
fn a_device_without_a_queue_is_unsupported() {
    if !inside("a_device_without_a_queue_is_unsupported") {
        return;
    }
    ip(&[
        "link",
        "add",
        IFB,
        "type",
        "veth",
        "peer",
        "name",
        "dtnt-peer-long",
    ]);
    ip(&["link", "set", IFB, "up"]);
    let reading = Doors::new(&Host::live())
        .read(&knob_of("qdisc", IFB, "leaf"))
        .unwrap();
    assert_eq!(
        reading,
        Reading::Unsupported("the device sends without a queue".to_owned())
    );
}

#[test]
fn without_fq_there_is_no_rate_to_set_and_none_to_take_back() {
    if !inside("without_fq_there_is_no_rate_to_set_and_none_to_take_back") {
        return;
    }
    make_ifb("4");
    let doors = Doors::new(&Host::live());
    doors
        .write(&knob_of("qdisc", IFB, "leaf"), &"pfifo".into())
        .unwrap();
    let before = show();
    let rate = knob_of("qdisc", IFB, "maxrate");
    assert_eq!(doors.read(&rate).unwrap(), Reading::Is("0".into()));
    let undo = doors.undo_for(&rate).unwrap();
    assert_eq!(undo, Undo::Write("0".into()));
    let error = doors.write(&rate, &"2000".into()).unwrap_err().to_string();
    assert!(
        error.contains("only fq holds a flow to a rate, and here is pfifo"),
        "{error}"
    );
    let error = doors.write(&rate, &"2gbit".into()).unwrap_err().to_string();
    assert!(error.contains("expected a rate in Mb/s"), "{error}");
    doors.undo(&rate, &undo).unwrap();
    assert_eq!(show(), before);
}

#[test]
fn an_unknown_qdisc_is_an_error_in_the_words_of_tc() {
    if !inside("an_unknown_qdisc_is_an_error_in_the_words_of_tc") {
        return;
    }
    make_ifb("1");
    let before = show();
    let doors = Doors::new(&Host::live());
    let leaf = knob_of("qdisc", IFB, "leaf");
    let error = doors.write(&leaf, &"nosuch".into()).unwrap_err().to_string();
    assert!(
        error.contains("tc qdisc replace dev dtnt-ifb-long root handle d7: nosuch"),
        "{error}"
    );
    assert_eq!(show(), before);
}
