//! What every `--json` answer and every exit code of both binaries looks like.

use serde::{Deserialize, Serialize};

/// The envelope around the data of a `--json` answer. Fields are only ever added.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Envelope<T> {
    /// Form of `data`; raised when a field changes its meaning or goes away.
    pub schema: u32,
    /// Version of the program that answered.
    pub version: String,
    /// The answer.
    pub data: T,
}

impl<T: Serialize> Envelope<T> {
    /// Wraps `data`, in the form numbered `schema`.
    pub fn new(schema: u32, data: T) -> Self {
        Self {
            schema,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            data,
        }
    }

    /// The pretty text, with a line feed at its end.
    ///
    /// # Errors
    /// When `data` cannot be serialised, for instance a map with keys that are no text.
    pub fn to_text(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

/// Exit codes of both binaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// What was asked for happened.
    Ok = 0,
    /// It did not; the message says why.
    Failed = 1,
    /// The command line, a spec, a profile or another input is wrong. Nothing was changed.
    BadInput = 2,
    /// The host differs from what it was held against (`audit`, `diff`, `restore`, `status --check`, `run`).
    Drift = 3,
    /// A trial was rejected, and the host was read and found stock.
    Rejected = 4,
    /// A rollback could not be verified.
    RollbackUnverified = 5,
    /// The agent is held and did nothing.
    Held = 6,
}

impl Exit {
    /// All of them, in the order of their numbers.
    pub const ALL: [Exit; 7] = [
        Exit::Ok,
        Exit::Failed,
        Exit::BadInput,
        Exit::Drift,
        Exit::Rejected,
        Exit::RollbackUnverified,
        Exit::Held,
    ];

    /// The number.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// In a few words, as [`EXIT_CODES_HELP`] has it.
    pub fn brief(self) -> &'static str {
        match self {
            Exit::Ok => "ok",
            Exit::Failed => "failed",
            Exit::BadInput => "bad input (nothing changed)",
            Exit::Drift => "the host differs (drift)",
            Exit::Rejected => "trial rejected and host verified stock",
            Exit::RollbackUnverified => "rollback not verified",
            Exit::Held => "held",
        }
    }

    /// What it tells a script.
    pub fn about(self) -> &'static str {
        match self {
            Exit::Ok => "What was asked for happened.",
            Exit::Failed => "It did not; the message says why. `dtnforge profile check`: it found an error.",
            Exit::BadInput => {
                "The command line, a spec, a profile or another input is wrong. Nothing was changed."
            }
            Exit::Drift => {
                "The host differs from what it was held against (`audit`, `diff`, `restore`, `status --check`, `run`)."
            }
            Exit::Rejected => "A trial was rejected, and the host was read and found stock.",
            Exit::RollbackUnverified => {
                "A trial was taken back, and not every value read back as it was before."
            }
            Exit::Held => "The agent is held and did nothing.",
        }
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        std::process::ExitCode::from(exit.code())
    }
}

/// The table of exit codes for `--help`.
pub const EXIT_CODES_HELP: &str = "Exit codes: 0 ok, 1 failed, 2 bad input (nothing changed), 3 the host differs (drift), \
4 trial rejected and host verified stock, 5 rollback not verified, 6 held.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_text_has_every_code() {
        let briefs = Exit::ALL.map(|exit| format!("{} {}", exit.code(), exit.brief()));
        assert_eq!(EXIT_CODES_HELP, format!("Exit codes: {}.", briefs.join(", ")));
    }
}
