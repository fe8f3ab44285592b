//! udev rules that set a device: an attribute, or a command that `RUN` starts.
//!
//! A rule is held against the device that is asked about by what it says of name, MAC, bus address and driver. What
//! cannot be told here (a property, a `GOTO` before it) counts as fitting, so that a rule may be named that did not
//! run; it is only taken for the owner when its value is the live one.

use super::claim::{Claim, Says};
use super::command;
use super::conf::{self, ConfFile};
use super::glob;
use super::target::Target;
use crate::host::Host;
use dtnforge_profiles::audit::SetterKind;
use dtnforge_profiles::value::Value;

const DIRECTORIES: &[&str] = &[
    "/etc/udev/rules.d",
    "/run/udev/rules.d",
    "/usr/local/lib/udev/rules.d",
    "/usr/lib/udev/rules.d",
];

/// By what a rule names the device that it runs for.
const THIS_DEVICE: &[&str] = &[
    "$name",
    "%k",
    "$kernel",
    "$env{INTERFACE}",
    "%E{INTERFACE}",
    "$env{ID_NET_NAME}",
];

/// Attributes that are knobs.
const ATTRIBUTES: &[(&str, &str)] = &[
    ("ATTR{mtu}", "nic/<dev>:mtu"),
    ("ATTR{queue/read_ahead_kb}", "block/<dev>:read_ahead_kb"),
    ("ATTR{bdi/read_ahead_kb}", "block/<dev>:read_ahead_kb"),
    ("ATTR{queue/scheduler}", "block/<dev>:scheduler"),
];

/// All rules that set a knob.
#[derive(Debug)]
pub(super) struct Rules(Vec<Rule>);

#[derive(Debug)]
struct Rule {
    file: String,
    place: String,
    managed_by: Option<String>,
    conditions: Vec<Token>,
    settings: Vec<command::Setting>,
}

/// `KEY{attribute} op "value"`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Token {
    key: String,
    op: &'static str,
    value: String,
}

impl Rules {
    pub(super) fn read(host: &Host) -> Self {
        let files = conf::files(host, DIRECTORIES, ".rules");
        Self(files.iter().flat_map(rules).collect())
    }

    /// What the rules say of a knob.
    pub(super) fn claims(&self, target: &Target) -> Vec<Claim> {
        if target.device().is_none() {
            return Vec::new();
        }
        self.0
            .iter()
            .filter(|rule| rule.conditions.iter().all(|condition| fits(condition, target)))
            .flat_map(|rule| rule.claims(target))
            .collect()
    }
}

impl Rule {
    fn claims<'a>(&'a self, target: &'a Target) -> impl Iterator<Item = Claim> + 'a {
        let ours = self.place.starts_with("/run/") && self.file.contains("dtnforge");
        let of_target = move |setting: &&command::Setting| {
            let device = setting.device.as_deref();
            target.is(&setting.pattern)
                && device.is_none_or(|name| THIS_DEVICE.contains(&name) || target.device() == Some(name))
        };
        self.settings.iter().filter(of_target).map(move |setting| Claim {
            kind: if ours {
                SetterKind::Dtnforge
            } else {
                SetterKind::Udev
            },
            place: Some(self.place.clone()),
            says: setting.says.clone(),
            managed_by: self.managed_by.clone(),
            beats_us: !ours && self.file.as_str() > "90-dtnforge",
        })
    }
}

/// The rules of a file that set something.
fn rules(file: &ConfFile) -> Vec<Rule> {
    let managed_by = file.managed_by();
    joined_lines(&file.text)
        .into_iter()
        .filter_map(|(number, line)| {
            let tokens = tokens(&line);
            let settings: Vec<_> = tokens.iter().flat_map(settings).collect();
            let is_condition = |token: &Token| matches!(token.op, "==" | "!=");
            (!settings.is_empty()).then(|| Rule {
                file: file.name.clone(),
                place: file.at(number),
                managed_by: managed_by.clone(),
                conditions: tokens.into_iter().filter(is_condition).collect(),
                settings,
            })
        })
        .collect()
}

