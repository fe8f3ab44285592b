//! The rate that `fq` lets a flow have, the same under each queue.
//!
//! No limit is the state without our root: deleting it lets the kernel make the same tree anew. To replace a leaf by
//! itself would not do, as `tc` then changes the one that is there, with its rate.

use super::tree::{Maker, OUR_HANDLE, Tree};
use super::{Door, DoorError, QdiscDoor};
use dtnforge_profiles::knob::KnobId;
use dtnforge_profiles::plan::Reading;
use dtnforge_profiles::undo::Undo;
use dtnforge_profiles::value::Value;

/// The only qdisc that holds a flow to a rate.
const FQ: &str = "fq";

/// Whether a knob is the rate, and not the leaf.
pub(super) fn is_rate(knob: &KnobId) -> bool {
    matches!(knob, KnobId::Qdisc(_, key) if key == "maxrate")
}

impl QdiscDoor {
    /// The way back to the present rate.
    pub(super) fn undo_for_rate(&self, knob: &KnobId) -> Result<Undo, DoorError> {
        let (_, tree) = self.our_tree(knob)?;
        match tree.rates().as_slice() {
            [rate] => Ok(Undo::Write(Value::new(&rate.to_string()))),
            _ => Err(DoorError::Busy {
                knob: knob.clone(),
                why: "an earlier trial left its queues with different rates".to_owned(),
            }),
        }
    }

    /// Holds each flow to `value` Mb/s; 0 lifts the limit.
    pub(super) fn write_rate(&self, knob: &KnobId, value: &Value) -> Result<(), DoorError> {
        let expected = "expected a rate in Mb/s, or 0 for none";
        let rate: u64 = value
            .as_str()
            .parse()
            .map_err(|_| DoorError::invalid(knob, value, expected))?;
        let (ifname, tree) = self.our_tree(knob)?;
        if tree.rates() == [rate] {
            return Ok(());
        }
        if rate == 0 {
            return self.delete_root(knob, &ifname, &Value::new(FQ));
        }
        if tree.kinds() != [FQ] {
            let why = format!(
                "only fq holds a flow to a rate, and here is {}",
                tree.kinds().join(" ")
            );
            return Err(DoorError::invalid(knob, value, &why));
        }
        self.pace(knob, &ifname, tree, &format!("{rate}mbit"))
    }

    fn pace(&self, knob: &KnobId, ifname: &str, tree: Tree, rate: &str) -> Result<(), DoorError> {
        let replace = ["qdisc", "replace", "dev", ifname];
        let call = |rest: &[&str]| self.tc(knob, &[&replace, rest].concat()).map(drop);
        if !tree.is_multi_queue() {
            return call(&["root", "handle", OUR_HANDLE, FQ, "maxrate", rate]);
        }
        let tree = match tree.maker() {
            Maker::Kernel => self.make_root(knob, ifname)?,
            Maker::Us | Maker::Other => tree,
        };
        tree.leaves.keys().try_for_each(|queue| {
            let parent = format!("{OUR_HANDLE}{queue:x}");
            call(&["parent", &parent, FQ, "maxrate", rate])
        })
    }

    /// Takes a rate back.
    pub(super) fn undo_rate(&self, knob: &KnobId, undo: &Undo) -> Result<(), DoorError> {
        match undo {
            Undo::Write(before) if self.read(knob)? == Reading::Is(before.clone()) => Ok(()),
            Undo::Write(before) => self.write_rate(knob, before),
            _ => Err(DoorError::foreign_undo(knob, undo)),
        }
    }
}
