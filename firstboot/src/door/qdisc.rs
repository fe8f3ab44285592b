//! The queue discipline under each transmit queue of a NIC.
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
//! A root with a handle that is neither 0 nor ours was set by someone and is left alone.

use super::attribute;
use super::sysctl::relative_path;
use super::{Door, DoorError, present};
use crate::host::Host;
use crate::netdev;
use dtnforge_profiles::knob::KnobId;
use dtnforge_profiles::plan::Reading;
use dtnforge_profiles::undo::Undo;
use dtnforge_profiles::value::Value;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// The handle of a root that we made. Below 8000, where the kernel's own numbering of handles starts.
const OUR_HANDLE: &str = "d7:";

/// The handle of a root that the kernel made.
const KERNEL_HANDLE: &str = "0:";

/// Time for one call of `tc`.
const PATIENCE: Duration = Duration::from_secs(20);

/// The qdisc of devices that are activated from now on.
const DEFAULT_QDISC: &str = "net.core.default_qdisc";

/// The door to queue disciplines.
#[derive(Debug)]
pub struct QdiscDoor {
    host: Host,
}

/// One element of `tc -j qdisc show`.
#[derive(Debug, Deserialize)]
struct Element {
    kind: String,
    handle: String,
    #[serde(default)]
    root: bool,
    #[serde(default)]
    parent: Option<String>,
}

/// The qdiscs on the transmit side of a device.
#[derive(Debug, PartialEq, Eq)]
struct Tree {
    kind: String,
    handle: String,
    /// Kind of the leaf, by number of the queue from 1.
    leaves: BTreeMap<u32, String>,
}

/// Who made a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Maker {
    Kernel,
    Us,
    Other,
}

impl Tree {
    /// Reads the answer of `tc -j qdisc show dev X`; `None` when there is no root, as for a device without queues.
    fn parse(text: &str) -> Result<Option<Self>, serde_json::Error> {
        // Some versions of tc print nothing at all for an empty list.
        if text.trim().is_empty() {
            return Ok(None);
        }
        let elements: Vec<Element> = serde_json::from_str(text)?;
        let Some(root) = elements.iter().find(|element| element.root) else {
            return Ok(None);
        };
        let major = root.handle.trim_end_matches(':').trim_start_matches('0');
        // `parent` is MAJOR:MINOR in hexadecimal, MAJOR empty for 0.
        let queue = |element: &Element| {
            let (parent, minor) = element.parent.as_deref()?.split_once(':')?;
            (parent == major)
                .then(|| u32::from_str_radix(minor, 16).ok())
                .flatten()
        };
        let leaves = elements
            .iter()
            .filter_map(|element| Some((queue(element)?, element.kind.clone())))
            .collect();
        Ok(Some(Self {
            kind: root.kind.clone(),
            handle: root.handle.clone(),
            leaves,
        }))
    }

    fn maker(&self) -> Maker {
        match self.handle.as_str() {
            KERNEL_HANDLE => Maker::Kernel,
            OUR_HANDLE => Maker::Us,
            _ => Maker::Other,
        }
    }

    fn is_multi_queue(&self) -> bool {
        self.kind == "mq"
    }

    /// The kinds under the queues, each once, in order of the queues; the root's where it has no queues under it.
    fn kinds(&self) -> Vec<&str> {
        if !self.is_multi_queue() {
            return vec![&self.kind];
        }
        let mut kinds: Vec<&str> = Vec::new();
        for kind in self.leaves.values() {
            if !kinds.contains(&kind.as_str()) {
                kinds.push(kind);
            }
        }
        kinds
    }

    fn reading(&self) -> Reading {
        if self.maker() == Maker::Other {
            let (kind, handle) = (&self.kind, &self.handle);
            return Reading::Unsupported(format!(
                "the root qdisc {kind} {handle} was set by someone and is left alone"
            ));
        }
        match self.kinds().as_slice() {
            [] => Reading::Unsupported("mq without queues".to_owned()),
            ["noqueue"] => Reading::Unsupported("the device sends without a queue".to_owned()),
            ["noop"] => Reading::Unsupported("the device is down and has no queue yet".to_owned()),
            kinds => Reading::Is(Value::new(&kinds.join(" "))),
        }
    }
}

