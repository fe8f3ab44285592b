//! Our tuned profile as text: what it includes, what of that it drops, and the values that it repeats.
//!
//! Syntax: tuned 2.25.1, `tuned/profiles/{loader,merger,unit}.py`. A section of ours is merged into the included one of
//! the same name, and `drop=` removes options from it.

use super::line;
use crate::catalog::Profile;
use crate::knob::KnobId;
use crate::plan::Step;
use crate::value::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The parts of our `tuned.conf`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TunedConf {
    /// One line for people.
    pub summary: String,
    /// The profile of tuned that it builds on.
    pub include: String,
    /// Options of the included `[vm]` section that would reset values of ours.
    pub drop: BTreeSet<String>,
    /// Sysctls of ours that the included profile would reset, with the value that is to be live.
    pub sysctls: BTreeMap<String, Value>,
    /// Frequency governor.
    pub governor: Option<String>,
    /// Data disks by name.
    pub disks: BTreeMap<String, Disk>,
}

/// What our tuned profile sets for one disk.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Disk {
    /// Scheduler, `elevator` in tuned's words.
    pub scheduler: Option<String>,
    /// Read-ahead, KiB.
    pub read_ahead: Option<i64>,
}

impl TunedConf {
    /// The tuned profile for a plan's steps. `live` has the value of each knob that is going to be live.
    pub(crate) fn of(profile: &Profile, steps: &[Step], live: &BTreeMap<KnobId, Value>) -> Self {
        let mut conf = Self {
            summary: summary(&profile.title),
            ..Self::default()
        };
        if let Some(tuned) = &profile.tuned {
            conf.include = tuned.include.name().to_owned();
            for knob in tuned.repeat.iter().filter_map(|template| template.host_knob()) {
                if let (KnobId::Sysctl(key), Some(value)) = (knob, live.get(knob)) {
                    conf.repeat(
                        key,
                        value,
                        tuned.include.reset_of(key).and_then(|reset| reset.vm_option),
                    );
                }
            }
        }
        for step in steps {
            match &step.knob {
                KnobId::Cpu(_) => conf.governor = Some(step.to.as_str().to_owned()),
                KnobId::Block(disk, key) => conf.set_disk(disk.as_str(), key, &step.to),
                _ => {}
            }
        }
        conf
    }

    fn set_disk(&mut self, name: &str, key: &str, value: &Value) {
        let disk = self.disks.entry(name.to_owned()).or_default();
        match key {
            "scheduler" => disk.scheduler = Some(value.as_str().to_owned()),
            _ => disk.read_ahead = value.integer(),
        }
    }

    fn repeat(&mut self, key: &str, value: &Value, vm_option: Option<&str>) {
        self.drop.extend(vm_option.map(str::to_owned));
        // 0 byte says that the ratio counts; it cannot be written.
        if vm_option.is_none() || value.integer() != Some(0) {
            self.sysctls.insert(key.to_owned(), value.clone());
        }
    }

    /// Puts the value that was found in place of ours.
    pub(crate) fn set_back(&mut self, key: &str, found: &Value) {
        if self.sysctls.contains_key(key) {
            if found.as_str().is_empty() || (key.ends_with("_bytes") && found.integer() == Some(0)) {
                self.sysctls.remove(key);
            } else {
                self.sysctls.insert(key.to_owned(), found.clone());
            }
        }
    }

    /// Takes a disk out.
    pub(crate) fn leave_disk(&mut self, disk: &str) {
        self.disks.remove(disk);
    }

    /// The text of `tuned.conf` as a plan holds it.
    pub fn to_text(&self) -> String {
        format!(
            "# Written by dtnforge. Changes are lost.\n{}",
            self.annotated(|_| String::new())
        )
    }

    /// The sections and options, each option under the comment that `reason` has for it: whole lines, or nothing.
    pub(super) fn annotated(&self, reason: impl Fn(&str) -> String) -> String {
        let mut text = Text {
            text: String::new(),
            reason: &reason,
        };
        text.main(&self.summary, &self.include);
        if !self.drop.is_empty() {
            let drop: Vec<_> = self.drop.iter().map(String::as_str).collect();
            text.section("The included ratios would set our bytes to 0.", "vm");
            text.option("drop", &drop.join(","));
        }
        if !self.sysctls.is_empty() {
            text.section(
                "The same values as in sysctl.d: the included profile sets these keys too.",
                "sysctl",
            );
            for (key, value) in &self.sysctls {
                text.reasoned(&format!("sysctl {key}"), key, value.as_str());
            }
        }
        if let Some(governor) = &self.governor {
            text.section("All policies.", "cpu");
            text.reasoned("cpu governor", "governor", governor);
        }
        let kinds: BTreeSet<&Disk> = self.disks.values().collect();
        for (index, kind) in kinds.into_iter().enumerate() {
            self.put_disks(&mut text, index, kind);
        }
        text.text
    }

    /// One section for all disks that get the same.
    fn put_disks(&self, text: &mut Text<'_>, index: usize, kind: &Disk) {
        let disks = self.disks.iter().filter(|(_, disk)| *disk == kind);
        let disks: Vec<_> = disks.map(|(name, _)| name.as_str()).collect();
        // The first one replaces the devices of the included section, which are all disks.
        let name = if index == 0 {
            "disk".to_owned()
        } else {
            format!("disk_{index}")
        };
        text.section("Data disks only; readahead in KiB.", &name);
        text.option("type", "disk");
        text.option("devices", &disks.join(","));
        if let Some(scheduler) = &kind.scheduler {
            text.reasoned("disk elevator", "elevator", scheduler);
        }
        if let Some(kib) = kind.read_ahead {
            text.reasoned("disk readahead", "readahead", &kib.to_string());
        }
    }

