//! The arms of a proof on this host: a plan whose groups are taken out and put back in, each by a real write.

use crate::flow::because::Because;
use crate::notify;
use crate::trial::{ApplyReport, RollbackReport, Transaction};
use dtnforge_profiles::group::Group;
use dtnforge_profiles::knob::KnobId;
use dtnforge_profiles::measure::Arm;
use dtnforge_profiles::plan::Plan;
use dtnforge_profiles::render;
use std::time::Duration;

/// Time for one way of the plan: a start or a stop of tuned alone may take minutes.
const ONE_WAY: Duration = Duration::from_secs(180);

/// A plan that is live.
pub(in crate::flow) struct Arms<'a, 't> {
    transaction: &'a mut Transaction<'t>,
    plan: &'a Plan,
    /// Knobs whose driver took the value and kept the old one.
    ignored: Vec<KnobId>,
}

impl<'a, 't> Arms<'a, 't> {
    /// Places the plan's files and applies all of it. What is not under measurement is the same in both arms from here
    /// on, so it is neither credited nor blamed.
    pub(in crate::flow) fn put_in(
        transaction: &'a mut Transaction<'t>,
        plan: &'a Plan,
    ) -> Result<Self, Because> {
        place(transaction, plan)?;
        let report = transaction.apply(plan);
        done(&report)?;
        Ok(Self {
            transaction,
            plan,
            ignored: report.ignored,
        })
    }

    /// Makes an arm live: of the `exercised` groups, those of `ours` have our values in our arm, and none in the
    /// others.
    pub(in crate::flow) fn switch(
        &mut self,
        arm: Arm,
        exercised: &[Group],
        ours: &[Group],
    ) -> Result<(), Because> {
        if notify::stop_asked() {
            return Err(Because::SaysNothing(
                "stopped while the trial was live".to_owned(),
            ));
        }
        notify::progress(&format!("trial of {}: {arm:?}", self.plan.profile), ONE_WAY);
        let is_in = |group: &Group| arm == Arm::Ours && ours.contains(group);
        let (into, out): (Vec<Group>, Vec<Group>) = exercised.iter().copied().partition(is_in);
        back(&self.transaction.undo_groups(&out))?;
        done(&self.transaction.apply_groups(self.plan, &into))
    }

    /// Ends the proof: what is live now stays live. Returns the knobs that drivers ignored.
    pub(in crate::flow) fn end(self) -> Vec<KnobId> {
        self.ignored
    }
}

/// Puts the plan's files under `/run`, where udev, sysctl and tuned look.
pub(in crate::flow) fn place(transaction: &mut Transaction<'_>, plan: &Plan) -> Result<(), Because> {
    let native = render::files(plan)
        .map_err(|error| Because::Rejects(format!("the plan cannot be rendered: {error}")))?;
    let files: Vec<(String, String)> = native.into_iter().map(|file| (file.path, file.text)).collect();
    transaction
        .place(plan, &files)
        .map_err(|error| Because::SaysNothing(format!("its files could not be placed: {error}")))
}

pub(in crate::flow) fn done(report: &ApplyReport) -> Result<(), Because> {
    match &report.stopped {
        None => Ok(()),
        Some(stopped) => Err(Because::Rejects(format!("applying stopped: {stopped}"))),
    }
}

fn back(report: &RollbackReport) -> Result<(), Because> {
    if report.verified() {
        Ok(())
    } else {
        let problems = report.problems().join(", ");
        Err(Because::Rejects(format!("switching back failed: {problems}")))
    }
}
