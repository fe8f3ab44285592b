//! What a command sets: sysctl, tc, ethtool, ip, ifconfig, and echo into a file below `/proc/sys` or `/sys`.

use super::shell::{Command, simple_commands};
use crate::lint::key::SysctlKey;
use crate::lint::setting::{Device, Qdisc, What};

/// One value that a command sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::lint) struct Call {
    pub(in crate::lint) what: What,
    pub(in crate::lint) value: String,
}

/// Everything that a command sets, as far as it is written out; nothing for a command that is not known.
pub(in crate::lint) fn settings_of(command: &Command) -> Vec<Call> {
    let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
    let Some((program, arguments)) = words.split_first() else {
        return Vec::new();
    };
    let mut calls = match program.rsplit('/').next().unwrap_or_default() {
        "sysctl" => sysctl(arguments),
        "tc" => tc(arguments).into_iter().collect(),
        "ethtool" => ethtool(arguments),
        "ip" => ip(arguments),
        "ifconfig" => ifconfig(arguments),
        "echo" | "printf" => echo(arguments, command.writes_to.as_deref())
            .into_iter()
            .collect(),
        "sh" | "bash" | "dash" => inner(arguments),
        _ => Vec::new(),
    };
    calls.retain(is_written_out);
    calls
}

/// Whether key and value are there, and not in a variable or the output of a program.
fn is_written_out(call: &Call) -> bool {
    let variable = |text: &str| text.contains(['$', '`']);
    let key = match &call.what {
        What::Sysctl(key) => key.to_string(),
        What::Nic(_, key) | What::Block(_, key) | What::Sysfs(key) => key.clone(),
        _ => String::new(),
    };
    !variable(&call.value) && !variable(&key)
}

fn call(what: What, value: &str) -> Call {
    let value = value.to_owned();
    Call { what, value }
}

/// `sh -c 'text'`: the text is read once; a shell inside it is not.
fn inner(arguments: &[&str]) -> Vec<Call> {
    let [flag, text, ..] = arguments else {
        return Vec::new();
    };
    if !flag.starts_with('-') || !flag.ends_with('c') {
        return Vec::new();
    }
    let commands = simple_commands(0, text).into_iter();
    commands
        .filter(|command| command.words.first().is_some_and(|word| !word.ends_with("sh")))
        .flat_map(|command| settings_of(&command))
        .collect()
}

fn sysctl(arguments: &[&str]) -> Vec<Call> {
    let pairs = arguments.iter().filter(|word| !word.starts_with('-'));
    pairs
        .filter_map(|word| word.split_once('='))
        .map(|(key, value)| call(What::Sysctl(SysctlKey::parse(key.trim())), value))
        .collect()
}

/// `tc qdisc add|replace|change dev X [root | parent Y] [handle Z] KIND ...`
fn tc(arguments: &[&str]) -> Option<Call> {
    let [object, verb, rest @ ..] = arguments.strip_prefix(&["-force"][..]).unwrap_or(arguments) else {
        return None;
    };
    if !"qdisc".starts_with(object) || !["add", "replace", "change"].contains(verb) {
        return None;
    }
    let mut device = Device::unknown();
    let mut root = false;
    let mut words = rest.iter();
    loop {
        match *words.next()? {
            "dev" => device = Device::of(words.next()?),
            "root" => root = true,
            "parent" | "handle" => {
                words.next()?;
            }
            kind => {
                let options = words.map(|word| (*word).to_owned()).collect();
                return Some(call(What::Qdisc(device, Qdisc { root, options }), kind));
            }
        }
    }
}

/// `ethtool -G|-K|-C|-L|-A DEV name value ...`
fn ethtool(arguments: &[&str]) -> Vec<Call> {
    let [flag, device, pairs @ ..] = arguments else {
        return Vec::new();
    };
    let prefix = match *flag {
        "-G" | "--set-ring" => "ring",
        "-K" | "--features" | "--offload" => "feature",
        "-C" | "--coalesce" => "coalesce",
        "-L" | "--set-channels" => "channels",
        "-A" | "--pause" => "pause",
        _ => return Vec::new(),
    };
    let device = Device::of(device);
    let name = |name: &str| match (prefix, name) {
        ("feature", "large-receive-offload") => "feature.lro".to_owned(),
        _ => format!("{prefix}.{name}"),
    };
    pairs
        .chunks_exact(2)
        .map(|pair| call(What::Nic(device.clone(), name(pair[0])), pair[1]))
        .collect()
}

/// `ip link set [dev] X mtu N txqueuelen N`
fn ip(arguments: &[&str]) -> Vec<Call> {
    let mut words = arguments.iter().skip_while(|word| word.starts_with('-'));
    let is_link_set = words
        .next()
        .is_some_and(|word| word.len() > 1 && "link".starts_with(word))
        && words.next() == Some(&"set");
    if !is_link_set {
        return Vec::new();
    }
    let rest: Vec<&str> = words.copied().collect();
    let named = rest
        .iter()
        .position(|word| *word == "dev")
        .and_then(|at| rest.get(at + 1));
    let device = named
        .or(rest.first())
        .map_or_else(Device::unknown, |word| Device::of(word));
    link_values(&rest, &device)
}

fn ifconfig(arguments: &[&str]) -> Vec<Call> {
    let device = arguments
        .first()
        .map_or_else(Device::unknown, |word| Device::of(word));
    link_values(arguments, &device)
}

fn link_values(words: &[&str], device: &Device) -> Vec<Call> {
    let pairs = words.windows(2);
    pairs
        .filter_map(|pair| {
            let key = match pair[0] {
                "mtu" => "mtu",
                "txqueuelen" | "txqlen" | "qlen" => "txqueuelen",
                _ => return None,
            };
            Some(call(What::Nic(device.clone(), key.to_owned()), pair[1]))
        })
        .collect()
}

/// `echo VALUE > /proc/sys/...`, or below `/sys`.
fn echo(arguments: &[&str], path: Option<&str>) -> Option<Call> {
    let path = path?;
    let value = arguments.iter().filter(|word| !["-n", "-e", "-E"].contains(word));
    let value: Vec<&str> = value.copied().collect();
    let what = match path.strip_prefix("/proc/sys/") {
        Some(key) => What::Sysctl(SysctlKey::parse(&format!("/{key}"))),
        None => sysfs(path)?,
    };
    Some(call(what, &value.join(" ")))
}

/// A file below `/sys`, as the knob it is where it is one.
pub(in crate::lint) fn sysfs(path: &str) -> Option<What> {
    let below = path.strip_prefix("/sys/")?;
    let parts: Vec<&str> = below.split('/').collect();
    Some(match parts[..] {
        ["block", device, "queue", attribute] => What::Block(Device::of(device), attribute.to_owned()),
        ["class", "net", device, "tx_queue_len"] => What::Nic(Device::of(device), "txqueuelen".to_owned()),
        ["class", "net", device, "mtu"] => What::Nic(Device::of(device), "mtu".to_owned()),
        ["devices", "system", "cpu", .., "scaling_governor"] => What::Governor,
        _ => What::Sysfs(path.to_owned()),
    })
}
