//! What a lint is: a name that stays, what it says, why, where that comes from, and one example each way.

use super::context::{Context, Missing};
use super::finding::Found;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// The line does not do what it says (refused, lost, in the wrong unit), or harms every host.
    Error,
    /// It harms some hosts, or costs something and gains nothing.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        })
    }
}

/// What a lint has to know beyond the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Needs {
    /// Nothing.
    Files,
    /// The facts of a host (`--host`).
    Host,
    /// The role of the host (`--role`, or the roles of a profile).
    Role,
}

/// The part of tuning that a lint belongs to; also the chapter of the reference page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Theme {
    /// Whether a line is read at all, and which file wins.
    Files,
    /// Names and values that a kernel does not take.
    Kernel,
    /// Behaviour of TCP.
    Tcp,
    /// Sizes of socket buffers.
    Buffers,
    /// Queue disciplines, pacing and queues of packets.
    Queues,
    /// Settings of interfaces.
    Nic,
    /// Memory, disks, CPU and boot.
    Host,
    /// Two places that set one thing.
    Owners,
    /// The catalog of profiles.
    Catalog,
}

impl Theme {
    /// All of them, in the order of the reference page.
    pub const ALL: [Theme; 9] = [
        Theme::Files,
        Theme::Kernel,
        Theme::Tcp,
        Theme::Buffers,
        Theme::Queues,
        Theme::Nic,
        Theme::Host,
        Theme::Owners,
        Theme::Catalog,
    ];

    /// The heading of its chapter.
    pub fn heading(self) -> &'static str {
        match self {
            Theme::Files => "Files: what is read, and which file wins",
            Theme::Kernel => "Kernel: names and values that it does not take",
            Theme::Tcp => "TCP behaviour",
            Theme::Buffers => "Socket buffers",
            Theme::Queues => "Queues and pacing",
            Theme::Nic => "Interfaces",
            Theme::Host => "Memory, disks, CPU and boot",
            Theme::Owners => "Owners",
            Theme::Catalog => "Catalog profiles",
        }
    }
}

/// Files, and a host, that show a lint at work. Tests run each of them.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Example {
    /// Path and text of each file; the path says what kind of file it is.
    pub files: &'static [(&'static str, &'static str)],
    /// Facts of the host, TOML; empty for none.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub host: &'static str,
    /// Role of the host; empty for none.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub role: &'static str,
}

impl Example {
    /// Files without a host.
    pub(super) const fn files(files: &'static [(&'static str, &'static str)]) -> Self {
        Self {
            files,
            host: "",
            role: "",
        }
    }

    /// The same on a host.
    pub(super) const fn on(self, host: &'static str) -> Self {
        Self { host, ..self }
    }

    /// The same for a role.
    pub(super) const fn role(self, role: &'static str) -> Self {
        Self { role, ..self }
    }
}

/// One lint.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Lint {
    /// Name, kebab-case. It never changes its meaning.
    pub id: &'static str,
    /// Severity of its findings.
    pub severity: Severity,
    /// The part of tuning it belongs to.
    pub theme: Theme,
    /// What it has to know.
    pub needs: Needs,
    /// What is wrong, one line.
    pub what: &'static str,
    /// Why that is wrong, and when not.
    pub reason: &'static str,
    /// Where this is written, for a reader who doubts it.
    pub source: &'static str,
    /// Files in which it finds something, and nothing else does.
    pub bad: Example,
    /// Files in which nothing is found.
    pub good: Example,
    /// Looks, and adds findings; or says what it would have to know.
    #[serde(skip)]
    pub(super) check: fn(&Context<'_>, &mut Found<'_>) -> Result<(), Missing>,
}
