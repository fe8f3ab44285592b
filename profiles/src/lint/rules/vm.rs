//! Memory: dirty page cache, and what is kept free.

use crate::lint::context::{Context, Missing};
use crate::lint::definition::{Example, Lint, Needs, Severity, Theme};
use crate::lint::finding::Found;
use crate::lint::setting::{Origin, Setting};
use crate::lint::text::size;

pub(super) const LINTS: &[Lint] = &[
    Lint {
        id: "dirty-ratio-of-large-memory",
        severity: Severity::Warning,
        theme: Theme::Host,
        needs: Needs::Host,
        what: "A share of a large memory may be dirty page cache",
        reason: "40 % of 512 GiB is 205 GiB that is written back in one stall, at a sync or when the limit is reached. \
                 dirty_bytes says how much the disks can take; it sets the ratio to 0. Judged from 16 GiB on.",
        source: "kernel Documentation/admin-guide/sysctl/vm.rst; tuned 2.26 uses bytes in throughput-performance too",
        bad: Example::files(&[("/etc/sysctl.d/90-site.conf", "vm.dirty_ratio = 40\n")])
            .on("[host]\nmemory_gib = 512.0\n"),
        good: Example::files(&[("/etc/sysctl.d/90-site.conf", "vm.dirty_bytes = 4294967296\n")])
            .on("[host]\nmemory_gib = 512.0\n"),
        check: dirty_ratio,
    },
    Lint {
        id: "dirty-twins",
        severity: Severity::Warning,
        theme: Theme::Host,
        needs: Needs::Files,
        what: "A limit of dirty page cache is set as a ratio and in bytes",
        reason: "Each write of one sets the other to 0, so only the later line counts.",
        source: "kernel Documentation/admin-guide/sysctl/vm.rst (dirty_bytes)",
        bad: Example::files(&[(
            "/etc/sysctl.d/90-site.conf",
            "vm.dirty_background_ratio = 5\nvm.dirty_background_bytes = 1073741824\n",
        )]),
        good: Example::files(&[(
            "/etc/sysctl.d/90-site.conf",
            "vm.dirty_background_bytes = 1073741824\n",
        )]),
        check: dirty_twins,
    },
    Lint {
        id: "zone-reclaim",
        severity: Severity::Warning,
        theme: Theme::Host,
        needs: Needs::Files,
        what: "Memory of a node is reclaimed before another node is asked",
        reason: "With zone_reclaim_mode the page cache of the local node is thrown away while the other node has memory. \
                 A file server wants the cache. Some guides for parallel file systems set it to 1.",
        source: "kernel Documentation/admin-guide/sysctl/vm.rst (zone_reclaim_mode)",
        bad: Example::files(&[("/etc/sysctl.d/90-site.conf", "vm.zone_reclaim_mode = 1\n")]),
        good: Example::files(&[("/etc/sysctl.d/90-site.conf", "vm.zone_reclaim_mode = 0\n")]),
        check: zone_reclaim,
    },
    Lint {
        id: "min-free-set",
        severity: Severity::Warning,
        theme: Theme::Host,
        needs: Needs::Files,
        what: "vm.min_free_kbytes is set",
        reason: "The kernel computes it from the memory. Too small a value deadlocks under load, too large a one is out \
                 of memory at once, and a fixed number is one of both on some host.",
        source: "kernel Documentation/admin-guide/sysctl/vm.rst (min_free_kbytes)",
        bad: Example::files(&[("/etc/sysctl.d/90-site.conf", "vm.min_free_kbytes = 262144\n")]),
        good: Example::files(&[("/etc/sysctl.d/90-site.conf", "vm.swappiness = 10\n")]),
        check: min_free,
    },
    Lint {
        id: "vfs-cache-kept-for-ever",
        severity: Severity::Error,
        theme: Theme::Host,
        needs: Needs::Files,
        what: "vm.vfs_cache_pressure is 0",
        reason: "The kernel then never gives back inodes and dentries, and runs out of memory.",
        source: "kernel Documentation/admin-guide/sysctl/vm.rst (vfs_cache_pressure)",
        bad: Example::files(&[("/etc/sysctl.d/90-site.conf", "vm.vfs_cache_pressure = 0\n")]),
        good: Example::files(&[("/etc/sysctl.d/90-site.conf", "vm.vfs_cache_pressure = 50\n")]),
        check: vfs_cache,
    },
];

fn dirty_ratio(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for name in ["vm.dirty_ratio", "vm.dirty_background_ratio"] {
        let foreign = context
            .sysctl(name)
            .filter(|setting| !matches!(setting.origin, Origin::Catalog(_)));
        for setting in foreign {
            let Some(percent) = setting.integer().filter(|percent| (1..=100).contains(percent)) else {
                continue;
            };
            let bytes = context.memory()? * percent as f64 / 100.0;
            let gib = bytes / 1_073_741_824.0;
            if gib > 16.0 {
                found.at(
                    &setting.place,
                    format!(
                        "{}: {gib:.0} GiB of this host's memory may be dirty",
                        setting.shown()
                    ),
                    format!("set {} instead, to a few GiB", name.replace("_ratio", "_bytes")),
                );
            }
        }
    }
    Ok(())
}

fn dirty_twins(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for (ratio, bytes) in [
        ("vm.dirty_ratio", "vm.dirty_bytes"),
        ("vm.dirty_background_ratio", "vm.dirty_background_bytes"),
    ] {
        for setting in context.sysctl(ratio) {
            let of_files = |setting: &Setting| matches!(setting.origin, Origin::SysctlD(_));
            let same_owner =
                |other: &&Setting| other.origin == setting.origin || of_files(other) && of_files(setting);
            if let Some(twin) = context.sysctl(bytes).find(same_owner) {
                found.at(
                    &setting.place,
                    format!("{ratio} and {bytes} ({}): each sets the other to 0", twin.place),
                    "keep the one in bytes",
                );
            }
        }
    }
    Ok(())
}

fn zone_reclaim(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for setting in context.sysctl("vm.zone_reclaim_mode") {
        if setting.integer().is_some_and(|mode| mode != 0) {
            let message = format!(
                "{}: the page cache of a node goes while another has memory",
                setting.shown()
            );
            found.at(&setting.place, message, "set it to 0");
        }
    }
    Ok(())
}

fn min_free(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for setting in context.sysctl("vm.min_free_kbytes") {
        let kept = setting
            .integer()
            .map(|kib| format!(", {} kept free", size(kib.saturating_mul(1024))));
        let message = format!(
            "{}{}: the kernel computes it",
            setting.shown(),
            kept.unwrap_or_default()
        );
        found.at(&setting.place, message, "remove the line");
    }
    Ok(())
}

fn vfs_cache(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for setting in context.sysctl("vm.vfs_cache_pressure") {
        if setting.integer() == Some(0) {
            let message = format!("{}: inodes and dentries are never given back", setting.shown());
            found.at(
                &setting.place,
                message,
                "100 is the default; 50 keeps them longer",
            );
        }
    }
    Ok(())
}
