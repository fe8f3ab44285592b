//! udev(7): a rule is a list of `KEY{attribute}OPERATOR"value"`, comments begin with `#`.

/// One part of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    /// Key, with its attribute.
    pub(crate) key: String,
    pub(crate) operator: String,
    pub(crate) value: String,
}

/// The rules of a file.
pub(crate) fn read(text: &str) -> Vec<Vec<Token>> {
    let rules: Vec<Vec<Token>> = super::settings(text, &['#'])
        .map(|line| rule(line).unwrap_or_else(|| panic!("no rule: {line:?}")))
        .collect();
    let values = |key: &str| {
        let tokens = rules.iter().flatten().filter(|token| token.key == key);
        tokens.map(|token| token.value.clone()).collect::<Vec<_>>()
    };
    for label in values("GOTO") {
        assert!(values("LABEL").contains(&label), "GOTO leads nowhere: {label}");
    }
    rules
}

fn rule(line: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        let operator_at = rest.find(['=', '!', '+', '-', ':'])?;
        let (key, tail) = rest.split_at(operator_at);
        let (operator, tail) = tail.split_once('"')?;
        // Inside quotes only a backslash could go on past the next quote, and we write none.
        let (value, tail) = tail.split_once('"')?;
        if !["==", "!=", "=", "+=", "-=", ":="].contains(&operator) || value.contains('\\') {
            return None;
        }
        tokens.push(Token {
            key: key.to_owned(),
            operator: operator.to_owned(),
            value: value.to_owned(),
        });
        rest = match tail.strip_prefix(", ") {
            Some(next) => next,
            None if tail.is_empty() => tail,
            None => return None,
        };
    }
    Some(tokens)
}