/// Lines with those that a backslash continues, each with the number of its first.
fn joined_lines(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let part = line.strip_suffix('\\');
        match lines.last_mut().filter(|_| open) {
            Some((_, whole)) => whole.push_str(part.unwrap_or(line)),
            None => lines.push((index + 1, part.unwrap_or(line).to_owned())),
        }
        open = part.is_some();
    }
    lines.retain(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines
}

/// The tokens of a rule; what is none is left out.
fn tokens(line: &str) -> Vec<Token> {
    split_outside_quotes(line)
        .iter()
        .filter_map(|part| token(part))
        .collect()
}

fn split_outside_quotes(line: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let (mut quoted, mut escaped) = (false, false);
    for c in line.chars() {
        match c {
            '"' if !escaped => quoted = !quoted,
            ',' if !quoted => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        escaped = c == '\\' && !escaped;
        if let Some(part) = parts.last_mut() {
            part.push(c);
        }
    }
    parts
}

fn token(part: &str) -> Option<Token> {
    let (head, value) = part.split_once('"')?;
    let value = value.trim_end().strip_suffix('"')?;
    // An `e` before the quote allows escapes; an `i` ignores case.
    let head = head.trim_end_matches(['e', 'i']).trim_end();
    let op = ["==", "!=", "+=", "-=", ":=", "="]
        .into_iter()
        .find(|op| head.ends_with(op))?;
    Some(Token {
        key: head[..head.len() - op.len()].trim().to_owned(),
        op,
        value: value.replace("\\\"", "\""),
    })
}

/// What a token sets.
fn settings(token: &Token) -> Vec<command::Setting> {
    if matches!(token.op, "==" | "!=" | "-=") {
        return Vec::new();
    }
    if token.key == "RUN" || token.key == "RUN{program}" {
        return command::settings(&token.value);
    }
    let knob = ATTRIBUTES.iter().find(|(attribute, _)| *attribute == token.key);
    let setting = |(_, pattern): &(&str, &str)| command::Setting {
        pattern: (*pattern).to_owned(),
        device: None,
        says: Says::Is(Value::new(&token.value)),
    };
    knob.map(setting).into_iter().collect()
}

/// Whether a condition is true for the device, or cannot be told.
fn fits(condition: &Token, target: &Target) -> bool {
    let key = condition.key.as_str();
    let any_of = |known: &[String]| {
        condition.value.split('|').any(|pattern| {
            // MACs are written in both cases.
            let pattern = if key.contains("address") {
                pattern.to_ascii_lowercase()
            } else {
                pattern.to_owned()
            };
            known.iter().any(|value| glob::matches(&pattern, value, None))
        })
    };
    if key == "ACTION" {
        let applied = ["add", "change", "move", "bind"].map(str::to_owned);
        return condition.op == "!=" || any_of(&applied);
    }
    match known(key, target) {
        Some(known) => any_of(&known) == (condition.op == "=="),
        None => true,
    }
}

/// What is known of the device under a key of udev; `None` when that cannot be told here.
fn known(key: &str, target: &Target) -> Option<Vec<String>> {
    let port = target.port.as_ref();
    match key {
        "SUBSYSTEM" => Some(vec![if port.is_some() { "net" } else { "block" }.to_owned()]),
        "KERNEL" | "NAME" | "ENV{INTERFACE}" | "ENV{ID_NET_NAME}" => Some(vec![target.device()?.to_owned()]),
        "ATTR{address}" | "ATTRS{address}" => Some(vec![port?.mac.clone(), port?.permanent_mac.clone()]),
        "KERNELS" => Some(vec![port?.bus.clone()]),
        "ENV{ID_PATH}" => Some(vec![format!("pci-{}", port?.bus)]),
        "DRIVER" | "DRIVERS" | "ENV{ID_NET_DRIVER}" => Some(vec![port?.driver.clone()]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::target::Port;
    use super::*;
    use proptest::prelude::*;

    fn port() -> Port {
        Port {
            name: "eth0".into(),
            mac: "02:00:00:00:00:01".into(),
            permanent_mac: "02:00:00:00:00:01".into(),
            bus: "0000:01:00.0".into(),
            driver: "ixgbe".into(),
        }
    }

    fn said(text: &str, knob: &str) -> Vec<String> {
        let file = ConfFile {
            name: "95-site.rules".into(),
            path: "/etc/udev/rules.d/95-site.rules".into(),
            text: text.into(),
        };
        let target = Target {
            knob: knob.parse().unwrap(),
            port: knob.starts_with("nic").then(port),
            disk: knob.starts_with("block").then(|| "sda".to_owned()),
        };
        let claims = Rules(rules(&file)).claims(&target);
        claims.iter().map(|claim| claim.says.words()).collect()
    }

    const RING: &str = "nic/0000:01:00.0+02:00:00:00:00:01:ring.rx";
    const MTU: &str = "nic/0000:01:00.0+02:00:00:00:00:01:mtu";

    #[test]
    fn a_rule_speaks_for_the_device_that_it_names() {
        let run = "RUN+=\"/usr/sbin/ethtool -G $name rx 8192 tx 8192\"";
        for (condition, expected) in [
            ("ACTION==\"add\", SUBSYSTEM==\"net\", KERNEL==\"eth*\"", true),
            ("KERNEL==\"eth1|eth0\"", true),
            ("KERNEL==\"eth1\"", false),
            ("KERNEL!=\"lo\"", true),
            ("ATTR{address}==\"02:00:00:00:00:01\"", true),
            ("ATTR{address}==\"02:00:00:00:00:AA\"", false),
            ("KERNELS==\"0000:01:00.0\"", true),
            ("ENV{ID_PATH}==\"pci-0000:02:00.0\"", false),
            ("DRIVERS==\"mlx5_core\"", false),
            ("SUBSYSTEM==\"block\"", false),
            ("ENV{SITE}==\"x\"", true),
            ("ACTION==\"remove\"", false),
            ("ACTION!=\"remove\"", true),
        ] {
            let found = said(&format!("{condition}, {run}\n"), RING);
            assert_eq!(found == ["8192"], expected, "{condition}: {found:?}");
        }
    }

    #[test]
    fn a_command_for_another_name_is_not_ours() {
        assert_eq!(
            said("SUBSYSTEM==\"net\", RUN+=\"/sbin/ethtool -G eth7 rx 1\"", RING),
            Vec::<String>::new()
        );
    }

    #[test]
    fn attributes_are_assigned_and_conditions_are_not_assignments() {
        assert_eq!(said("KERNEL==\"eth0\", ATTR{mtu}=\"9000\"", MTU), ["9000"]);
        assert_eq!(
            said("KERNEL==\"eth0\", ATTR{mtu}==\"9000\"", MTU),
            Vec::<String>::new()
        );
        let text = "# c\nSUBSYSTEM==\"block\", KERNEL==\"sd[a-z]\", \\\n  ATTR{bdi/read_ahead_kb}=\"8192\"\n";
        assert_eq!(said(text, "block/sda:read_ahead_kb"), ["8192"]);
        let text = "KERNEL==\"sd*\", ATTR{queue/scheduler}=\"none\"";
        assert_eq!(said(text, "block/sda:scheduler"), ["none"]);
    }

    #[test]
    fn a_quoted_comma_and_an_escaped_quote_stay_inside() {
        let found = tokens(r#"KERNEL=="a,b", RUN+="/bin/sh -c \"ethtool -G eth0 rx 64\"", NAME=e"x""#);
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(found[1].value, "/bin/sh -c \"ethtool -G eth0 rx 64\"");
        assert_eq!((found[2].key.as_str(), found[2].op), ("NAME", "="));
    }

    proptest! {
        #[test]
        fn any_text_gives_rules_or_none(text in "[A-Z{}=!+\", \\\\a-z\n]{0,80}") {
            let _ = said(&text, RING);
        }
    }
}
