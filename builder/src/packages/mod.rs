//! Packages: from which archives ([`sources`]), which versions ([`apt`], [`lock`]), and their bytes ([`pool`]),
//! so that an image is made from a locked set of files and from nothing else ([`repository`]).

pub mod apt;
pub mod host;
pub mod lock;
pub mod locking;
pub mod pool;
pub mod repository;
pub mod sources;
pub mod stanza;
