//! `dtn-firstboot`: the agent on a node. It detects, plans, tries, proves, commits and rolls back.
//!
//! Pure decisions live in `dtnforge-profiles`; this crate holds the doors through which a host is read and written
//! ([`host`], [`door`]), and the order in which things happen ([`flow`]). Each door takes a root, so that a test host
//! is a directory.

pub mod atomic;
pub mod audit;
pub mod boot;
pub mod checks;
pub mod cli;
pub mod cmd;
pub mod detect;
pub mod door;
pub mod early;
pub mod esp;
pub mod events;
mod failpoint;
pub mod flow;
pub mod goodboot;
pub mod host;
pub mod install;
pub mod labels;
pub mod layers;
pub mod live;
pub mod measure;
pub mod metrics;
pub mod motd;
pub mod netdev;
pub mod notify;
pub mod owner;
pub mod people;
pub mod report;
pub mod selftest;
pub mod siteconf;
pub mod siteunits;
pub mod sockets;
pub mod statefs;
pub mod status;
pub mod store;
pub mod target;
pub mod trial;
