//! From the parts of a proof to the verdict on a plan.

use super::Proof;
use dtnforge_profiles::group::{EvidenceKind, Group};
use dtnforge_profiles::measure::{PEER, STORAGE};
use dtnforge_profiles::verdict::{GroupEvidence, Outcome, VERDICT_SCHEMA, Verdict};
use std::collections::BTreeMap;

/// The verdict on what a proof left live. `unproved` has the groups that nothing here could speak for.
pub fn conclude(unproved: &BTreeMap<Group, GroupEvidence>, proof: &Proof) -> Verdict {
    let (mut outcome, mut sentence) = joined(proof);
    // A node that cannot be reached any more is no better for being faster.
    if let Some(failed) = proof.checks.iter().find(|check| check.required && !check.ok) {
        outcome = Outcome::Revert;
        sentence = format!("reverted: check {} failed: {}", failed.name, failed.detail);
    }
    Verdict {
        schema: VERDICT_SCHEMA,
        outcome,
        sentence,
        metrics: proof
            .parts
            .iter()
            .filter_map(|part| part.decision())
            .flat_map(|decision| decision.metrics.clone())
            .collect(),
        groups: evidence(unproved, proof),
        checks: proof.checks.clone(),
        proofs: proof.parts.iter().flat_map(|part| part.proofs()).collect(),
    }
}

/// Harm that leaves nothing of what was measured reverts; an emulated path that does not decide makes the rest
/// wait; a peer or a data store that does not decide holds nothing up.
fn joined(proof: &Proof) -> (Outcome, String) {
    if proof.parts.is_empty() {
        return (Outcome::Keep, unmeasured(proof));
    }
    let is_dropped = |group: &Group| proof.parts.iter().any(|part| part.dropped.contains_key(group));
    let nothing_stays = proof.parts.iter().all(|part| part.kept.iter().all(is_dropped));
    let harmed = proof
        .parts
        .iter()
        .find(|part| nothing_stays && !part.dropped.is_empty());
    let waits = proof.parts.iter().find(|part| {
        !part.undecided.is_empty() && (![PEER, STORAGE].contains(&part.by.as_str()) || nothing_stays)
    });
    for (part, outcome) in [(harmed, Outcome::Revert), (waits, Outcome::Inconclusive)] {
        if let Some(decision) = part.and_then(|part| part.decision()) {
            return (outcome, decision.sentence.clone());
        }
    }
    (Outcome::Keep, kept(proof))
}

/// The sentences of all that stays, then what goes.
fn kept(proof: &Proof) -> String {
    let stays = proof
        .parts
        .iter()
        .filter(|part| !part.kept.is_empty())
        .filter_map(|part| part.decision())
        .map(|decision| decision.sentence.trim_start_matches("kept: ").to_owned());
    let goes = proof
        .parts
        .iter()
        .flat_map(|part| &part.dropped)
        .map(|(group, why)| format!("without {group} ({})", in_short(why)));
    let silent = proof
        .parts
        .iter()
        .filter(|part| part.kept.is_empty() && !part.undecided.is_empty())
        .filter_map(|part| {
            let what = in_short(&part.decision()?.sentence);
            Some(format!("{} does not decide ({what})", part.by))
        });
    let said: Vec<String> = stays.chain(goes).chain(silent).collect();
    format!("kept: {}", said.join("; and "))
}

/// A sentence without its numbers, which stand in the table of proofs.
fn in_short(sentence: &str) -> &str {
    sentence.split(" (").next().unwrap_or(sentence)
}

/// The plan has nothing that can be measured here, or what could be measured was not available and the site applies
/// unproved groups.
fn unmeasured(proof: &Proof) -> String {
    let by_path = |group: &Group| group.evidence() == EvidenceKind::EmulatedPath;
    if proof.plan.groups().iter().any(by_path) {
        "kept unproved, as the site wants it: nothing was measured, all knobs read back".to_owned()
    } else {
        "kept: nothing in it can be measured inside this node, all knobs read back".to_owned()
    }
}

/// What speaks for or against each group.
fn evidence(unproved: &BTreeMap<Group, GroupEvidence>, proof: &Proof) -> BTreeMap<Group, GroupEvidence> {
    let live = proof.plan.groups();
    let is_held =
        |evidence: &GroupEvidence| matches!(evidence, GroupEvidence::Unproved { applied: false, .. });
    let mut groups: BTreeMap<Group, GroupEvidence> = unproved
        .iter()
        .filter(|(group, evidence)| live.contains(group) || is_held(evidence))
        .map(|(group, evidence)| (*group, evidence.clone()))
        .collect();
    for part in &proof.parts {
        let by = || part.by.clone();
        for group in &part.kept {
            groups
                .entry(*group)
                .or_insert_with(|| GroupEvidence::Measured { by: by() });
        }
        for (group, why) in &part.dropped {
            let (by, why) = (by(), why.clone());
            groups.insert(*group, GroupEvidence::Dropped { by, why });
        }
        for group in &part.undecided {
            let unproved = GroupEvidence::Unproved {
                needs: group.evidence(),
                applied: live.contains(group),
                why: format!("{} did not decide", part.by),
            };
            groups.entry(*group).or_insert(unproved);
        }
    }
    // A group that is unproved stays so: reading it back does not speak for it.
    for group in live {
        groups.entry(group).or_insert(GroupEvidence::ReadBack);
    }
    groups
}

#[cfg(test)]
#[path = "conclude_tests.rs"]
mod tests;
