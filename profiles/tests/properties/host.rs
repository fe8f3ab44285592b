//! Hosts at random: ports and disks with odd names, values found, limits, memory and modules.

use crate::profile::hostile;
use dtnforge_profiles::catalog::Profile;
use dtnforge_profiles::conclude::conclude;
use dtnforge_profiles::facts::{Block, Facts, Nic};
use dtnforge_profiles::plan::{Reading, Target, knobs_of};
use dtnforge_profiles::site::{Site, SiteFile};
use dtnforge_profiles::value::Value;
use proptest::prelude::*;

fn nic() -> impl Strategy<Value = Nic> {
    let name = prop_oneof![4 => "[a-z0-9]{1,12}", 1 => hostile()];
    let mac = prop_oneof![8 => "([0-9a-f]{2}:){5}[0-9a-f]{2}", 1 => hostile()];
    let slot = prop_oneof![8 => "0000:[0-9a-f]{2}:[01][0-9a-f]\\.[0-7]", 1 => hostile()];
    (name, mac, slot).prop_map(|(name, mac, slot)| Nic {
        name: Some(name),
        kind: Some("physical".to_owned()),
        carrier: Some(true),
        speed_mbps: Some(100_000),
        mac: Some(mac),
        pci_slot: Some(slot),
        ..Nic::default()
    })
}

fn disk() -> impl Strategy<Value = Block> {
    let name = prop_oneof![4 => "nvme[0-9]n1", 1 => hostile()];
    name.prop_map(|name| Block {
        name: Some(name),
        transport: Some("nvme".to_owned()),
        size_bytes: Some(4_000_000_000_000),
        ..Block::default()
    })
}

pub(crate) fn facts() -> impl Strategy<Value = Facts> {
    let memory = prop::option::of(1.0..2048.0_f64);
    (
        prop::collection::vec(nic(), 0..3),
        prop::collection::vec(disk(), 0..3),
        memory,
    )
        .prop_map(|(nics, blocks, memory)| {
            let mut facts = Facts {
                nics,
                blocks,
                ..Facts::default()
            };
            facts.host.memory_gib = memory;
            facts
        })
}

fn reading() -> impl Strategy<Value = Reading> {
    let number = |number: u32| Reading::Is(Value::from(i64::from(number)));
    prop_oneof![
        4 => any::<u32>().prop_map(number),
        2 => (1_i64..1 << 31).prop_map(|most| Reading::Is(Value::new(&format!("4096 16384 {most}")))),
        1 => Just(Reading::Is("off".into())),
        1 => Just(Reading::Absent),
        1 => hostile().prop_map(Reading::Unsupported),
    ]
}

/// What a site may decide of a transfer host.
pub(crate) fn site() -> impl Strategy<Value = Site> {
    let mtu = prop::option::of(prop::sample::select(vec![1500_u32, 9000]));
    let pause = prop::option::of(prop::sample::select(vec!["on", "off"]));
    let congestion = prop::option::of(prop::sample::select(vec!["cubic", "bbr", "htcp"]));
    let pacing = prop::option::of(1_u32..=34_000);
    (1_u32..1000, prop::option::of(1_u32..64), mtu, pause, pacing, congestion).prop_map(
        |(rtt_ms, streams, mtu, pause, pacing_mbps, congestion_control)| {
            let file = serde_json::json!({
                "role": "dtn", "link_mbps": 100_000, "rtt_ms": rtt_ms, "streams": streams, "mtu": mtu, "pause": pause,
                "pacing_mbps": pacing_mbps, "congestion_control": congestion_control,
            });
            serde_json::from_value::<SiteFile>(file).unwrap().check().unwrap()
        },
    )
}

/// A host on which each knob of the profile was read.
pub(crate) fn target(profile: &Profile, facts: &Facts, site: &Site) -> impl Strategy<Value = Target> + use<> {
    let knobs = knobs_of(profile, facts, &conclude(facts, site), site);
    let readings: Vec<_> = knobs.iter().map(|knob| (Just(knob.clone()), reading())).collect();
    let limits: Vec<_> = knobs
        .into_iter()
        .map(|knob| (Just(knob), -1_i64..20_000))
        .collect();
    let modules = prop::option::of(prop::sample::subsequence(
        vec!["sch_fq", "sch_fq_codel", "tcp_bbr", "tcp_htcp"],
        0..=4,
    ));
    let memory = prop::option::of(1_u64 << 28..1 << 41);
    (readings, limits, modules, memory).prop_map(|(readings, limits, modules, memory_bytes)| Target {
        kernel: "6.12".to_owned(),
        modules: modules.map(|names| names.into_iter().map(str::to_owned).collect()),
        memory_bytes,
        readings: readings.into_iter().collect(),
        limits: limits.into_iter().collect(),
        offline: false,
    })
}
