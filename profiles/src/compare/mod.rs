//! Two ways to tune a host held side by side: profiles, their plans for one host, what others publish, or a file of a
//! site's own. Each is a [`Side`]; [`compare`] says where they agree and where not, with both reasons.

mod side;
mod sysctl_d;
mod table;

pub use side::{Setting, Side};
pub use sysctl_d::BadLine;
pub use table::{Cell, RTT_MS, audiences, table};

use crate::published::{Values, agrees};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// One knob, on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The knob; or the head of a profile, for instance `match.storage`.
    pub knob: String,
    /// What the left side says.
    pub left: Option<Setting>,
    /// What the right side says.
    pub right: Option<Setting>,
}

impl Row {
    /// Whether both say the same.
    pub fn same(&self) -> bool {
        let value = |setting: &Option<Setting>| setting.as_ref().and_then(|setting| setting.value.clone());
        match (value(&self.left), value(&self.right)) {
            (Some(left), Some(right)) => agrees(&left, &right) || agrees(&right, &left),
            (left, right) => left == right,
        }
    }
}

/// All that either side says, in the order of the knobs' names; first what two profiles say of themselves.
///
/// A side that leaves a setting alone has the value that `kernel` gives it, where that is known.
pub fn compare(left: &Side, right: &Side, kernel: &Values) -> Vec<Row> {
    let mut rows = Vec::new();
    if !left.head.is_empty() && !right.head.is_empty() {
        rows.extend(paired(&left.head, &right.head));
    }
    let (mut left, mut right) = (left.spread_over(right), right.spread_over(left));
    side::fill_in(&mut left, &right, kernel);
    side::fill_in(&mut right, &left, kernel);
    rows.extend(paired(&left, &right));
    rows
}

fn paired(left: &BTreeMap<String, Setting>, right: &BTreeMap<String, Setting>) -> Vec<Row> {
    let knobs: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
    let row = |knob: &String| Row {
        knob: knob.clone(),
        left: left.get(knob).cloned(),
        right: right.get(knob).cloned(),
    };
    knobs.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests;
