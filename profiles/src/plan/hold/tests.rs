//! Which groups are held, and what goes with them.

use super::*;
use crate::catalog::Catalog;
use crate::conclude::conclude;
use crate::digest::Digest;
use crate::plan::{Target, make};
use crate::site::SiteFile;

fn plan() -> Plan {
    let facts = "[host]\nmemory_gib = 64.0\n[[nic]]\nname = 'eth0'\nspeed_mbps = 100000\npci_slot = '0000:01:00.0'\n\
        mac = '52:54:00:aa:bb:01'\n[[block]]\nname = 'nvme0n1'\ntransport = 'nvme'\nsize_bytes = 4000000000000\n";
    let (facts, site) = (
        toml::from_str(facts).unwrap(),
        SiteFile::default().check().unwrap(),
    );
    let (catalog, target) = (
        Catalog::embedded().unwrap(),
        Target {
            offline: true,
            ..Target::default()
        },
    );
    let seen = conclude(&facts, &site);
    make(
        catalog.get("dtn-100g-nvme").unwrap(),
        &Digest::of(b""),
        &facts,
        &seen,
        &site,
        &target,
    )
}

#[test]
fn groups_that_could_flap_a_link_are_held_and_harmless_ones_are_applied_unproved() {
    let held = hold(
        plan(),
        &[Group::TcpBuffers, Group::Congestion].into(),
        Unproved::Hold,
    );
    assert_eq!(
        held.plan.groups(),
        [
            Group::TcpBuffers,
            Group::Congestion,
            Group::Qdisc,
            Group::Cpu,
            Group::Block,
            Group::Vm
        ]
    );
    let applied: Vec<(Group, bool)> = held
        .unproved
        .iter()
        .map(|(group, evidence)| {
            (
                *group,
                matches!(evidence, GroupEvidence::Unproved { applied: true, .. }),
            )
        })
        .collect();
    assert_eq!(
        applied,
        [
            (Group::Qdisc, true),
            (Group::NicRings, false),
            (Group::NicCoalesce, false),
            (Group::Block, true),
            (Group::Vm, true)
        ]
    );
    let ring = held
        .plan
        .skipped
        .iter()
        .find(|skipped| skipped.knob.ends_with("ring.rx"))
        .unwrap();
    assert_eq!(
        ring.why,
        "held: it could flap a link or lose packets, and nothing here can measure it"
    );
}

#[test]
fn the_site_may_apply_all_and_evidence_proves_all() {
    let all = hold(plan(), &BTreeSet::new(), Unproved::Apply);
    assert_eq!(all.plan, plan());
    assert!(all.unproved.contains_key(&Group::TcpBuffers) && !all.unproved.contains_key(&Group::Cpu));
    let proved = hold(plan(), &Group::ALL.into(), Unproved::Hold);
    assert_eq!((proved.plan, proved.unproved), (plan(), BTreeMap::new()));
}

#[test]
fn without_tuned_what_it_owns_goes_too() {
    let plan = plan().without(&[(Group::Cpu, "harmful".to_owned())].into());
    assert_eq!(plan.tuned_conf, None);
    assert!(plan.steps.iter().all(|step| step.owner != Owner::Tuned));
    let disk = plan
        .skipped
        .iter()
        .find(|skipped| skipped.group == Group::Block)
        .unwrap();
    assert_eq!(disk.why, "its owner, our tuned profile, is not in the plan");
}

#[test]
fn a_dropped_group_leaves_the_tuned_profile_and_the_modules_too() {
    let dropped = [Group::Vm, Group::Block, Group::Qdisc].map(|group| (group, "harmful".to_owned()));
    let mut whole = plan();
    for step in whole
        .steps
        .iter_mut()
        .filter(|step| step.knob.to_string() == "sysctl:vm.swappiness")
    {
        step.from = "60".into();
    }
    let plan = whole.without(&dropped.into());
    let conf = TunedConf::parse(&plan.tuned_conf.unwrap()).unwrap();
    assert_eq!(conf.sysctls, [("vm.swappiness".to_owned(), "60".into())].into());
    assert!(conf.disks.is_empty() && conf.governor.is_some());
    assert!(plan.modules.is_empty());
}
