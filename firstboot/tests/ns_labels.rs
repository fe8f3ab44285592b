//! Labels on the real kernel: sysctls, an MTU and a qdisc of a namespace are saved, changed and put back; and the
//! agent's own binary is killed at every line of a restore's journal and after every write.
//!
//! The namespace has empty directories of its own for `/run`, `/etc` and `/var/lib`, so that the binary works on the
//! live kernel and leaves nothing on the machine.

#![expect(clippy::unwrap_used, reason = "a test that cannot make its place fails")]

mod links;
mod namespace;

use dtn_firstboot::door::{Door, Doors};
use dtn_firstboot::host::Host;
use dtn_firstboot::labels::restore;
use dtn_firstboot::labels::{Devices, Outcome, capture};
use dtn_firstboot::netdev;
use dtn_firstboot::trial::OnFailure;
use dtnforge_profiles::facts::Facts;
use dtnforge_profiles::plan::Reading;
use dtnforge_profiles::state::State;
use dtnforge_profiles::undo::Undo;
use links::{ip, knob_of, run};
use namespace::inside;
use nix::mount::{MsFlags, mount};
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};

const VETH: &str = "dtnt-veth-long";
const IFB: &str = "dtnt-ifb-long";

/// Sysctls that a namespace has of its own, with values other than the kernel's.
const TUNED: &[(&str, &str)] = &[
    ("tcp_rmem", "4096\t87380\t67108864"),
    ("tcp_wmem", "4096\t65536\t67108864"),
    ("tcp_congestion_control", "reno"),
    ("tcp_mtu_probing", "1"),
    ("tcp_slow_start_after_idle", "0"),
    ("tcp_no_metrics_save", "1"),
    ("tcp_notsent_lowat", "131072"),
];

/// Hides the machine's own directories from this test.
fn own_directories() {
    // `ip netns exec` gives its program a mount namespace of its own; our parent is the first run of the test.
    let namespace = |pid: u32| std::fs::read_link(format!("/proc/{pid}/ns/mnt")).unwrap();
    let (own, parent) = (std::process::id(), std::os::unix::process::parent_id());
    assert_ne!(
        namespace(own),
        namespace(parent),
        "this mount namespace is the machine's"
    );
    for path in ["/run", "/etc", "/var/lib"] {
        mount(Some("tmpfs"), path, Some("tmpfs"), MsFlags::empty(), None::<&str>).unwrap();
    }
}

fn sysctls() -> Vec<String> {
    let read =
        |(key, _): &(&str, &str)| std::fs::read_to_string(format!("/proc/sys/net/ipv4/{key}")).unwrap();
    TUNED
        .iter()
        .map(read)
        .map(|text| text.trim().to_owned())
        .collect()
}

fn tune() {
    for (key, value) in TUNED {
        std::fs::write(format!("/proc/sys/net/ipv4/{key}"), value).unwrap();
    }
}

fn agent(args: &[&str], failpoint: Option<&str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dtn-firstboot"));
    command.args(args).env_remove("INVOCATION_ID");
    if let Some(failpoint) = failpoint {
        command.env("DTN_FAILPOINT", failpoint);
    }
    command.output().unwrap()
}

#[test]
fn a_restore_that_is_killed_anywhere_is_taken_back_by_the_next_start() {
    if !inside("a_restore_that_is_killed_anywhere_is_taken_back_by_the_next_start") {
        return;
    }
    own_directories();
    let stock = sysctls();
    let saved = agent(&["save", "stock"], None);
    assert!(saved.status.success(), "{saved:?}");
    tune();
    let tuned = sysctls();
    assert_ne!(tuned, stock);
    let mut points = 0;
    for point in ["journal", "write"] {
        for number in 1.. {
            let died = agent(&["restore", "stock"], Some(&format!("{point}:{number}")));
            if died.status.signal().is_none() {
                assert_eq!(sysctls(), stock, "{died:?}");
                tune();
                break;
            }
            assert_eq!(died.status.signal(), Some(9), "{died:?}");
            points += 1;
            let recovered = agent(&["recover"], None);
            assert!(recovered.status.success(), "{point}:{number}: {recovered:?}");
            assert_eq!(sysctls(), tuned, "{point}:{number}: {recovered:?}");
            assert!(
                !Path::new("/run/dtnforge/restore.journal").exists(),
                "{point}:{number}"
            );
        }
    }
    println!("{points} points tried: each ended with the values before the restore");
    assert!(
        points >= 3 * TUNED.len(),
        "only {points} points: two lines and a write for each value"
    );
}

#[test]
fn the_next_restore_ends_one_that_was_killed() {
    if !inside("the_next_restore_ends_one_that_was_killed") {
        return;
    }
    own_directories();
    let stock = sysctls();
    assert!(agent(&["save", "stock"], None).status.success());
    tune();
    assert_eq!(
        agent(&["restore", "stock"], Some("write:3")).status.signal(),
        Some(9)
    );
    let again = agent(&["restore", "stock"], None);
    let (out, err) = (
        String::from_utf8_lossy(&again.stdout),
        String::from_utf8_lossy(&again.stderr),
    );
    assert!(
        err.contains("an earlier restore that died was taken back, 3 knobs read back"),
        "{err}"
    );
    assert!(
        out.contains(&format!("stock: {} put back and read", TUNED.len())),
        "{out}"
    );
    assert_eq!(sysctls(), stock);
}

