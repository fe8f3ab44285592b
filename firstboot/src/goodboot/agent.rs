//! Did the agent end in this boot? It says so itself, as the last thing that it does.
//!
//! A unit that is not running any more may have been killed; a mark that the agent makes at its end cannot be made by
//! one that hangs. The mark lies under `/run` and carries the boot; the early unit takes it away, because a soft-reboot
//! keeps both.

use crate::atomic::{self, WriteError};
use crate::host::{CommandError, Host};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::time::Duration;

/// The mark.
pub const END_PATH: &str = "/run/dtnforge/agent-ended.json";
const UNIT: &str = "dtn-firstboot.service";
/// Time for a question to systemd.
const QUESTION: Duration = Duration::from_secs(20);
/// As many questions have to fail in a row before the agent is given up: the judgement is final.
const QUESTIONS: u32 = 5;
/// The time between two of them.
const PAUSE: Duration = Duration::from_millis(if cfg!(test) { 1 } else { 2000 });

/// The agent of this boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Agent {
    /// It ended, with this verdict.
    Ended(String),
    /// It has not ended yet.
    Working,
    /// It will not end any more, for this reason.
    Failed(String),
}

/// The agent's last word.
#[derive(Debug, Serialize, Deserialize)]
struct End {
    boot_id: String,
    verdict: String,
}

/// Notes that the agent ended with `verdict`.
///
/// # Errors
/// When the mark cannot be made.
pub fn note_end(host: &Host, boot_id: &str, verdict: &str) -> Result<(), WriteError> {
    let end = End {
        boot_id: boot_id.to_owned(),
        verdict: verdict.to_owned(),
    };
    // A struct of two strings is always JSON.
    let text = serde_json::to_string(&end).unwrap_or_default() + "\n";
    atomic::write(&host.path(END_PATH), text.as_bytes(), 0o644)
}

