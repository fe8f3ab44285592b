//! A file of sysctl.d as systemd-sysctl reads it: `key = value`, the last line of a key counts.

use crate::value::Value;
use std::collections::BTreeMap;

/// A line that is no assignment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {text:?} is no assignment, expected KEY = VALUE")]
pub struct BadLine {
    /// Line, from 1.
    pub line: usize,
    /// Its text.
    pub text: String,
}

/// Value and line by key, in the dotted spelling of the registry of knobs.
pub(super) fn read(text: &str) -> Result<BTreeMap<String, (Value, usize)>, BadLine> {
    let mut settings = BTreeMap::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        // `-` in front: a failure is passed over.
        let (key, value) = line
            .trim_start_matches('-')
            .split_once('=')
            .ok_or_else(|| BadLine {
                line: number + 1,
                text: line.chars().take(200).collect(),
            })?;
        settings.insert(dotted(key.trim()), (Value::new(value), number + 1));
    }
    Ok(settings)
}

/// The first separator decides: after a slash, dots and slashes change places (sysctl.d(5)).
fn dotted(key: &str) -> String {
    let slashed = key.find(['.', '/']).is_some_and(|at| key[at..].starts_with('/'));
    if !slashed {
        return key.to_owned();
    }
    let swapped = |c| match c {
        '/' => '.',
        '.' => '/',
        other => other,
    };
    key.trim_start_matches('/').chars().map(swapped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_a_key_counts_in_either_spelling() {
        let text =
            "# x\n; y\n\nvm.swappiness=60\nnet/ipv4/tcp_rmem = 4096\t131072  6291456\n-vm.swappiness = 10\n";
        let settings = read(text).unwrap();
        assert_eq!(settings["vm.swappiness"], ("10".into(), 6));
        assert_eq!(settings["net.ipv4.tcp_rmem"], ("4096 131072 6291456".into(), 5));
        assert_eq!(settings.len(), 2);
    }

    #[test]
    fn a_line_without_an_equals_sign_is_named() {
        let said = read("vm.swappiness = 1\nvm.swappiness 10\n")
            .unwrap_err()
            .to_string();
        assert_eq!(
            said,
            "line 2: \"vm.swappiness 10\" is no assignment, expected KEY = VALUE"
        );
    }
}
