//! What a command line sets: `ethtool`, `ip link`, `tc qdisc`, `sysctl`, `cpupower`, `blockdev`, `tuned-adm`.
//!
//! Read, never run. Sites set devices by such lines in udev rules, in unit files and in `rc.local`. A line that a shell
//! computes (a loop, a variable) is seen where its words stand in it plainly.

use super::claim::Says;
use crate::door::sysctl::relative_path;
use dtnforge_profiles::value::Value;

/// One setting of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    /// The knob's pattern, for instance `nic/<dev>:ring.rx`; a sysctl by its path, for instance `sysctl:vm/swappiness`.
    pub(super) pattern: String,
    /// The device as it is written, for knobs of one: a name, or `$name` in a udev rule.
    pub(super) device: Option<String>,
    pub(super) says: Says,
}

/// The settings of a line, which may hold several commands.
pub(super) fn settings(line: &str) -> Vec<Setting> {
    commands(&words(line))
        .iter()
        .flat_map(|words| of_command(words))
        .collect()
}

/// The words of a line, quotes taken off; what separates commands is a word of its own.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, ';' | '&' | '|') => {
                words.extend(word.take());
                words.push(";".to_owned());
            }
            // A comment, where a word would begin.
            (None, '#') if word.is_none() => break,
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// The commands of a list of words.
fn commands(words: &[String]) -> Vec<Vec<&str>> {
    words
        .split(|word| word == ";")
        .map(|command| command.iter().map(String::as_str).collect())
        .collect()
}

fn of_command(words: &[&str]) -> Vec<Setting> {
    // Words of a shell before the command, and prefixes of ExecStart=.
    let skip = |word: &&&str| {
        matches!(**word, "if" | "then" | "else" | "do" | "exec" | "sudo" | "!") || word.contains('=')
    };
    let start = words.iter().take_while(skip).count();
    let Some((program, args)) = words[start..].split_first() else {
        return Vec::new();
    };
    let program = program.trim_start_matches(['-', '@', '+', '!', ':']);
    match program.rsplit('/').next().unwrap_or_default() {
        "ethtool" => ethtool(args),
        "ip" => ip(args),
        "ifconfig" => ifconfig(args),
        "tc" => tc(args),
        "sysctl" => sysctl(args),
        "cpupower" => cpupower(args).into_iter().collect(),
        "blockdev" => blockdev(args).into_iter().collect(),
        "tuned-adm" => tuned_adm(args).into_iter().collect(),
        "sh" | "bash" | "dash" => shell(args),
        _ => Vec::new(),
    }
}

/// `sh -c 'commands'`.
fn shell(args: &[&str]) -> Vec<Setting> {
    let code = args
        .iter()
        .position(|arg| *arg == "-c")
        .and_then(|at| args.get(at + 1));
    code.map(|code| settings(code)).unwrap_or_default()
}

/// Words of a command and the key of the knob behind each.
type Names = &'static [(&'static str, &'static str)];

/// Names of what `ethtool` sets, by its option, and the knob behind each.
const ETHTOOL: &[(&[&str], Names)] = &[
    (&["-G", "--set-ring"], &[("rx", "ring.rx"), ("tx", "ring.tx")]),
    (&["-L", "--set-channels"], &[("combined", "channels.combined")]),
    (
        &["-C", "--coalesce"],
        &[
            ("adaptive-rx", "coalesce.adaptive-rx"),
            ("adaptive-tx", "coalesce.adaptive-tx"),
        ],
    ),
    (&["-A", "--pause"], &[("rx", "pause.rx"), ("tx", "pause.tx")]),
    (
        &["-K", "--features", "--offload"],
        &[("lro", "feature.lro"), ("large-receive-offload", "feature.lro")],
    ),
];

fn ethtool(args: &[&str]) -> Vec<Setting> {
    let Some((option, rest)) = args.split_first() else {
        return Vec::new();
    };
    let Some((device, pairs)) = rest.split_first() else {
        return Vec::new();
    };
    let names = ETHTOOL.iter().find(|(options, _)| options.contains(option));
    let names = names.map(|(_, names)| *names).unwrap_or_default();
    pairs
        .chunks_exact(2)
        .filter_map(|pair| {
            let (_, key) = names.iter().find(|(name, _)| *name == pair[0])?;
            Some(of_nic(device, key, pair[1]))
        })
        .collect()
}

