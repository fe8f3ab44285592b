//! Everything that a trial could have touched, as the tools of an administrator show it, and what of it may differ
//! between two looks although nobody changed anything.
//!
//! [`SCRIPT`] prints, [`normal`] takes out counters, handles and ages. What is left has to be equal.

/// Prints the dump of a guest: each section begins with a line `## name`.
pub const SCRIPT: &str = include_str!("../scripts/dump-knobs.sh");

/// Keys of sysctl that count, or that the kernel draws anew.
const COUNTING: [&str; 14] = [
    "fs.aio-nr",
    "fs.dentry-state",
    "fs.file-nr",
    "fs.inode-",
    "fs.quota.",
    "kernel.ns_last_pid",
    "kernel.pty.nr",
    "kernel.random.",
    "kernel.tainted",
    "net.ipv4.tcp_fastopen_key",
    "net.mptcp",
    "net.netfilter.nf_conntrack_count",
    "dev.cdrom",
    "kernel.sched_domain",
];

/// Keys of sysctl that the kernel works out or draws anew in each boot.
const OF_A_BOOT: [&str; 4] = [
    "kernel.threads-max",
    "net.core.netdev_rss_key",
    "user.max_",
    "vm.user_reserve_kbytes",
];

/// A normal dump without what each boot has its own of: values that follow from the memory that the kernel left, and the
/// numbers of links, which are given in the order in which drivers come up.
pub fn over_a_boot(dump: &str) -> String {
    let of_a_boot = |line: &&str| !OF_A_BOOT.iter().any(|key| line.starts_with(key));
    let without_number = |line: &str| match line.split_once(": ") {
        Some((number, rest)) if number.parse::<u32>().is_ok() => rest.to_owned(),
        _ => line.to_owned(),
    };
    let lines: Vec<String> = dump.lines().filter(of_a_boot).map(without_number).collect();
    lines.join("\n")
}

/// The dump without what changes by itself.
pub fn normal(dump: &str) -> String {
    let mut section = "";
    let mut lines = Vec::new();
    for line in dump.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            section = name.split(' ').next().unwrap_or_default();
        }
        let kept = match section {
            "sysctl" if COUNTING.iter().any(|key| line.starts_with(key)) => None,
            "qdisc" => Some(without_handles(line)),
            "link" => Some(without(line, &["state", "mode"])),
            _ => Some(line.trim_end().to_owned()),
        };
        lines.extend(kept);
    }
    lines.join("\n")
}

/// `qdisc fq 8005: parent 8001:1 limit 10000p`: the kernel numbers handles upwards, and children name their parent by it.
fn without_handles(line: &str) -> String {
    let is_handle = |word: &str| {
        word.split_once(':').is_some_and(|(major, minor)| {
            let hex = |text: &str| text.chars().all(|digit| digit.is_ascii_hexdigit());
            !major.is_empty() && hex(major) && hex(minor)
        })
    };
    let words = line.split_whitespace().map(|word| match word.split_once(':') {
        Some((_, minor)) if is_handle(word) => format!(":{minor}"),
        _ => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The words of a line without these ones and the word that follows each: an operational state comes and goes with the
/// link's partner.
fn without(line: &str, names: &[&str]) -> String {
    let mut words = Vec::new();
    let mut all = line.split_whitespace();
    while let Some(word) = all.next() {
        if names.contains(&word) {
            all.next();
        } else {
            words.push(word);
        }
    }
    words.join(" ")
}

/// The lines in which two normal dumps differ, those of the first one with `-`, those of the second one with `+`.
pub fn difference(before: &str, after: &str) -> Vec<String> {
    let (before, after) = (placed(before), placed(after));
    let only_in = |these: &[String], those: &[String], sign: &str| -> Vec<String> {
        let mut left: Vec<&String> = those.iter().collect();
        let mut found = Vec::new();
        for line in these {
            match left.iter().position(|other| *other == line) {
                Some(place) => drop(left.swap_remove(place)),
                None => found.push(format!("{sign} {line}")),
            }
        }
        found
    };
    let mut all = only_in(&before, &after, "-");
    all.extend(only_in(&after, &before, "+"));
    all
}

/// Each line with the section that it stands in: the same words mean something else on another port.
fn placed(dump: &str) -> Vec<String> {
    let mut section = "";
    let mut lines = Vec::new();
    for line in dump.lines() {
        match line.strip_prefix("## ") {
            Some(name) => section = name,
            None => lines.push(format!("[{section}] {line}")),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_handles_and_states_are_taken_out_and_values_are_not() {
        let dump = |handle: &str, count: &str, rx: &str, state: &str| {
            format!(
                "## sysctl\nfs.file-nr = {count}\t0\t9\nnet.core.rmem_max = 212992\n## qdisc ens1\n\
                 qdisc mq {handle}: root\nqdisc fq 0: parent {handle}:1 limit 10000p\n## ring ens1\nRX:\t\t{rx}\n\
                 ## link ens1\n2: ens1: <UP> mtu 1500 qdisc mq state {state} mode DEFAULT qlen 1000\n"
            )
        };
        let before = normal(&dump("8001", "1", "256", "UP"));
        assert_eq!(before, normal(&dump("8a0f", "7", "256", "UNKNOWN")));
        assert!(before.contains("qdisc fq : parent :1 limit 10000p"), "{before}");
        assert!(before.contains("qdisc mq qlen 1000"), "{before}");
        let after = normal(&dump("8001", "1", "512", "UP"));
        assert_eq!(
            difference(&before, &after),
            ["- [ring ens1] RX:\t\t256", "+ [ring ens1] RX:\t\t512"]
        );
    }

    #[test]
    fn a_line_that_moved_to_another_port_is_a_difference() {
        assert_eq!(
            difference("## a\nx\n## b\ny", "## a\ny\n## b\nx"),
            ["- [a] x", "- [b] y", "+ [a] y", "+ [b] x"]
        );
    }

    #[test]
    fn what_each_boot_has_its_own_of_is_taken_out_between_boots() {
        let dump = |threads: &str, number: &str| {
            format!(
                "## sysctl\nkernel.threads-max = {threads}\nnet.core.rmem_max = 1\n## link a\n{number}: a: <UP> mtu 1500"
            )
        };
        assert_eq!(over_a_boot(&dump("15", "2")), over_a_boot(&dump("16", "3")));
        assert!(over_a_boot(&dump("15", "2")).contains("a: <UP> mtu 1500"));
    }

    #[test]
    fn a_line_that_is_there_twice_and_then_once_is_a_difference() {
        assert_eq!(difference("## a\nx\nx", "## a\nx"), ["- [a] x"]);
        assert_eq!(difference("## a\nx", "## a\nx"), Vec::<String>::new());
    }
}
