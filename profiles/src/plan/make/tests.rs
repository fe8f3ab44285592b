//! Plans for small hosts.

use super::*;
use crate::catalog::Catalog;
use crate::conclude::conclude;
use crate::site::SiteFile;
use proptest::prelude::*;
use std::sync::LazyLock;

static CATALOG: LazyLock<Catalog> = LazyLock::new(|| Catalog::embedded().unwrap());

const SERVER: &str = "[host]\ncpu_hypervisor_flag = false\ndmi_vendor = 'Supermicro'\nmemory_gib = 256.0\n\
    [[nic]]\nname = 'eth0'\nkind = 'physical'\ncarrier = true\nspeed_mbps = 100000\n\
    pci_slot = '0000:01:00.0'\nmac = '52:54:00:AA:BB:01'\n\
    [[block]]\nname = 'nvme0n1'\ntransport = 'nvme'\nsize_bytes = 4000000000000\n";
const NIC: &str = "0000:01:00.0+52:54:00:aa:bb:01";

fn site(toml: &str) -> Site {
    toml::from_str::<SiteFile>(toml).unwrap().check().unwrap()
}

/// A host as a kernel without any tuning shows it.
fn stock() -> Target {
    let readings = [
        ("sysctl:net.core.rmem_max", "212992"),
        ("sysctl:net.core.wmem_max", "212992"),
        ("sysctl:net.ipv4.tcp_rmem", "4096\t131072\t6291456"),
        ("sysctl:net.ipv4.tcp_wmem", "4096\t16384\t4194304"),
        ("sysctl:net.core.optmem_max", "131072"),
        ("sysctl:net.ipv4.tcp_congestion_control", "cubic"),
        ("sysctl:net.ipv4.tcp_mtu_probing", "0"),
        ("sysctl:net.ipv4.tcp_slow_start_after_idle", "1"),
        ("sysctl:net.core.default_qdisc", "fq_codel"),
        ("qdisc/NIC:leaf", "fq_codel"),
        ("qdisc/NIC:maxrate", "0"),
        ("nic/NIC:ring.rx", "1024"),
        ("nic/NIC:ring.tx", "256"),
        ("nic/NIC:coalesce.adaptive-rx", "on"),
        ("nic/NIC:coalesce.adaptive-tx", "off"),
        ("nic/NIC:mtu", "1500"),
        ("nic/NIC:pause.rx", "off"),
        ("nic/NIC:pause.tx", "off"),
        ("sysctl:vm.dirty_bytes", "0"),
        ("sysctl:vm.dirty_background_bytes", "0"),
        ("sysctl:vm.swappiness", "60"),
        ("tuned:profile", ""),
        ("cpu:governor", "schedutil"),
        ("block/nvme0n1:scheduler", "none"),
        ("block/nvme0n1:read_ahead_kb", "128"),
    ];
    let readings = readings.map(|(knob, value)| {
        let value = Reading::Is(Value::new(value));
        (knob.replace("NIC", NIC).parse().unwrap(), value)
    });
    Target {
        kernel: "6.12.48+deb13-amd64".to_owned(),
        modules: Some(["tcp_bbr", "sch_fq"].map(str::to_owned).into()),
        memory_bytes: Some(256 << 30),
        readings: readings.into(),
        limits: BTreeMap::new(),
        offline: false,
    }
}

fn planned(profile: &str, facts: &str, site: &Site, target: &Target) -> Plan {
    let (catalog, facts) = (Catalog::embedded().unwrap(), toml::from_str(facts).unwrap());
    let seen = conclude(&facts, site);
    make(
        catalog.get(profile).unwrap(),
        &Digest::of(b"layer"),
        &facts,
        &seen,
        site,
        target,
    )
}

fn planned_at(target: &Target) -> Plan {
    planned("dtn-100g-nvme", SERVER, &site("role = 'dtn'"), target)
}

fn step_of<'a>(plan: &'a Plan, knob: &str) -> Option<&'a Step> {
    let knob: KnobId = knob.replace("NIC", NIC).parse().unwrap();
    plan.steps.iter().find(|step| step.knob == knob)
}

fn skip_of(plan: &Plan, knob: &str) -> String {
    let knob = knob.replace("NIC", NIC);
    let skipped = plan.skipped.iter().find(|skipped| skipped.knob == knob);
    skipped.map(|skipped| skipped.why.clone()).unwrap_or_default()
}

