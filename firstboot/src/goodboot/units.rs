//! Which units failed or keep a boot waiting, as far as systemd still answers.

use crate::checks;
use crate::host::Host;
use std::time::Duration;

/// Time for a question: whoever asks wants to reboot.
const QUESTION: Duration = Duration::from_secs(10);
/// Units named in a reason; it is read on a console.
const MOST: usize = 8;
/// Units of ours that run because the boot failed.
const OURS: &str = "dtn-boot-failed@";

/// What is wrong, for the end of a sentence: `failed: a.service; still starting: b.mount`. `None` when nothing is.
pub fn trouble(host: &Host) -> Option<String> {
    let failed = checks::failed_units(host).map(|names| names.into_iter().collect::<Vec<_>>());
    let jobs = host
        .run(
            "systemctl",
            &["list-jobs", "--plain", "--no-legend", "--no-pager", "--full"],
            QUESTION,
        )
        .map(|text| starting(&text));
    let parts: Vec<String> = [
        told("failed", failed),
        told("still starting", jobs.map_err(|error| error.to_string())),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn told(what: &str, names: Result<Vec<String>, String>) -> Option<String> {
    let mut names = match names {
        Ok(names) => names,
        Err(why) => return Some(format!("{what}: cannot be listed: {why}")),
    };
    names.retain(|name| !name.starts_with(OURS));
    let more = names.len().saturating_sub(MOST);
    names.truncate(MOST);
    match (names.is_empty(), more) {
        (true, _) => None,
        (false, 0) => Some(format!("{what}: {}", names.join(", "))),
        (false, more) => Some(format!("{what}: {} and {more} more", names.join(", "))),
    }
}

/// The units whose start is under way, out of lines `JOB UNIT TYPE STATE`. Those that only wait for others are left
/// out: what they wait for is what matters.
fn starting(jobs: &str) -> Vec<String> {
    let unit = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        match fields[..] {
            [_, unit, "start" | "restart", "running"] => Some(unit.to_owned()),
            _ => None,
        }
    };
    jobs.lines().filter_map(unit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_that_run_are_named_and_those_that_wait_are_not() {
        let list = "  94 dev-disk-by\\x2dlabel-data.device start running\n 93 srv-data.mount start waiting\n\
                    2 multi-user.target start waiting\n 97 x.service stop running\nNo jobs running.\n";
        assert_eq!(starting(list), ["dev-disk-by\\x2dlabel-data.device"]);
    }

    #[test]
    fn what_is_wrong_is_one_short_sentence() {
        let names = |count: usize| Ok((0..count).map(|number| format!("u{number}.service")).collect());
        assert_eq!(told("failed", names(0)), None);
        assert_eq!(
            told("failed", names(2)).as_deref(),
            Some("failed: u0.service, u1.service")
        );
        let many = told("failed", names(MOST + 3)).unwrap();
        assert!(many.ends_with("u7.service and 3 more"), "{many}");
        assert_eq!(
            told("failed", Ok(vec!["dtn-boot-failed@emergency.service".into()])),
            None
        );
        assert_eq!(
            told("still starting", Err("no systemctl".into())).as_deref(),
            Some("still starting: cannot be listed: no systemctl")
        );
    }
}
