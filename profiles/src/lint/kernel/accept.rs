//! Whether a kernel takes a value, as its own readers do it (kernel/sysctl.c, `proc_dointvec` and its like).

use super::Kernel;
use super::keys::{kind_of, row_of};
use super::table::{INT_MAX, Kind, U32_MAX};
use crate::lint::key::SysctlKey;

/// Why a value is not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::lint) struct Refused {
    pub(in crate::lint) why: String,
    pub(in crate::lint) hint: String,
}

impl Refused {
    fn new(why: impl Into<String>, hint: impl Into<String>) -> Self {
        let (why, hint) = (why.into(), hint.into());
        Self { why, hint }
    }
}

/// A number as `strtoul` with base 0 reads it: `0x` is hexadecimal, a leading 0 is octal.
pub(in crate::lint) fn number(text: &str) -> Option<i128> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let (radix, digits) = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hexadecimal) => (16, hexadecimal),
        None if digits.len() > 1 && digits.starts_with('0') => (8, &digits[1..]),
        None => (10, digits),
    };
    if digits.is_empty() || digits.len() > 22 || !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    i128::from_str_radix(digits, radix)
        .ok()
        .map(|number| sign * number)
}

/// Whether the kernel takes `value` for `key`. A key that is not in the tables takes everything.
///
/// # Errors
/// Why it does not, and what to write instead.
pub(in crate::lint) fn accept(key: &SysctlKey, value: &str, kernel: &Kernel) -> Result<(), Refused> {
    let Some(kind) = kind_of(key) else {
        return Ok(());
    };
    match kind {
        Kind::Text => Ok(()),
        Kind::Congestion | Kind::Qdisc => name(key, value),
        Kind::ReadOnly => Err(Refused::new("the key can only be read", "remove the line")),
        Kind::Number { min, max } => numbers(value, 1, min, max, kernel),
        Kind::BudgetUsecs => budget(value, kernel),
        Kind::Ints { fields, min } => numbers(value, fields, min, INT_MAX, kernel),
        Kind::Longs { fields } => numbers(value, fields, 0, i64::MAX, kernel),
    }
}

/// A name is all that stands after the `=`; a number ends at a blank, so that a comment after it is passed over.
fn name(key: &SysctlKey, value: &str) -> Result<(), Refused> {
    match value.split_once(char::is_whitespace) {
        Some((first, _)) => Err(Refused::new(
            "the rest of the line is part of the name",
            format!("write `{key} = {first}`, and a comment on a line of its own"),
        )),
        None => Ok(()),
    }
}

/// The kernel reads as many fields as there are, and does not look at more; a shorter value sets only the first ones.
fn numbers(value: &str, fields: usize, min: i64, max: i64, kernel: &Kernel) -> Result<(), Refused> {
    if value.trim().is_empty() {
        return Err(Refused::new("there is no value", "write a number after the `=`"));
    }
    for field in value.split_whitespace().take(fields) {
        let Some(number) = number(field) else {
            return Err(no_number(field));
        };
        // The tables end with 6.12. Later kernels know more choices of an enumeration, in the same byte.
        let max = match kernel.is_newer_than_tables() {
            true if max <= 4 => 255,
            _ => max,
        };
        if !(i128::from(min)..=i128::from(max)).contains(&number) {
            return Err(outside(number, min, max));
        }
    }
    Ok(())
}

fn outside(number: i128, min: i64, max: i64) -> Refused {
    let what = match max {
        INT_MAX => "a signed 32-bit integer",
        U32_MAX => "an unsigned 32-bit integer",
        i64::MAX => "a 64-bit integer",
        255 => "a byte",
        _ => "an integer",
    };
    let why = format!("{number} is out of range: the kernel takes {what} from {min} to {max}");
    let limit = if number < i128::from(min) { min } else { max };
    Refused::new(why, format!("{limit} is the nearest value that it takes"))
}

/// `64M` is the usual one.
fn no_number(field: &str) -> Refused {
    let why = format!("{field:?} is no number: the kernel takes digits only, without a unit");
    let units = [("k", 10_u32), ("m", 20), ("g", 30)];
    let lower = field.to_ascii_lowercase();
    let lower = lower.trim_end_matches("ib").trim_end_matches('b');
    let bytes = units.iter().find_map(|(unit, shift)| {
        let count: u64 = lower.strip_suffix(unit)?.trim().parse().ok()?;
        count.checked_mul(1 << shift)
    });
    match bytes {
        Some(bytes) => Refused::new(why, format!("write {bytes} for {field}")),
        None if field.contains('#') => Refused::new(why, "write the comment on a line of its own"),
        None => Refused::new(why, "write a number"),
    }
}

