//! sysctl.d(5): which file sets a key at boot.
//!
//! Files are read in the order of their names whatever their directory, and the last assignment of a key wins. A key
//! with a wildcard loses against the same key written out, and `-key` without a value takes a key out of wildcards.
//! `/etc/sysctl.conf` is read by `sysctl --system` of procps only, unless a link in sysctl.d leads to it (EL has one,
//! Debian 13 has none): a value from there is live after an admin's `sysctl --system` and gone after a reboot.

use super::claim::{Claim, Says};
use super::conf::{self, ConfFile};
use super::glob;
use super::target::Target;
use crate::door::sysctl::relative_path;
use crate::host::Host;
use dtnforge_profiles::audit::SetterKind;
use dtnforge_profiles::group::Group;
use dtnforge_profiles::knob::{KnobId, definition_of};
use dtnforge_profiles::value::Value;

/// The search path, the highest first.
const DIRECTORIES: &[&str] = &[
    "/etc/sysctl.d",
    "/run/sysctl.d",
    "/usr/local/lib/sysctl.d",
    "/usr/lib/sysctl.d",
];

/// Directories whose files tuned applies once more after its own values.
const REAPPLIED: &[&str] = &["/etc/", "/run/"];

const SYSCTL_CONF: &str = "/etc/sysctl.conf";

/// All assignments of all files.
#[derive(Debug)]
pub(super) struct SysctlFiles {
    /// Read at boot, in that order.
    at_boot: Vec<Assignment>,
    /// Of `/etc/sysctl.conf`, where the boot does not read it.
    by_procps: Vec<Assignment>,
}

/// The assignment that wins at boot.
#[derive(Debug)]
pub(super) struct Winner {
    pub(super) claim: Claim,
    /// Whether tuned applies its file once more.
    pub(super) is_reapplied: bool,
}

/// One line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Assignment {
    /// Path under `/proc/sys`, maybe with wildcards.
    key: String,
    /// `None` takes the key out of wildcards.
    value: Option<Value>,
    /// Name of the file.
    name: String,
    /// File and line.
    place: String,
    managed_by: Option<String>,
}

impl SysctlFiles {
    pub(super) fn read(host: &Host) -> Self {
        let files = conf::files(host, DIRECTORIES, ".conf");
        let is_linked = files
            .iter()
            .any(|file| conf::is_same(host, &file.path, SYSCTL_CONF));
        let own = conf::file(host, SYSCTL_CONF).filter(|_| !is_linked);
        Self {
            at_boot: files.iter().flat_map(assignments).collect(),
            by_procps: own.iter().flat_map(assignments).collect(),
        }
    }

    /// What wins at boot, when anything sets the key.
    pub(super) fn winner(&self, target: &Target) -> Option<Winner> {
        let KnobId::Sysctl(key) = &target.knob else {
            return None;
        };
        let winner = winner(&self.at_boot, &relative_path(key))?;
        let group = definition_of(&target.knob).map(|definition| definition.group);
        Some(Winner {
            claim: winner.claim(beats_us(winner, group))?,
            is_reapplied: REAPPLIED
                .iter()
                .any(|directory| winner.place.starts_with(directory)),
        })
    }

    /// What sets the key and does not win at boot, `/etc/sysctl.conf` included.
    pub(super) fn losers(&self, target: &Target) -> Vec<Claim> {
        let KnobId::Sysctl(key) = &target.knob else {
            return Vec::new();
        };
        let path = relative_path(key);
        let winner = winner(&self.at_boot, &path).map(|winner| winner.place.clone());
        let lost = self
            .at_boot
            .iter()
            .filter(|line| winner.as_ref() != Some(&line.place));
        let by_procps = self.by_procps.iter().filter(|line| line.is_for(&path));
        let by_procps = by_procps.filter_map(|line| {
            Some(Claim {
                kind: SetterKind::SysctlConf,
                ..line.claim(false)?
            })
        });
        lost.filter(|line| line.is_for(&path))
            .filter_map(|line| line.claim(false))
            .chain(by_procps)
            .collect()
    }

    /// Keys of ours in an `/etc/sysctl.conf` that the boot does not read.
    pub(super) fn warnings<'a>(&self, knobs: impl IntoIterator<Item = &'a KnobId>) -> Vec<String> {
        let mut warnings = Vec::new();
        for knob in knobs {
            let KnobId::Sysctl(key) = knob else { continue };
            let path = relative_path(key);
            let line = self.by_procps.iter().rev().find(|line| line.is_for(&path));
            if let Some(Assignment {
                place,
                value: Some(value),
                ..
            }) = line
            {
                warnings.push(format!(
                    "{place} sets {key} = {value}: `sysctl --system` would put that in force, the boot does not read \
                     the file"
                ));
            }
        }
        warnings
    }
}

