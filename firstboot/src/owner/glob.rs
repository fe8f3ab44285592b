//! Shell patterns as udev, systemd and sysctl.d use them: `*`, `?`, `[a-z]`, `[!a]`.

/// Whether `text` fits `pattern`. Where `separator` is given, no wildcard matches it.
pub(super) fn matches(pattern: &str, text: &str, separator: Option<char>) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    matches_chars(&pattern, &text, separator)
}

/// Whether a text has a wildcard in it.
pub(super) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// Walks over both with one place to go back to: linear in practice, never worse than quadratic.
fn matches_chars(pattern: &[char], text: &[char], separator: Option<char>) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&'*') {
            star = Some((p, t));
            p += 1;
            continue;
        }
        if let Some(length) = one(&pattern[p..], text[t], separator) {
            p += length;
            t += 1;
            continue;
        }
        match star {
            Some((at, from)) if Some(text[from]) != separator => {
                star = Some((at, from + 1));
                p = at + 1;
                t = from + 1;
            }
            _ => return false,
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// The length of the pattern's first element, when it matches `c`.
fn one(pattern: &[char], c: char, separator: Option<char>) -> Option<usize> {
    let is_separator = Some(c) == separator;
    match pattern.first()? {
        '?' => (!is_separator).then_some(1),
        '[' => match Set::parse(pattern) {
            Some(set) => (set.contains(c) && !is_separator).then_some(set.length),
            // A bracket that does not close stands for itself.
            None => (c == '[').then_some(1),
        },
        literal => (*literal == c).then_some(1),
    }
}

/// `[a-z]` or `[!a-z]`.
struct Set {
    /// Characters of the pattern that it takes.
    length: usize,
    negated: bool,
    ranges: Vec<(char, char)>,
}

impl Set {
    fn parse(pattern: &[char]) -> Option<Self> {
        let negated = matches!(pattern.get(1), Some('!' | '^'));
        let start = if negated { 2 } else { 1 };
        // A bracket in the first place is a member.
        let close = start + 1 + pattern.get(start + 1..)?.iter().position(|c| *c == ']')?;
        let mut ranges = Vec::new();
        let mut at = start;
        while at < close {
            let is_range = pattern[at + 1] == '-' && at + 2 < close;
            let last = if is_range { at + 2 } else { at };
            ranges.push((pattern[at], pattern[last]));
            at = last + 1;
        }
        Some(Self {
            length: close + 1,
            negated,
            ranges,
        })
    }

    fn contains(&self, c: char) -> bool {
        let within = self.ranges.iter().any(|(from, to)| (*from..=*to).contains(&c));
        within != self.negated
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn wildcards_match_as_in_a_shell() {
        for (pattern, text, expected) in [
            ("eth*", "eth0", true),
            ("eth*", "xeth0", false),
            ("e?h[0-3]", "eth2", true),
            ("e?h[!0-3]", "eth2", false),
            ("e?h[!0-3]", "eth7", true),
            ("*a*b", "xxaxxb", true),
            ("*a*b", "xxbxxa", false),
            ("[]x]", "]", true),
            ("[abc", "[abc", true),
            ("[ab", "a", false),
            ("", "", true),
            ("*", "", true),
            ("a", "", false),
        ] {
            assert_eq!(matches(pattern, text, None), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn a_separator_is_not_crossed() {
        let key = "net/ipv4/conf/eth0/rp_filter";
        assert!(matches("net/ipv4/conf/*/rp_filter", key, Some('/')));
        assert!(!matches("net/*/rp_filter", key, Some('/')));
        assert!(matches("net/*/rp_filter", key, None));
        assert!(!matches("net?ipv4", "net/ipv4", Some('/')));
    }

    proptest! {
        #[test]
        fn any_pattern_and_text_give_an_answer(pattern in "[a*?\\[\\]!^-]{0,12}", text in "[a\\[\\]!-]{0,12}") {
            let _ = matches(&pattern, &text, Some('-'));
        }

        #[test]
        fn a_text_without_wildcards_matches_itself_alone(text in "[a-z0-9.]{0,8}", other in "[a-z0-9.]{0,8}") {
            prop_assert!(matches(&text, &text, None));
            prop_assert_eq!(matches(&text, &other, None), text == other);
        }
    }
}
