//! The ladder of tests: which rungs run here, and a word about those that do not.
//!
//! Tests that need only files always run. Those that make network namespaces run with `DTNFORGE_NS=1` (as root), those
//! that boot machines with `DTNFORGE_VM=1`. A test that does not run says so on standard error, past the test runner's
//! capture, so that nobody takes it for passed.

use std::io::Write;

/// A rung that has to be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rung {
    /// Network namespaces, veth, netem.
    Namespace,
    /// Booted machines.
    Vm,
}

impl Rung {
    fn variable(self) -> &'static str {
        match self {
            Rung::Namespace => "DTNFORGE_NS",
            Rung::Vm => "DTNFORGE_VM",
        }
    }

    /// Whether `test` runs; says why when it does not.
    pub fn runs(self, test: &str) -> bool {
        let value = std::env::var(self.variable()).ok();
        let skipped = self.reason_to_skip(value.as_deref());
        if let Some(reason) = &skipped {
            say(&format!("{test}: skipped: {reason}"));
        }
        skipped.is_none()
    }

    /// Why a test of this rung is left out when the variable has `value`.
    fn reason_to_skip(self, value: Option<&str>) -> Option<String> {
        let what = match self {
            Rung::Namespace => "makes network namespaces, as root",
            Rung::Vm => "builds an image and boots it, for minutes",
        };
        match value {
            Some("1") => None,
            _ => Some(format!("it {what}; set {}=1 to run it", self.variable())),
        }
    }
}

/// Tells the person who runs the tests one line, whether or not the runner captures output.
pub fn say(line: &str) {
    // Nobody can be told that standard error is closed.
    let _ = writeln!(std::io::stderr(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skipped_rung_says_how_to_run_it() {
        let reason = Rung::Vm.reason_to_skip(None).unwrap();
        assert_eq!(
            reason,
            "it builds an image and boots it, for minutes; set DTNFORGE_VM=1 to run it"
        );
        assert!(
            Rung::Namespace
                .reason_to_skip(Some("0"))
                .unwrap()
                .contains("set DTNFORGE_NS=1")
        );
        assert_eq!(Rung::Namespace.reason_to_skip(Some("1")), None);
    }
}