/// The assignment of a key that systemd-sysctl carries out.
fn winner<'a>(lines: &'a [Assignment], path: &str) -> Option<&'a Assignment> {
    let mut written_out = lines.iter().rev().filter(|line| line.key == path);
    match written_out.next() {
        Some(last) => last.value.is_some().then_some(last),
        None => lines.iter().rev().find(|line| line.is_for(path)),
    }
}

/// Whether a line is applied after the one that a plan puts into `90-dtnforge-GROUP.conf`.
fn beats_us(line: &Assignment, group: Option<Group>) -> bool {
    let ours = group.map(|group| format!("90-dtnforge-{group}.conf"));
    !glob::is_pattern(&line.key) && ours.is_some_and(|ours| line.name > ours)
}

/// The assignments of a file.
fn assignments(file: &ConfFile) -> Vec<Assignment> {
    let managed_by = file.managed_by();
    let numbered = file.text.lines().enumerate();
    numbered
        .filter_map(|(index, line)| {
            let (key, value) = parse(line)?;
            Some(Assignment {
                key,
                value,
                name: file.name.clone(),
                place: file.at(index + 1),
                managed_by: managed_by.clone(),
            })
        })
        .collect()
}

/// Path and value of a line; `None` for a comment or rubbish.
fn parse(line: &str) -> Option<(String, Option<Value>)> {
    let line = line.trim();
    if line.is_empty() || line.starts_with(['#', ';']) {
        return None;
    }
    let (may_fail, line) = match line.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, line),
    };
    match line.split_once('=') {
        Some((key, value)) => Some((relative_path(key.trim()), Some(Value::new(value)))),
        None => may_fail.then(|| (relative_path(line.trim()), None)),
    }
}

impl Assignment {
    fn is_for(&self, path: &str) -> bool {
        self.key == path || (glob::is_pattern(&self.key) && glob::matches(&self.key, path, Some('/')))
    }

    fn claim(&self, beats_us: bool) -> Option<Claim> {
        let ours = self.place.starts_with("/run/") && self.name.contains("dtnforge");
        Some(Claim {
            kind: if ours {
                SetterKind::Dtnforge
            } else {
                SetterKind::SysctlD
            },
            place: Some(self.place.clone()),
            says: Says::Is(self.value.clone()?),
            managed_by: self.managed_by.clone(),
            beats_us: beats_us && !ours,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(files: &[(&str, &str)]) -> Vec<Assignment> {
        let file = |(name, text): &(&str, &str)| ConfFile {
            name: (*name).to_owned(),
            path: format!("/etc/sysctl.d/{name}"),
            text: (*text).to_owned(),
        };
        files
            .iter()
            .map(file)
            .flat_map(|file| assignments(&file))
            .collect()
    }

    fn places(files: &[(&str, &str)], path: &str) -> Option<String> {
        winner(&lines(files), path).map(|line| line.place.clone())
    }

    #[test]
    fn the_last_assignment_wins_in_both_spellings() {
        let files = [
            ("10.conf", "net.ipv4.tcp_rmem = 1 2 3\n"),
            ("90.conf", "# c\nnet/ipv4/tcp_rmem=4\t5 6\n"),
            ("95.conf", "; c\nrubbish\nvm.swappiness=1"),
        ];
        assert_eq!(
            places(&files, "net/ipv4/tcp_rmem").as_deref(),
            Some("/etc/sysctl.d/90.conf:2")
        );
        let value = winner(&lines(&files), "net/ipv4/tcp_rmem").unwrap().value.clone();
        assert_eq!(value, Some("4 5 6".into()));
        assert_eq!(places(&files, "net/ipv4/tcp_wmem"), None);
    }

    #[test]
    fn a_key_written_out_wins_over_a_later_wildcard() {
        let files = [
            ("10.conf", "net.ipv4.conf.eth0/100.rp_filter = 0\n"),
            ("50.conf", "net.ipv4.conf.*.rp_filter = 2\n"),
            ("60.conf", "-net.ipv4.conf.lo.rp_filter\n"),
        ];
        let of = |name: &str| places(&files, &format!("net/ipv4/conf/{name}/rp_filter"));
        assert_eq!(of("eth0.100").as_deref(), Some("/etc/sysctl.d/10.conf:1"));
        assert_eq!(of("eth1").as_deref(), Some("/etc/sysctl.d/50.conf:1"));
        assert_eq!(of("lo"), None, "taken out of the wildcard");
    }

    #[test]
    fn a_dash_lets_an_assignment_fail_and_is_no_part_of_the_key() {
        assert_eq!(parse("-vm.x = 3"), Some(("vm/x".to_owned(), Some("3".into()))));
        assert_eq!(parse("vm.x"), None);
        assert_eq!(parse(" # vm.x = 3"), None);
    }

    #[test]
    fn only_a_name_after_ours_beats_us() {
        let of = |name| {
            let line = lines(&[(name, "vm.swappiness = 1")]).remove(0);
            beats_us(&line, Some(Group::Vm))
        };
        assert!(of("90-fasterdata.conf") && of("99-site.conf"));
        assert!(!of("50-site.conf") && !of("90-a.conf"));
    }
}
