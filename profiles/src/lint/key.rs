//! Names of sysctls: three spellings, one meaning.
//!
//! `net.ipv4.conf.eth0/100.rp_filter`, `net/ipv4/conf/eth0.100/rp_filter` and, in a file of sysctl.d, a glob such as
//! `net.ipv4.conf.*.rp_filter`. The first separator decides: after a slash nothing is changed, after a dot, dots and
//! slashes are swapped (sysctl.d(5)). Inside, a key is its path below `/proc/sys`.

use std::fmt;

/// The name of a sysctl, or a pattern of names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct SysctlKey {
    path: String,
    slash_form: bool,
}

impl SysctlKey {
    /// Reads a name in either spelling. A text without any separator is a name of one part.
    pub(super) fn parse(text: &str) -> Self {
        let slash_form = text
            .find(['.', '/'])
            .is_some_and(|at| text[at..].starts_with('/'));
        let path = if slash_form {
            text.trim_start_matches('/').to_owned()
        } else {
            text.chars().map(swapped).collect()
        };
        Self { path, slash_form }
    }

    /// The path below `/proc/sys`.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Whether it was written with slashes.
    pub(super) fn in_slash_form(&self) -> bool {
        self.slash_form
    }

    /// Whether it stands for several keys.
    pub(super) fn is_glob(&self) -> bool {
        self.path.contains(['*', '?', '['])
    }

    /// Whether it is this dotted name, or a pattern that includes it.
    pub(super) fn covers(&self, dotted: &str) -> bool {
        let other = Self::parse(dotted);
        self.path == other.path || (self.is_glob() && matches_path(&self.path, &other.path))
    }

    /// Whether one part of a name, or the name of a device, is of a glob.
    pub(super) fn matches_name(glob: &str, name: &str) -> bool {
        matches_part(glob, name)
    }

    /// The last part of the name.
    pub(super) fn leaf(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

impl fmt::Display for SysctlKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dotted: String = self.path.chars().map(swapped).collect();
        f.pad(&dotted)
    }
}

fn swapped(c: char) -> char {
    match c {
        '.' => '/',
        '/' => '.',
        other => other,
    }
}

/// A glob as fnmatch(3) reads it with FNM_PATHNAME: no wildcard stands for a slash.
fn matches_path(glob: &str, path: &str) -> bool {
    let (mut globs, mut parts) = (glob.split('/'), path.split('/'));
    loop {
        match (globs.next(), parts.next()) {
            (None, None) => return true,
            (Some(glob), Some(part)) if matches_part(glob, part) => {}
            _ => return false,
        }
    }
}

/// `*`, `?` and `[...]` within one part. Goes back to the last star only, so the time is at most the product of both
/// lengths.
fn matches_part(glob: &str, part: &str) -> bool {
    let (glob, part): (Vec<char>, Vec<char>) = (glob.chars().collect(), part.chars().collect());
    let (mut g, mut p) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while p < part.len() {
        if glob.get(g) == Some(&'*') {
            retry = Some((g + 1, p));
            g += 1;
        } else if let Some(next) = one(&glob, g, part[p]) {
            (g, p) = (next, p + 1);
        } else if let Some((after_star, from)) = retry {
            retry = Some((after_star, from + 1));
            (g, p) = (after_star, from + 1);
        } else {
            return false;
        }
    }
    glob[g..].iter().all(|c| *c == '*')
}

/// Where the glob goes on when its element at `g` takes `c`.
fn one(glob: &[char], g: usize, c: char) -> Option<usize> {
    match glob.get(g)? {
        '?' => Some(g + 1),
        '[' => {
            let close = glob[g + 1..].iter().position(|c| *c == ']')? + g + 1;
            class_has(&glob[g + 1..close], c).then_some(close + 1)
        }
        literal => (*literal == c).then_some(g + 1),
    }
}

fn class_has(class: &[char], c: char) -> bool {
    let (negated, class) = match class.first() {
        Some('!' | '^') => (true, &class[1..]),
        _ => (false, class),
    };
    let mut at = 0;
    let mut found = false;
    while let Some(&low) = class.get(at) {
        match (class.get(at + 1), class.get(at + 2)) {
            (Some('-'), Some(&high)) => {
                found |= (low..=high).contains(&c);
                at += 3;
            }
            _ => {
                found |= low == c;
                at += 1;
            }
        }
    }
    found != negated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_separator_decides_the_spelling() {
        for (written, path, dotted) in [
            ("net.ipv4.tcp_rmem", "net/ipv4/tcp_rmem", "net.ipv4.tcp_rmem"),
            ("net/ipv4/tcp_rmem", "net/ipv4/tcp_rmem", "net.ipv4.tcp_rmem"),
            (
                "net.ipv4.conf.eth0/100.rp_filter",
                "net/ipv4/conf/eth0.100/rp_filter",
                "net.ipv4.conf.eth0/100.rp_filter",
            ),
            (
                "net/ipv4/conf/eth0.100/rp_filter",
                "net/ipv4/conf/eth0.100/rp_filter",
                "net.ipv4.conf.eth0/100.rp_filter",
            ),
        ] {
            let key = SysctlKey::parse(written);
            assert_eq!(
                (key.path(), key.to_string().as_str()),
                (path, dotted),
                "{written}"
            );
        }
    }

    #[test]
    fn a_glob_never_crosses_a_part() {
        for (glob, key, expected) in [
            ("net.ipv4.conf.*.rp_filter", "net.ipv4.conf.all.rp_filter", true),
            ("net.ipv4.*.rp_filter", "net.ipv4.conf.all.rp_filter", false),
            ("net.ipv4.tcp_[rw]mem", "net.ipv4.tcp_wmem", true),
            ("net.ipv4.tcp_[!rw]mem", "net.ipv4.tcp_wmem", false),
            ("net.ipv4.tcp_?mem", "net.ipv4.tcp_rmem", true),
            ("net.ipv4.*sa*", "net.ipv4.tcp_sack", true),
            ("net.ipv4.[a", "net.ipv4.a", false),
        ] {
            assert_eq!(SysctlKey::parse(glob).covers(key), expected, "{glob} {key}");
        }
    }
}