/// What is live under a label, for these links only.
fn saved(doors: &Doors, names: &[&str]) -> dtnforge_profiles::label::Snapshot {
    let host = Host::live();
    let nics = names.iter().map(|name| netdev::identity(&host, name).unwrap());
    let devices = Devices {
        nics: nics.collect(),
        disks: Vec::new(),
    };
    let state = State::Stock { why: "test".into() };
    capture(
        &host,
        doors,
        &Facts::default(),
        &devices,
        "test".parse().unwrap(),
        &state,
    )
}

fn put_back(doors: &Doors, snapshot: &dtnforge_profiles::label::Snapshot) -> Outcome {
    let host = Host::live();
    let plan = restore::plan(&host, doors, snapshot);
    restore::restore(&host, doors, snapshot, plan, OnFailure::GoOn).unwrap()
}

#[test]
fn the_mtu_of_a_link_comes_back_and_one_that_is_gone_is_listed() {
    if !inside("the_mtu_of_a_link_comes_back_and_one_that_is_gone_is_listed") {
        return;
    }
    own_directories();
    ip(&[
        "link",
        "add",
        VETH,
        "type",
        "veth",
        "peer",
        "name",
        "dtnt-peer-long",
    ]);
    let doors = Doors::new(&Host::live());
    let snapshot = saved(&doors, &[VETH]);
    ip(&["link", "set", VETH, "mtu", "9000"]);
    let outcome = put_back(&doors, &snapshot);
    assert!(outcome.failed.is_empty(), "{outcome:?}");
    assert_eq!(outcome.restored[0].device.as_deref(), Some(VETH));
    assert!(run("ip", &["-o", "link", "show", VETH]).contains("mtu 1500"));
    ip(&["link", "del", VETH]);
    let plan = restore::plan(&Host::live(), &doors, &snapshot);
    let gone = plan
        .left
        .iter()
        .find(|left| left.knob.to_string().ends_with(":mtu"))
        .unwrap();
    assert_eq!(
        (gone.device.as_deref(), gone.why.as_str()),
        (Some(VETH), "the device is gone")
    );
}

#[test]
fn the_kernels_own_qdisc_comes_back_as_the_kernels_and_ours_as_ours() {
    if !inside("the_kernels_own_qdisc_comes_back_as_the_kernels_and_ours_as_ours") {
        return;
    }
    own_directories();
    ip(&[
        "link",
        "add",
        IFB,
        "numtxqueues",
        "4",
        "numrxqueues",
        "4",
        "type",
        "ifb",
    ]);
    ip(&["link", "set", IFB, "up"]);
    let show = || run("tc", &["-j", "qdisc", "show", "dev", IFB]);
    let doors = Doors::new(&Host::live());
    let leaf = knob_of("qdisc", IFB, "leaf");
    let (stock, before) = (saved(&doors, &[IFB]), show());
    doors.write(&leaf, &"pfifo".into()).unwrap();
    let (tuned, ours) = (saved(&doors, &[IFB]), show());
    assert_eq!(
        tuned.knobs[&leaf].back,
        Undo::Write("pfifo".into()),
        "a root of ours can be written again"
    );
    assert!(put_back(&doors, &stock).failed.is_empty());
    assert_eq!(show(), before);
    assert!(put_back(&doors, &tuned).failed.is_empty());
    assert_eq!(show().matches("\"pfifo\"").count(), 4, "{}", show());
    assert_eq!(
        show().contains(r#""handle":"d7:""#),
        ours.contains(r#""handle":"d7:""#)
    );
    assert_eq!(doors.read(&leaf).unwrap(), Reading::Is("pfifo".into()));
    assert!(put_back(&doors, &stock).failed.is_empty());
    assert_eq!(show(), before, "nothing of ours is left");
}

#[test]
fn a_restore_by_hand_is_an_event_in_the_journal_too() {
    if !inside("a_restore_by_hand_is_an_event_in_the_journal_too") {
        return;
    }
    own_directories();
    // What journald would be sent.
    std::fs::create_dir_all("/run/systemd/journal").unwrap();
    let journal = UnixDatagram::bind("/run/systemd/journal/socket").unwrap();
    journal.set_nonblocking(true).unwrap();
    assert!(agent(&["save", "stock"], None).status.success());
    tune();
    let restored = agent(&["restore", "stock"], None);
    assert!(restored.status.success(), "{restored:?}");
    let mut buffer = vec![0; 65_536];
    let mut received = Vec::new();
    while let Ok(length) = journal.recv(&mut buffer) {
        // A new client sends nothing at all once, to see whether somebody listens.
        if length > 0 {
            received.push(String::from_utf8_lossy(&buffer[..length]).into_owned());
        }
    }
    assert_eq!(received.len(), 1, "{received:#?}");
    let event = received.remove(0);
    let id = dtn_firstboot::events::LABEL_RESTORED.0;
    assert!(
        event.contains(id) && event.contains("an admin put back the label stock"),
        "{event}"
    );
    let terminal = String::from_utf8_lossy(&restored.stderr).into_owned();
    assert!(
        terminal.contains("an admin put back the label stock"),
        "{terminal}"
    );
}
