//! What kernels take: which sysctls there are, which values they refuse, and which modules exist.
//!
//! The tables are those of Linux 6.12 (Debian 13), read from its sources. EL9 has 5.14 with many backports that differ
//! by minor release, so a key is never called missing there because of its version.

mod accept;
mod gone;
mod host;
mod ipv4;
mod keys;
mod modules;
mod release;
mod table;

pub(super) use accept::{Names, accept, fields_of, names_of, number};
pub(super) use gone::gone;
pub(super) use keys::{Known, look_up, module_of, nearest_key};
pub(super) use modules::{AsDefault, CONGESTION, as_default, default_qdiscs, is_in_extra_package};
pub(super) use release::Kernel;