#[test]
fn a_stock_server_gets_every_value_and_every_skip_has_a_reason() {
    let plan = planned_at(&stock());
    let steps: Vec<String> = plan
        .steps
        .iter()
        .map(|step| format!("{} = {}", step.knob, step.to))
        .collect();
    assert_eq!(
        steps
            .iter()
            .map(|step| step.replace(NIC, "NIC"))
            .collect::<Vec<_>>(),
        [
            "nic/NIC:ring.rx = 2048",
            "nic/NIC:ring.tx = 2048",
            "sysctl:net.core.optmem_max = 1048576",
            "sysctl:net.core.rmem_max = 402653184",
            "sysctl:net.core.wmem_max = 402653184",
            "sysctl:net.ipv4.tcp_rmem = 4096 131072 402653184",
            "sysctl:net.ipv4.tcp_wmem = 4096 16384 402653184",
            "sysctl:net.ipv4.tcp_mtu_probing = 1",
            "sysctl:net.ipv4.tcp_slow_start_after_idle = 0",
            "sysctl:net.core.default_qdisc = fq",
            "qdisc/NIC:leaf = fq",
            "nic/NIC:coalesce.adaptive-tx = on",
            "sysctl:vm.dirty_background_bytes = 1073741824",
            "sysctl:vm.dirty_bytes = 4294967296",
            "sysctl:vm.swappiness = 10",
            "tuned:profile = dtnforge-dtn-100g-nvme",
            "cpu:governor = performance",
            "block/nvme0n1:read_ahead_kb = 4096",
        ]
    );
    let skipped: Vec<String> = plan
        .skipped
        .iter()
        .map(|skipped| format!("{}: {}", skipped.knob, skipped.why))
        .collect();
    assert_eq!(
        skipped
            .iter()
            .map(|skipped| skipped.replace(NIC, "NIC"))
            .collect::<Vec<_>>(),
        [
            "sysctl:net.ipv4.tcp_congestion_control: already cubic",
            "qdisc/NIC:maxrate: left as it is: the site decides it (key `pacing_mbps`)",
            "nic/NIC:coalesce.adaptive-rx: already on",
            "nic/NIC:mtu: left as it is: the site decides it (key `mtu`)",
            "nic/NIC:pause.rx: left as it is: the site decides it (key `pause`)",
            "nic/NIC:pause.tx: left as it is: the site decides it (key `pause`)",
            "boot:iommu: only the kernel command line can set it, and a trial does not change that",
            "block/nvme0n1:scheduler: already none",
        ]
    );
    assert_eq!(plan.modules, ["sch_fq"]);
    assert_eq!(plan.interfaces, [(NIC.to_owned(), "eth0".to_owned())].into());
    assert_eq!(plan.disrupts(), Disrupts::Link);
}

#[test]
fn the_agent_reads_just_the_knobs_of_the_profile() {
    let (catalog, facts, site) = (
        Catalog::embedded().unwrap(),
        toml::from_str(SERVER).unwrap(),
        site(""),
    );
    let knobs = knobs_of(
        catalog.get("dtn-100g-nvme").unwrap(),
        &facts,
        &conclude(&facts, &site),
        &site,
    );
    let unread: Vec<_> = knobs
        .iter()
        .filter(|knob| !stock().readings.contains_key(knob))
        .collect();
    assert_eq!(
        unread,
        ["boot:iommu".parse::<KnobId>().unwrap()]
            .iter()
            .collect::<Vec<_>>()
    );
    assert_eq!(knobs.len(), stock().readings.len() + 1);
}

#[test]
fn the_site_changes_the_inputs_of_the_formula() {
    let plan = planned(
        "dtn-100g-nvme",
        SERVER,
        &site("rtt_ms = 50\nstreams = 4\ncongestion_control = 'bbr'"),
        &stock(),
    );
    let rmem = step_of(&plan, "sysctl:net.ipv4.tcp_rmem").unwrap();
    assert_eq!(rmem.to, "4096 131072 402653184".into());
    assert!(
        rmem.why
            .ends_with("(2 x 100000 Mb/s x 50 ms / 8 / 4 streams = 298 MiB, rounded up to 384 MiB)"),
        "{}",
        rmem.why
    );
    let control = step_of(&plan, "sysctl:net.ipv4.tcp_congestion_control").unwrap();
    assert_eq!(
        (control.to.as_str(), control.why.as_str()),
        ("bbr", "the site chose it; the profile has cubic")
    );
    assert_eq!(plan.modules, ["sch_fq", "tcp_bbr"]);
}

