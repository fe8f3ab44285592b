//! Why a stage failed, and what is kept of the build all the same.

use super::space::SpaceError;
use crate::fsx::FileError;
use crate::interrupt::Interrupted;
use crate::packages::repository::RepositoryError;
use crate::run::RunError;

/// Why a stage could not make its output.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// A program failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A file could not be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The local archive.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    /// Too little free space.
    #[error(transparent)]
    Space(#[from] SpaceError),
    /// The user asked us to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// What was made is not what was asked for.
    #[error("{0}")]
    Wrong(String),
}

/// A stage failed.
#[derive(Debug, thiserror::Error)]
#[error("stage `{stage}` failed; finished and cached: {}", cached(finished))]
pub struct Failed {
    pub(super) stage: &'static str,
    pub(super) finished: Vec<&'static str>,
    pub(super) source: StageError,
}

fn cached(finished: &[&str]) -> String {
    if finished.is_empty() {
        "nothing yet".into()
    } else {
        finished.join(", ")
    }
}
