//! What happens to a guest from outside while it runs: a cable that is pulled or plugged in, the power that fails,
//! somebody who types at the console.
//!
//! Incidents wait for their moment. Those that are due are taken by the session, which has the means to do them.

use std::str::FromStr;
use std::time::Duration;

use super::fields::FieldError;
use super::machine::nic_id;
use super::when::When;

/// What is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// The cable of a card is plugged in (`up`) or pulled.
    Cable {
        /// Number of the card, from 1.
        nic: u8,
        /// Plugged in.
        up: bool,
    },
    /// The power fails and comes back at once.
    PowerCycle,
    /// Somebody types a line at the console.
    Type(String),
}

/// Something that will happen.
#[derive(Debug, Clone)]
pub struct Incident {
    /// What.
    pub act: Act,
    /// When.
    pub when: When,
    /// How often, at least 1; each line or moment counts once.
    pub times: u32,
}

/// `--link`: `nic1=down@60s`, `nic1=up@/REGEX/`.
#[derive(Debug, Clone)]
pub struct LinkChange(pub Incident);

impl FromStr for LinkChange {
    type Err = FieldError;

    fn from_str(text: &str) -> Result<LinkChange, FieldError> {
        let refuse = || FieldError(format!("{text:?}: expected nicN=up@WHEN or nicN=down@WHEN"));
        let (change, when) = text.split_once('@').ok_or_else(refuse)?;
        let (card, state) = change.split_once('=').ok_or_else(refuse)?;
        let number = card.strip_prefix("nic").and_then(|number| number.parse().ok());
        let nic = number.filter(|number| *number > 0).ok_or_else(refuse)?;
        let up = match state {
            "up" => true,
            "down" => false,
            _ => return Err(refuse()),
        };
        Ok(LinkChange(Incident {
            act: Act::Cable { nic, up },
            when: when.parse()?,
            times: 1,
        }))
    }
}

/// `--power-cycle`: `60s`, `/REGEX/`, `3x/REGEX/`.
#[derive(Debug, Clone)]
pub struct PowerCycle(pub Incident);

impl FromStr for PowerCycle {
    type Err = FieldError;

    fn from_str(text: &str) -> Result<PowerCycle, FieldError> {
        let counted = text.split_once("x/").and_then(|(times, pattern)| {
            let times = times.parse().ok().filter(|times| *times > 0)?;
            Some((times, format!("/{pattern}")))
        });
        let (times, when) = counted.unwrap_or((1, text.to_owned()));
        Ok(PowerCycle(Incident {
            act: Act::PowerCycle,
            when: when.parse()?,
            times,
        }))
    }
}

/// `--type`: `root@/login:/`; WHEN follows the last `@` before a pattern, or the last one.
#[derive(Debug, Clone)]
pub struct TypedLine(pub Incident);

impl FromStr for TypedLine {
    type Err = FieldError;

    fn from_str(text: &str) -> Result<TypedLine, FieldError> {
        let refuse = || FieldError(format!("{text:?}: expected LINE@WHEN, such as root@/login:/"));
        let split = text.find("@/").or_else(|| text.rfind('@')).ok_or_else(refuse)?;
        Ok(TypedLine(Incident {
            act: Act::Type(text[..split].to_owned()),
            when: text[split + 1..].parse()?,
            times: 1,
        }))
    }
}

/// Refuses a cable of a card that the machine does not have.
///
/// # Errors
/// Names the card and how many there are.
pub fn check_cards(incidents: &[Incident], cards: usize) -> Result<(), String> {
    let stray = incidents.iter().find_map(|incident| match incident.act {
        Act::Cable { nic, .. } if usize::from(nic) > cards => Some(nic),
        _ => None,
    });
    match stray {
        None => Ok(()),
        Some(nic) => Err(format!(
            "--link {}: the machine has {cards} network cards",
            nic_id(nic)
        )),
    }
}

/// The incidents of a guest: those to come, and those that are due.
#[derive(Debug, Default)]
pub struct Incidents {
    waiting: Vec<Incident>,
    due: Vec<Act>,
}

