//! Whether a line is read at all, and which file wins.

use crate::lint::context::{Context, Missing};
use crate::lint::definition::{Example, Lint, Needs, Severity, Theme};
use crate::lint::finding::{Found, Place};
use crate::lint::order::{Directory, OrderedFile, Reading};
use crate::lint::setting::{Origin, Setting, State};

pub(super) const LINTS: &[Lint] = &[
    Lint {
        id: "bad-line",
        severity: Severity::Error,
        theme: Theme::Files,
        needs: Needs::Files,
        what: "A line is not of its file's form",
        reason: "systemd-sysctl and udev pass such a line over and go on; tuned refuses the whole profile. Either way \
                 the setting is not made, and only the journal says so.",
        source: "sysctl.d(5); udev(7); tuned 2.25.1, tuned/profiles/loader.py",
        bad: Example::files(&[(
            "/etc/sysctl.d/90-site.conf",
            "sysctl -w net.core.somaxconn=4096\n",
        )]),
        good: Example::files(&[("/etc/sysctl.d/90-site.conf", "net.core.somaxconn = 4096\n")]),
        check: bad_line,
    },
    Lint {
        id: "key-twice",
        severity: Severity::Error,
        theme: Theme::Files,
        needs: Needs::Files,
        what: "A key is set to two values in one file",
        reason: "The last line wins, wherever it came from: a block that a script appended, or an edit that was made \
                 above it. A reader of the first line believes the wrong value. A profile of the catalog must not have \
                 a knob twice at all.",
        source: "sysctl.d(5); tuned 2.25.1, tuned/profiles/loader.py (strict=False)",
        bad: Example::files(&[(
            "/etc/sysctl.d/90-site.conf",
            "net.core.somaxconn = 4096\nnet.core.somaxconn = 8192\n",
        )]),
        good: Example::files(&[("/etc/sysctl.d/90-site.conf", "net.core.somaxconn = 8192\n")]),
        check: key_twice,
    },
    Lint {
        id: "name-not-read",
        severity: Severity::Warning,
        theme: Theme::Files,
        needs: Needs::Files,
        what: "A file in sysctl.d whose name does not end in .conf is not read",
        reason: "systemd-sysctl, sysctl --system and tuned read files that end in .conf only. What an editor or a \
                 backup left does nothing.",
        source: "sysctl.d(5)",
        bad: Example::files(&[("/etc/sysctl.d/90-site.conf.bak", "net.core.somaxconn = 4096\n")]),
        good: Example::files(&[("/etc/sysctl.d/90-site.conf", "net.core.somaxconn = 4096\n")]),
        check: name_not_read,
    },
    Lint {
        id: "file-masked",
        severity: Severity::Warning,
        theme: Theme::Files,
        needs: Needs::Files,
        what: "A file is masked by one of the same name in a nearer directory",
        reason: "Of files with one name only that of the nearest directory is read: /etc, /run, /usr/local/lib, \
                 /usr/lib. None of the other one's lines counts, also not those that the nearer file lacks.",
        source: "sysctl.d(5)",
        bad: Example::files(&[
            ("/usr/lib/sysctl.d/90-site.conf", "net.core.somaxconn = 8192\n"),
            ("/etc/sysctl.d/90-site.conf", "vm.swappiness = 10\n"),
        ]),
        good: Example::files(&[
            ("/usr/lib/sysctl.d/50-vendor.conf", "net.core.somaxconn = 8192\n"),
            ("/etc/sysctl.d/90-site.conf", "vm.swappiness = 10\n"),
        ]),
        check: file_masked,
    },
    Lint {
        id: "later-file-wins",
        severity: Severity::Warning,
        theme: Theme::Files,
        needs: Needs::Files,
        what: "A later file sets the same key to another value",
        reason: "All files are read in the order of their names, whatever their directory, and the last assignment \
                 wins: `/usr/lib/sysctl.d/99-vendor.conf` beats `/etc/sysctl.d/90-site.conf`. A file of an admin that \
                 wins over one of a vendor is meant to, and is not reported.",
        source: "sysctl.d(5)",
        bad: Example::files(&[
            ("/etc/sysctl.d/10-site.conf", "vm.swappiness = 10\n"),
            ("/usr/lib/sysctl.d/50-vendor.conf", "vm.swappiness = 60\n"),
        ]),
        good: Example::files(&[
            ("/usr/lib/sysctl.d/50-vendor.conf", "vm.swappiness = 60\n"),
            ("/etc/sysctl.d/90-site.conf", "vm.swappiness = 10\n"),
        ]),
        check: later_file_wins,
    },
    Lint {
        id: "sysctl-conf-not-read",
        severity: Severity::Warning,
        theme: Theme::Files,
        needs: Needs::Files,
        what: "/etc/sysctl.conf is not read at boot everywhere",
        reason: "systemd-sysctl reads sysctl.d only. EL9 ships a link 99-sysctl.conf to /etc/sysctl.conf, so that it \
                 beats every other file; Debian 13 ships none, so that it is ignored at boot and takes effect with \
                 the next `sysctl --system` or `sysctl -p`. The live state is then not the one after a reboot.",
        source: "sysctl.d(5); Debian 13, packages procps and linux-sysctl-defaults; perfsonar/toolkit, configure_sysctl",
        bad: Example::files(&[("/etc/sysctl.conf", "net.core.somaxconn = 4096\n")]),
        good: Example::files(&[("/etc/sysctl.d/90-site.conf", "net.core.somaxconn = 4096\n")]),
        check: sysctl_conf,
    },
];

