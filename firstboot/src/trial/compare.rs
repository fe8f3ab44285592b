//! Whether a value that was read is the one that was written, by the rounding of its knob.

use crate::door::{Door, DoorError};
use dtnforge_profiles::knob::{KnobId, Rounding, definition_of};
use dtnforge_profiles::plan::{Plan, Reading};
use dtnforge_profiles::value::Value;
use std::fmt;

/// A knob that does not have the value of its plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The knob.
    pub knob: KnobId,
    /// The value of the plan.
    pub expected: Value,
    /// What was read instead; `None` when nothing could be read.
    pub found: Option<Value>,
    /// The reason, when nothing could be read.
    pub why: Option<String>,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = self.found.as_ref().map(Value::as_str);
        let found = found.or(self.why.as_deref()).unwrap_or("nothing");
        write!(
            f,
            "{}: expected {:?}, found {found:?}",
            self.knob,
            self.expected.as_str()
        )
    }
}

/// Reads every knob of the plan and returns those that do not have their value.
pub fn verify(doors: &dyn Door, plan: &Plan) -> Vec<Mismatch> {
    let mismatch = |knob: &KnobId, expected: &Value, found, why| Mismatch {
        knob: knob.clone(),
        expected: expected.clone(),
        found,
        why,
    };
    let check = |step: &dtnforge_profiles::plan::Step| match doors.read(&step.knob) {
        Ok(Reading::Is(found)) if fits(&step.knob, &step.from, &step.to, &found) => None,
        Ok(Reading::Is(found)) => Some(mismatch(&step.knob, &step.to, Some(found), None)),
        Ok(other) => Some(mismatch(&step.knob, &step.to, None, Some(no_value(&other)))),
        Err(error) => Some(mismatch(&step.knob, &step.to, None, Some(error.to_string()))),
    };
    plan.steps.iter().filter_map(check).collect()
}

/// Why there is no value, in words.
pub(super) fn no_value(reading: &Reading) -> String {
    match reading {
        Reading::Is(value) => value.to_string(),
        Reading::Absent => "gone".to_owned(),
        Reading::Unsupported(why) => format!("not supported here: {why}"),
    }
}

/// Whether `found` is what a device makes of `wanted`, where it was `before`.
///
/// A device that rounds may give less or more, but must have moved: a value that is as it was before was not set.
pub fn fits(knob: &KnobId, before: &Value, wanted: &Value, found: &Value) -> bool {
    if found == wanted {
        return true;
    }
    let rounding = definition_of(knob).map_or(Rounding::Exact, |definition| definition.rounding);
    let (Some(wanted), Some(now)) = (wanted.integer(), found.integer()) else {
        return false;
    };
    if found == before || wanted <= 0 {
        return false;
    }
    match rounding {
        Rounding::Exact => false,
        Rounding::Pow2Up => u64::try_from(wanted).is_ok_and(|wanted| Some(now) == power_of_two(wanted)),
        Rounding::MultipleOf(step) => {
            let step = i64::from(step.max(1));
            now >= wanted && now - wanted < step && now % step == 0
        }
        // Drivers round rings by rules of their own: powers of two up (mlx5) or down (ena), multiples of 8 or 32
        // (ixgbe, ice). All of them stay within a factor of two.
        Rounding::Clamp => is_ring(knob) && now > wanted / 2 && now / 2 < wanted,
    }
}

fn is_ring(knob: &KnobId) -> bool {
    matches!(knob, KnobId::Nic(_, key) if key.starts_with("ring."))
}

fn power_of_two(wanted: u64) -> Option<i64> {
    i64::try_from(wanted.checked_next_power_of_two()?).ok()
}

/// The value of a reading, or the error that stops a step.
pub(super) fn value_of(knob: &KnobId, reading: Reading) -> Result<Value, DoorError> {
    crate::door::present(knob, reading)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(knob: &str, before: &str, wanted: &str, found: &str) -> bool {
        fits(
            &knob.parse().unwrap(),
            &before.into(),
            &wanted.into(),
            &found.into(),
        )
    }

    #[test]
    fn a_sysctl_fits_only_exactly() {
        let knob = "sysctl:net.ipv4.tcp_rmem";
        assert!(fit(
            knob,
            "4096 1 2",
            "4096 131072 67108864",
            "4096 131072 67108864"
        ));
        assert!(!fit(
            knob,
            "4096 1 2",
            "4096 131072 67108864",
            "4096 131072 67108863"
        ));
        assert!(!fit("sysctl:vm.swappiness", "60", "10", "11"));
    }

    #[test]
    fn a_ring_may_be_rounded_by_its_driver_but_must_have_moved() {
        let ring = "nic/0000:01:00.0+02:00:00:00:00:01:ring.rx";
        for (before, wanted, found, expected) in [
            ("1024", "8000", "8192", true),
            ("512", "8160", "8160", true),
            ("512", "3000", "2048", true),
            ("512", "4090", "4096", true),
            ("2048", "3000", "2048", false),
            ("512", "8192", "1024", false),
            ("512", "1024", "off", false),
            ("512", "512", "512", true),
        ] {
            assert_eq!(
                fit(ring, before, wanted, found),
                expected,
                "{before} {wanted} {found}"
            );
        }
    }

    #[test]
    fn an_mtu_is_never_rounded() {
        let mtu = "nic/0000:01:00.0+02:00:00:00:00:01:mtu";
        assert!(fit(mtu, "1500", "9000", "9000"));
        assert!(!fit(mtu, "1500", "9000", "8996"));
    }

    #[test]
    fn an_unknown_knob_is_compared_exactly() {
        assert!(!fit("sysctl:net.ipv4.no_such_key", "1", "7", "8"));
    }

    #[test]
    fn a_mismatch_says_what_was_expected_and_found() {
        let mismatch = Mismatch {
            knob: "sysctl:vm.swappiness".parse().unwrap(),
            expected: "10".into(),
            found: None,
            why: Some("gone".into()),
        };
        assert_eq!(
            mismatch.to_string(),
            "sysctl:vm.swappiness: expected \"10\", found \"gone\""
        );
    }
}