impl Incidents {
    /// All are still to come.
    pub fn new(waiting: Vec<Incident>) -> Incidents {
        Incidents {
            waiting,
            due: Vec::new(),
        }
    }

    /// A console line was seen.
    pub fn on_line(&mut self, line: &str) {
        self.fire(|when| matches!(when, When::Line(pattern) if pattern.is_match(line)));
    }

    /// The guest has been on for `elapsed`.
    pub fn on_time(&mut self, elapsed: Duration) {
        self.fire(|when| matches!(when, When::After(time) if *time <= elapsed));
    }

    fn fire(&mut self, is_now: impl Fn(&When) -> bool) {
        for incident in &mut self.waiting {
            // The power fails once before it comes back: the rest of the lines is of a machine that is off.
            let off_already = incident.act == Act::PowerCycle && self.due.contains(&Act::PowerCycle);
            if !off_already && is_now(&incident.when) {
                incident.times -= 1;
                self.due.push(incident.act.clone());
            }
        }
        self.waiting.retain(|incident| incident.times > 0);
    }

    /// Takes what is due, in the order of its moments.
    pub fn take_due(&mut self) -> Vec<Act> {
        std::mem::take(&mut self.due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(text: &str) -> Incident {
        text.parse::<LinkChange>().unwrap().0
    }

    fn cycle(text: &str) -> Incident {
        text.parse::<PowerCycle>().unwrap().0
    }

    #[test]
    fn a_cable_is_pulled_once_at_its_moment() {
        let mut incidents = Incidents::new(vec![link("nic2=down@60s"), link("nic1=up@/a@b=c/")]);
        incidents.on_time(Duration::from_secs(59));
        assert_eq!(incidents.take_due(), []);
        incidents.on_line("a@b=c");
        incidents.on_time(Duration::from_secs(61));
        let up = Act::Cable { nic: 1, up: true };
        let down = Act::Cable { nic: 2, up: false };
        assert_eq!(incidents.take_due(), [up, down]);
        incidents.on_line("a@b=c");
        incidents.on_time(Duration::from_secs(62));
        assert_eq!(incidents.take_due(), []);
    }

    #[test]
    fn the_power_fails_once_for_each_time_it_came_back() {
        let mut incidents = Incidents::new(vec![cycle("2x/Reached target/")]);
        let mut cuts = 0;
        for _boot in 0..4 {
            incidents.on_line("Reached target one");
            incidents.on_line("Reached target two");
            cuts += incidents.take_due().len();
        }
        assert_eq!(cuts, 2);
    }

    #[test]
    fn a_line_is_typed_when_the_prompt_shows() {
        let line = |text: &str| text.parse::<TypedLine>().unwrap().0;
        let mut incidents = Incidents::new(vec![line("a@b@/Password:/"), line("a@b@5s")]);
        incidents.on_line("Password: ");
        incidents.on_time(Duration::from_secs(5));
        assert_eq!(
            incidents.take_due(),
            [Act::Type("a@b".into()), Act::Type("a@b".into())]
        );
        let error = "root".parse::<TypedLine>().unwrap_err().0;
        assert_eq!(error, "\"root\": expected LINE@WHEN, such as root@/login:/");
    }

    #[test]
    fn what_cannot_happen_is_refused_with_the_form() {
        for text in ["nic1=down", "nic0=up@1s", "eth0=up@1s", "nic1=out@1s", "nic1@1s"] {
            let error = text.parse::<LinkChange>().unwrap_err().0;
            assert!(
                error.ends_with("expected nicN=up@WHEN or nicN=down@WHEN"),
                "{error}"
            );
        }
        for text in ["0x/a/", "x/a/", "3x", "3x60s"] {
            let error = text.parse::<PowerCycle>().unwrap_err().0;
            assert!(error.contains("expected SECONDSs"), "{text}: {error}");
        }
        assert_eq!(
            check_cards(&[link("nic2=down@1s")], 1).unwrap_err(),
            "--link nic2: the machine has 1 network cards"
        );
    }
}