#[test]
fn what_the_site_decides_for_its_network_is_set_and_says_so() {
    let decided = site("mtu = 9000\npause = 'on'");
    let plan = planned("dtn-100g-nvme", SERVER, &decided, &stock());
    for (knob, value, key) in [
        ("mtu", "9000", "mtu"),
        ("pause.rx", "on", "pause"),
        ("pause.tx", "on", "pause"),
    ] {
        let step = step_of(&plan, &format!("nic/NIC:{knob}")).unwrap();
        assert_eq!(step.to.as_str(), value);
        assert_eq!(
            step.origin.to_string(),
            format!("inherited from base-metal, set by the site (key `{key}`)")
        );
    }
    let leg = SERVER.replace("pci_slot", "master = 'bond0'\npci_slot");
    let leg = format!("{leg}[[nic]]\nname = 'bond0'\nkind = 'bond'\nmembers = ['eth0']\n");
    let plan = planned("dtn-100g-nvme", &leg, &decided, &stock());
    assert_eq!(
        skip_of(&plan, "nic/NIC:mtu"),
        "a leg of bond0, and the MTU is set on that, by what manages it"
    );
    // A guest's port is the hypervisor's matter: its profile has no such line.
    let plan = planned("dtn-vm", SERVER, &decided, &stock());
    assert_eq!(step_of(&plan, "nic/NIC:mtu"), None);
}

#[test]
fn a_flow_is_held_to_the_rate_that_the_site_chooses_unless_the_link_holds_it_anyway() {
    let plan = planned("dtn-100g-nvme", SERVER, &site("pacing_mbps = 10000"), &stock());
    let step = step_of(&plan, "qdisc/NIC:maxrate").unwrap();
    assert_eq!((step.from.as_str(), step.to.as_str()), ("0", "10000"));
    assert!(
        step.why
            .ends_with("(8 streams of 10000 Mb/s: 80000 of 100000 Mb/s)"),
        "{}",
        step.why
    );
    let at = |pattern: &str| {
        plan.steps
            .iter()
            .position(|step| step.knob.to_string().contains(pattern))
    };
    assert!(at(":leaf") < at(":maxrate"), "fq has to be there first");
    let slow = SERVER.replace("speed_mbps = 100000", "speed_mbps = 10000");
    let plan = planned("dtn-10g-nvme", &slow, &site("pacing_mbps = 10000"), &stock());
    assert_eq!(
        skip_of(&plan, "qdisc/NIC:maxrate"),
        "the site limits a flow to 10000 Mb/s, and the link has 10000"
    );
    // Tests of a measurement point choose their own rate.
    let plan = planned("perfsonar", SERVER, &site("pacing_mbps = 10000"), &stock());
    assert_eq!(step_of(&plan, "qdisc/NIC:maxrate"), None);
}

#[test]
fn a_module_that_is_missing_leaves_one_effective_value() {
    let mut target = stock();
    target.modules = Some(BTreeSet::new());
    let plan = planned(
        "dtn-100g-nvme",
        SERVER,
        &site("congestion_control = 'bbr'"),
        &target,
    );
    assert_eq!(step_of(&plan, "sysctl:net.ipv4.tcp_congestion_control"), None);
    assert_eq!(
        skip_of(&plan, "sysctl:net.ipv4.tcp_congestion_control"),
        "already cubic (bbr asked, the kernel has no module tcp_bbr)"
    );
    for knob in ["sysctl:net.core.default_qdisc", "qdisc/NIC:leaf"] {
        assert_eq!(
            skip_of(&plan, knob),
            "the kernel has no module sch_fq, which fq needs"
        );
    }
    assert!(plan.modules.is_empty());
}

#[test]
fn memory_lowers_a_buffer_and_never_below_what_was_found() {
    let mut target = stock();
    target.memory_bytes = Some(4 << 30);
    let plan = planned_at(&target);
    let rmem = step_of(&plan, "sysctl:net.ipv4.tcp_rmem").unwrap();
    assert_eq!(rmem.to, "4096 131072 33554432".into());
    let lowered = rmem.lowered.as_ref().unwrap();
    assert_eq!(
        (lowered.asked.as_str(), lowered.why.as_str()),
        ("4096 131072 402653184", "memory: 4096 MiB / 128")
    );

    target.readings.insert(
        "sysctl:net.ipv4.tcp_rmem".parse().unwrap(),
        Reading::Is("4096 131072 67108864".into()),
    );
    let plan = planned_at(&target);
    assert_eq!(step_of(&plan, "sysctl:net.ipv4.tcp_rmem"), None);
    let why = skip_of(&plan, "sysctl:net.ipv4.tcp_rmem");
    assert!(
        why.starts_with("already larger: 4096 131072 67108864, and 4096 131072 33554432 is wanted"),
        "{why}"
    );
}

