//! "Did you mean": the known name that looks most like one that is not known.

/// A suggestion for what serde says of a name that it does not know, as in ``unknown field `rol`, expected `role` or
/// `rtt_ms` ``; `None` for another message, or when no known name is near.
pub fn for_unknown(message: &str) -> Option<String> {
    let (_, rest) = message
        .split_once("unknown field `")
        .or_else(|| message.split_once("unknown variant `"))?;
    let (name, rest) = rest.split_once('`')?;
    let (_, known) = rest.split_once("expected ")?;
    // Every second part of a text with quotes stands inside of them.
    let known = known.split('`').skip(1).step_by(2);
    nearest(name, known).map(|near| format!("did you mean `{near}`?"))
}

/// The candidate that looks most like `text`: the one that it is the beginning of, else one that is near enough for a
/// slip of the pen.
pub fn nearest<'a>(text: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let candidates: Vec<&str> = candidates.collect();
    let longer = candidates
        .iter()
        .filter(|candidate| text.len() >= SHORTEST_BEGINNING && candidate.starts_with(text))
        .min_by_key(|candidate| candidate.len());
    if let Some(longer) = longer {
        return Some(longer);
    }
    let (score, best) = closest(text, candidates.into_iter())?;
    (score <= text.len() / 3 + 1).then_some(best)
}

/// Fewer letters are the beginning of anything.
const SHORTEST_BEGINNING: usize = 3;

/// The candidate with the fewest single-character edits to `text`, and their number.
pub(crate) fn closest<'a>(text: &str, candidates: impl Iterator<Item = &'a str>) -> Option<(usize, &'a str)> {
    let scored = candidates.map(|candidate| (distance(text, candidate), candidate));
    scored.min()
}

/// The number of single-character edits between two texts.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_finds_its_neighbour() {
        let names = ["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"];
        assert_eq!(
            nearest("net.ipv4.tcp_rmen", names.into_iter()),
            Some("net.ipv4.tcp_rmem")
        );
        assert_eq!(nearest("fish", names.into_iter()), None);
        assert_eq!(nearest("rtt", ["mtu", "rtt_ms"].into_iter()), Some("rtt_ms"));
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn an_unknown_field_or_word_is_answered_with_the_known_one_that_is_near() {
        for (message, expected) in [
            (
                "unknown field `mach`, expected one of `schema`, `match`, `tuned`",
                Some("did you mean `match`?"),
            ),
            (
                "unknown variant `nvmee`, expected `nvme` or `ssd`",
                Some("did you mean `nvme`?"),
            ),
            (
                "unknown field `rol`, expected `role`",
                Some("did you mean `role`?"),
            ),
            ("unknown field `zzzzz`, expected `role`", None),
            ("unknown field `role`, there are no fields", None),
            ("missing field `role`", None),
        ] {
            assert_eq!(for_unknown(message).as_deref(), expected, "{message}");
        }
    }
}
