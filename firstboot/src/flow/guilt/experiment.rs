//! The experiment that tells a guilty plan from a cable that is out. Pure: what is done and seen comes through [`Arms`].
//!
//! The plan is taken out and the network is looked for. Without network the plan is not the cause, and goes back in.
//! With network it may be, or a switch came up in just that minute, as the switches of a whole site do after a power
//! cut. So the plan goes back in once more: if the network stays, it is not guilty; only if the network goes again and
//! comes back again without it, it is. An innocent plan is taken out once; a guilty one twice.

use crate::checks::Loss;

/// What the experiment can do.
pub(super) trait Arms {
    /// Takes the plan out. Returns what does not read as it was before the commit.
    ///
    /// # Errors
    /// Why it could not be done: then no knob was written.
    fn take_out(&mut self) -> Result<Vec<String>, String>;

    /// Puts the plan back in. Returns what does not read as it did before.
    fn put_back(&mut self) -> Vec<String>;

    /// Looks for the network until it is there or a limit is over.
    fn look(&mut self) -> Sight;
}

/// What a look gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sight {
    /// The node can be reached.
    There,
    /// It cannot, for this reason.
    Lost(Loss),
    /// Somebody asked the agent to stop.
    Stopped,
}

/// What the experiment showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// With the plan there is no network, without it there is, twice. It is out, and every knob was read.
    Guilty {
        /// What is missing with it.
        with: Loss,
    },
    /// Without the plan there is no network either. It is in again.
    NotGuilty {
        /// What is missing without it.
        without: Loss,
        /// What could not be put back.
        astray: Vec<String>,
    },
    /// The network came back by itself while the plan was out, and stays with it. It is in again.
    CameBack {
        /// What could not be put back.
        astray: Vec<String>,
    },
    /// The plan could not be taken out, so nothing is known. It is in as before.
    NotTried {
        /// Why.
        why: String,
        /// What could not be put back.
        astray: Vec<String>,
    },
    /// The plan is out, and it cannot be shown that the host is as before it.
    Unverified(Vec<String>),
    /// Somebody asked to stop. The plan is in again.
    Stopped {
        /// What could not be put back.
        astray: Vec<String>,
    },
}

/// Runs the experiment on a node that has lost its network. What was tried is undone whatever happens, except where it
/// is the answer.
pub(super) fn run(arms: &mut dyn Arms) -> Outcome {
    let mut with = None;
    loop {
        match arms.take_out() {
            Ok(problems) if problems.is_empty() => {}
            Ok(problems) => return Outcome::Unverified(problems),
            Err(why) => {
                let astray = arms.put_back();
                return Outcome::NotTried { why, astray };
            }
        }
        match (arms.look(), with) {
            (Sight::There, Some(with)) => return Outcome::Guilty { with },
            (Sight::There, None) => {}
            (Sight::Lost(without), _) => {
                let astray = arms.put_back();
                return Outcome::NotGuilty { without, astray };
            }
            (Sight::Stopped, _) => {
                let astray = arms.put_back();
                return Outcome::Stopped { astray };
            }
        }
        let astray = arms.put_back();
        match arms.look() {
            Sight::There => return Outcome::CameBack { astray },
            Sight::Stopped => return Outcome::Stopped { astray },
            Sight::Lost(loss) => with = Some(loss),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// A network that follows a script, and a log of what was done to the plan.
    #[derive(Default)]
    struct Script {
        sights: VecDeque<Sight>,
        taken_out: VecDeque<Result<Vec<String>, String>>,
        put_back: Vec<String>,
        log: Vec<&'static str>,
    }

    impl Arms for Script {
        fn take_out(&mut self) -> Result<Vec<String>, String> {
            self.log.push("out");
            self.taken_out.pop_front().unwrap_or(Ok(Vec::new()))
        }
        fn put_back(&mut self) -> Vec<String> {
            self.log.push("in");
            self.put_back.clone()
        }
        fn look(&mut self) -> Sight {
            self.sights.pop_front().unwrap()
        }
    }

    fn lost() -> Sight {
        Sight::Lost(no_link())
    }

    fn no_link() -> Loss {
        Loss::Link("no carrier on ens2".into())
    }

    fn outcome(sights: &[Sight]) -> (Outcome, Vec<&'static str>) {
        let mut script = Script {
            sights: sights.to_vec().into(),
            ..Script::default()
        };
        let outcome = run(&mut script);
        assert!(script.sights.is_empty(), "not looked: {:?}", script.sights);
        (outcome, script.log)
    }

    #[test]
    fn a_cable_that_is_out_costs_the_plan_one_round() {
        let expected = Outcome::NotGuilty {
            without: no_link(),
            astray: vec![],
        };
        assert_eq!(outcome(&[lost()]), (expected, vec!["out", "in"]));
    }

    #[test]
    fn a_switch_that_comes_up_just_then_makes_nobody_guilty() {
        let expected = Outcome::CameBack { astray: vec![] };
        assert_eq!(
            outcome(&[Sight::There, Sight::There]),
            (expected, vec!["out", "in"])
        );
    }

    #[test]
    fn a_plan_is_guilty_when_the_network_follows_it_twice_and_it_stays_out() {
        assert_eq!(
            outcome(&[Sight::There, lost(), Sight::There]),
            (Outcome::Guilty { with: no_link() }, vec!["out", "in", "out"])
        );
    }

    #[test]
    fn a_network_that_comes_and_goes_by_itself_makes_nobody_guilty() {
        let expected = Outcome::NotGuilty {
            without: no_link(),
            astray: vec![],
        };
        assert_eq!(
            outcome(&[Sight::There, lost(), lost()]),
            (expected, vec!["out", "in", "out", "in"])
        );
    }

    #[test]
    fn whoever_asks_to_stop_finds_the_plan_in_place() {
        for sights in [vec![Sight::Stopped], vec![Sight::There, Sight::Stopped]] {
            let (outcome, log) = outcome(&sights);
            assert_eq!(outcome, Outcome::Stopped { astray: vec![] });
            assert_eq!(log.last(), Some(&"in"));
        }
    }

    #[test]
    fn what_does_not_come_out_is_told_and_nothing_more_is_tried() {
        let mut script = Script {
            taken_out: [Ok(vec!["ring".to_owned()])].into(),
            ..Script::default()
        };
        assert_eq!(run(&mut script), Outcome::Unverified(vec!["ring".into()]));
        assert_eq!(script.log, ["out"]);
        let mut script = Script {
            taken_out: [Err("journal: full".to_owned())].into(),
            put_back: vec!["ring".into()],
            ..Script::default()
        };
        let expected = Outcome::NotTried {
            why: "journal: full".into(),
            astray: vec!["ring".into()],
        };
        assert_eq!(run(&mut script), expected);
        assert_eq!(script.log, ["out", "in"]);
    }
}