/// Takes the mark away: of an earlier run, or of the userspace before a soft-reboot.
///
/// # Errors
/// When it is there and cannot be removed.
pub fn forget_end(host: &Host) -> io::Result<()> {
    match fs::remove_file(host.path(END_PATH)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Looks at the mark, and at the unit where there is none.
pub fn observe(host: &Host, boot_id: &str) -> Agent {
    match ended(host, boot_id) {
        Some(verdict) => Agent::Ended(verdict),
        None => by_unit(host),
    }
}

fn ended(host: &Host, boot_id: &str) -> Option<String> {
    let end: End = serde_json::from_slice(&fs::read(host.path(END_PATH)).ok()?).ok()?;
    (end.boot_id == boot_id).then_some(end.verdict)
}

fn by_unit(host: &Host) -> Agent {
    let args = ["show", "--property=LoadState,ActiveState,Result,Job", UNIT];
    let mut asked = 1;
    loop {
        match host.run("systemctl", &args, QUESTION) {
            Ok(text) => return of_unit(&text),
            // systemd is busy or going down: ask again.
            Err(CommandError::TimedOut { .. }) => return Agent::Working,
            // A bus that is busy, or a process that could not be started: it may pass.
            Err(_) if asked < QUESTIONS => {
                asked += 1;
                std::thread::sleep(PAUSE);
            }
            Err(error) => {
                return Agent::Failed(format!(
                    "it left no mark, and its unit cannot be asked about: {error}"
                ));
            }
        }
    }
}

/// Reads the answer of `systemctl show`, of a unit that left no mark.
fn of_unit(text: &str) -> Agent {
    let value = |name: &str| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        line.unwrap_or_default()
    };
    let has_job = !matches!(value("Job"), "" | "0");
    match (value("LoadState"), value("ActiveState"), value("Result")) {
        ("loaded", "activating" | "reloading" | "deactivating", _) => Agent::Working,
        _ if has_job => Agent::Working,
        // Its mark could not be made (a full /run); the exit code was one of an end all the same.
        ("loaded", "active", "success") => Agent::Ended(format!("{UNIT} ended well")),
        ("loaded", "inactive", "success") => Agent::Failed(format!("{UNIT} did not run")),
        ("loaded", state, result) => Agent::Failed(format!("{UNIT} is {state} ({result})")),
        (load, _, _) => Agent::Failed(format!("{UNIT} is {load}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_of_this_boot_is_the_end_and_that_of_another_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let host = Host::at(dir.path(), Some(dir.path()));
        note_end(&host, "b1", "committed dtn-vm: \"faster\"").unwrap();
        assert_eq!(
            observe(&host, "b1"),
            Agent::Ended("committed dtn-vm: \"faster\"".into())
        );
        let Agent::Failed(why) = observe(&host, "b2") else {
            panic!("an old mark counted")
        };
        assert!(
            why.starts_with("it left no mark, and its unit cannot be asked about: cannot run systemctl"),
            "{why}"
        );
        forget_end(&host).unwrap();
        forget_end(&host).unwrap();
        assert!(matches!(observe(&host, "b1"), Agent::Failed(_)));
    }

    #[test]
    fn a_question_that_systemd_answers_later_is_no_end_of_the_agent() {
        let dir = tempfile::tempdir().unwrap();
        let host = Host::at(dir.path(), Some(&dir.path().join("bin")));
        let answers = |from: u32| {
            let count = dir.path().join("count");
            fs::write(&count, "").unwrap();
            let script = format!(
                "#!/bin/sh\necho >>{0}; asked=0; while read -r _; do asked=$((asked+1)); done <{0}\n\
                 [ $asked -ge {from} ] || {{ echo 'Failed to connect to bus' >&2; exit 1; }}\n\
                 printf 'LoadState=loaded\\nActiveState=activating\\nResult=success\\nJob=0\\n'\n",
                count.display()
            );
            let path = dir.path().join("bin/systemctl");
            atomic::write(&path, script.as_bytes(), 0o755).unwrap();
        };
        answers(QUESTIONS);
        assert_eq!(observe(&host, "b1"), Agent::Working);
        answers(QUESTIONS + 1);
        let Agent::Failed(why) = observe(&host, "b1") else {
            panic!("it waits for ever")
        };
        assert!(why.contains("Failed to connect to bus"), "{why}");
    }

    #[test]
    fn a_mark_that_is_no_json_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let host = Host::at(dir.path(), Some(dir.path()));
        for text in ["", "{", "{\"boot_id\": 1}", "\u{0}"] {
            atomic::write(&host.path(END_PATH), text.as_bytes(), 0o644).unwrap();
            assert!(matches!(observe(&host, "b1"), Agent::Failed(_)), "{text:?}");
        }
    }

    #[test]
    fn the_unit_tells_working_from_failed() {
        let of = |active: &str, result: &str, job: &str| {
            of_unit(&format!(
                "LoadState=loaded\nActiveState={active}\nResult={result}\nJob={job}\n"
            ))
        };
        assert_eq!(of("activating", "success", "12"), Agent::Working);
        assert_eq!(of("inactive", "success", "12"), Agent::Working, "its job waits");
        assert!(matches!(of("active", "success", "0"), Agent::Ended(_)));
        let failed = |agent| match agent {
            Agent::Failed(why) => why,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            failed(of("failed", "timeout", "0")),
            "dtn-firstboot.service is failed (timeout)"
        );
        assert_eq!(
            failed(of("failed", "oom-kill", "")),
            "dtn-firstboot.service is failed (oom-kill)"
        );
        assert_eq!(
            failed(of("inactive", "success", "0")),
            "dtn-firstboot.service did not run"
        );
        assert_eq!(
            failed(of_unit("LoadState=masked\nActiveState=inactive\n")),
            "dtn-firstboot.service is masked"
        );
        assert_eq!(failed(of_unit("")), "dtn-firstboot.service is ");
    }
}
