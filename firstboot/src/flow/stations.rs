//! The measurements that this node has, for one plan.

use super::prove::{PREPARE_LIMIT, Station};
use crate::host::Host;
use crate::measure::{Deadline, EmulatedPath, Measure, MeasureError};
use crate::notify;
use dtnforge_profiles::group::{EvidenceKind, Group};
use dtnforge_profiles::plan::Plan;
use std::collections::BTreeSet;

/// What can be measured here.
pub(super) struct Stations {
    /// The measurements, in the order in which they are used.
    pub(super) list: Vec<Station>,
    /// Why the emulated path, which every plan with TCP settings needs, is not among them.
    pub(super) without_path: Option<MeasureError>,
}

impl Stations {
    /// The measurements that can speak for something in `plan`, as far as they can be prepared. One that was not even
    /// needed is not prepared.
    pub(super) fn of(host: &Host, plan: &Plan) -> Self {
        let mut stations = Self {
            list: Vec::new(),
            without_path: None,
        };
        if needs_path(plan) {
            notify::progress("measuring what the emulated path carries", PREPARE_LIMIT * 2);
            let mut path = EmulatedPath::new(host);
            match path.prepare(Deadline::after(PREPARE_LIMIT)) {
                Ok(()) => stations.add(path, true),
                Err(error) => stations.without_path = Some(error),
            }
        }
        stations
    }

    fn add(&mut self, measure: impl Measure + 'static, prepared: bool) {
        self.list.push(Station {
            measure: Box::new(measure),
            prepared,
        });
    }

    /// The groups that these measurements exercise.
    pub(super) fn speak_for(&self) -> BTreeSet<Group> {
        self.list
            .iter()
            .flat_map(|station| station.measure.info().exercises)
            .collect()
    }

    /// Removes what the measurements built.
    pub(super) fn clean(&mut self) {
        self.list.iter_mut().for_each(super::prove::clean);
    }
}

/// Whether the emulated path can speak for anything in the plan.
fn needs_path(plan: &Plan) -> bool {
    let by_path = |group: &Group| group.evidence() == EvidenceKind::EmulatedPath;
    plan.groups().iter().any(by_path)
}
