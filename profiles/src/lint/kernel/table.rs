//! Rows of the tables of sysctls.

/// The type of a sysctl, and the limits that the kernel checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// One number.
    Number {
        /// Smallest that is taken.
        min: i64,
        /// Largest that is taken.
        max: i64,
    },
    /// Several `int`s; the kernel checks each, not their order.
    Ints {
        /// How many.
        fields: usize,
        /// Smallest that is taken.
        min: i64,
    },
    /// Several `unsigned long`s.
    Longs {
        /// How many.
        fields: usize,
    },
    /// The name of a congestion control.
    Congestion,
    /// The name of a qdisc.
    Qdisc,
    /// `netdev_budget_usecs`: its smallest value is two ticks of the timer.
    BudgetUsecs,
    /// Text, or a form of its own that is not judged.
    Text,
    /// Cannot be written.
    ReadOnly,
}

/// One sysctl.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// The first mainline version that has it, where that is later than 5.14.
    pub(super) since: Option<(u32, u32)>,
}

pub(super) const INT_MAX: i64 = 2_147_483_647;
pub(super) const INT_MIN: i64 = -INT_MAX - 1;
pub(super) const U32_MAX: i64 = 4_294_967_295;

/// Any C `int`.
pub(super) const INT: Kind = int(INT_MIN, INT_MAX);
/// Any byte.
pub(super) const BYTE: Kind = int(0, 255);
/// 0 or 1.
pub(super) const BOOL: Kind = int(0, 1);
/// Seconds or milliseconds that the kernel keeps as an `int` of timer ticks.
pub(super) const TIME: Kind = INT;
/// Any `unsigned long`.
pub(super) const LONG: Kind = int(0, i64::MAX);

pub(super) const fn int(min: i64, max: i64) -> Kind {
    Kind::Number { min, max }
}

/// An `int` of at least `min`.
pub(super) const fn from(min: i64) -> Kind {
    int(min, INT_MAX)
}

pub(super) const fn key(name: &'static str, kind: Kind) -> Row {
    let since = None;
    Row { name, kind, since }
}

pub(super) const fn new(name: &'static str, kind: Kind, since: (u32, u32)) -> Row {
    let since = Some(since);
    Row { name, kind, since }
}