    /// Reads a text that [`Self::to_text`] wrote; `None` for any other.
    pub fn parse(text: &str) -> Option<Self> {
        let mut conf = Self::default();
        let (mut section, mut devices) = ("", Vec::<String>::new());
        for line in text
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            if let Some(name) = line.strip_prefix('[') {
                section = name.strip_suffix(']')?;
                continue;
            }
            let (key, value) = line.split_once('=')?;
            match (section, key) {
                ("main", "summary") => conf.summary = value.to_owned(),
                ("main", "include") => conf.include = value.to_owned(),
                ("vm", "drop") => conf.drop = value.split(',').map(str::to_owned).collect(),
                ("sysctl", key) => {
                    conf.sysctls.insert(key.to_owned(), Value::new(value));
                }
                ("cpu", "governor") => conf.governor = Some(value.to_owned()),
                (disk, "type") if disk.starts_with("disk") => {}
                (disk, "devices") if disk.starts_with("disk") => {
                    devices = value.split(',').map(str::to_owned).collect();
                }
                (disk, "elevator") if disk.starts_with("disk") => {
                    for name in &devices {
                        conf.set_disk(name, "scheduler", &Value::new(value));
                    }
                }
                (disk, "readahead") if disk.starts_with("disk") => {
                    for name in &devices {
                        conf.set_disk(name, "read_ahead_kb", &Value::new(value));
                    }
                }
                _ => return None,
            }
        }
        (conf.to_text() == text).then_some(conf)
    }
}

/// A title as tuned keeps it: after `#` it cuts, `$` begins a variable or a function of its own.
fn summary(title: &str) -> String {
    line(&title.replace(['#', '$'], " "))
}

/// A `tuned.conf` in the making. Writing to a text cannot fail.
struct Text<'a> {
    text: String,
    reason: &'a dyn Fn(&str) -> String,
}

impl Text<'_> {
    fn main(&mut self, summary: &str, include: &str) {
        self.text.push_str("[main]\n");
        self.option("summary", summary);
        self.option("include", include);
    }

    fn section(&mut self, comment: &str, name: &str) {
        let _ = write!(self.text, "\n# {comment}\n[{name}]\n");
    }

    fn option(&mut self, key: &str, value: &str) {
        let _ = writeln!(self.text, "{}={}", line(key), line(value));
    }

    fn reasoned(&mut self, what: &str, key: &str, value: &str) {
        self.text.push_str(&(self.reason)(what));
        self.option(key, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(scheduler: Option<&str>, kib: i64) -> Disk {
        Disk {
            scheduler: scheduler.map(str::to_owned),
            read_ahead: Some(kib),
        }
    }

    fn conf() -> TunedConf {
        TunedConf {
            summary: "DTN, one 100G port".to_owned(),
            include: "throughput-performance".to_owned(),
            drop: ["dirty_ratio".to_owned()].into(),
            sysctls: [("vm.dirty_bytes".to_owned(), "4294967296".into())].into(),
            governor: Some("performance".to_owned()),
            disks: [
                ("nvme0n1".to_owned(), disk(Some("none"), 4096)),
                ("nvme1n1".to_owned(), disk(Some("none"), 4096)),
                ("sda".to_owned(), disk(None, 8192)),
            ]
            .into(),
        }
    }

    #[test]
    fn the_text_is_what_tuned_reads() {
        assert_eq!(
            conf().to_text(),
            "# Written by dtnforge. Changes are lost.\n[main]\nsummary=DTN, one 100G port\n\
             include=throughput-performance\n\n# The included ratios would set our bytes to 0.\n[vm]\ndrop=dirty_ratio\n\n\
             # The same values as in sysctl.d: the included profile sets these keys too.\n[sysctl]\n\
             vm.dirty_bytes=4294967296\n\n# All policies.\n[cpu]\ngovernor=performance\n\n\
             # Data disks only; readahead in KiB.\n[disk]\ntype=disk\ndevices=sda\nreadahead=8192\n\n\
             # Data disks only; readahead in KiB.\n[disk_1]\ntype=disk\ndevices=nvme0n1,nvme1n1\nelevator=none\n\
             readahead=4096\n"
        );
    }

    #[test]
    fn our_own_text_reads_back_and_any_other_does_not() {
        assert_eq!(TunedConf::parse(&conf().to_text()), Some(conf()));
        for text in ["", "[main]\nsummary=x\n", "[script]\nscript=evil.sh\n"] {
            assert_eq!(TunedConf::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_value_that_is_not_tried_gives_way_to_the_one_found() {
        let mut conf = conf();
        conf.sysctls.insert("vm.swappiness".to_owned(), "10".into());
        conf.set_back("vm.swappiness", &"60".into());
        conf.set_back("vm.dirty_bytes", &"0".into());
        conf.set_back("net.ipv4.tcp_rmem", &"1 2 3".into());
        assert_eq!(
            conf.sysctls,
            [("vm.swappiness".to_owned(), Value::new("60"))].into()
        );
    }
}
