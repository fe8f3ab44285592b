//! The syntax of udev(7): `KEY{attribute}OP"value"`, separated by commas.

use super::command::{Call, settings_of};
use super::shell::simple_commands;
use super::{BadLine, joined_lines};
use crate::lint::key::SysctlKey;
use crate::lint::setting::{Device, What};

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::lint) struct Rule {
    /// From 1.
    pub(in crate::lint) line: usize,
    pub(in crate::lint) tokens: Vec<Token>,
}

/// One match or assignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::lint) struct Token {
    pub(in crate::lint) key: String,
    /// What stands in braces; empty for nothing.
    pub(in crate::lint) attribute: String,
    /// `==`, `!=`, `=`, `+=`, `-=` or `:=`.
    pub(in crate::lint) operator: &'static str,
    pub(in crate::lint) value: String,
}

impl Rule {
    /// The value that a key is matched with.
    pub(in crate::lint) fn matched(&self, key: &str) -> Option<&str> {
        let of = |token: &&Token| token.key == key && token.operator == "==";
        self.tokens.iter().find(of).map(|token| token.value.as_str())
    }
}

/// All rules, and the lines that are none.
pub(in crate::lint) fn rules(text: &str) -> (Vec<Rule>, Vec<BadLine>) {
    let (mut rules, mut bad) = (Vec::new(), Vec::new());
    for (line, content) in joined_lines(text) {
        let content = content.trim();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        match tokens(content) {
            Some(tokens) => rules.push(Rule { line, tokens }),
            None => bad.push(BadLine {
                line,
                why: "it is no rule, so udev passes it over".to_owned(),
                hint: "`udevadm verify` says where it breaks",
            }),
        }
    }
    (rules, bad)
}

const OPERATORS: [&str; 6] = ["==", "!=", "+=", "-=", ":=", "="];

fn tokens(mut rest: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    loop {
        rest = rest.trim_start_matches([',', ' ', '\t']);
        if rest.is_empty() {
            return Some(tokens);
        }
        let (token, after) = token(rest)?;
        tokens.push(token);
        rest = after;
    }
}

fn token(text: &str) -> Option<(Token, &str)> {
    let quote = text.find('"')?;
    let head = text[..quote].trim_end().trim_end_matches(['e', 'i']).trim_end();
    let operator = OPERATORS.into_iter().find(|operator| head.ends_with(operator))?;
    let name = head.strip_suffix(operator)?.trim();
    let (key, attribute) = match name.split_once('{') {
        Some((key, attribute)) => (key, attribute.strip_suffix('}')?),
        None => (name, ""),
    };
    let plain = |c: char| c.is_ascii_uppercase() || c == '_';
    if key.is_empty() || !key.chars().all(plain) {
        return None;
    }
    let (value, after) = quoted(&text[quote + 1..])?;
    Some((
        Token {
            key: key.to_owned(),
            attribute: attribute.to_owned(),
            operator,
            value,
        },
        after,
    ))
}

/// The text up to the closing quote, and what follows it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match chars.next() {
                Some((_, '"')) => value.push('"'),
                Some((_, other)) => value.extend(['\\', other]),
                None => return None,
            },
            other => value.push(other),
        }
    }
    None
}

/// Everything that the actions of a rule set.
pub(in crate::lint) fn udev_calls(rule: &Rule) -> Vec<Call> {
    let device = rule.matched("KERNEL").or_else(|| rule.matched("NAME"));
    let device = device.map_or_else(Device::unknown, Device::of);
    let is_action = |token: &&Token| !matches!(token.operator, "==" | "!=" | "-=");
    let actions = rule.tokens.iter().filter(is_action);
    actions.flat_map(|token| calls_of(token, rule, &device)).collect()
}

fn calls_of(token: &Token, rule: &Rule, device: &Device) -> Vec<Call> {
    let what = match (token.key.as_str(), token.attribute.as_str()) {
        ("RUN", "" | "program") => return run(&token.value, device),
        ("SYSCTL", key) => What::Sysctl(SysctlKey::parse(&format!("/{}", key.replace('.', "/")))),
        ("ATTR", "tx_queue_len") => What::Nic(device.clone(), "txqueuelen".to_owned()),
        ("ATTR", "mtu") if rule.matched("SUBSYSTEM") != Some("block") => {
            What::Nic(device.clone(), "mtu".to_owned())
        }
        ("ATTR", attribute) => match attribute.strip_prefix("queue/") {
            Some(attribute) => What::Block(device.clone(), attribute.to_owned()),
            None => return Vec::new(),
        },
        _ => return Vec::new(),
    };
    let value = token.value.clone();
    vec![Call { what, value }]
}

/// Names that udev puts in for the device of the event.
const OF_EVENT: [&str; 5] = ["$name", "$kernel", "%k", "$env{INTERFACE}", "$env{DEVNAME}"];

/// What a program sets. udev splits its words at blanks and quotes, and starts no shell.
fn run(program: &str, device: &Device) -> Vec<Call> {
    let calls = simple_commands(0, program)
        .into_iter()
        .flat_map(|command| settings_of(&command));
    calls.map(|call| of_device(call, device)).collect()
}

fn of_device(mut call: Call, device: &Device) -> Call {
    if let What::Nic(of, _) | What::Qdisc(of, _) | What::Block(of, _) = &mut call.what
        && matches!(of, Device::Unknown(text) if OF_EVENT.contains(&text.as_str()))
    {
        *of = device.clone();
    }
    call
}
