//! Questions to a running node: commands that are run in the guest, each answer kept apart with its exit code.
//!
//! One boot costs a minute or more, so a test asks everything in one script and then looks at the answers.

use std::collections::BTreeMap;

use dtnforge_profiles::envelope::Envelope;
use dtnforge_profiles::status::Status;

use crate::Trouble;

/// Begins the line before each answer; no command prints it.
const MARK: &str = "=====dtnforge-probe";

/// Commands for the guest.
#[derive(Debug, Clone, Default)]
pub struct Probes {
    script: String,
    names: Vec<&'static str>,
}

impl Probes {
    /// No command yet.
    pub fn new() -> Probes {
        Probes::default()
    }

    /// Adds a command (shell text of the test), whose answer is found under `name`.
    #[must_use]
    pub fn ask(mut self, name: &'static str, command: &str) -> Probes {
        self.names.push(name);
        self.script.push_str(&format!(
            "answer=$({{ {command}\n}} 2>&1)\nprintf '{MARK} {name} %s\\n%s\\n' $? \"$answer\"\n"
        ));
        self
    }

    /// Adds all of `others`, behind these.
    #[must_use]
    pub fn and(mut self, others: Probes) -> Probes {
        self.script.push_str(&others.script);
        self.names.extend(others.names);
        self
    }

    /// Waits until the guest has started everything. The answer is the system's state, such as `running`.
    #[must_use]
    pub fn wait_until_up(self) -> Probes {
        self.ask("system", "systemctl is-system-running --wait")
    }

    /// Asks the agent for its status; see [`Answers::status`].
    #[must_use]
    pub fn status(self) -> Probes {
        self.ask("status", "dtn-firstboot status --json")
    }

    /// The script to run in the guest.
    pub fn script(&self) -> String {
        format!("#!/bin/sh\n{}exit 0\n", self.script)
    }

    /// Splits the script's output into answers.
    ///
    /// # Errors
    /// When an answer is missing.
    pub fn answers(&self, output: &str) -> Result<Answers, Trouble> {
        let mut answers = BTreeMap::new();
        for part in output.split(MARK).skip(1) {
            let (head, text) = part.split_once('\n').unwrap_or((part, ""));
            if let Some((name, code)) = head.trim().rsplit_once(' ') {
                let answer = Answer {
                    code: code.parse().unwrap_or(-1),
                    text: text.trim_end().to_owned(),
                };
                answers.insert(name.to_owned(), answer);
            }
        }
        match self.names.iter().find(|name| !answers.contains_key(**name)) {
            None => Ok(Answers(answers)),
            Some(name) => Err(Trouble::Answer {
                what: format!("the guest's answer to `{name}`"),
                reason: "it is missing".to_owned(),
                text: output.to_owned(),
            }),
        }
    }
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The command's exit code.
    pub code: i32,
    /// What it wrote, both streams, without the last line end.
    pub text: String,
}

/// The answers of a node.
#[derive(Debug, Clone)]
pub struct Answers(BTreeMap<String, Answer>);

impl Answers {
    /// The answer to `name`; one with code -1 and no text when it was never asked.
    pub fn get(&self, name: &str) -> Answer {
        self.0.get(name).cloned().unwrap_or(Answer {
            code: -1,
            text: String::new(),
        })
    }

    /// The text of the answer to `name`.
    pub fn text(&self, name: &str) -> String {
        self.get(name).text
    }

    /// The agent's status, as asked for by [`Probes::status`].
    ///
    /// # Errors
    /// When the agent answered anything else.
    pub fn status(&self) -> Result<Status, Trouble> {
        let answer = self.get("status");
        let envelope: Envelope<Status> =
            serde_json::from_str(&answer.text).map_err(|error| Trouble::Answer {
                what: format!("dtn-firstboot status --json (exit code {})", answer.code),
                reason: error.to_string(),
                text: answer.text.clone(),
            })?;
        Ok(envelope.data)
    }

    /// All answers as text, for the message of an assertion.
    pub fn all(&self) -> String {
        let each = self
            .0
            .iter()
            .map(|(name, answer)| format!("--- {name} ({})\n{}", answer.code, answer.text));
        each.collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the real script with the host's shell.
    fn answers(probes: &Probes) -> Result<Answers, Trouble> {
        let output = std::process::Command::new("sh")
            .args(["-c", &probes.script()])
            .output()
            .unwrap();
        probes.answers(&String::from_utf8(output.stdout).unwrap())
    }

    #[test]
    fn each_answer_is_kept_apart_with_its_exit_code() {
        let probes = Probes::new()
            .ask("two lines", "echo a; echo b")
            .ask("fails", "echo no >&2; false")
            .ask("quotes", "echo \"it's\" '$HOME'");
        let answers = answers(&probes).unwrap();
        assert_eq!(
            answers.get("fails"),
            Answer {
                code: 1,
                text: "no".into()
            }
        );
        assert_eq!(
            answers.get("two lines"),
            Answer {
                code: 0,
                text: "a\nb".into()
            }
        );
        assert_eq!(answers.text("quotes"), "it's $HOME");
    }

    #[test]
    fn an_answer_that_is_missing_is_named() {
        let probes = Probes::new().ask("first", "echo x").ask("second", "kill -9 $$");
        let error = answers(&probes).unwrap_err().to_string();
        assert!(
            error.contains("the guest's answer to `second` is not as expected: it is missing"),
            "{error}"
        );
    }

    #[test]
    fn a_status_that_is_no_json_is_shown() {
        let probes = Probes::new().ask("status", "echo no such command; exit 127");
        let error = answers(&probes).unwrap().status().unwrap_err().to_string();
        assert!(
            error.contains("dtn-firstboot status --json") && error.contains("no such command"),
            "{error}"
        );
    }
}
