//! Apart, when together fails: which groups of a harmful whole can stay.
//!
//! Each group is proved alone; those that harm are dropped and named, and the rest is proved again together. Where no
//! group harms alone but the whole does, the harm lies between them: each is left out once, and the first rest that
//! passes is the answer. What is kept has always been proved as it will be live, never put together from parts.
//!
//! The proving itself is the caller's, who also says when the time is spent.

use crate::decide::Decision;
use crate::group::Group;
use crate::verdict::Outcome;
use std::collections::BTreeMap;

/// One set of groups that was proved, and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// The groups that were live in our arm.
    pub groups: Vec<Group>,
    /// What follows.
    pub decision: Decision,
}

/// What came of proving a whole apart.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Apart {
    /// All that was tried, in order.
    pub tried: Vec<Tried>,
    /// The groups that have to go, with the reason.
    pub dropped: BTreeMap<Group, String>,
    /// The groups that were proved together and may stay; empty when there are none.
    pub kept: Vec<Group>,
    /// Whether the time was spent before there was an answer. Nothing is kept then.
    pub time_spent: bool,
}

impl Apart {
    /// The decision about what is kept.
    pub fn decision(&self) -> Option<&Decision> {
        let is_kept = |tried: &&Tried| !self.kept.is_empty() && tried.groups == self.kept;
        self.tried.iter().rev().find(is_kept).map(|tried| &tried.decision)
    }
}

/// Proves a set of groups together; `None` when the time is spent.
pub type Prove<'a, E> = dyn FnMut(&[Group]) -> Result<Option<Decision>, E> + 'a;

/// Proves the `groups` of a whole that harms one by one, then what is left together.
///
/// # Errors
/// The first error of `prove`.
pub fn apart<E>(groups: &[Group], prove: &mut Prove<'_, E>) -> Result<Apart, E> {
    let mut search = Search {
        prove,
        found: Apart::default(),
    };
    search.alone(groups)?;
    search.together(groups)?;
    Ok(search.found)
}

struct Search<'a, 'b, E> {
    prove: &'a mut Prove<'b, E>,
    found: Apart,
}

impl<E> Search<'_, '_, E> {
    /// What proving `groups` gives; a set that was proved before is not proved again.
    fn outcome(&mut self, groups: &[Group]) -> Result<Option<Decision>, E> {
        let before = self.found.tried.iter().find(|tried| tried.groups == groups);
        if let Some(tried) = before {
            return Ok(Some(tried.decision.clone()));
        }
        let decision = (self.prove)(groups)?;
        match &decision {
            Some(decision) => self.found.tried.push(Tried {
                groups: groups.to_vec(),
                decision: decision.clone(),
            }),
            None => self.found.time_spent = true,
        }
        Ok(decision)
    }

    /// Drops the groups that harm alone, and those that alone do not decide.
    fn alone(&mut self, groups: &[Group]) -> Result<(), E> {
        for &group in groups {
            let Some(decision) = self.outcome(&[group])? else {
                return Ok(());
            };
            if decision.outcome != Outcome::Keep {
                self.found
                    .dropped
                    .insert(group, format!("alone: {}", decision.sentence));
            }
        }
        Ok(())
    }

    /// Proves what is left, and leaves one out where that harms.
    fn together(&mut self, groups: &[Group]) -> Result<(), E> {
        if self.found.time_spent {
            return Ok(());
        }
        let rest: Vec<Group> = groups
            .iter()
            .copied()
            .filter(|group| !self.found.dropped.contains_key(group))
            .collect();
        // With nothing dropped the rest is the whole, which is known to harm.
        if rest.len() < groups.len() && (rest.is_empty() || self.keeps(&rest)?) {
            return Ok(());
        }
        for &left_out in &rest {
            let fewer: Vec<Group> = rest.iter().copied().filter(|&group| group != left_out).collect();
            if self.found.time_spent {
                return Ok(());
            }
            if !fewer.is_empty() && self.keeps(&fewer)? {
                let why = format!(
                    "the whole harms with it, and not without it, which leaves {}",
                    names(&fewer)
                );
                self.found.dropped.insert(left_out, why);
                return Ok(());
            }
        }
        for group in rest {
            let why = "no rest of the whole passes together".to_owned();
            self.found.dropped.insert(group, why);
        }
        Ok(())
    }