impl QdiscDoor {
    /// The door of `host`.
    pub fn new(host: &Host) -> Self {
        Self { host: host.clone() }
    }

    /// The present name of the NIC; `None` when it is gone.
    fn ifname(&self, knob: &KnobId) -> Result<Option<String>, DoorError> {
        match knob {
            KnobId::Qdisc(id, key) if key == "leaf" => Ok(netdev::find(&self.host, id)),
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

    /// Puts `kind` under each queue of a multi-queue device.
    fn write_leaves(&self, knob: &KnobId, ifname: &str, tree: Tree, kind: &str) -> Result<(), DoorError> {
        let tree = if tree.maker() == Maker::Kernel {
            self.tc(
                knob,
                &[
                    "qdisc", "replace", "dev", ifname, "root", "handle", OUR_HANDLE, "mq",
                ],
            )?;
            self.our_tree(knob)?.1
        } else {
            tree
        };
        for (queue, _) in tree.leaves.iter().filter(|(_, found)| *found != kind) {
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
        Ok(self
            .tree(knob, &ifname)?
            .map_or(Reading::Absent, |tree| tree.reading()))
    }

    fn limit(&self, _knob: &KnobId) -> Option<i64> {
        None
    }

    fn undo_for(&self, knob: &KnobId) -> Result<Undo, DoorError> {
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

    const TWO_QUEUES: &str = r#"[
        {"kind":"mq","handle":"0:","root":true,"options":{}},
        {"kind":"pfifo_fast","handle":"0:","parent":":a","options":{"bands":3}},
        {"kind":"fq_codel","handle":"0:","parent":":1","options":{}},
        {"kind":"clsact","handle":"ffff:","parent":"ffff:fff1","options":{}}]"#;

    fn tree(text: &str) -> Tree {
        Tree::parse(text).unwrap().unwrap()
    }

    #[test]
    fn leaves_are_numbered_in_hexadecimal_and_the_ingress_side_is_none_of_them() {
        let tree = tree(TWO_QUEUES);
        let leaves = [(1, "fq_codel".to_owned()), (10, "pfifo_fast".to_owned())];
        assert_eq!(tree.leaves, BTreeMap::from(leaves));
        assert_eq!(tree.maker(), Maker::Kernel);
        assert_eq!(tree.reading(), Reading::Is("fq_codel pfifo_fast".into()));
    }

    #[test]
    fn equal_leaves_read_as_one_kind() {
        let text = r#"[{"kind":"mq","handle":"d7:","root":true},
            {"kind":"fq","handle":"8001:","parent":"d7:1"},{"kind":"fq","handle":"8002:","parent":"d7:2"}]"#;
        let tree = tree(text);
        assert_eq!(tree.maker(), Maker::Us);
        assert_eq!(tree.reading(), Reading::Is("fq".into()));
    }

    #[test]
    fn a_root_of_someone_else_is_left_alone() {
        let text = r#"[{"kind":"htb","handle":"1:","root":true},
            {"kind":"fq","handle":"10:","parent":"1:10"}]"#;
        assert_eq!(
            tree(text).reading(),
            Reading::Unsupported("the root qdisc htb 1: was set by someone and is left alone".to_owned())
        );
    }

    #[test]
    fn a_device_without_a_queue_is_told_apart_from_one_that_is_down() {
        for (kind, word) in [("noqueue", "without a queue"), ("noop", "down")] {
            let text = format!(r#"[{{"kind":"{kind}","handle":"0:","root":true}}]"#);
            let Reading::Unsupported(why) = tree(&text).reading() else {
                panic!("{kind} was accepted");
            };
            assert!(why.contains(word), "{why}");
        }
    }

    #[test]
    fn an_empty_answer_is_no_tree_and_rubbish_is_an_error() {
        assert_eq!(Tree::parse("").unwrap(), None);
        assert_eq!(Tree::parse("[]").unwrap(), None);
        assert!(Tree::parse("Cannot find device").is_err());
    }

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
