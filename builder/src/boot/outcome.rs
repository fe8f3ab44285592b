//! How a boot ended, for people, for scripts and as an exit code.

use std::time::Duration;

use serde_json::{Value, json};

use super::accel::Chosen;
use super::boots::Boots;
use super::session::Stop;

/// Exit code of a script that ran out of time, as `timeout(1)` has it.
pub const SCRIPT_TIMED_OUT: u8 = 124;

/// Why a boot ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// Everything that was asked for happened.
    Done,
    /// The script ended with a code that is not 0.
    ScriptFailed,
    /// The script did not end in time.
    ScriptTimedOut,
    /// Something else did not happen in time; names it.
    TimedOut(String),
    /// The guest ended by itself, before everything that was asked for happened or with nothing asked for.
    GuestEnded(String),
    /// The power was cut because the console showed the pattern.
    PowerCut,
    /// This process was told to end.
    Interrupted,
}

/// What the script did. Without a code it was cut off.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScriptRun {
    /// Exit code; 128 + N for signal N.
    pub code: Option<u8>,
    /// Standard output so far.
    pub stdout: Vec<u8>,
    /// Standard error so far.
    pub stderr: Vec<u8>,
}

impl ScriptRun {
    fn to_json(&self) -> Value {
        json!({
            "exit": self.code,
            "stdout": String::from_utf8_lossy(&self.stdout),
            "stderr": String::from_utf8_lossy(&self.stderr),
        })
    }
}

/// How a boot ended.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The accelerator, and why it was chosen.
    pub accel: Chosen,
    /// Why it ended.
    pub reason: Reason,
    /// Whether anything but the guest's end was waited for.
    pub had_goal: bool,
    /// Time from the start to the awaited console line.
    pub until: Option<Duration>,
    /// Time from the start to the first answer of the guest's shell.
    pub shell: Option<Duration>,
    /// Time from the start to the end.
    pub total: Duration,
    /// The script's outputs, one for each boot that it ran in.
    pub runs: Vec<ScriptRun>,
    /// The forwarded port.
    pub ssh_port: Option<u16>,
    /// The guest's boots.
    pub boots: Boots,
    /// The console's last lines.
    pub console_tail: String,
}

impl Outcome {
    /// The process's exit code.
    pub fn exit_code(&self) -> u8 {
        match &self.reason {
            Reason::Done | Reason::PowerCut => 0,
            Reason::ScriptFailed => self.runs.last().and_then(|run| run.code).unwrap_or(1),
            Reason::ScriptTimedOut => SCRIPT_TIMED_OUT,
            Reason::GuestEnded(_) => u8::from(self.had_goal),
            Reason::TimedOut(_) => 1,
            Reason::Interrupted => 130,
        }
    }

    /// One sentence.
    pub fn sentence(&self) -> String {
        let seconds = self.total.as_secs_f64();
        match &self.reason {
            Reason::Done => match self.until {
                Some(until) => format!("done: the console showed it after {:.1} s", until.as_secs_f64()),
                None => format!("done after {seconds:.1} s"),
            },
            Reason::ScriptFailed => format!("the script ended with exit code {}", self.exit_code()),
            Reason::ScriptTimedOut => "the script did not end in time (--run-timeout)".to_owned(),
            Reason::TimedOut(what) => format!("{what} did not come within {seconds:.0} s (--timeout)"),
            Reason::GuestEnded(how) => format!("the guest ended after {seconds:.1} s ({how})"),
            Reason::PowerCut => {
                format!("the power was cut after {seconds:.1} s, as asked for by --kill-when")
            }
            Reason::Interrupted => "interrupted".to_owned(),
        }
    }

    /// The last lines of the console, when the reader needs them to understand.
    pub fn evidence(&self) -> Option<String> {
        let wanted = match &self.reason {
            Reason::TimedOut(_) | Reason::ScriptTimedOut => true,
            Reason::GuestEnded(_) => self.had_goal,
            _ => false,
        };
        wanted.then(|| format!("the console's last lines:\n{}", self.console_tail))
    }

