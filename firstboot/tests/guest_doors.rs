//! The doors in a throw-away guest: what needs real queues, a real tuned and the host's own sysctls.
//!
//! Run by hand, until a guest can be given a program of this size: copy this test's program into a guest of our image
//! (a virtio NIC with several queues and rings of 1024 on a tap, a vmxnet3 NIC, an NVMe disk) and start it there as
//! root with `DTNFORGE_GUEST=1` and `--test-threads=1`. Everywhere else these tests say that they are skipped: they
//! change the whole machine.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "what cannot be read or started here fails the test"
)]

mod plans;

use dtn_firstboot::door::{Door, Doors};
use dtn_firstboot::host::Host;
use dtn_firstboot::netdev;
use dtn_firstboot::trial::Transaction;
use dtnforge_profiles::knob::{KnobId, definition_of};
use dtnforge_profiles::plan::{Plan, Reading};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

fn in_guest(test: &str) -> bool {
    let in_guest = std::env::var("DTNFORGE_GUEST").as_deref() == Ok("1");
    if !in_guest {
        eprintln!("skipped: {test}: runs only inside a guest of the VM rung");
    }
    in_guest
}

/// Runs a command, which must succeed, and returns what it printed.
fn run(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {args:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// The first interface with this driver.
fn nic(driver: &str) -> String {
    let has_driver = |name: &String| {
        let link = format!("/sys/class/net/{name}/device/driver");
        std::fs::read_link(link).is_ok_and(|target| target.ends_with(driver))
    };
    let mut names = netdev::names(&Host::live());
    names.retain(has_driver);
    names
        .into_iter()
        .next()
        .unwrap_or_else(|| panic!("no NIC with driver {driver}"))
}

fn knob_of(kind: &str, ifname: &str, key: &str) -> KnobId {
    let id = netdev::identity(&Host::live(), ifname).unwrap();
    format!("{kind}/{id}:{key}").parse().unwrap()
}

/// Begins a trial with a journal of its own, so that a test that fails does not stop the others.
fn begin<'a>(host: &'a Host, doors: &'a Doors) -> Transaction<'a> {
    let name = std::thread::current().name().unwrap_or("test").to_owned();
    Transaction::begin(host, doors, &host.path(&format!("/run/dtnforge/{name}.journal"))).unwrap()
}

/// A plan of these knobs and values, from what the guest has now.
fn plan(doors: &Doors, wanted: &[(KnobId, &str)]) -> Plan {
    let step = |(knob, to): &(KnobId, &str)| {
        let from = match doors.read(knob).unwrap() {
            Reading::Is(from) => from,
            other => panic!("{knob}: {other:?}"),
        };
        plans::step(knob.clone(), from, to, definition_of(knob).unwrap().group)
    };
    Plan {
        modules: vec!["sch_fq".into(), "tcp_bbr".into()],
        ..plans::of(wanted.iter().map(step).collect())
    }
}

/// Every sysctl that stays as it is when nothing happens: without counters, and without the lists that only grow (the
/// names of loaded congestion controls, the key that the first NIC draws).
fn sysctls() -> BTreeMap<String, String> {
    let text = run("sysctl", &["-a"]);
    let moving = [
        "net.netfilter",
        "nf_conntrack",
        "netdev_rss_key",
        "tcp_allowed_congestion_control",
        "tcp_available_congestion_control",
        "vm.stat",
        "kernel.random",
        "kernel.ns_last_pid",
        "fs.",
        "dev.",
    ];
    text.lines()
        .filter_map(|line| line.split_once(" = "))
        .filter(|(key, _)| !moving.iter().any(|part| key.contains(part)))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

#[test]
fn rings_queues_and_fq_of_a_virtio_nic_come_and_go() {
    if !in_guest("rings_queues_and_fq_of_a_virtio_nic_come_and_go") {
        return;
    }
    let (host, ifname) = (Host::live(), nic("virtio_net"));
    run("ip", &["link", "set", &ifname, "up"]);
    let doors = Doors::new(&host);
    let state = || {
        [
            run("tc", &["-j", "qdisc", "show", "dev", &ifname]),
            run("ethtool", &["-g", &ifname]),
            run("ethtool", &["-l", &ifname]),
            run("sysctl", &["net.core.default_qdisc"]),
        ]
    };
    let before = state();
    let knob = |key| knob_of("nic", &ifname, key);
    println!(
        "{ifname}: limits rx {:?} tx {:?} combined {:?}; before: {before:?}",
        doors.limit(&knob("ring.rx")),
        doors.limit(&knob("ring.tx")),
        doors.limit(&knob("channels.combined"))
    );
    let plan = plan(
        &doors,
        &[
            ("sysctl:net.core.default_qdisc".parse().unwrap(), "fq"),
            (knob("channels.combined"), "1"),
            (knob("ring.rx"), "512"),
            (knob("ring.tx"), "128"),
            (knob_of("qdisc", &ifname, "leaf"), "fq"),
        ],
    );
    let mut trial = begin(&host, &doors);
    let report = trial.apply(&plan);
    assert!(report.stopped.is_none(), "{report:?}");
    assert_eq!(trial.verify(&plan), []);
    println!("during: {:?}", state());
    assert!(run("ethtool", &["-g", &ifname]).matches("512").count() == 1);
    let report = trial.rollback();
    assert!(report.verified(), "{:?}", report.problems());
    assert_eq!(state(), before);
    trial.finish().unwrap();
}

#[test]
fn fq_under_every_queue_and_the_old_leaves_again() {
    if !in_guest("fq_under_every_queue_and_the_old_leaves_again") {
        return;
    }
    let (host, ifname) = (Host::live(), nic("virtio_net"));
    run("ip", &["link", "set", &ifname, "up"]);
    let doors = Doors::new(&host);
    let show = || run("tc", &["-j", "qdisc", "show", "dev", &ifname]);
    let before = show();
    let leaf = knob_of("qdisc", &ifname, "leaf");
    let default: KnobId = "sysctl:net.core.default_qdisc".parse().unwrap();
    let plan = plan(&doors, &[(default.clone(), "fq"), (leaf.clone(), "fq")]);
    let mut trial = begin(&host, &doors);
    assert!(trial.apply(&plan).stopped.is_none());
    let during = show();
    println!("before {before}\nduring {during}");
    assert_eq!(
        during.matches(r#""kind":"fq""#).count(),
        before.matches("parent").count()
    );
    // The leaf alone, while default_qdisc is still ours: the kernel would make the new root of fq.
    let undo = dtnforge_profiles::undo::Undo::DelQdisc {
        before: plan.steps[1].from.clone(),
    };
    doors.undo(&leaf, &undo).unwrap();
    assert_eq!(show(), before);
    assert_eq!(doors.read(&default).unwrap(), Reading::Is("fq".into()));
    assert!(trial.rollback().verified());
    assert_eq!(show(), before);
    trial.finish().unwrap();
}

#[test]
fn a_flow_is_held_to_a_rate_under_every_queue_and_the_old_leaves_again() {
    if !in_guest("a_flow_is_held_to_a_rate_under_every_queue_and_the_old_leaves_again") {
        return;
    }
    let (host, ifname) = (Host::live(), nic("virtio_net"));
    run("ip", &["link", "set", &ifname, "up"]);
    let doors = Doors::new(&host);
    let show = || run("tc", &["-j", "qdisc", "show", "dev", &ifname]);
    let before = show();
    let (leaf, rate) = (
        knob_of("qdisc", &ifname, "leaf"),
        knob_of("qdisc", &ifname, "maxrate"),
    );
    let default: KnobId = "sysctl:net.core.default_qdisc".parse().unwrap();
    let plan = plan(&doors, &[(default, "fq"), (leaf, "fq"), (rate.clone(), "2000")]);
    let mut trial = begin(&host, &doors);
    let report = trial.apply(&plan);
    assert!(report.stopped.is_none(), "{report:?}");
    assert_eq!(trial.verify(&plan), []);
    let during = show();
    println!("during {during}");
    // 2000 Mb/s in byte/s, once for each queue.
    assert_eq!(
        during.matches(r#""maxrate":250000000"#).count(),
        before.matches("parent").count()
    );
    // The rate alone: leaves without one, made by the kernel.
    doors
        .undo(&rate, &dtnforge_profiles::undo::Undo::Write("0".into()))
        .unwrap();
    assert_eq!(doors.read(&rate).unwrap(), Reading::Is("0".into()));
    assert!(!show().contains("maxrate"), "{}", show());
    assert!(trial.rollback().verified());
    assert_eq!(show(), before);
    trial.finish().unwrap();
}

#[test]
fn lro_and_rings_of_a_vmxnet3_come_and_go() {
    if !in_guest("lro_and_rings_of_a_vmxnet3_come_and_go") {
        return;
    }
    let (host, ifname) = (Host::live(), nic("vmxnet3"));
    run("ip", &["link", "set", &ifname, "up"]);
    let doors = Doors::new(&host);
    let state = || [run("ethtool", &["-k", &ifname]), run("ethtool", &["-g", &ifname])];
    let before = state();
    let knob = |key| knob_of("nic", &ifname, key);
    let other = match doors.read(&knob("feature.lro")).unwrap() {
        Reading::Is(now) if now.as_str() == "on" => "off",
        _ => "on",
    };
    let plan = plan(
        &doors,
        &[
            (knob("mtu"), "9000"),
            (knob("feature.lro"), other),
            (knob("ring.rx"), "1000"),
        ],
    );
    let mut trial = begin(&host, &doors);
    let report = trial.apply(&plan);
    assert!(report.stopped.is_none(), "{report:?}");
    assert_eq!(trial.verify(&plan), []);
    // With an MTU of 9000 the driver rounds rings otherwise than with 1500, on the way back as well.
    println!("{:?}", report.applied);
    let report = trial.rollback();
    assert!(report.verified(), "{:?}", report.problems());
    assert_eq!(state(), before);
    trial.finish().unwrap();
}

#[test]
fn tuned_comes_and_goes_and_leaves_every_sysctl_as_before() {
    if !in_guest("tuned_comes_and_goes_and_leaves_every_sysctl_as_before") {
        return;
    }
    let host = Host::live();
    let doors = Doors::new(&host);
    let before = sysctls();
    let knob = |name: &str| name.parse::<KnobId>().unwrap();
    let plan = plan(
        &doors,
        &[
            (knob("tuned:profile"), "dtnforge-test"),
            (knob("sysctl:net.ipv4.tcp_rmem"), "4096 131072 67108864"),
            (knob("sysctl:net.ipv4.tcp_congestion_control"), "bbr"),
            (knob("sysctl:vm.dirty_bytes"), "1073741824"),
            (knob("sysctl:vm.dirty_background_bytes"), "268435456"),
            (knob("sysctl:vm.swappiness"), "10"),
        ],
    );
    let conf = "[main]\nsummary=test\ninclude=throughput-performance\n\n\
                [sysctl]\nvm.dirty_bytes=1073741824\nvm.dirty_background_bytes=268435456\n\
                net.ipv4.tcp_rmem=4096 131072 67108864\n";
    let files = [
        (
            "dtnforge/tuned/profiles/dtnforge-test/tuned.conf".to_owned(),
            conf.to_owned(),
        ),
        (
            "dtnforge/tuned/active_profile".to_owned(),
            "dtnforge-test\n".to_owned(),
        ),
        ("dtnforge/tuned/profile_mode".to_owned(), "manual\n".to_owned()),
        (
            "sysctl.d/90-dtnforge-vm.conf".to_owned(),
            "vm.swappiness = 10\n".to_owned(),
        ),
    ];
    let mut trial = begin(&host, &doors);
    trial.place(&plan, &files).unwrap();
    let started = std::time::Instant::now();
    let report = trial.apply(&plan);
    println!("apply took {:?}: {report:?}", started.elapsed());
    assert!(report.stopped.is_none());
    assert_eq!(trial.verify(&plan), []);
    assert!(run("tuned-adm", &["active"]).contains("dtnforge-test"));
    let started = std::time::Instant::now();
    let report = trial.rollback();
    println!("rollback took {:?}", started.elapsed());
    assert!(report.verified(), "{:?}", report.problems());
    let after = sysctls();
    let changed: Vec<_> = before
        .iter()
        .filter(|(key, value)| after.get(*key) != Some(value))
        .map(|(key, value)| format!("{key}: {value} -> {:?}", after.get(key)))
        .collect();
    assert!(changed.is_empty(), "{changed:?}");
    for left in [
        "dtnforge/tuned/active_profile",
        "dtnforge/tuned/profiles",
        "sysctl.d/90-dtnforge-vm.conf",
    ] {
        assert!(!Path::new("/run").join(left).exists(), "{left} is left");
    }
    assert!(
        Path::new("/etc/tuned/active_profile").is_symlink(),
        "the link was replaced"
    );
    trial.finish().unwrap();
}

#[test]
fn read_ahead_of_an_nvme_disk_comes_and_goes() {
    if !in_guest("read_ahead_of_an_nvme_disk_comes_and_goes") {
        return;
    }
    let real = std::fs::canonicalize("/sys/block/nvme0n1").unwrap();
    let slot = real
        .iter()
        .filter_map(|part| part.to_str())
        .rfind(|part| part.len() == 12 && part.as_bytes()[4] == b':');
    let knob: KnobId = format!("block/{}+nvme0n1:read_ahead_kb", slot.unwrap())
        .parse()
        .unwrap();
    let doors = Doors::new(&Host::live());
    let undo = doors.undo_for(&knob).unwrap();
    doors.write(&knob, &"4096".into()).unwrap();
    assert_eq!(
        run("cat", &["/sys/block/nvme0n1/queue/read_ahead_kb"]).trim(),
        "4096"
    );
    doors.undo(&knob, &undo).unwrap();
    assert_eq!(doors.read(&knob).unwrap(), Reading::Is(undo.before().unwrap()));
    let scheduler: KnobId = knob
        .to_string()
        .replace("read_ahead_kb", "scheduler")
        .parse()
        .unwrap();
    assert_eq!(doors.read(&scheduler).unwrap(), Reading::Is("none".into()));
}
