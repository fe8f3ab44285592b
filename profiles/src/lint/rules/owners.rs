//! One owner for each knob: sysctl.d, tuned, udev, or a script.
//!
//! tuned starts after systemd-sysctl and sets its own values. Then it reads `/run/sysctl.d`, `/etc/sysctl.d` and
//! `/etc/sysctl.conf` again, but not `/usr/lib`, and only when the profile has a `[sysctl]` section. Its reader knows no
//! glob, no `-` and no name with slashes (tuned/plugins/plugin_sysctl.py).

use crate::lint::context::{Context, Missing};
use crate::lint::definition::{Example, Lint, Needs, Severity, Theme};
use crate::lint::finding::Found;
use crate::lint::key::SysctlKey;
use crate::lint::setting::{Modifier, Origin, Setting, What};

pub(super) const LINTS: &[Lint] = &[
    Lint {
        id: "two-owners",
        severity: Severity::Error,
        theme: Theme::Owners,
        needs: Needs::Files,
        what: "Two places set one knob to different values",
        reason: "Which value is live depends on what ran last: a restart of tuned, an event of a device, `sysctl \
                 --system`. One owner sets a knob; where tuned would reset it, tuned carries the same value. In a \
                 profile of the catalog each knob has the owner that the registry names.",
        source: "redhat-performance/tuned#226, #409, #518; docs/reference: the registry of knobs",
        bad: Example::files(&[
            ("/etc/sysctl.d/90-site.conf", "vm.swappiness = 10\n"),
            ("/etc/rc.local", "sysctl -w vm.swappiness=60\n"),
        ]),
        good: Example::files(&[
            ("/etc/sysctl.d/90-site.conf", "vm.swappiness = 10\n"),
            ("/etc/tuned/site/tuned.conf", "[sysctl]\nvm.swappiness=10\n"),
        ]),
        check: two_owners,
    },
    Lint {
        id: "tuned-resets",
        severity: Severity::Error,
        theme: Theme::Owners,
        needs: Needs::Files,
        what: "tuned takes the value away again",
        reason: "tuned starts later and sets its own value. It reads /etc/sysctl.d and /run/sysctl.d again after that, \
                 but not /usr/lib/sysctl.d, nothing with a glob, a `-` or slashes, nothing when reapply_sysctl is off, \
                 and nothing for a profile without a [sysctl] section. network-throughput puts tcp_rmem and tcp_wmem \
                 back to 16 MiB in that way. A ratio of dirty memory takes the twin in bytes away.",
        source: "tuned 2.25.1, tuned/plugins/plugin_sysctl.py, profiles/{network-throughput,throughput-performance}",
        bad: Example::files(&[
            (
                "/usr/lib/sysctl.d/90-site.conf",
                "net.ipv4.tcp_rmem = 4096 131072 100663296\n",
            ),
            (
                "/etc/tuned/site/tuned.conf",
                "[main]\ninclude=network-throughput\n",
            ),
        ]),
        good: Example::files(&[
            (
                "/usr/lib/sysctl.d/90-site.conf",
                "net.ipv4.tcp_rmem = 4096 131072 100663296\n",
            ),
            (
                "/etc/tuned/site/tuned.conf",
                "[main]\ninclude=throughput-performance\n",
            ),
        ]),
        check: tuned_resets,
    },
    Lint {
        id: "tuned-include-missing",
        severity: Severity::Error,
        theme: Theme::Owners,
        needs: Needs::Files,
        what: "A profile of tuned includes one that is not there",
        reason: "tuned then refuses the whole profile. Looked for in the directories given, and among the profiles that \
                 tuned 2.25.1 ships.",
        source: "tuned 2.25.1, tuned/profiles/loader.py",
        bad: Example::files(&[(
            "/etc/tuned/site/tuned.conf",
            "[main]\ninclude=network-througput\n",
        )]),
        good: Example::files(&[(
            "/etc/tuned/site/tuned.conf",
            "[main]\ninclude=network-throughput\n",
        )]),
        check: include_missing,
    },
];

/// The kind of an owner, for people.
fn owner(setting: &Setting) -> &'static str {
    match setting.origin {
        Origin::SysctlD(_) => "sysctl.d",
        Origin::Tuned(_) => "tuned",
        Origin::Udev => "a udev rule",
        Origin::Script => "a script",
        Origin::Catalog(_) => "the catalog",
    }
}

fn two_owners(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    let settings: Vec<&Setting> = context.foreign().collect();
    for (index, setting) in settings.iter().enumerate() {
        for other in &settings[index + 1..] {
            let different = owner(setting) != owner(other) && same_knob(&setting.what, &other.what);
            if !different || !disagree(setting, other) || is_reset(context, setting, other) {
                continue;
            }
            found.at(
                &setting.place,
                format!(
                    "{} in {}, and {} in {} ({})",
                    setting.shown(),
                    owner(setting),
                    other.shown(),
                    owner(other),
                    other.place
                ),
                "set it in one of the two, or to the same value in both",
            );
        }
    }
    super::catalog::problems(context, found)
}

