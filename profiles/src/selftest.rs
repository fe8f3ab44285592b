//! What a host needs for the agent, and whether this one has it: the answer of `dtn-firstboot selftest`.

use serde::{Deserialize, Serialize};

/// Form of [`Selftest`].
pub const SELFTEST_SCHEMA: u32 = 1;

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selftest {
    /// Whether nothing is missing that a trial cannot do without.
    pub ready: bool,
    /// One sentence.
    pub sentence: String,
    /// Each thing that was looked at, in the order in which it is shown.
    pub items: Vec<Item>,
}

/// A thing that the agent needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Stable name, for instance `kernel`, `program:tc`, `place:/etc/dtnforge`.
    pub name: String,
    /// What needs it.
    pub need: Need,
    /// Whether it is there.
    pub there: Answer,
    /// What was seen.
    pub found: String,
    /// What does not work without it.
    pub without: String,
}

/// What needs a thing; the first ones need it most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// A trial, and its way back.
    Trial,
    /// Some groups of knobs, which are left out without it.
    Groups,
    /// The measurement.
    Proof,
    /// An image of ours; an installed host does without.
    Image,
}

/// Whether a thing is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// It is.
    Yes,
    /// It is not.
    No,
    /// It cannot be told here, for instance without root.
    CannotTell,
}

impl Need {
    /// The name used for people and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Need::Trial => "trial",
            Need::Groups => "groups",
            Need::Proof => "proof",
            Need::Image => "image",
        }
    }
}

impl Selftest {
    /// The answer that follows from the items.
    pub fn of(items: Vec<Item>) -> Self {
        let lacking = |need: Need| {
            let lacking = items
                .iter()
                .filter(|item| item.need == need && item.there == Answer::No);
            lacking.map(|item| item.name.as_str()).collect::<Vec<_>>()
        };
        let (trial, groups, proof) = (lacking(Need::Trial), lacking(Need::Groups), lacking(Need::Proof));
        let sentence = if !trial.is_empty() {
            format!("nothing can be tried on this host: {}", trial.join(", "))
        } else if !groups.is_empty() {
            format!("this host can be tuned in part: {} missing", groups.join(", "))
        } else if !proof.is_empty() {
            format!(
                "this host can be tuned and not proved: {} missing",
                proof.join(", ")
            )
        } else {
            "this host has all that a trial and its proof need".to_owned()
        };
        Self {
            ready: trial.is_empty(),
            sentence,
            items,
        }
    }
}

/// The version in what a program says of itself: the first word that begins with a digit, up to its second number.
/// `systemd 252 (252.30-1~deb12u2)` is (252, 0), `tuned-adm 2.20.0` is (2, 20), `6.12.48+deb13-amd64` is (6, 12).
pub fn version(text: &str) -> Option<(u32, u32)> {
    let word = text
        .split_whitespace()
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    let mut numbers = word.split(|c: char| !c.is_ascii_digit());
    let major = numbers.next()?.parse().ok()?;
    let minor = numbers.next().and_then(|number| number.parse().ok()).unwrap_or(0);
    Some((major, minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(name: &str, need: Need, there: Answer) -> Item {
        Item {
            name: name.into(),
            need,
            there,
            found: String::new(),
            without: String::new(),
        }
    }

    #[test]
    fn versions_are_read_out_of_what_programs_say() {
        for (text, expected) in [
            ("systemd 252 (252.30-1~deb12u2)\n+PAM", Some((252, 0))),
            ("tuned-adm 2.20.0", Some((2, 20))),
            ("tuned-adm 2.25.1-rc.1", Some((2, 25))),
            ("6.12.48+deb13-amd64", Some((6, 12))),
            ("5.14.0-503.el9.x86_64", Some((5, 14))),
            ("iperf 3.18 (cJSON 1.7.15)", Some((3, 18))),
            ("99999999999999999999.1", None),
            ("no number", None),
            ("", None),
        ] {
            assert_eq!(version(text), expected, "{text}");
        }
    }

    #[test]
    fn only_what_a_trial_needs_makes_a_host_unfit() {
        let proofless = Selftest::of(vec![
            item("kernel", Need::Trial, Answer::Yes),
            item("root", Need::Trial, Answer::CannotTell),
            item("module:sch_netem", Need::Proof, Answer::No),
            item("efivars", Need::Image, Answer::No),
        ]);
        assert!(proofless.ready);
        assert_eq!(
            proofless.sentence,
            "this host can be tuned and not proved: module:sch_netem missing"
        );
        let unfit = Selftest::of(vec![
            item("program:tc", Need::Groups, Answer::No),
            item("kernel", Need::Trial, Answer::No),
        ]);
        assert!(!unfit.ready);
        assert_eq!(unfit.sentence, "nothing can be tried on this host: kernel");
    }
}
