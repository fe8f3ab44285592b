//! The queue discipline under each transmit queue of a NIC, and the rate that it lets a flow have.
//!
//! The kernel gives a multi-queue device a root `mq` with one leaf for each queue, and all of them the handle 0. Two
//! facts of the kernel shape this door:
//!
//! - Nothing can be attached below a root with handle 0. So the first write replaces the root by an `mq` with a handle
//!   of ours, and then the leaves that differ. A plain `replace root fq` would take away `mq`, and with it one lock
//!   for each queue.
//! - A leaf that is deleted becomes `noop` and drops all packets; a *root* that is deleted is made anew by the kernel,
//!   with `net.core.default_qdisc` as it then is. So the way back deletes the root, with `default_qdisc` set to what
//!   the leaves were for that moment. It does not matter when the knob `net.core.default_qdisc` itself is undone.
//!
//! The rate is an option of `fq`, so there is none before its leaves are there, and it goes with them.
//!
//! A root with a handle that is neither 0 nor ours was set by someone and is left alone.

mod rate;
mod tree;

use super::attribute;
use super::sysctl::relative_path;
use super::{Door, DoorError, present};
use crate::host::Host;
use crate::netdev;
use dtnforge_profiles::knob::KnobId;
use dtnforge_profiles::plan::Reading;
use dtnforge_profiles::undo::Undo;
use dtnforge_profiles::value::Value;
use std::time::Duration;
use tree::{Maker, OUR_HANDLE, Tree};

/// Time for one call of `tc`.
const PATIENCE: Duration = Duration::from_secs(20);

/// The qdisc of devices that are activated from now on.
const DEFAULT_QDISC: &str = "net.core.default_qdisc";

/// The door to queue disciplines.
#[derive(Debug)]
pub struct QdiscDoor {
    host: Host,
}

impl QdiscDoor {
    /// The door of `host`.
    pub fn new(host: &Host) -> Self {
        Self { host: host.clone() }
    }

    /// The present name of the NIC; `None` when it is gone.
    fn ifname(&self, knob: &KnobId) -> Result<Option<String>, DoorError> {
        match knob {
            KnobId::Qdisc(id, key) if matches!(key.as_str(), "leaf" | "maxrate") => {
                Ok(netdev::find(&self.host, id))
            }
            _ => Err(DoorError::wrong_door(knob)),
        }
    }

    fn tc(&self, knob: &KnobId, args: &[&str]) -> Result<String, DoorError> {
        self.host
            .run("tc", args, PATIENCE)
            .map_err(|source| DoorError::Command {
                knob: knob.clone(),
                source,
            })
    }

    fn tree(&self, knob: &KnobId, ifname: &str) -> Result<Option<Tree>, DoorError> {
        let text = self.tc(knob, &["-j", "qdisc", "show", "dev", ifname])?;
        Tree::parse(&text).map_err(|error| {
            let why = format!("`tc -j qdisc show dev {ifname}`: {error}");
            attribute::io_error(knob, std::io::Error::other(why))
        })
    }

    /// The name and the tree, which must be there and not be someone else's.
    fn our_tree(&self, knob: &KnobId) -> Result<(String, Tree), DoorError> {
        let gone = || DoorError::Vanished { knob: knob.clone() };
        let ifname = self.ifname(knob)?.ok_or_else(gone)?;
        let tree = self.tree(knob, &ifname)?.ok_or_else(gone)?;
        present(knob, tree.reading())?;
        Ok((ifname, tree))
    }

    /// Makes the root of a multi-queue device ours, and reads the tree again.
    fn make_root(&self, knob: &KnobId, ifname: &str) -> Result<Tree, DoorError> {
        self.tc(
            knob,
            &[
                "qdisc", "replace", "dev", ifname, "root", "handle", OUR_HANDLE, "mq",
            ],
        )?;
        Ok(self.our_tree(knob)?.1)
    }

    /// Puts `kind` under each queue of a multi-queue device.
    fn write_leaves(&self, knob: &KnobId, ifname: &str, tree: Tree, kind: &str) -> Result<(), DoorError> {
        let tree = match tree.maker() {
            Maker::Kernel => self.make_root(knob, ifname)?,
            Maker::Us | Maker::Other => tree,
        };
        for (queue, _) in tree.leaves.iter().filter(|(_, leaf)| leaf.kind != kind) {
            let parent = format!("{OUR_HANDLE}{queue:x}");
            self.tc(
                knob,
                &["qdisc", "replace", "dev", ifname, "parent", &parent, kind],
            )?;
        }
        Ok(())
    }

