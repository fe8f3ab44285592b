//! How to take back one write: data, made and stored before the write is done.

use crate::value::Value;
use serde::{Deserialize, Serialize};

/// The way back for one knob.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "value")]
pub enum Undo {
    /// Write the value that was there before.
    Write(Value),
    /// Delete the root qdisc that we installed: the kernel then re-creates its default (`mq` and leaves, or
    /// `noqueue`). Never "restore" `pfifo_fast`. The text is what the leaves were before, to be read back.
    DelQdisc {
        /// The leaf kind before us, for the read-back.
        before: Value,
    },
    /// Stop tuned, which restores what it saw when it started, and put its own state back.
    Tuned {
        /// The profile that was active before; `None` when there was none.
        profile: Option<String>,
        /// `auto` or `manual`, as tuned's `profile_mode` file said; `None` when it was absent.
        mode: Option<String>,
        /// Whether tuned was running before us.
        running: bool,
    },
    /// Remove a file that we made.
    RemoveFile(String),
}
