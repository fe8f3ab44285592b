//! From claims and a live value to its owner. Pure.

use super::claim::Claim;
use dtnforge_profiles::audit::{Setter, SetterKind};
use dtnforge_profiles::value::Value;

/// The owner of `live`. `claims` are in the order in which they are applied at boot, `expected` is what a commit put
/// there.
pub(super) fn owner(claims: &[Claim], live: &Value, expected: Option<&Value>) -> Setter {
    let explains = |claim: &&Claim| claim.says.explains(live);
    // A place that says the value in plain words goes before one that computes it.
    let plain = claims
        .iter()
        .rev()
        .filter(|claim| claim.says.is_plain())
        .find(explains);
    if let Some(claim) = plain.or_else(|| claims.iter().rev().find(explains)) {
        return claim.setter();
    }
    match claims.last() {
        Some(last) => {
            Setter::of(SetterKind::ByHand).noting(format!("{}, and that is not live", last.words()))
        }
        None if expected.is_some_and(|expected| expected != live) => {
            Setter::of(SetterKind::ByHand).noting("no file says this value")
        }
        None => Setter::of(SetterKind::Nobody),
    }
}

/// Who sets a value at boot that is none of `good`: the last claim that is applied after ours, when it wants another.
pub(super) fn against_us(claims: &[Claim], good: &[&Value], tuned_is_ours: bool) -> Option<Setter> {
    let counts = |claim: &&Claim| claim.beats_us && !(tuned_is_ours && claim.kind == SetterKind::Tuned);
    let is_good = |claim: &Claim| good.iter().any(|value| claim.says.explains(value));
    claims
        .iter()
        .rev()
        .find(counts)
        .filter(|claim| !is_good(claim))
        .map(Claim::setter)
}

/// What of others sets another value than `now` at boot: the last claim that is neither the agent's nor of a file
/// that the boot does not read.
pub(super) fn of_others_at_boot(claims: &[Claim], now: &Value) -> Option<Setter> {
    let is_others = |claim: &&Claim| {
        !matches!(
            claim.kind,
            SetterKind::Dtnforge | SetterKind::Label | SetterKind::SysctlConf
        )
    };
    let last = claims.iter().rev().find(is_others)?;
    (!last.says.explains(now)).then(|| last.setter())
}

#[cfg(test)]
mod tests {
    use super::super::claim::Says;
    use super::*;

    fn claim(kind: SetterKind, place: &str, says: Says, beats_us: bool) -> Claim {
        Claim {
            kind,
            place: Some(place.to_owned()),
            says,
            managed_by: None,
            beats_us,
        }
    }

    fn file(place: &str, value: &str, beats_us: bool) -> Claim {
        claim(SetterKind::SysctlD, place, Says::Is(value.into()), beats_us)
    }

    #[test]
    fn of_those_that_explain_the_value_the_last_one_owns_it() {
        let claims = [
            file("a:1", "10", false),
            file("b:1", "20", false),
            file("c:1", "10", false),
        ];
        assert_eq!(owner(&claims, &"10".into(), None).place.as_deref(), Some("c:1"));
        assert_eq!(
            owner(&claims, &"20".into(), None).place.as_deref(),
            Some("b:1"),
            "the file that should have lost is the one that won"
        );
    }

    #[test]
    fn a_value_that_no_file_says_was_set_by_hand_and_the_file_is_named() {
        let found = owner(&[file("a:1", "10", false)], &"30".into(), Some(&"10".into()));
        assert_eq!(found.to_string(), "by hand (a:1 says 10, and that is not live)");
    }

    #[test]
    fn without_any_file_only_a_commit_tells_a_change_by_hand() {
        assert_eq!(owner(&[], &"60".into(), None).kind, SetterKind::Nobody);
        assert_eq!(
            owner(&[], &"60".into(), Some(&"10".into())).kind,
            SetterKind::ByHand
        );
    }

    #[test]
    fn plain_words_go_before_a_computed_value_and_a_minimum_explains_more() {
        let computed = claim(SetterKind::Tuned, "t:1", Says::Unknown("${x}".into()), false);
        let least = claim(SetterKind::Tuned, "t:2", Says::AtLeast(4096), false);
        let claims = [file("a:1", "10", false), computed.clone()];
        assert_eq!(owner(&claims, &"10".into(), None).place.as_deref(), Some("a:1"));
        assert_eq!(
            owner(&claims, &"11".into(), None).to_string(),
            "tuned t:1 (it says ${x})"
        );
        assert_eq!(
            owner(&[least], &"8192".into(), None).to_string(),
            "tuned t:2 (it says 4096 or more)"
        );
    }

    #[test]
    fn only_what_is_applied_after_us_and_wants_another_value_is_against_us() {
        let (before, after) = (file("50:1", "1", false), file("99:1", "2", true));
        let against = |claims: &[Claim], ours| against_us(claims, &[&"3".into()], ours);
        assert_eq!(against(&[before], false), None);
        assert_eq!(against(std::slice::from_ref(&after), false), Some(after.setter()));
        let same = file("99:1", "3", true);
        assert_eq!(against(&[after, same], false), None, "the last one wins");
        let tuned = claim(SetterKind::Tuned, "t:1", Says::Is("4".into()), true);
        assert_eq!(against(&[tuned], true), None);
    }
}