fn bad_line(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for file in context
        .sysctl_files
        .iter()
        .filter(|file| file.reading == Reading::Read)
    {
        for bad in &file.content.bad {
            found.at(&Place::new(&file.path, bad.line), &bad.why, bad.hint);
        }
    }
    for profile in &context.tuned {
        for bad in &profile.bad {
            found.at(&Place::new(&profile.path, bad.line), &bad.why, bad.hint);
        }
    }
    for (place, bad) in &context.bad_rules {
        found.at(place, &bad.why, bad.hint);
    }
    Ok(())
}

/// A setting with the line that wins over it, when that says something else.
struct Loser<'a> {
    setting: &'a Setting,
    winner: &'a Setting,
}

fn losers<'b>(context: &'b Context<'_>) -> impl Iterator<Item = Loser<'b>> {
    context.settings.iter().filter_map(|setting| {
        let State::Lost(place) = &setting.state else {
            return None;
        };
        let wins = |other: &&Setting| other.place == *place && other.is_live();
        let winner = context.settings.iter().find(wins)?;
        (winner.folded() != setting.folded()).then_some(Loser { setting, winner })
    })
}

fn key_twice(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for Loser { setting, winner } in losers(context) {
        if winner.place.file == setting.place.file {
            let line = winner.place.line;
            found.at(
                &setting.place,
                format!(
                    "{} is set to {} on line {line}, which wins",
                    setting.shown(),
                    winner.folded()
                ),
                "keep one of the two lines",
            );
        }
    }
    for profile in &context.tuned {
        for (place, option, later) in &profile.twice {
            let message = format!("{option} is set to another value on line {later}, which wins");
            found.at(place, message, "keep one of the two lines");
        }
    }
    super::catalog::problems(context, found)
}

fn name_not_read(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    // A README is no file of values.
    let has_values = |file: &&OrderedFile| {
        file.content
            .assignments
            .iter()
            .any(|line| line.key.path().contains('/'))
    };
    let files = context
        .sysctl_files
        .iter()
        .filter(|file| file.reading == Reading::NoConf);
    for file in files.filter(has_values) {
        let message = format!("{} is not read: its name does not end in .conf", file.name);
        found.at(
            &Place::new(&file.path, 0),
            message,
            "rename it, or move it out of the directory",
        );
    }
    Ok(())
}

fn file_masked(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for file in &context.sysctl_files {
        if let Reading::Masked(by) = &file.reading {
            found.at(
                &Place::new(&file.path, 0),
                format!("it is not read: {by} has the same name and is nearer"),
                "give one of the two another name, or remove this one",
            );
        }
    }
    Ok(())
}

fn later_file_wins(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for Loser { setting, winner } in losers(context) {
        if winner.place.file == setting.place.file || is_meant_to_win(context, winner, setting) {
            continue;
        }
        found.at(
            &setting.place,
            format!(
                "{} loses to {} of {}, which is read later",
                setting.shown(),
                winner.folded(),
                winner.place
            ),
            "set the key in one file only, or in one whose name sorts last",
        );
    }
    Ok(())
}

/// A file of an admin is there to win over one of a vendor.
fn is_meant_to_win(context: &Context<'_>, winner: &Setting, loser: &Setting) -> bool {
    let directory = |setting: &Setting| match setting.origin {
        Origin::SysctlD(file) => context.sysctl_files.get(file).map(|file| file.directory),
        _ => None,
    };
    let vendor = [Some(Directory::Lib), Some(Directory::LocalLib)];
    vendor.contains(&directory(loser)) && !vendor.contains(&directory(winner))
}

fn sysctl_conf(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    let is_read = context.facts().is_ok() && context.kernel.enterprise;
    let files = context.sysctl_files.iter().enumerate();
    let files =
        files.filter(|(_, file)| file.directory == Directory::SysctlConf && file.reading == Reading::Read);
    for (index, file) in files {
        let mut own = context
            .settings
            .iter()
            .filter(|setting| setting.origin == Origin::SysctlD(index));
        let Some(first) = own.next().filter(|_| !is_read) else {
            continue;
        };
        let keys = match own.count() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        found.at(
            &first.place,
            format!(
                "{}{keys}: {} is not read at boot where no link 99-sysctl.conf leads to it",
                first.what, file.path
            ),
            "move the lines to a file in /etc/sysctl.d",
        );
    }
    Ok(())
}
