//! What a restore did, and what a boot makes of it afterwards.

use crate::door::Door;
use crate::host::Host;
use crate::owner::{self, Owners};
use crate::people;
use crate::trial::{Failure, RestoreReport};
use dtnforge_profiles::audit::Setter;
use dtnforge_profiles::knob::KnobId;
use dtnforge_profiles::label::RestorePlan;
use dtnforge_profiles::value::Value;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a restore did, for an answer.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// What was planned.
    pub plan: RestorePlan,
    /// Knobs that have their saved value now, written and read back.
    pub restored: Vec<Restored>,
    /// Knobs that were refused or did not keep their value.
    pub failed: Vec<Failed>,
    /// Whether everything was taken back, because one knob failed or somebody stopped it.
    pub taken_back: bool,
    /// What could not be shown to be as before after that, one sentence each.
    pub unverified: Vec<String>,
    /// What sets a restored knob to another value at the next boot: files are not changed.
    pub at_boot: Vec<AtBoot>,
}

/// A knob that was put back.
#[derive(Debug, Serialize)]
pub struct Restored {
    /// The knob.
    pub knob: KnobId,
    /// Its device, for people.
    pub device: Option<String>,
    /// What it reads now.
    pub now: Value,
}

/// A knob that was not.
#[derive(Debug, Serialize)]
pub struct Failed {
    /// The knob.
    pub knob: KnobId,
    /// What happened.
    pub why: String,
    /// What it reads, when it is not as it was before either.
    pub left_as: Option<String>,
}

/// A file that has another value.
#[derive(Debug, Serialize)]
pub struct AtBoot {
    /// The knob.
    pub knob: KnobId,
    /// What sets it.
    pub setter: Setter,
}

impl Outcome {
    /// Puts an outcome together, and remembers who owns the restored values from now on.
    pub(super) fn of(host: &Host, doors: &dyn Door, plan: RestorePlan, report: RestoreReport) -> Self {
        let values = kept_values(&report);
        if !values.is_empty()
            && let Err(error) = owner::write_restored(host, plan.label.as_str(), values.clone())
        {
            // Only the name of the owner is lost: an audit then says "by hand".
            log::warn!("{error}");
        }
        Self {
            unverified: unverified(&report),
            taken_back: report.taken_back.is_some(),
            at_boot: at_boot(host, doors, &values),
            restored: values
                .into_iter()
                .map(|value| Restored::of(host, value))
                .collect(),
            failed: report.failed.into_iter().map(Failed::from).collect(),
            plan,
        }
    }
}

/// What was written and stays.
fn kept_values(report: &RestoreReport) -> BTreeMap<KnobId, Value> {
    let written = report.restored.iter().filter(|_| report.taken_back.is_none());
    written.map(|it| (it.knob.clone(), it.now.clone())).collect()
}

/// What is neither as saved nor as before.
fn unverified(report: &RestoreReport) -> Vec<String> {
    let left = report.failed.iter().filter_map(|failure| {
        let now = failure.left_as.as_ref()?;
        Some(format!("{} is left as {now}", failure.knob))
    });
    let taken_back = report.taken_back.iter().flat_map(|back| back.problems());
    left.chain(taken_back).collect()
}

/// What sets these knobs to other values at the next boot.
fn at_boot(host: &Host, doors: &dyn Door, values: &BTreeMap<KnobId, Value>) -> Vec<AtBoot> {
    let owners = Owners::read(host, doors, None);
    let of = |(knob, now): (&KnobId, &Value)| {
        Some(AtBoot {
            knob: knob.clone(),
            setter: owners.of_others_at_boot(knob, now)?,
        })
    };
    values.iter().filter_map(of).collect()
}

impl Restored {
    fn of(host: &Host, (knob, now): (KnobId, Value)) -> Self {
        Self {
            device: people::device_name(host, &knob),
            knob,
            now,
        }
    }
}

impl From<Failure> for Failed {
    fn from(failure: Failure) -> Self {
        Self {
            knob: failure.knob,
            why: failure.error.to_string(),
            left_as: failure.left_as,
        }
    }
}
