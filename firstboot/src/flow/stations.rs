//! The measurements that this node has, for one plan.
//!
//! One over the emulated path, by the role: streams, or request and response. The data store, where the plan has
//! settings of local disks. Peers, where the site names some. What cannot be prepared is told and left out, and its groups
//! are unproved; only the emulated path is something that a plan with TCP settings waits for.

use super::look::Look;
use super::prove::{PREPARE_LIMIT, Station};
use crate::host::Host;
use crate::measure::{Deadline, EmulatedPath, Measure, MeasureError, Peers, RequestResponse, Storage};
use crate::notify;
use dtnforge_profiles::group::{EvidenceKind, Group};
use dtnforge_profiles::knob::{Disrupts, KnobId};
use dtnforge_profiles::plan::Plan;
use dtnforge_profiles::site::Role;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// What can be measured here.
pub(super) struct Stations {
    /// The measurements, in the order in which they are used.
    pub(super) list: Vec<Station>,
    /// Why the emulated path, which every plan with TCP settings needs, is not among them.
    pub(super) without_path: Option<MeasureError>,
}

impl Stations {
    /// The measurements that can speak for something in `plan`, as far as they can be prepared.
    pub(super) fn of(host: &Host, look: &Look, plan: &Plan) -> Self {
        let mut stations = Self {
            list: Vec::new(),
            without_path: None,
        };
        if needs_path(plan) {
            notify::progress("measuring what the emulated path carries", PREPARE_LIMIT * 2);
            let path: Box<dyn Measure> = match look.site.role {
                Some(Role::RemoteProcessing) => Box::new(RequestResponse::new(host)),
                _ => Box::new(EmulatedPath::new(host)),
            };
            stations.without_path = stations.add(path).err();
        }
        let disks = disks(host, plan);
        if !disks.is_empty() {
            stations.add_or_tell(Box::new(Storage::new(host, disks)));
        }
        if !look.site.peers.is_empty() {
            let peers = Peers::new(host, look.site.peers.clone(), of_peers(plan));
            stations.add_or_tell(Box::new(peers));
        }
        stations
    }

    /// Adds the other measurement over the emulated path, for whoever wants to see all.
    pub(super) fn add_other_path(&mut self, host: &Host, look: &Look) {
        let measure: Box<dyn Measure> = match look.site.role {
            Some(Role::RemoteProcessing) => Box::new(EmulatedPath::new(host)),
            _ => Box::new(RequestResponse::new(host)),
        };
        // There is one emulated path on a host: it is built when its turn comes.
        self.list.push(Station {
            measure,
            prepared: false,
        });
    }

    fn add(&mut self, mut measure: Box<dyn Measure>) -> Result<(), MeasureError> {
        measure.prepare(Deadline::after(PREPARE_LIMIT))?;
        self.list.push(Station {
            measure,
            prepared: true,
        });
        Ok(())
    }

    fn add_or_tell(&mut self, measure: Box<dyn Measure>) {
        let name = measure.info().id;
        notify::progress(&format!("preparing {name}"), PREPARE_LIMIT * 2);
        if let Err(error) = self.add(measure) {
            log::warn!("{name}: not measured: {error}");
        }
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

/// The disks whose settings the plan changes.
fn disks(host: &Host, plan: &Plan) -> Vec<PathBuf> {
    let names: BTreeSet<&str> = plan
        .steps
        .iter()
        .filter_map(|step| match &step.knob {
            KnobId::Block(disk, _) => Some(disk.suffix().unwrap_or(disk.as_str())),
            _ => None,
        })
        .collect();
    names
        .into_iter()
        .map(|name| host.path(&format!("/dev/{name}")))
        .collect()
}

/// The groups that traffic with a peer speaks for. A group that takes a link down is none of them: it would go down and
/// up with every pair.
fn of_peers(plan: &Plan) -> Vec<Group> {
    let flaps = |group: &Group| {
        plan.steps
            .iter()
            .any(|step| step.group == *group && step.disrupts == Disrupts::Link)
    };
    plan.groups()
        .into_iter()
        .filter(|group| {
            matches!(
                group.evidence(),
                EvidenceKind::RealNic | EvidenceKind::EmulatedPath
            )
        })
        .filter(|group| !flaps(group))
        .collect()
}