    /// Puts `kind` at the root of a device with one queue.
    fn write_root(&self, knob: &KnobId, ifname: &str, tree: &Tree, kind: &str) -> Result<(), DoorError> {
        if tree.maker() == Maker::Us && tree.kind != kind {
            // The kernel does not change the kind of a qdisc under the same handle.
            self.tc(knob, &["qdisc", "del", "dev", ifname, "root"])?;
        }
        self.tc(
            knob,
            &[
                "qdisc", "replace", "dev", ifname, "root", "handle", OUR_HANDLE, kind,
            ],
        )?;
        Ok(())
    }

    /// Deletes our root while `default_qdisc` is `before`, so that the kernel makes the old tree again.
    fn delete_root(&self, knob: &KnobId, ifname: &str, before: &Value) -> Result<(), DoorError> {
        let file = self
            .host
            .path(&format!("/proc/sys/{}", relative_path(DEFAULT_QDISC)));
        let default = match attribute::read(knob, &file)? {
            Reading::Is(default) if default != *before => Some(default),
            // Another network namespace than the first has no such file, and its devices follow the first's.
            _ => None,
        };
        if default.is_some() {
            attribute::write(knob, &file, before)?;
        }
        let deleted = self.tc(knob, &["qdisc", "del", "dev", ifname, "root"]);
        if let Some(default) = default {
            attribute::write(knob, &file, &default)?;
        }
        deleted.map(drop)
    }
}

/// Whether `kind` can be the name of a qdisc, and no option or keyword of `tc`.
fn is_kind(kind: &str) -> bool {
    kind.starts_with(|c: char| c.is_ascii_lowercase())
        && kind
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

impl Door for QdiscDoor {
    fn read(&self, knob: &KnobId) -> Result<Reading, DoorError> {
        let Some(ifname) = self.ifname(knob)? else {
            return Ok(Reading::Absent);
        };
        let tree = self.tree(knob, &ifname)?;
        Ok(tree.map_or(Reading::Absent, |tree| match rate::is_rate(knob) {
            true => tree.rate_reading(),
            false => tree.reading(),
        }))
    }

    fn limit(&self, _knob: &KnobId) -> Option<i64> {
        None
    }

    fn undo_for(&self, knob: &KnobId) -> Result<Undo, DoorError> {
        if rate::is_rate(knob) {
            return self.undo_for_rate(knob);
        }
        let (_, tree) = self.our_tree(knob)?;
        if tree.maker() != Maker::Kernel {
            return Err(DoorError::Busy {
                knob: knob.clone(),
                why: format!("an earlier trial left its root qdisc {}", tree.handle),
            });
        }
        // Queues that came up later may differ from the first (the kernel gives them pfifo_fast); made anew, all are
        // like the first.
        let before = tree.kinds().first().map(|kind| Value::new(kind));
        let before = before.ok_or_else(|| DoorError::Vanished { knob: knob.clone() })?;
        Ok(Undo::DelQdisc { before })
    }

    fn write(&self, knob: &KnobId, value: &Value) -> Result<(), DoorError> {
        if rate::is_rate(knob) {
            return self.write_rate(knob, value);
        }
        if !is_kind(value.as_str()) {
            return Err(DoorError::invalid(knob, value, "expected the name of a qdisc"));
        }
        let (ifname, tree) = self.our_tree(knob)?;
        if tree.is_multi_queue() {
            self.write_leaves(knob, &ifname, tree, value.as_str())
        } else {
            self.write_root(knob, &ifname, &tree, value.as_str())
        }
    }

    fn undo(&self, knob: &KnobId, undo: &Undo) -> Result<(), DoorError> {
        if rate::is_rate(knob) {
            return self.undo_rate(knob, undo);
        }
        let before = match undo {
            Undo::DelQdisc { before } => before,
            // A root of ours is put back as one.
            Undo::Write(kind) if self.read(knob)? == Reading::Is(kind.clone()) => return Ok(()),
            Undo::Write(kind) => return self.write(knob, kind),
            _ => return Err(DoorError::foreign_undo(knob, undo)),
        };
        let (ifname, tree) = self.our_tree(knob)?;
        let as_before = tree.reading() == Reading::Is(before.clone());
        match tree.maker() {
            Maker::Kernel if as_before => Ok(()),
            Maker::Kernel => {
                // The device came anew while `default_qdisc` was ours: take its root over, then let it be made again.
                let root = if tree.is_multi_queue() {
                    "mq"
                } else {
                    before.as_str()
                };
                self.tc(
                    knob,
                    &[
                        "qdisc", "replace", "dev", &ifname, "root", "handle", OUR_HANDLE, root,
                    ],
                )?;
                self.delete_root(knob, &ifname, before)
            }
            Maker::Us | Maker::Other => self.delete_root(knob, &ifname, before),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_name_of_a_qdisc_reaches_tc() {
        for (kind, valid) in [
            ("fq", true),
            ("fq_codel", true),
            ("-batch", false),
            ("fq maxrate", false),
            ("", false),
            ("1x", false),
        ] {
            assert_eq!(is_kind(kind), valid, "{kind:?}");
        }
    }
}