#[test]
fn a_literal_value_may_lower_what_was_found() {
    let text = CATALOG.get("dtn-100g-nvme").unwrap().to_toml().unwrap();
    let text = text.replace("4096 131072 {buffer}", "4096 131072 131072");
    let profile = Profile::parse("bad.toml", &text).unwrap();
    let (facts, site) = (toml::from_str(SERVER).unwrap(), site("role = 'dtn'"));
    let plan = make(
        &profile,
        &Digest::of(b""),
        &facts,
        &conclude(&facts, &site),
        &site,
        &stock(),
    );
    assert_eq!(
        step_of(&plan, "sysctl:net.ipv4.tcp_rmem").unwrap().to,
        "4096 131072 131072".into()
    );
}

#[test]
fn a_device_lowers_a_ring_to_its_maximum() {
    let mut target = stock();
    let (rx, tx) = (format!("nic/{NIC}:ring.rx"), format!("nic/{NIC}:ring.tx"));
    target.limits = [(rx.parse().unwrap(), 1511), (tx.parse().unwrap(), 256)].into();
    let plan = planned_at(&target);
    let ring = step_of(&plan, "nic/NIC:ring.rx").unwrap();
    assert_eq!(ring.to, "1511".into());
    assert_eq!(
        ring.lowered.as_ref().unwrap().why,
        "the device takes 1511 at most"
    );
    assert_eq!(
        skip_of(&plan, "nic/NIC:ring.tx"),
        "already 256 (2048 asked, the device takes 256 at most)"
    );
}

#[test]
fn what_is_known_of_a_driver_lowers_a_value_or_leaves_it_out() {
    let with = |driver: &str| SERVER.replace("'physical'", &format!("'physical'\ndriver = '{driver}'"));
    let site = site("role = 'dtn'");
    let plan = planned("dtn-100g-nvme", &with("bnxt_en"), &site, &stock());
    let ring = step_of(&plan, "nic/NIC:ring.rx").unwrap();
    assert_eq!(
        (ring.to.as_str(), ring.lowered.as_ref().unwrap().why.as_str()),
        ("2047", "driver bnxt_en takes 2047 at most")
    );
    assert_eq!(
        skip_of(&plan, "nic/NIC:coalesce.adaptive-tx"),
        "driver bnxt_en has no moderation by load for tx"
    );
    let mut target = stock();
    target.limits = [(format!("nic/{NIC}:ring.rx").parse().unwrap(), 1511)].into();
    let plan = planned("dtn-100g-nvme", &with("gve"), &site, &target);
    assert_eq!(
        skip_of(&plan, "nic/NIC:ring.rx"),
        "already 1024 (2048 asked, the device takes 1511 at most, and driver gve takes no number between)"
    );
    let plan = planned("dtn-100g-nvme", &with("mlx4_en"), &site, &stock());
    assert!(
        skip_of(&plan, "nic/NIC:ring.rx").starts_with("driver mlx4_en: a change stops and starts the port")
    );
    let plan = planned("dtn-100g-nvme", &with("virtio_net"), &site, &stock());
    assert_eq!(
        step_of(&plan, "nic/NIC:ring.rx").unwrap().disrupts,
        Disrupts::Queue
    );
}

#[test]
fn a_card_in_a_slot_that_is_too_narrow_is_left_alone_and_the_rest_is_not() {
    let narrow = SERVER.replace("pci_slot", "pcie_gts = 8.0\npcie_width = 8\npci_slot");
    let plan = planned(
        "dtn-100g-nvme",
        &narrow,
        &site("role = 'dtn'\nmtu = 9000"),
        &stock(),
    );
    for key in ["ring.rx", "ring.tx", "coalesce.adaptive-tx"] {
        assert_eq!(
            skip_of(&plan, &format!("nic/NIC:{key}")),
            "its slot carries 63 Gb/s, less than its link"
        );
    }
    for knob in ["nic/NIC:mtu", "qdisc/NIC:leaf", "sysctl:net.ipv4.tcp_rmem"] {
        assert!(step_of(&plan, knob).is_some(), "{knob}");
    }
}

