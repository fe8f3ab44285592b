//! A value of a knob as text, compared as the kernel means it.
//!
//! `/proc/sys` separates vectors by tabs, files by blanks: both are the same value. So white space is folded when a
//! value is made, and two values are equal when their folded texts are.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A knob's value: fields joined by one blank, no other white space, for instance `4096 131072 6291456`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(from = "String", into = "String")]
pub struct Value(String);

impl Value {
    /// Folds white space; never fails.
    pub fn new(text: &str) -> Self {
        Self(text.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// The folded text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The fields as integers; `None` when one is not.
    pub fn integers(&self) -> Option<Vec<i64>> {
        self.0.split(' ').map(|field| field.parse().ok()).collect()
    }

    /// The value as one integer; `None` when it is not exactly one.
    pub fn integer(&self) -> Option<i64> {
        self.0.parse().ok()
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::new(&text)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self(number.to_string())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<Value> for String {
    fn from(value: Value) -> Self {
        value.0
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tabs_and_blanks_are_the_same_value() {
        assert_eq!(
            Value::new("4096\t131072\t6291456\n"),
            Value::new(" 4096 131072  6291456")
        );
        assert_eq!(
            Value::new("4096\t16384\t1").integers(),
            Some(vec![4096, 16384, 1])
        );
        assert_eq!(Value::new("cubic").integer(), None);
    }
}