    /// The data of the report for scripts.
    pub fn to_json(&self) -> Value {
        let seconds = |time: Duration| (time.as_secs_f64() * 1000.0).round() / 1000.0;
        let runs: Vec<Value> = self.runs.iter().map(ScriptRun::to_json).collect();
        json!({
            "accel": self.accel.accel,
            "accel_reason": self.accel.reason,
            "exit": self.exit_code(),
            "reason": self.reason_word(),
            "sentence": self.sentence(),
            "seconds_until": self.until.map(seconds),
            "seconds_shell": self.shell.map(seconds),
            "seconds": seconds(self.total),
            "resets": self.boots.resets(),
            "boots": self.boots.to_json(),
            "ssh_port": self.ssh_port,
            "run": runs.last(),
            "runs": runs,
            "console_tail": self.console_tail,
        })
    }

    fn reason_word(&self) -> &'static str {
        match &self.reason {
            Reason::Done => "done",
            Reason::ScriptFailed => "script-failed",
            Reason::ScriptTimedOut => "script-timed-out",
            Reason::TimedOut(_) => "timed-out",
            Reason::GuestEnded(_) => "guest-ended",
            Reason::PowerCut => "power-cut",
            Reason::Interrupted => "interrupted",
        }
    }
}

impl Reason {
    /// The reason behind a stop; an error stays an error.
    pub(super) fn of(stop: Stop) -> Result<Reason, super::error::BootError> {
        match stop {
            Stop::Failed(error) => Err(error),
            Stop::TimedOut(what) => Ok(Reason::TimedOut(what)),
            Stop::GuestEnded(how) => Ok(Reason::GuestEnded(how)),
            Stop::PowerCut => Ok(Reason::PowerCut),
            Stop::Interrupted => Ok(Reason::Interrupted),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::accel::Accel;

    fn outcome(reason: Reason, had_goal: bool) -> Outcome {
        Outcome {
            accel: Chosen {
                accel: Accel::Tcg,
                reason: "asked for".into(),
            },
            reason,
            had_goal,
            until: Some(Duration::from_millis(1500)),
            shell: None,
            total: Duration::from_secs(60),
            runs: vec![ScriptRun {
                code: Some(7),
                stdout: b"{}\n".to_vec(),
                stderr: Vec::new(),
            }],
            ssh_port: Some(2222),
            boots: Boots::default(),
            console_tail: "dtn login:".into(),
        }
    }

    #[test]
    fn each_end_has_its_exit_code() {
        let cases = [
            (Reason::Done, true, 0),
            (Reason::ScriptFailed, true, 7),
            (Reason::ScriptTimedOut, true, 124),
            (Reason::TimedOut("x".into()), true, 1),
            (Reason::GuestEnded("guest-shutdown".into()), true, 1),
            (Reason::GuestEnded("guest-shutdown".into()), false, 0),
            (Reason::PowerCut, true, 0),
            (Reason::Interrupted, true, 130),
        ];
        for (reason, had_goal, code) in cases {
            assert_eq!(outcome(reason.clone(), had_goal).exit_code(), code, "{reason:?}");
        }
    }

    #[test]
    fn a_time_out_shows_the_consoles_last_lines() {
        let outcome = outcome(Reason::TimedOut("a line that matches /x/".into()), true);
        assert_eq!(
            outcome.sentence(),
            "a line that matches /x/ did not come within 60 s (--timeout)"
        );
        assert_eq!(
            outcome.evidence().unwrap(),
            "the console's last lines:\ndtn login:"
        );
    }

    #[test]
    fn the_report_for_scripts_has_the_scripts_output_apart() {
        let report = outcome(Reason::ScriptFailed, true).to_json();
        let run = json!({ "exit": 7, "stdout": "{}\n", "stderr": "" });
        assert_eq!((&report["run"], &report["runs"][0]), (&run, &run));
        assert_eq!(report["accel"], "tcg");
        assert_eq!(report["seconds_until"], 1.5);
        assert_eq!(report["reason"], "script-failed");
    }
}
