//! Stages: steps of a build, each keyed by the digest of its [`inputs`], made beside and renamed, kept in the cache.
//! A stage runs only when its key is new; the [`report`] says for each what it cost and which input made it run.

pub mod error;
pub mod inputs;
pub mod made;
pub mod outputs;
pub mod pipeline;
pub mod report;
pub mod space;

pub use error::{Failed, StageError};
pub use inputs::Inputs;
pub use made::{Made, Work};
pub use pipeline::Pipeline;
