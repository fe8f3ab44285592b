//! The outcome of a check.

use super::definition::Severity;
use super::finding::Finding;
use crate::envelope::Exit;
use serde::{Deserialize, Serialize};

/// A lint that had something to judge, and did not know enough to do it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotJudged {
    /// Id of the lint.
    pub lint: String,
    /// What it would have to know.
    pub needs: String,
}

/// The outcome of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// What was found, in the order of files and lines.
    pub findings: Vec<Finding>,
    /// What could not be judged.
    pub not_judged: Vec<NotJudged>,
}

/// The lint whose findings say that a file is not what it should be.
const UNREADABLE: &str = "profile-form";

impl Report {
    /// The number of findings of a severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings
            .iter()
            .filter(|finding| finding.severity == severity)
            .count()
    }

    /// The exit code: 2 when a file is no profile at all, 1 for an error, with `strict` also for a warning.
    pub fn exit(&self, strict: bool) -> Exit {
        let fails = |finding: &Finding| strict || finding.severity == Severity::Error;
        if self.findings.iter().any(|finding| finding.lint == UNREADABLE) {
            Exit::BadInput
        } else if self.findings.iter().any(fails) {
            Exit::Failed
        } else {
            Exit::Ok
        }
    }
}