#[test]
fn what_a_host_lacks_is_skipped_with_the_reason() {
    let mut target = stock();
    let mut set = |knob: &str, reading| {
        target
            .readings
            .insert(knob.replace("NIC", NIC).parse().unwrap(), reading)
    };
    set("cpu:governor", Reading::Absent);
    set(
        "nic/NIC:ring.rx",
        Reading::Unsupported("Operation not supported".to_owned()),
    );
    let plan = planned_at(&target);
    assert_eq!(skip_of(&plan, "cpu:governor"), "not on this host");
    assert_eq!(
        skip_of(&plan, "nic/NIC:ring.rx"),
        "not supported here: Operation not supported"
    );

    let nameless = SERVER.replace("pci_slot = '0000:01:00.0'\n", "");
    let plan = planned("dtn-100g-nvme", &nameless, &site("role = 'dtn'"), &stock());
    assert_eq!(
        skip_of(&plan, "nic/<data>:ring.rx"),
        "eth0 has no PCI address or no permanent MAC to be known by"
    );
}

#[test]
fn without_tuned_nothing_that_it_owns_is_written() {
    let mut target = stock();
    target.readings.insert(tuned_knob(), Reading::Absent);
    let plan = planned_at(&target);
    assert_eq!(
        (step_of(&plan, "cpu:governor"), plan.tuned_conf.as_deref()),
        (None, None)
    );
    assert_eq!(
        skip_of(&plan, "cpu:governor"),
        "its owner, our tuned profile, is not in the plan"
    );
}

#[test]
fn tuned_repeats_a_value_that_is_there_already() {
    let mut target = stock();
    target
        .readings
        .insert("sysctl:vm.swappiness".parse().unwrap(), Reading::Is("10".into()));
    let plan = planned_at(&target);
    assert_eq!(skip_of(&plan, "sysctl:vm.swappiness"), "already 10");
    assert!(plan.tuned_conf.unwrap().contains("\nvm.swappiness=10\n"));
}

fn reading() -> impl Strategy<Value = Reading> {
    prop_oneof![
        Just(Reading::Absent),
        "\\PC{0,12}".prop_map(Reading::Unsupported),
        "\\PC{0,12}".prop_map(|text| Reading::Is(Value::new(&text))),
        (any::<i64>(), any::<i64>(), any::<i64>())
            .prop_map(|(a, b, c)| Reading::Is(format!("{a} {b} {c}").into())),
        any::<i64>().prop_map(|number| Reading::Is(number.into())),
    ]
}

proptest! {
    #[test]
    fn each_knob_is_planned_once_in_order_and_within_its_range(
        readings in proptest::collection::vec(proptest::option::of(reading()), 28),
        memory in proptest::option::of(0_u64..=1 << 42),
        limits in proptest::collection::vec(proptest::option::of(any::<i64>()), 28),
        rtt_ms in 1_u32..=1000,
        streams in proptest::option::of(1_u32..=256),
        modules in proptest::option::of(Just(BTreeSet::from(["sch_fq".to_owned()]))),
    ) {
        let site = SiteFile { rtt_ms: Some(rtt_ms), streams, congestion_control: Some("bbr".to_owned()), ..SiteFile::default() };
        let (site, facts) = (site.check().unwrap(), toml::from_str(SERVER).unwrap());
        let seen = conclude(&facts, &site);
        let profile = CATALOG.get("dtn-100g-nvme").unwrap();
        let knobs = knobs_of(profile, &facts, &seen, &site);
        let target = Target {
            modules,
            memory_bytes: memory,
            readings: knobs.iter().cloned().zip(readings).filter_map(|(knob, reading)| Some((knob, reading?))).collect(),
            limits: knobs.iter().cloned().zip(limits).filter_map(|(knob, limit)| Some((knob, limit?))).collect(),
            ..Target::default()
        };
        let plan = make(profile, &Digest::of(b""), &facts, &seen, &site, &target);

        for knob in &knobs {
            let planned = plan.steps.iter().filter(|step| step.knob == *knob).count();
            let skipped = plan.skipped.iter().filter(|skipped| skipped.knob == knob.to_string()).count();
            prop_assert_eq!(planned + skipped, 1, "{} stands {} and {} times", knob, planned, skipped);
        }
        for (index, step) in plan.steps.iter().enumerate() {
            prop_assert_ne!(&step.from, &step.to);
            let definition = definition_of(&step.knob).unwrap();
            for later in &plan.steps[index + 1..] {
                prop_assert!(!definition.after.contains(&later.knob.pattern().as_str()), "{} before {}", step.knob, later.knob);
            }
            if let (Some(limit), true) = (target.limits.get(&step.knob), definition.owner == Owner::Udev) {
                prop_assert!(size_of(&step.to).is_none_or(|size| size <= *limit));
            }
            if let (Some(memory), Group::TcpBuffers) = (memory, step.group) {
                let cap = crate::catalog::memory_cap(memory, 128);
                prop_assert!(size_of(&step.to).unwrap() <= cap);
            }
        }
    }
}
