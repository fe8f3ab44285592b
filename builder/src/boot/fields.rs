//! The comma lists of the command line: `nvme,size=4G,serial=A1`.
//!
//! A leading bare word (the kind), then `key=value` pairs. A comma inside a value is written twice, as QEMU does it.
//! A key that is not known, given twice or left over is an error that lists what would have been right.

use std::fmt;
use std::str::FromStr;

/// Why a comma list was refused. Reads well after clap's own "invalid value ... for ...".
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FieldError(pub String);

impl FieldError {
    /// An error about one key: what it holds and what was expected.
    pub(crate) fn value(key: &str, value: &str, expected: impl fmt::Display) -> FieldError {
        FieldError(format!("{key}={value:?}: expected {expected}"))
    }
}

/// A parsed comma list, from which values are taken key by key.
#[derive(Debug)]
pub(crate) struct Fields {
    /// The bare first word, when there is one.
    pub(crate) kind: Option<String>,
    pairs: Vec<(String, String)>,
}

impl Fields {
    /// Splits `text`; only the first item may be a bare word.
    pub(crate) fn parse(text: &str) -> Result<Fields, FieldError> {
        let mut fields = Fields {
            kind: None,
            pairs: Vec::new(),
        };
        for (index, item) in split_commas(text).into_iter().enumerate() {
            match item.split_once('=') {
                Some((key, value)) => fields.push(key, value)?,
                None if index == 0 && !item.is_empty() => fields.kind = Some(item),
                None => {
                    return Err(FieldError(format!(
                        "{item:?} has no `=`: after the kind, every item is key=value"
                    )));
                }
            }
        }
        Ok(fields)
    }

    fn push(&mut self, key: &str, value: &str) -> Result<(), FieldError> {
        if self.pairs.iter().any(|(known, _)| known == key) {
            return Err(FieldError(format!("{key} is given twice")));
        }
        self.pairs.push((key.to_owned(), value.to_owned()));
        Ok(())
    }

    /// Takes the text of `key`, if it was given.
    pub(crate) fn take(&mut self, key: &str) -> Option<String> {
        let at = self.pairs.iter().position(|(known, _)| known == key)?;
        Some(self.pairs.remove(at).1)
    }

    /// Takes and parses `key`; `expected` completes the error message.
    pub(crate) fn take_parsed<T: FromStr>(
        &mut self,
        key: &str,
        expected: &str,
    ) -> Result<Option<T>, FieldError> {
        self.take(key)
            .map(|value| {
                value
                    .parse()
                    .map_err(|_| FieldError::value(key, &value, expected))
            })
            .transpose()
    }

    /// Fails when a key is left that nobody took; `known` are the keys that exist.
    pub(crate) fn finish(self, known: &[&str]) -> Result<(), FieldError> {
        match self.pairs.first() {
            None => Ok(()),
            Some((key, _)) => Err(FieldError(format!(
                "unknown key {key:?}, expected one of: {}",
                known.join(", ")
            ))),
        }
    }
}

/// Splits at single commas; a doubled comma stands for one comma in the text.
fn split_commas(text: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            (',', Some(',')) => {
                letters.next();
                push_to_last(&mut items, ',');
            }
            (',', _) => items.push(String::new()),
            _ => push_to_last(&mut items, letter),
        }
    }
    items
}

fn push_to_last(items: &mut [String], letter: char) {
    if let Some(last) = items.last_mut() {
        last.push(letter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doubled_comma_is_one_comma_in_a_value() {
        let mut fields = Fields::parse("nvme,file=/a,,b/c.img,size=1G").unwrap();
        assert_eq!(fields.kind.as_deref(), Some("nvme"));
        assert_eq!(fields.take("file").as_deref(), Some("/a,b/c.img"));
        assert_eq!(fields.take("size").as_deref(), Some("1G"));
    }

    #[test]
    fn what_is_wrong_is_said_with_what_would_be_right() {
        let cases = [
            (
                "nvme,size",
                r#""size" has no `=`: after the kind, every item is key=value"#,
            ),
            ("nvme,size=1,size=2", "size is given twice"),
        ];
        for (text, message) in cases {
            assert_eq!(Fields::parse(text).unwrap_err().0, message, "{text}");
        }
        let left = Fields::parse("nvme,colour=red")
            .unwrap()
            .finish(&["size", "file"])
            .unwrap_err();
        assert_eq!(left.0, r#"unknown key "colour", expected one of: size, file"#);
    }

    #[test]
    fn a_value_of_the_wrong_type_names_key_and_expectation() {
        let mut fields = Fields::parse("speed=fast").unwrap();
        let error = fields
            .take_parsed::<u32>("speed", "a whole number of Mb/s")
            .unwrap_err();
        assert_eq!(error.0, r#"speed="fast": expected a whole number of Mb/s"#);
    }
}
