//! Values of the host under a label: saved, listed, compared, put back.
//!
//! [`capture`] reads every knob of the registry that the host has, [`store`] keeps it as one file for each label,
//! [`restore`] puts it back as a transaction. Values only: files that set them at boot are never changed, and each
//! answer about a restore says so.

pub mod capture;
mod outcome;
pub mod restore;
pub mod store;
mod text;

pub use capture::{Devices, capture};
pub use outcome::{AtBoot, Failed, Outcome, Restored};
pub use text::{Listed, render_differences, render_list, render_plan, render_report};
