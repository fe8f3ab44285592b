//! What is true for all knobs of one kind.

use crate::group::Group;

/// Who writes a knob on a committed host; there is exactly one for each knob.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Owner {
    /// A file in `sysctl.d`.
    SysctlD,
    /// A udev rule that calls ethtool or writes an attribute, at coldplug, before the link is up.
    Udev,
    /// Our tuned profile.
    Tuned,
    /// The kernel command line.
    KernelCommandLine,
}

/// How far a knob reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// The whole host.
    Host,
    /// One network namespace.
    Netns,
    /// One device.
    Device,
    /// Effective from the next boot.
    Boot,
}

/// What a write interrupts; later variants are worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Disrupts {
    /// Nothing.
    None,
    /// Queued packets may be dropped.
    Queue,
    /// The link may go down for seconds.
    Link,
    /// Only a reboot makes it effective.
    Reboot,
}

/// How a device or the kernel may change a written value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rounding {
    /// Read back as written.
    Exact,
    /// The device may round up to a power of two (mlx5 rings).
    Pow2Up,
    /// The device may round up to a multiple.
    MultipleOf(u32),
    /// Lowered to the device's maximum before writing.
    Clamp,
}

/// The type of a knob's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// One integer, both limits included.
    Integer {
        /// Smallest value that is accepted.
        min: i64,
        /// Largest value that is accepted.
        max: i64,
    },
    /// A vector of three integers (min, default, max), each at most `max`.
    Triple {
        /// Smallest first field.
        min: i64,
        /// Largest field.
        max: i64,
    },
    /// `on` or `off`.
    Switch,
    /// One word out of a list; an empty list allows each word of letters, digits, `_` and `-`.
    Word(&'static [&'static str]),
}

/// The definition of a kind of knob.
#[derive(Debug, Clone, Copy)]
pub struct KnobDef {
    /// The name with `<dev>` for a device, as [`super::KnobId::pattern`] gives it.
    pub pattern: &'static str,
    /// Type and range.
    pub kind: ValueKind,
    /// Unit of the value, for people: `byte`, `packet`, `descriptor`, empty for none.
    pub unit: &'static str,
    /// Who writes it on a committed host.
    pub owner: Owner,
    /// The group it stands or falls with.
    pub group: Group,
    /// How far it reaches.
    pub scope: Scope,
    /// What a write interrupts.
    pub disrupts: Disrupts,
    /// How a written value may change.
    pub rounding: Rounding,
    /// Patterns of the knobs that must be written before this one.
    pub after: &'static [&'static str],
    /// Kernel module that must be there before the value is accepted, when it depends on the value: `fq` needs
    /// `sch_fq`. Pairs of (value, module).
    pub modules: &'static [(&'static str, &'static str)],
    /// One sentence for the reference page.
    pub about: &'static str,
}
