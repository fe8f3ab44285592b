//! What keeps a test from getting at the node that it wants to look at.

use std::fmt;
use std::path::PathBuf;

/// An error of the harness. A node that misbehaves is the business of the test's own assertions.
///
/// Its `Debug` form is its message: that is what the test runner prints of a test that returns one.
#[derive(thiserror::Error)]
pub enum Trouble {
    /// A file could not be used.
    #[error("cannot {action} {path}: {source}")]
    File {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A program ended with an error.
    #[error("{program} ended with {status}:\n{output}")]
    Program {
        /// The program and its arguments.
        program: String,
        /// How it ended.
        status: String,
        /// What it wrote.
        output: String,
    },
    /// Something answered in a form that was not expected.
    #[error("{what} is not as expected: {reason}\n{text}")]
    Answer {
        /// Whose answer.
        what: String,
        /// What is wrong with it.
        reason: String,
        /// The answer.
        text: String,
    },
}

impl fmt::Debug for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Trouble {
    /// A closure that wraps an I/O error about `path`.
    pub fn file(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Trouble {
        let path = path.into();
        move |source| Trouble::File { action, path, source }
    }
}