fn budget(value: &str, kernel: &Kernel) -> Result<(), Refused> {
    let min = kernel.smallest_budget_usecs();
    match number(value.trim()) {
        Some(usecs) if usecs < i128::from(min) => Err(Refused::new(
            format!(
                "its smallest value is two ticks of the timer, {min} us on the kernel {}",
                kernel.name
            ),
            format!("write {min} or more"),
        )),
        _ => numbers(value, 1, min, INT_MAX, kernel),
    }
}

/// How many fields a vector has; `None` for a key that is none.
pub(in crate::lint) fn fields_of(key: &SysctlKey) -> Option<usize> {
    match row_of(key)?.kind {
        Kind::Ints { fields, .. } | Kind::Longs { fields } => Some(fields),
        Kind::Number { .. } | Kind::BudgetUsecs => Some(1),
        _ => None,
    }
}

/// What the value of a key names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::lint) enum Names {
    CongestionControl,
    Qdisc,
}

/// What the value of a key names, when it is the name of a module.
pub(in crate::lint) fn names_of(key: &SysctlKey) -> Option<Names> {
    match row_of(key)?.kind {
        Kind::Congestion => Some(Names::CongestionControl),
        Kind::Qdisc => Some(Names::Qdisc),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(key: &str, value: &str) -> Option<String> {
        let refused = accept(&SysctlKey::parse(key), value, &Kernel::of_debian_13()).err();
        refused.map(|refused| format!("{}; {}", refused.why, refused.hint))
    }

    #[test]
    fn the_limits_of_6_12_are_kept() {
        for (key, value) in [
            ("net.core.rmem_max", "2147483647"),
            ("net.core.rmem_max", "0x4000000"),
            ("net.core.netdev_max_backlog", "-1"),
            ("net.ipv4.tcp_rmem", "4096\t131072\t2147483647"),
            ("net.ipv4.tcp_mem", "1 2 9999999999"),
            ("net.ipv4.tcp_notsent_lowat", "4294967295"),
            ("net.ipv4.tcp_mtu_probing", "255"),
            ("net.core.netdev_budget_usecs", "8000"),
            ("net.core.netdev_budget", "600 # twice"),
            ("kernel.pid_max", "many"),
        ] {
            assert_eq!(why(key, value), None, "{key} = {value}");
        }
        for (key, value, expected) in [
            (
                "net.core.rmem_max",
                "2147483648",
                "signed 32-bit integer from 2304 to 2147483647",
            ),
            ("net.core.wmem_max", "4096", "4608 is the nearest"),
            ("net.core.rmem_max", "64M", "write 67108864 for 64M"),
            ("net.core.rmem_max", "64MiB", "write 67108864 for 64MiB"),
            (
                "net.core.default_qdisc",
                "fq # paced",
                "write `net.core.default_qdisc = fq`",
            ),
            (
                "net.core.rmem_max",
                "1048576# 1 MiB",
                "comment on a line of its own",
            ),
            (
                "net.ipv4.tcp_rmem",
                "4096 87380 4294967296",
                "4294967296 is out of range",
            ),
            ("net.ipv4.tcp_rmem", "0 87380 4194304", "from 1 to"),
            ("net.ipv4.tcp_ecn", "3", "from 0 to 2"),
            ("net.ipv4.tcp_sack", "256", "a byte from 0 to 255"),
            (
                "net.core.netdev_budget_usecs",
                "4000",
                "two ticks of the timer, 8000 us on the kernel 6.12 (Debian 13)",
            ),
            ("net.ipv4.tcp_available_congestion_control", "bbr", "only be read"),
            ("vm.dirty_bytes", "0", "from 8192"),
            ("net.core.somaxconn", "", "no value"),
        ] {
            let said = why(key, value).unwrap_or_default();
            assert!(said.contains(expected), "{key} = {value}: {said:?}");
        }
    }

    #[test]
    fn numbers_are_read_with_their_prefix() {
        for (text, expected) in [
            ("10", Some(10)),
            ("-1", Some(-1)),
            ("0x10", Some(16)),
            ("010", Some(8)),
            ("0", Some(0)),
            ("08", None),
            ("", None),
            ("1e9", None),
            ("999999999999999999999999", None),
        ] {
            assert_eq!(number(text), expected, "{text:?}");
        }
    }
}
