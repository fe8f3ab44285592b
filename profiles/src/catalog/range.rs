//! Whether a value is of the type and in the range that the registry gives its knob.

use crate::knob::{KnobDef, ValueKind};
use crate::value::Value;

/// Whether a value fits the registry's range for its knob.
///
/// # Errors
/// What was expected.
pub(crate) fn in_range(definition: &KnobDef, value: &Value) -> Result<(), String> {
    let outside = |expected: String| Err(format!("\"{value}\" is out of range, expected {expected}"));
    match definition.kind {
        ValueKind::Integer { min, max } => match value.integer() {
            Some(number) if (min..=max).contains(&number) => Ok(()),
            _ => outside(format!("an integer from {min} to {max}")),
        },
        ValueKind::Triple { min, max } => match value.integers().as_deref() {
            // The kernel does not check the order, and a maximum below the start is a mistake.
            Some([first, start, most])
                if min <= *first && first <= start && start <= most && *most <= max =>
            {
                Ok(())
            }
            _ => outside(format!(
                "three integers from {min} to {max}, none less than the one before"
            )),
        },
        ValueKind::Switch => match value.as_str() {
            "on" | "off" => Ok(()),
            _ => outside("on or off".to_owned()),
        },
        ValueKind::Word([]) => {
            let plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
            match value.as_str() {
                word if !word.is_empty() && word.len() <= 64 && word.chars().all(plain) => Ok(()),
                _ => outside("one word of letters, digits, `_` and `-`".to_owned()),
            }
        }
        ValueKind::Word(words) if words.contains(&value.as_str()) => Ok(()),
        ValueKind::Word(words) => outside(format!("one of {}", words.join(", "))),
    }
}
