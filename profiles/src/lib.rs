//! The knowledge of dtnforge: facts, profiles, plans, states and verdicts as data, and pure functions over them.
//!
//! Every type that crosses a boundary (a file, a process, a crate) is defined here, once. Nothing in this crate
//! reads a host: the caller reads and hands text or values in, so that each rule is tested with data alone.
//!
//! The way through the crate follows the way of a node: [`facts`] are concluded on, a catalog profile is matched,
//! [`plan`] says which [`knob`] goes from what to what and why, [`journal`] and [`state`] say how far that came,
//! [`measure`] holds what was seen and [`verdict`] what follows from it.

pub mod apart;
pub mod audit;
pub mod bootcount;
pub mod bootkind;
pub mod catalog;
pub mod compare;
pub mod conclude;
pub mod decide;
pub mod device;
pub mod digest;
pub mod driver;
pub mod envelope;
pub mod facts;
pub mod fallback;
pub mod group;
pub mod installed_units;
pub mod journal;
pub mod knob;
pub mod label;
pub mod layer;
pub mod lint;
pub mod matching;
pub mod measure;
pub mod peer;
pub mod plan;
pub mod published;
pub mod render;
pub mod report;
pub mod selftest;
pub mod site;
pub mod state;
pub mod stats;
pub mod status;
pub mod suggest;
pub mod timeline;
pub mod undo;
pub mod value;
pub mod verdict;
pub mod window;