fn of_nic(device: &str, key: &str, value: &str) -> Setting {
    Setting {
        pattern: format!("nic/<dev>:{key}"),
        device: Some(device.to_owned()),
        says: says(value),
    }
}

/// A value in plain words, or one that a shell computes.
fn says(value: &str) -> Says {
    if value.contains(['$', '`', '%']) {
        return Says::Unknown(value.to_owned());
    }
    Says::Is(Value::new(value))
}

/// The word after `name`.
fn after<'a>(args: &[&'a str], name: &str) -> Option<&'a str> {
    let at = args.iter().position(|arg| *arg == name)?;
    args.get(at + 1).copied()
}

/// `ip link set [dev] X mtu N`.
fn ip(args: &[&str]) -> Vec<Setting> {
    let Some(set) = args.iter().position(|arg| *arg == "set") else {
        return Vec::new();
    };
    let rest = &args[set + 1..];
    let device = after(rest, "dev").or_else(|| rest.first().copied());
    match (device, after(rest, "mtu")) {
        (Some(device), Some(mtu)) => vec![of_nic(device, "mtu", mtu)],
        _ => Vec::new(),
    }
}

/// `ifconfig X mtu N`.
fn ifconfig(args: &[&str]) -> Vec<Setting> {
    match (args.first(), after(args, "mtu")) {
        (Some(device), Some(mtu)) => vec![of_nic(device, "mtu", mtu)],
        _ => Vec::new(),
    }
}

/// `tc qdisc add|replace|change dev X root|parent P [handle H] KIND [maxrate RATE] ...`.
fn tc(args: &[&str]) -> Vec<Setting> {
    let verb = args.iter().position(|arg| *arg == "qdisc").map(|at| at + 1);
    let Some((verb, rest)) = verb.and_then(|at| args.get(at..)?.split_first()) else {
        return Vec::new();
    };
    let device = after(rest, "dev").filter(|_| matches!(*verb, "add" | "replace" | "change"));
    let (Some(device), Some(kind)) = (device, qdisc_kind(rest)) else {
        return Vec::new();
    };
    let setting = |key: &str, says: Says| Setting {
        pattern: format!("qdisc/<dev>:{key}"),
        device: Some(device.to_owned()),
        says,
    };
    let rate = after(rest, "maxrate").map(|rate| setting("maxrate", says_rate(rate)));
    [setting("leaf", says(kind))].into_iter().chain(rate).collect()
}

/// The kind of qdisc: the first word that is neither a keyword nor what follows one.
fn qdisc_kind<'a>(args: &[&'a str]) -> Option<&'a str> {
    let mut words = args.iter().copied();
    while let Some(word) = words.next() {
        match word {
            "dev" | "parent" | "handle" => {
                words.next();
            }
            "root" => {}
            kind => return Some(kind),
        }
    }
    None
}

/// A rate as `tc` takes it, in Mb/s where it is a whole number of them.
fn says_rate(text: &str) -> Says {
    let units = [("gbit", 1000), ("mbit", 1)];
    let mbps = units.iter().find_map(|(unit, factor)| {
        let number: i64 = text.strip_suffix(unit)?.parse().ok()?;
        number.checked_mul(*factor)
    });
    mbps.map_or_else(
        || Says::Unknown(text.to_owned()),
        |mbps| Says::Is(Value::from(mbps)),
    )
}

/// `sysctl [-w] key=value ...`.
fn sysctl(args: &[&str]) -> Vec<Setting> {
    args.iter()
        .filter(|arg| !arg.starts_with('-'))
        .filter_map(|arg| arg.split_once('='))
        .map(|(key, value)| Setting {
            pattern: format!("sysctl:{}", relative_path(key)),
            device: None,
            says: says(value),
        })
        .collect()
}

/// `cpupower frequency-set -g GOVERNOR`.
fn cpupower(args: &[&str]) -> Option<Setting> {
    let governor = after(args, "-g").or_else(|| after(args, "--governor"))?;
    Some(Setting {
        pattern: "cpu:governor".to_owned(),
        device: None,
        says: says(governor),
    })
}