    fn keeps(&mut self, groups: &[Group]) -> Result<bool, E> {
        let keeps = self
            .outcome(groups)?
            .is_some_and(|decision| decision.outcome == Outcome::Keep);
        if keeps {
            self.found.kept = groups.to_vec();
        }
        Ok(keeps)
    }
}

fn names(groups: &[Group]) -> String {
    groups
        .iter()
        .map(|group| group.name())
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use Group::{Congestion, NicRings, Qdisc, TcpBuffers};
    use std::convert::Infallible;

    const WHOLE: [Group; 4] = [TcpBuffers, Congestion, Qdisc, NicRings];

    fn decision(outcome: Outcome) -> Decision {
        Decision {
            outcome,
            sentence: format!("{outcome:?}"),
            metrics: Vec::new(),
        }
    }

    /// Proves by a rule, for at most `most` proofs.
    fn by(most: usize, harms: impl Fn(&[Group]) -> bool) -> Apart {
        let mut proofs = 0;
        let found: Result<Apart, Infallible> = apart(&WHOLE, &mut |groups| {
            proofs += 1;
            let outcome = if harms(groups) {
                Outcome::Revert
            } else {
                Outcome::Keep
            };
            Ok((proofs <= most).then(|| decision(outcome)))
        });
        found.unwrap()
    }

    #[test]
    fn one_harmful_group_among_good_ones_is_dropped_and_the_rest_is_proved_again() {
        let found = by(99, |groups| groups.contains(&NicRings));
        assert_eq!(found.kept, [TcpBuffers, Congestion, Qdisc]);
        assert_eq!(found.dropped[&NicRings], "alone: Revert");
        assert_eq!(found.dropped.len(), 1);
        // Four alone, then the rest.
        assert_eq!(found.tried.len(), 5);
        assert_eq!(found.decision().unwrap().outcome, Outcome::Keep);
    }

    #[test]
    fn harm_that_lies_between_two_groups_costs_one_of_them() {
        let found = by(99, |groups| {
            groups.contains(&Congestion) && groups.contains(&Qdisc)
        });
        assert_eq!(found.kept, [TcpBuffers, Qdisc, NicRings]);
        assert!(
            found.dropped[&Congestion].ends_with("which leaves tcp-buffers, qdisc, nic-rings"),
            "{:?}",
            found.dropped
        );
    }

    #[test]
    fn harm_that_stays_after_the_harmful_group_has_gone_costs_another_one() {
        let found = by(99, |groups| {
            groups.contains(&NicRings) || (groups.contains(&TcpBuffers) && groups.contains(&Qdisc))
        });
        assert_eq!(found.kept, [Congestion, Qdisc]);
        assert_eq!(
            found.dropped.keys().copied().collect::<Vec<_>>(),
            [TcpBuffers, NicRings]
        );
    }

    #[test]
    fn wholly_harmful_groups_leave_nothing() {
        let found = by(99, |_| true);
        assert!(found.kept.is_empty() && found.decision().is_none());
        assert_eq!(found.dropped.len(), WHOLE.len());
    }

    #[test]
    fn two_groups_that_only_harm_together_leave_the_second() {
        let pair = [TcpBuffers, Congestion];
        let found: Result<Apart, Infallible> = apart(&pair, &mut |groups| {
            let outcome = if groups.len() == 2 {
                Outcome::Revert
            } else {
                Outcome::Keep
            };
            Ok(Some(decision(outcome)))
        });
        let found = found.unwrap();
        assert_eq!(found.kept, [Congestion]);
        // Each alone; the rest after leaving one out has been proved by that.
        assert_eq!(found.tried.len(), 2);
    }

    #[test]
    fn a_group_that_does_not_decide_alone_is_not_kept() {
        let found: Result<Apart, Infallible> = apart(&[TcpBuffers, Congestion], &mut |groups| {
            let outcome = if groups == [Congestion] {
                Outcome::Inconclusive
            } else {
                Outcome::Keep
            };
            Ok(Some(decision(outcome)))
        });
        let found = found.unwrap();
        assert_eq!(found.kept, [TcpBuffers]);
        assert_eq!(found.dropped[&Congestion], "alone: Inconclusive");
    }

    #[test]
    fn when_the_time_is_spent_nothing_is_kept() {
        for most in 0..5 {
            let found = by(most, |groups| groups.contains(&NicRings));
            assert!(
                found.time_spent && found.kept.is_empty(),
                "{most} proofs: {found:?}"
            );
        }
    }
}
