//! The table of verdicts on proofs.

use super::*;
use crate::flow::prove::Part;
use Group::{Block, Congestion, NicRings, TcpBuffers};
use dtnforge_profiles::apart::Tried;
use dtnforge_profiles::decide::Decision;
use dtnforge_profiles::digest::Digest;
use dtnforge_profiles::plan::{PLAN_SCHEMA, Plan};
use dtnforge_profiles::verdict::Check;
use dtnforge_profiles::{knob::Disrupts, knob::Owner, plan::Step};

fn step(knob: &str, group: Group) -> Step {
    Step {
        knob: knob.parse().unwrap(),
        from: "1".into(),
        to: "2".into(),
        lowered: None,
        group,
        why: "it is better".to_owned(),
        origin: Default::default(),
        source: "test".to_owned(),
        owner: Owner::SysctlD,
        disrupts: Disrupts::None,
    }
}

fn plan(groups: &[Group]) -> Plan {
    Plan {
        schema: PLAN_SCHEMA,
        profile: "test".to_owned(),
        layer: Digest::of(b""),
        fingerprint: Digest::of(b""),
        steps: groups
            .iter()
            .map(|&group| step("sysctl:net.ipv4.tcp_rmem", group))
            .collect(),
        skipped: Vec::new(),
        modules: Vec::new(),
        tuned_conf: None,
        interfaces: BTreeMap::new(),
        advice: Vec::new(),
        boot: Vec::new(),
    }
}

fn part(by: &str, outcome: Outcome, groups: &[Group]) -> Part {
    let word = match outcome {
        Outcome::Keep => "kept",
        Outcome::Revert => "reverted",
        Outcome::Inconclusive => "inconclusive",
    };
    let sentence = format!("{word}: throughput by {by}");
    let of = |wanted: Outcome| {
        if outcome == wanted {
            groups.to_vec()
        } else {
            Vec::new()
        }
    };
    Part {
        by: by.to_owned(),
        groups: groups.to_vec(),
        tried: vec![Tried {
            groups: groups.to_vec(),
            decision: Decision {
                outcome,
                sentence: sentence.clone(),
                metrics: Vec::new(),
            },
        }],
        kept: of(Outcome::Keep),
        dropped: of(Outcome::Revert)
            .into_iter()
            .map(|group| (group, sentence.clone()))
            .collect(),
        undecided: of(Outcome::Inconclusive),
    }
}

fn verdict(parts: Vec<Part>, live: &[Group]) -> Verdict {
    let proof = Proof {
        parts,
        checks: Vec::new(),
        plan: plan(live),
    };
    conclude(&BTreeMap::new(), &proof)
}

#[test]
fn a_harmful_group_among_good_ones_is_dropped_and_named() {
    let mut path = part("emulated-path", Outcome::Revert, &[TcpBuffers, Congestion]);
    path.kept = vec![TcpBuffers];
    path.dropped = [(
        Congestion,
        "alone: reverted: throughput 0.5x (9 -> 4, 6 pairs)".to_owned(),
    )]
    .into();
    path.tried.push(Tried {
        groups: vec![TcpBuffers],
        decision: Decision {
            outcome: Outcome::Keep,
            sentence: "kept: throughput 2x".to_owned(),
            metrics: Vec::new(),
        },
    });
    let verdict = verdict(vec![path], &[TcpBuffers]);
    assert_eq!(verdict.outcome, Outcome::Keep);
    assert_eq!(
        verdict.sentence,
        "kept: throughput 2x; and without congestion (alone: reverted: throughput 0.5x)"
    );
    assert!(
        matches!(&verdict.groups[&Congestion], GroupEvidence::Dropped { by, .. } if by == "emulated-path")
    );
    assert!(matches!(&verdict.groups[&TcpBuffers], GroupEvidence::Measured { by } if by == "emulated-path"));
    assert_eq!(verdict.proofs.len(), 2);
}