/// `blockdev --setra SECTORS /dev/X`: sectors of 512 byte, so two of them are a KiB.
fn blockdev(args: &[&str]) -> Option<Setting> {
    let sectors = after(args, "--setra")?;
    let disk = args.last()?.strip_prefix("/dev/")?;
    Some(Setting {
        pattern: "block/<dev>:read_ahead_kb".to_owned(),
        device: Some(disk.to_owned()),
        says: sectors.parse::<i64>().map_or_else(
            |_| Says::Unknown(sectors.to_owned()),
            |sectors| Says::Is(Value::from(sectors / 2)),
        ),
    })
}

/// `tuned-adm profile NAME`.
fn tuned_adm(args: &[&str]) -> Option<Setting> {
    let name = after(args, "profile")?;
    Some(Setting {
        pattern: "tuned:profile".to_owned(),
        device: None,
        says: says(name),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(line: &str) -> Vec<String> {
        let show = |setting: Setting| {
            let device = setting.device.unwrap_or_default();
            format!("{} {device} {}", setting.pattern, setting.says.words())
        };
        settings(line).into_iter().map(show).collect()
    }

    #[test]
    fn lines_that_sites_use_today_are_understood() {
        for (line, expected) in [
            (
                "/usr/sbin/ethtool -G eth0 rx 8192 tx 4096",
                &["nic/<dev>:ring.rx eth0 8192", "nic/<dev>:ring.tx eth0 4096"][..],
            ),
            (
                "-/sbin/ethtool --offload eth0 gro on lro off",
                &["nic/<dev>:feature.lro eth0 off"],
            ),
            ("ethtool -g eth0", &[]),
            (
                "ethtool -C $name adaptive-rx on",
                &["nic/<dev>:coalesce.adaptive-rx $name on"],
            ),
            ("ip link set dev eth0 mtu 9000 up", &["nic/<dev>:mtu eth0 9000"]),
            ("ip link set eth0 mtu 9000", &["nic/<dev>:mtu eth0 9000"]),
            ("ifconfig eth0 mtu 9000", &["nic/<dev>:mtu eth0 9000"]),
            (
                "tc qdisc add dev eth0 root fq maxrate 8gbit",
                &["qdisc/<dev>:leaf eth0 fq", "qdisc/<dev>:maxrate eth0 8000"],
            ),
            (
                "tc qdisc replace dev eth0 parent 1:2 fq maxrate 1.5gbit",
                &["qdisc/<dev>:leaf eth0 fq", "qdisc/<dev>:maxrate eth0 1.5gbit"],
            ),
            ("tc qdisc show dev eth0", &[]),
            (
                "ethtool -A eth0 rx off tx off",
                &["nic/<dev>:pause.rx eth0 off", "nic/<dev>:pause.tx eth0 off"],
            ),
            (
                "tc qdisc replace dev eth0 root handle 1: tbf rate 2gbit burst 10m",
                &["qdisc/<dev>:leaf eth0 tbf"],
            ),
            ("tc qdisc del dev eth0 root", &[]),
            (
                "sysctl -w net.ipv4.tcp_rmem=\"4096 87380 67108864\" vm.swappiness=1",
                &[
                    "sysctl:net/ipv4/tcp_rmem  4096 87380 67108864",
                    "sysctl:vm/swappiness  1",
                ],
            ),
            (
                "cpupower -c all frequency-set -g performance",
                &["cpu:governor  performance"],
            ),
            (
                "blockdev --setra 16384 /dev/sda",
                &["block/<dev>:read_ahead_kb sda 8192"],
            ),
            (
                "tuned-adm profile network-throughput",
                &["tuned:profile  network-throughput"],
            ),
            (
                "/bin/sh -c 'ethtool -G eth0 rx 8192; tc qdisc replace dev eth0 root fq'",
                &["nic/<dev>:ring.rx eth0 8192", "qdisc/<dev>:leaf eth0 fq"],
            ),
            (
                "LC_ALL=C ethtool -G eth0 rx $RING && ethtool -L eth0 combined 16 # queues",
                &[
                    "nic/<dev>:ring.rx eth0 $RING",
                    "nic/<dev>:channels.combined eth0 16",
                ],
            ),
            ("# ethtool -G eth0 rx 8192", &[]),
            ("echo ethtool", &[]),
            ("", &[]),
        ] {
            assert_eq!(shown(line), expected, "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_line_gives_settings_or_none(line in "[ a-zA-Z0-9$;&|'\"=/#-]{0,60}") {
            let _ = settings(&line);
        }
    }
}
