//! How an error is told: the chain once, on one line, then the hints. A message of ours may end in lines that
//! start with `hint: `; they are kept back until the chain is told.

use std::error::Error;

/// The whole chain of `error` as text for a person.
pub fn tell(error: &(dyn Error + 'static)) -> String {
    let mut said: Vec<String> = Vec::new();
    let mut hints = Vec::new();
    let mut next = Some(error);
    while let Some(cause) = next {
        let message = cause.to_string();
        let (text, own_hints) = split(&message);
        if said.last().is_none_or(|last| !last.ends_with(&text)) {
            said.push(text);
        }
        hints.extend(own_hints);
        next = cause.source();
    }
    let mut told = said.join(": ");
    for hint in hints {
        told.push('\n');
        told.push_str(&hint);
    }
    told
}

fn split(message: &str) -> (String, Vec<String>) {
    let (hints, text): (Vec<&str>, Vec<&str>) = message.lines().partition(|line| line.starts_with("hint: "));
    (text.join("\n"), hints.into_iter().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("stage `erofs` failed\nhint: run it again")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn the_chain_is_one_line_and_the_hints_come_last() {
        let error = Outer(std::io::Error::other("no space"));
        assert_eq!(tell(&error), "stage `erofs` failed: no space\nhint: run it again");
    }
}
