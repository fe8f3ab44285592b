//! The order in which things happen on a node: [`start`] from what is on disk, look at the machine, try, decide, end.

pub mod start;