#[test]
fn a_wholly_harmful_plan_is_reverted_by_the_words_of_the_whole() {
    let verdict = verdict(
        vec![part("emulated-path", Outcome::Revert, &[TcpBuffers, Congestion])],
        &[Block],
    );
    assert_eq!(verdict.outcome, Outcome::Revert);
    assert_eq!(verdict.sentence, "reverted: throughput by emulated-path");
}

#[test]
fn a_peer_that_does_not_decide_leaves_local_evidence_as_it_is() {
    let path = part("emulated-path", Outcome::Keep, &[TcpBuffers]);
    let peer = part(PEER, Outcome::Inconclusive, &[TcpBuffers, NicRings]);
    let verdict = verdict(vec![path, peer], &[TcpBuffers]);
    assert_eq!(verdict.outcome, Outcome::Keep);
    assert_eq!(
        verdict.sentence,
        "kept: throughput by emulated-path; and peer does not decide (inconclusive: throughput by peer)"
    );
    assert!(matches!(
        verdict.groups[&TcpBuffers],
        GroupEvidence::Measured { .. }
    ));
    assert!(matches!(
        verdict.groups[&NicRings],
        GroupEvidence::Unproved { applied: false, .. }
    ));
}

#[test]
fn a_data_store_that_does_not_decide_leaves_its_group_unproved() {
    let path = part("emulated-path", Outcome::Keep, &[TcpBuffers]);
    let storage = part("storage", Outcome::Inconclusive, &[Block]);
    let verdict = verdict(vec![path, storage], &[TcpBuffers, Block]);
    assert_eq!(verdict.outcome, Outcome::Keep);
    assert!(matches!(
        verdict.groups[&Block],
        GroupEvidence::Unproved { applied: true, .. }
    ));
}

#[test]
fn local_evidence_that_does_not_decide_makes_the_rest_wait() {
    let path = part("emulated-path", Outcome::Inconclusive, &[TcpBuffers]);
    let storage = part("storage", Outcome::Keep, &[Block]);
    assert_eq!(
        verdict(vec![path, storage], &[Block]).outcome,
        Outcome::Inconclusive
    );
}

#[test]
fn harm_that_a_peer_sees_is_dropped_although_the_path_saw_none() {
    let path = part("emulated-path", Outcome::Keep, &[TcpBuffers]);
    let peer = part(PEER, Outcome::Revert, &[NicRings]);
    let verdict = verdict(vec![path, peer], &[TcpBuffers]);
    assert_eq!(verdict.outcome, Outcome::Keep);
    assert!(
        verdict
            .sentence
            .contains("without nic-rings (reverted: throughput by peer)")
    );
    assert!(matches!(verdict.groups[&NicRings], GroupEvidence::Dropped { .. }));
}

#[test]
fn a_check_that_fails_reverts_whatever_was_measured() {
    let proof = Proof {
        parts: vec![part("emulated-path", Outcome::Keep, &[TcpBuffers])],
        checks: vec![Check {
            name: "link:eth0".to_owned(),
            ok: false,
            required: true,
            detail: "no carrier".to_owned(),
        }],
        plan: plan(&[TcpBuffers]),
    };
    let verdict = conclude(&BTreeMap::new(), &proof);
    assert_eq!(verdict.outcome, Outcome::Revert);
    assert_eq!(verdict.sentence, "reverted: check link:eth0 failed: no carrier");
}

#[test]
fn an_unproved_group_stays_so_although_it_reads_back() {
    let proof = Proof {
        parts: Vec::new(),
        checks: Vec::new(),
        plan: plan(&[TcpBuffers, Block]),
    };
    let unproved = GroupEvidence::Unproved {
        needs: EvidenceKind::Storage,
        applied: true,
        why: "x".to_owned(),
    };
    let verdict = conclude(&[(Block, unproved.clone())].into(), &proof);
    assert_eq!(verdict.groups[&Block], unproved);
    assert!(
        verdict.sentence.starts_with("kept unproved"),
        "{}",
        verdict.sentence
    );
}
