//! What `dtn-firstboot audit --json` answers: each value that should be, the one that is, and who set the one that is.

use crate::group::Group;
use crate::knob::{Disrupts, Owner};
use crate::value::Value;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Form of [`Audit`].
pub const AUDIT_SCHEMA: u32 = 1;

/// A host held against a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Audit {
    /// Name of the node's state, as [`crate::state::State::name`] gives it.
    pub state: String,
    /// Where the expected values come from.
    pub against: Against,
    /// Catalog name of the profile.
    pub profile: String,
    /// Digest of its layer.
    pub layer: String,
    /// Why this profile, one sentence.
    pub why: String,
    /// One entry for each knob of the plan, what differs first, else in the order in which a trial writes them.
    pub rows: Vec<Row>,
    /// How many rows have each verdict.
    pub counts: Counts,
    /// What an admin should know beside the rows, one sentence each.
    pub warnings: Vec<String>,
}

/// Where the expected values of an audit come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Against {
    /// The plan that was proved and committed on this node.
    Commit,
    /// The plan that the matching profile would have on this host; nothing is committed.
    Profile,
}

/// One knob.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The knob, or its pattern where the host has no device for it.
    pub knob: String,
    /// Interface or disk name at present, for people; the name at planning time when the device is gone.
    pub device: Option<String>,
    /// Whether the live value is the expected one.
    pub verdict: RowVerdict,
    /// The value that should be; `None` where the profile gets none on this host, and then `note` says why.
    pub expected: Option<Value>,
    /// The value that is; `None` when there is none, and then `note` says why.
    pub live: Option<Value>,
    /// Unit of both, for people; empty for none.
    pub unit: String,
    /// The group that it stands or falls with.
    pub group: Group,
    /// Who set the live value; `None` where there is no live value.
    pub owner: Option<Setter>,
    /// A file of somebody else that sets another value at the next boot, although the live value is the expected one
    /// or is going to be written by us.
    pub at_boot: Option<Setter>,
    /// Who writes the expected value on a committed host.
    pub written_by: Option<Owner>,
    /// What writing it interrupts.
    pub disrupts: Option<Disrupts>,
    /// Why the value is expected.
    pub why: String,
    /// Where it comes from.
    pub source: String,
    /// Remark: lowered, unreadable, gone.
    pub note: Option<String>,
}

/// Whether a live value is the expected one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowVerdict {
    /// It is another one.
    Differs,
    /// It was committed and is not there any more, or cannot be read.
    Missing,
    /// It is the expected one, or one that a device makes of it, or a larger one where only a smaller one is raised.
    Ok,
    /// The profile does not get it on this host; `note` says why.
    NotApplied,
}

/// How many rows have each verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// [`RowVerdict::Differs`].
    pub differs: usize,
    /// [`RowVerdict::Missing`].
    pub missing: usize,
    /// [`RowVerdict::Ok`].
    pub ok: usize,
    /// [`RowVerdict::NotApplied`].
    pub not_applied: usize,
}

impl Counts {
    /// Counts rows.
    pub fn of(rows: &[Row]) -> Self {
        let count = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
        Self {
            differs: count(RowVerdict::Differs),
            missing: count(RowVerdict::Missing),
            ok: count(RowVerdict::Ok),
            not_applied: count(RowVerdict::NotApplied),
        }
    }
}

impl Audit {
    /// Whether the host is not as it should be: exit code 3.
    pub fn drifted(&self) -> bool {
        self.counts.differs + self.counts.missing > 0
    }
}

/// Who set a value, as far as the host tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Setter {
    /// What kind of thing.
    pub kind: SetterKind,
    /// The file and line, or the name of a label; `None` where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The value that it sets, where it says one in plain words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// The configuration management that wrote the file, when the file says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub managed_by: Option<String>,
    /// Remark, one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Kinds of setters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SetterKind {
    /// The agent, by a trial, a commit or a file of its own.
    Dtnforge,
    /// `dtn-firstboot restore`; the place is the label.
    Label,
    /// A file in a `sysctl.d` directory.
    SysctlD,
    /// `/etc/sysctl.conf`, which `sysctl --system` reads and systemd does not.
    SysctlConf,
    /// The active tuned profile.
    Tuned,
    /// A udev rule.
    Udev,
    /// A `.link` or `.network` file of systemd.
    Networkd,
    /// A connection of NetworkManager.
    NetworkManager,
    /// A unit file that runs a command.
    Unit,
    /// A start script such as `/etc/rc.local`.
    Script,
    /// Nothing on disk says the live value, and something says another one or it was another one before.
    ByHand,
    /// Nothing on disk sets it: the kernel's own value, or one set by hand.
    Nobody,
}

impl SetterKind {
    /// All kinds, in the order of the documentation.
    pub const ALL: [SetterKind; 12] = [
        SetterKind::Dtnforge,
        SetterKind::Label,
        SetterKind::SysctlD,
        SetterKind::SysctlConf,
        SetterKind::Tuned,
        SetterKind::Udev,
        SetterKind::Networkd,
        SetterKind::NetworkManager,
        SetterKind::Unit,
        SetterKind::Script,
        SetterKind::ByHand,
        SetterKind::Nobody,
    ];

    /// In words, before a place.
    fn words(self) -> &'static str {
        match self {
            SetterKind::Dtnforge => "dtnforge",
            SetterKind::Label => "restored from label",
            SetterKind::SysctlD => "sysctl.d",
            SetterKind::SysctlConf => "sysctl.conf",
            SetterKind::Tuned => "tuned",
            SetterKind::Udev => "udev rule",
            SetterKind::Networkd => "systemd network file",
            SetterKind::NetworkManager => "NetworkManager",
            SetterKind::Unit => "unit file",
            SetterKind::Script => "start script",
            SetterKind::ByHand => "by hand",
            SetterKind::Nobody => "nothing on disk sets it (the kernel's own value, or set by hand)",
        }
    }
}

impl Setter {
    /// A setter without a place.
    pub fn of(kind: SetterKind) -> Self {
        Self {
            kind,
            place: None,
            value: None,
            managed_by: None,
            note: None,
        }
    }

    /// The same with a remark.
    #[must_use]
    pub fn noting(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }
}

impl fmt::Display for Setter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.words())?;
        if let Some(place) = &self.place {
            write!(f, " {place}")?;
        }
        let remarks = [
            self.managed_by
                .as_ref()
                .map(|manager| format!("managed by {manager}")),
            self.note.clone(),
        ];
        let remarks: Vec<String> = remarks.into_iter().flatten().collect();
        if !remarks.is_empty() {
            write!(f, " ({})", remarks.join("; "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setter_is_a_few_words_with_its_place() {
        let setter = Setter {
            place: Some("/etc/sysctl.d/99-site.conf:4".into()),
            managed_by: Some("Puppet".into()),
            ..Setter::of(SetterKind::SysctlD)
        };
        assert_eq!(
            setter.to_string(),
            "sysctl.d /etc/sysctl.d/99-site.conf:4 (managed by Puppet)"
        );
        let by_hand = Setter::of(SetterKind::ByHand).noting("/etc/sysctl.d/x.conf:1 says 10");
        assert_eq!(by_hand.to_string(), "by hand (/etc/sysctl.d/x.conf:1 says 10)");
    }

    #[test]
    fn every_kind_is_listed_in_its_place() {
        for (index, kind) in SetterKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, index, "{kind:?}");
        }
    }
}
