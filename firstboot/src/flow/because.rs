//! Why a trial is taken back.

/// The two kinds of reasons.
#[derive(Debug, thiserror::Error)]
pub enum Because {
    /// It speaks against the profile: a refused value, harm, a check that failed.
    #[error("{0}")]
    Rejects(String),
    /// It says nothing about the profile: somebody stopped us, a tool failed. A later boot may try again, as often as
    /// attempts are left.
    #[error("{0}")]
    SaysNothing(String),
}
