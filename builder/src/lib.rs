//! `dtnforge`: from a spec to an image.
//!
//! A build is a chain of stages, each keyed by the digest of its inputs and kept in a [`cache`]. Programs come from a
//! [`tools`] tree and run in namespaces of their own ([`inside`]); packages come from a lock file and a pool
//! ([`packages`]).

pub mod boot;
pub mod cache;
pub mod cli;
pub mod cmd;
pub mod digest;
pub mod fsx;
pub mod image;
pub mod inside;
pub mod interrupt;
pub mod package;
pub mod packages;
pub mod run;
pub mod schema;
pub mod seed;
pub mod serve;
pub mod spec;
pub mod stage;
pub mod tell;
pub mod tools;
