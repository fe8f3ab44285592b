//! Commands that a site runs at boot by units of its own and by `rc.local`.
//!
//! Only `/etc` is looked at: units of packages do not set our knobs, and a unit that a script made (such as an
//! `ethtool-persist.service`) lies there.

use super::claim::Claim;
use super::command::{self, Setting};
use super::conf;
use super::target::Target;
use crate::door::sysctl::relative_path;
use crate::host::Host;
use dtnforge_profiles::audit::SetterKind;
use dtnforge_profiles::knob::KnobId;

const UNITS: &[&str] = &["/etc/systemd/system"];
const SCRIPTS: &[&str] = &["/etc/rc.local", "/etc/rc.d/rc.local"];

/// All settings by commands.
#[derive(Debug)]
pub(super) struct Commands(Vec<Line>);

/// A line that sets something.
#[derive(Debug)]
struct Line {
    setting: Setting,
    kind: SetterKind,
    place: String,
    managed_by: Option<String>,
}

impl Commands {
    pub(super) fn read(host: &Host) -> Self {
        let mut lines = Vec::new();
        for file in conf::files(host, UNITS, ".service") {
            for (number, code) in exec_lines(&file.text) {
                add(&mut lines, SetterKind::Unit, &file, number, &code);
            }
        }
        // On EL the first is a link to the second.
        if let Some(file) = SCRIPTS.iter().find_map(|path| conf::file(host, path)) {
            for (index, code) in file.text.lines().enumerate() {
                add(&mut lines, SetterKind::Script, &file, index + 1, code);
            }
        }
        Self(lines)
    }

    /// What these commands say of a knob.
    pub(super) fn claims(&self, target: &Target) -> Vec<Claim> {
        let of_target = |line: &&Line| is_of(&line.setting, target);
        self.0
            .iter()
            .filter(of_target)
            .map(|line| Claim {
                kind: line.kind,
                place: Some(line.place.clone()),
                says: line.setting.says.clone(),
                managed_by: line.managed_by.clone(),
                beats_us: true,
            })
            .collect()
    }
}

fn add(lines: &mut Vec<Line>, kind: SetterKind, file: &conf::ConfFile, number: usize, code: &str) {
    lines.extend(command::settings(code).into_iter().map(|setting| Line {
        setting,
        kind,
        place: file.at(number),
        managed_by: file.managed_by(),
    }));
}

/// The commands of a unit's `Exec...=` lines with the number of the line that each begins on.
fn exec_lines(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (index, line) in text.lines().enumerate() {
        let (part, goes_on) = match line.trim_end().strip_suffix('\\') {
            Some(part) => (part, true),
            None => (line, false),
        };
        let command = part.trim_start().split_once('=').filter(|(key, _)| {
            let key = key.trim();
            key.starts_with("ExecStart") || key.starts_with("ExecReload")
        });
        match (open, command) {
            (true, _) => {
                if let Some((_, code)) = found.last_mut() {
                    code.push_str(part);
                }
            }
            (false, Some((_, code))) => found.push((index + 1, code.to_owned())),
            (false, None) => continue,
        }
        open = goes_on;
    }
    found
}

/// Whether a setting of a command is of this knob.
fn is_of(setting: &Setting, target: &Target) -> bool {
    match (&target.knob, &setting.device) {
        (KnobId::Sysctl(key), _) => setting.pattern == format!("sysctl:{}", relative_path(key)),
        (_, Some(device)) => target.is(&setting.pattern) && target.device() == Some(device),
        (_, None) => target.is(&setting.pattern),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn continued_lines_of_a_unit_are_one_command() {
        let text =
            "[Service]\nExecStartPre=-/bin/true\nExecStart=/sbin/ethtool -G eth0 \\\n  rx 8192\nExecStop=x\n";
        assert_eq!(
            exec_lines(text),
            [
                (2, "-/bin/true".to_owned()),
                (3, "/sbin/ethtool -G eth0   rx 8192".to_owned())
            ]
        );
    }
}