/// Whether both set one knob, for all that is known of their devices.
fn same_knob(a: &What, b: &What) -> bool {
    match (a, b) {
        (What::Sysctl(a), What::Sysctl(b)) => a.path() == b.path() || are_twins(a, b),
        (What::Nic(device, a), What::Nic(other, b)) | (What::Block(device, a), What::Block(other, b)) => {
            a == b && device.meets(other)
        }
        (What::Governor, What::Governor) => true,
        (What::Sysfs(a), What::Sysfs(b)) => a == b,
        _ => false,
    }
}

/// `vm.dirty_ratio` and `vm.dirty_bytes`: a write of one sets the other to 0.
fn are_twins(a: &SysctlKey, b: &SysctlKey) -> bool {
    let (a, b) = (a.path(), b.path());
    let twins = |a: &str, b: &str| {
        a.starts_with("vm/dirty_")
            && a.strip_suffix("_ratio")
                .is_some_and(|stem| b.strip_suffix("_bytes") == Some(stem))
    };
    twins(a, b) || twins(b, a)
}

/// Whether both cannot hold at once. tuned may only raise, or only lower, what it finds.
fn disagree(setting: &Setting, other: &Setting) -> bool {
    if setting.what != other.what
        && matches!((setting.key(), other.key()), (Some(a), Some(b)) if a.path() != b.path())
    {
        return true;
    }
    // tuned takes the first of several governors that the CPU has.
    if setting.what == What::Governor {
        let names = |setting: &Setting| {
            setting
                .value
                .split('|')
                .map(|name| name.trim().to_owned())
                .collect::<Vec<_>>()
        };
        return !names(setting).iter().any(|name| names(other).contains(name));
    }
    let (modified, plain) = match setting.modifier {
        Modifier::None => (other, setting),
        _ => (setting, other),
    };
    match (modified.modifier, plain.integer(), modified.integer()) {
        (Modifier::AtLeast, Some(value), Some(least)) => value < least,
        (Modifier::AtMost, Some(value), Some(most)) => value > most,
        _ => setting.folded() != other.folded(),
    }
}

/// Whether it is a sysctl of a file that tuned takes away for good: that is a lint of its own.
fn is_reset(context: &Context<'_>, setting: &Setting, other: &Setting) -> bool {
    match (&setting.origin, &other.origin) {
        (Origin::SysctlD(_), Origin::Tuned(_)) => why_lost(context, setting, other).is_some(),
        _ => false,
    }
}

/// Why tuned's value stays; `None` when tuned reads the file again afterwards.
fn why_lost(context: &Context<'_>, setting: &Setting, tuned: &Setting) -> Option<&'static str> {
    let (Origin::SysctlD(file), Origin::Tuned(profile)) = (&setting.origin, &tuned.origin) else {
        return None;
    };
    let (file, profile) = (context.sysctl_files.get(*file)?, context.tuned.get(*profile)?);
    let key = setting.key()?;
    if !context.tuned_reapplies {
        Some("reapply_sysctl is off")
    } else if !profile.has_sysctl_unit {
        Some("the profile has no [sysctl] section, so sysctl.d is not read again")
    } else if !file.is_reapplied_by_tuned() {
        Some("tuned does not read /usr/lib/sysctl.d again")
    } else if setting.quiet || key.in_slash_form() || key.is_glob() {
        Some("tuned reads no `-`, no glob and no slashes")
    } else {
        None
    }
}

fn tuned_resets(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    let of_files = || {
        context
            .foreign()
            .filter(|setting| matches!(setting.origin, Origin::SysctlD(_)))
    };
    for profile in &context.tuned {
        for setting in of_files() {
            let conflicts = |tuned: &&Setting| covers(setting, tuned) && disagree(setting, tuned);
            let Some(tuned) = profile.settings.iter().find(conflicts) else {
                continue;
            };
            if let Some(why) = why_lost(context, setting, tuned) {
                found.at(
                    &setting.place,
                    format!(
                        "{}: the tuned profile {} sets {} at {}, and {why}",
                        setting.shown(),
                        profile.name,
                        tuned.shown(),
                        tuned.place
                    ),
                    "repeat the value in the [sysctl] section of the profile, and keep the file in /etc/sysctl.d",
                );
            }
        }
    }
    super::catalog::problems(context, found)
}

/// Whether a line of sysctl.d sets what tuned sets; a glob may set more.
fn covers(setting: &Setting, tuned: &Setting) -> bool {
    let glob = match (setting.key(), tuned.key()) {
        (Some(key), Some(other)) => key.is_glob() && key.covers(&other.to_string()),
        _ => false,
    };
    glob || same_knob(&setting.what, &tuned.what)
}

fn include_missing(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for profile in &context.tuned {
        for (place, name) in &profile.missing {
            found.at(
                place,
                format!(
                    "{} includes {name:?}, and there is no profile of this name",
                    profile.name
                ),
                match crate::lint::stock_tuned::nearest(name) {
                    Some(near) => format!("did you mean {near}? Else give its directory with --tuned"),
                    None => "give its directory with --tuned, or remove the include".to_owned(),
                },
            );
        }
    }
    Ok(())
}
