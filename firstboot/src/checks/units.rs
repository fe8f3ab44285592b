//! Which units have failed? Listed for people, never required: a node has failed units for reasons of its own.

use crate::host::Host;
use dtnforge_profiles::verdict::Check;
use std::collections::BTreeSet;
use std::time::Duration;

/// The time that systemctl has.
const COMMAND: Duration = Duration::from_secs(10);

/// The names of the failed units.
///
/// # Errors
/// Why they could not be listed.
pub fn failed(host: &Host) -> Result<BTreeSet<String>, String> {
    let args = [
        "list-units",
        "--failed",
        "--plain",
        "--no-legend",
        "--no-pager",
        "--full",
    ];
    let text = host
        .run("systemctl", &args, COMMAND)
        .map_err(|error| error.to_string())?;
    Ok(names(&text))
}

/// The first word of each line, without the mark that some versions put before it.
fn names(list: &str) -> BTreeSet<String> {
    let name = |line: &str| {
        let line = line.trim_start_matches(|c: char| c.is_whitespace() || c == '●' || c == '*');
        line.split_whitespace().next().map(str::to_owned)
    };
    list.lines().filter_map(name).collect()
}

/// Names what has failed since.
pub(super) fn compare(
    before: &Result<BTreeSet<String>, String>,
    after: &Result<BTreeSet<String>, String>,
) -> Check {
    let (ok, detail) = match (before, after) {
        (_, Err(why)) => (true, format!("not run: {why}")),
        (before, Ok(after)) => {
            let known = before.as_ref().map_or_else(|_| BTreeSet::new(), Clone::clone);
            let new: Vec<&str> = after.difference(&known).map(String::as_str).collect();
            let old: Vec<&str> = after.intersection(&known).map(String::as_str).collect();
            (new.is_empty(), told(&new, &old))
        }
    };
    Check {
        name: "failed-units".to_owned(),
        ok,
        required: false,
        detail,
    }
}

fn told(new: &[&str], old: &[&str]) -> String {
    match (new.is_empty(), old.is_empty()) {
        (true, true) => "none".to_owned(),
        (true, false) => format!("failed before the trial: {}", old.join(", ")),
        (false, true) => format!("failed since: {}", new.join(", ")),
        (false, false) => format!(
            "failed since: {}; failed before the trial: {}",
            new.join(", "),
            old.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_the_first_word_of_each_line() {
        let list = "  irqbalance.service loaded failed failed irqbalance daemon\n● nfs-x.mount loaded failed failed /x\n\n";
        let expected = ["irqbalance.service", "nfs-x.mount"].map(str::to_owned);
        assert_eq!(names(list), BTreeSet::from(expected));
    }

    #[test]
    fn failed_units_are_listed_and_never_required() {
        let set = |names: &[&str]| Ok(names.iter().map(|name| (*name).to_owned()).collect());
        let of = |before, after| {
            let check = compare(&before, &after);
            assert!(!check.required);
            (check.ok, check.detail)
        };
        assert_eq!(of(set(&[]), set(&[])), (true, "none".into()));
        assert_eq!(
            of(set(&["a"]), set(&["a"])),
            (true, "failed before the trial: a".into())
        );
        assert_eq!(
            of(set(&["a"]), set(&["a", "b"])),
            (false, "failed since: b; failed before the trial: a".into())
        );
        assert_eq!(
            of(set(&[]), Err("no systemctl".into())),
            (true, "not run: no systemctl".into())
        );
        assert_eq!(
            of(Err("x".into()), set(&["a"])),
            (false, "failed since: a".into())
        );
    }
}
