//! `dtn-firstboot`: the agent on a node. It detects, plans, tries, proves, commits and rolls back.
//!
//! Pure decisions live in `dtnforge-profiles`; this crate holds the doors through which a host is read and written
//! ([`host`], [`door`]), and the order in which things happen. Each door takes a root, so that a test host is a
//! directory.

pub mod atomic;
pub mod boot;
pub mod checks;
pub mod detect;
pub mod door;
pub mod events;
pub mod flow;
pub mod host;
pub mod measure;
pub mod netdev;
pub mod siteconf;
pub mod store;
pub mod trial;
