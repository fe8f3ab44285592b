//! The queue disciplines of a device, as `tc` prints them.

use dtnforge_profiles::plan::Reading;
use dtnforge_profiles::value::Value;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The handle of a root that we made. Below 8000, where the kernel's own numbering of handles starts.
pub(super) const OUR_HANDLE: &str = "d7:";

/// The handle of a root that the kernel made.
const KERNEL_HANDLE: &str = "0:";

/// One element of `tc -j qdisc show`.
#[derive(Debug, Deserialize)]
struct Element {
    kind: String,
    handle: String,
    #[serde(default)]
    root: bool,
    #[serde(default)]
    parent: Option<String>,
    #[serde(default)]
    options: Options,
}

/// What a door reads of the options of a qdisc.
#[derive(Debug, Default, Deserialize)]
struct Options {
    /// Rate of a flow, byte/s; `fq` has none without a limit.
    maxrate: Option<u64>,
}

/// The qdiscs on the transmit side of a device.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tree {
    pub(super) kind: String,
    pub(super) handle: String,
    /// Rate of a flow at the root, byte/s.
    maxrate: Option<u64>,
    /// The leaf, by number of the queue from 1.
    pub(super) leaves: BTreeMap<u32, Leaf>,
}

/// The qdisc under one queue.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Leaf {
    pub(super) kind: String,
    /// Rate of a flow, byte/s.
    maxrate: Option<u64>,
}

/// Who made a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Maker {
    Kernel,
    Us,
    Other,
}

impl Tree {
    /// Reads the answer of `tc -j qdisc show dev X`; `None` when there is no root, as for a device without queues.
    pub(super) fn parse(text: &str) -> Result<Option<Self>, serde_json::Error> {
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
        let leaf = |element: &Element| Leaf {
            kind: element.kind.clone(),
            maxrate: element.options.maxrate,
        };
        let leaves = elements
            .iter()
            .filter_map(|element| Some((queue(element)?, leaf(element))))
            .collect();
        Ok(Some(Self {
            kind: root.kind.clone(),
            handle: root.handle.clone(),
            maxrate: root.options.maxrate,
            leaves,
        }))
    }

    pub(super) fn maker(&self) -> Maker {
        match self.handle.as_str() {
            KERNEL_HANDLE => Maker::Kernel,
            OUR_HANDLE => Maker::Us,
            _ => Maker::Other,
        }
    }

    pub(super) fn is_multi_queue(&self) -> bool {
        self.kind == "mq"
    }

    /// The kinds under the queues, each once, in order of the queues; the root's where it has no queues under it.
    pub(super) fn kinds(&self) -> Vec<&str> {
        if !self.is_multi_queue() {
            return vec![&self.kind];
        }
        let mut kinds: Vec<&str> = Vec::new();
        for leaf in self.leaves.values() {
            if !kinds.contains(&leaf.kind.as_str()) {
                kinds.push(&leaf.kind);
            }
        }
        kinds
    }

    pub(super) fn reading(&self) -> Reading {
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

    /// The rates of a flow in Mb/s, 0 for none; more than one where the queues differ.
    pub(super) fn rates(&self) -> Vec<u64> {
        let own = [self.maxrate];
        let mut rates: Vec<u64> = match self.is_multi_queue() {
            true => self.leaves.values().map(|leaf| mbps(leaf.maxrate)).collect(),
            false => own.into_iter().map(mbps).collect(),
        };
        rates.dedup();
        rates
    }

    /// How the rate of a flow reads: one number, several where the queues differ.
    pub(super) fn rate_reading(&self) -> Reading {
        match self.reading() {
            Reading::Is(_) => {
                let rates: Vec<String> = self.rates().iter().map(u64::to_string).collect();
                Reading::Is(Value::new(&rates.join(" ")))
            }
            other => other,
        }
    }
}

fn mbps(bytes_per_s: Option<u64>) -> u64 {
    bytes_per_s.unwrap_or_default() * 8 / 1_000_000
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
        let leaf = |kind: &str| Leaf {
            kind: kind.to_owned(),
            maxrate: None,
        };
        let leaves = [(1, leaf("fq_codel")), (10, leaf("pfifo_fast"))];
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
    fn the_rate_of_a_flow_is_read_in_megabits_and_said_twice_where_queues_differ() {
        let text = r#"[{"kind":"mq","handle":"d7:","root":true},
            {"kind":"fq","handle":"8001:","parent":"d7:1","options":{"limit":10000,"maxrate":250000000}},
            {"kind":"fq","handle":"8002:","parent":"d7:2","options":{"limit":10000,"maxrate":250000000}}]"#;
        assert_eq!(tree(text).rate_reading(), Reading::Is("2000".into()));
        let differ = text.replacen(",\"maxrate\":250000000", "", 1);
        assert_eq!(tree(&differ).rate_reading(), Reading::Is("0 2000".into()));
        let single = r#"[{"kind":"fq","handle":"d7:","root":true,"options":{"maxrate":125000}}]"#;
        assert_eq!(tree(single).rate_reading(), Reading::Is("1".into()));
        assert_eq!(tree(TWO_QUEUES).rate_reading(), Reading::Is("0".into()));
        let foreign = r#"[{"kind":"htb","handle":"1:","root":true}]"#;
        assert!(matches!(tree(foreign).rate_reading(), Reading::Unsupported(_)));
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
}
