//! Puts a report together from what a node says of itself.

use super::{
    CheckRow, EvidenceRow, GroupRow, KnobRow, Listener, MetricRow, Moment, NodeRow, PointRow, ProofRow,
    REPORT_SCHEMA, Report, SkippedRow,
};
use crate::group::Group;
use crate::measure::Better;
use crate::plan::{Plan, Step};
use crate::status::{ActiveKnob, Status};
use crate::verdict::{Comparison, GroupEvidence, Outcome, SetProof, Verdict};
use crate::window::OldSocket;

/// What a report is made of.
#[derive(Debug, Clone, Copy)]
pub struct Parts<'a> {
    /// The status of the node.
    pub status: &'a Status,
    /// The plan that is committed, or the one that would be tried.
    pub plan: Option<&'a Plan>,
    /// The verdict to report, where it is another one than that of the status.
    pub verdict: Option<&'a Verdict>,
    /// What the node is.
    pub node: &'a NodeRow,
    /// Sockets with old settings.
    pub sockets: &'a [OldSocket],
    /// Boots and states.
    pub timeline: &'a [Moment],
    /// When, RFC 3339.
    pub made_at: &'a str,
}

/// Makes the report.
pub fn make(parts: Parts<'_>) -> Report {
    let status = parts.status;
    let verdict = parts.verdict.or(status.verdict.as_ref());
    let metrics = verdict.map_or(&[][..], |verdict| &verdict.metrics);
    let proofs = verdict.map_or(&[][..], |verdict| &verdict.proofs);
    let steps = parts.plan.map_or(&[][..], |plan| &plan.steps);
    let skipped = parts.plan.map_or(&status.skipped[..], |plan| &plan.skipped);
    Report {
        schema: REPORT_SCHEMA,
        made_at: parts.made_at.to_owned(),
        node: parts.node.clone(),
        state: status.state.clone(),
        reason: parts
            .verdict
            .map_or(&status.reason, |verdict| &verdict.sentence)
            .clone(),
        profile: status
            .profile
            .clone()
            .or_else(|| parts.plan.map(|plan| plan.profile.clone())),
        outcome: verdict.map(|verdict| outcome(verdict.outcome)),
        metrics: metrics.iter().map(metric).collect(),
        proofs: proofs.iter().map(proof).collect(),
        groups: verdict
            .iter()
            .flat_map(|verdict| &verdict.groups)
            .map(|(group, evidence)| group_row(*group, evidence))
            .collect(),
        knobs: steps
            .iter()
            .map(|step| knob(step, parts.plan, &status.active))
            .collect(),
        skipped: skipped
            .iter()
            .map(|skipped| SkippedRow {
                knob: skipped.knob.clone(),
                group: skipped.group.to_string(),
                why: skipped.why.clone(),
            })
            .collect(),
        checks: verdict
            .iter()
            .flat_map(|verdict| &verdict.checks)
            .map(|check| CheckRow {
                name: check.name.clone(),
                ok: check.ok,
                required: check.required,
                detail: check.detail.clone(),
            })
            .collect(),
        listeners: parts.sockets.iter().map(listener).collect(),
        findings: status.findings.clone(),
        timeline: parts.timeline.to_vec(),
    }
}

fn outcome(outcome: Outcome) -> String {
    match outcome {
        Outcome::Keep => "keep",
        Outcome::Revert => "revert",
        Outcome::Inconclusive => "inconclusive",
    }
    .to_owned()
}

fn metric(comparison: &Comparison) -> MetricRow {
    MetricRow {
        name: comparison.metric.clone(),
        unit: comparison.unit.clone(),
        more_is_better: comparison.better == Better::Higher,
        only_reported: comparison.only_reported,
        as_found: comparison.as_found,
        ours: comparison.ours,
        ratio: comparison.ratio,
        ratio_low: comparison.ratio_low,
        ratio_high: comparison.ratio_high,
        limit: comparison.limit,
        pairs: comparison.pairs,
        smallest_effect: comparison.smallest_effect,
        points: comparison
            .points
            .iter()
            .map(|&(as_found, ours)| PointRow { as_found, ours })
            .collect(),
        conditions: comparison.context.clone(),
    }
}

fn proof(proof: &SetProof) -> ProofRow {
    ProofRow {
        by: proof.by.clone(),
        groups: proof.groups.iter().map(Group::to_string).collect(),
        outcome: outcome(proof.outcome),
        sentence: proof.sentence.clone(),
        metrics: proof.metrics.iter().map(metric).collect(),
    }
}

fn group_row(group: Group, evidence: &GroupEvidence) -> GroupRow {
    let (kind, by, why) = match evidence {
        GroupEvidence::Measured { by } => (EvidenceRow::Measured, Some(by), "no harm within the limits"),
        GroupEvidence::Dropped { by, why } => (EvidenceRow::Dropped, Some(by), why.as_str()),
        GroupEvidence::ReadBack => (EvidenceRow::ReadBack, None, "it reads back"),
        GroupEvidence::Unproved {
            applied: true, why, ..
        } => (EvidenceRow::UnprovedApplied, None, why.as_str()),
        GroupEvidence::Unproved { why, .. } => (EvidenceRow::UnprovedHeld, None, why.as_str()),
    };
    GroupRow {
        group: group.to_string(),
        evidence: kind,
        by: by.cloned(),
        why: why.to_owned(),
    }
}

fn knob(step: &Step, plan: Option<&Plan>, active: &[ActiveKnob]) -> KnobRow {
    let interface = || {
        let device = step.knob.device()?;
        plan?.interfaces.get(device.as_str()).cloned()
    };
    let present = active.iter().find(|active| active.knob == step.knob);
    KnobRow {
        knob: step.knob.to_string(),
        device: present
            .and_then(|active| active.device.clone())
            .or_else(interface),
        group: step.group.to_string(),
        from: step.from.to_string(),
        to: step.to.to_string(),
        now: present.map(|active| {
            active
                .now
                .as_ref()
                .map_or_else(|| "unreadable".to_owned(), |value| value.to_string())
        }),
        why: step.why.clone(),
        source: step.source.clone(),
        lowered: step
            .lowered
            .as_ref()
            .map(|lowered| format!("asked for {}: {}", lowered.asked, lowered.why)),
    }
}

fn listener(socket: &OldSocket) -> Listener {
    let program = socket.unit.as_ref().or(socket.program.as_ref());
    Listener {
        program: program.cloned().unwrap_or_else(|| "unknown".to_owned()),
        local: socket.local.clone(),
        has: socket.has.clone(),
        wanted: socket.wanted.clone(),
    }
}
