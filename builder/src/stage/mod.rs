//! Stages: steps of a build, each keyed by the digest of its [`inputs`], made beside and renamed, kept in the cache.
//! A stage runs only when its key is new; the [`report`] says for each what it cost and which input made it run.

pub mod inputs;
pub mod outputs;
pub mod pipeline;
pub mod report;
pub mod space;

pub use inputs::Inputs;
pub use pipeline::{Made, Pipeline, StageError, Work};
