//! Disks, CPU and boot.

use crate::conclude::Guest;
use crate::lint::context::{Context, Missing};
use crate::lint::definition::{Example, Lint, Needs, Severity, Theme};
use crate::lint::finding::Found;
use crate::lint::setting::{Setting, What};

pub(super) const LINTS: &[Lint] = &[
    Lint {
        id: "scheduler-gone",
        severity: Severity::Error,
        theme: Theme::Host,
        needs: Needs::Files,
        what: "A disk scheduler of kernels before 5.0",
        reason: "noop, deadline and cfq went with the single-queue block layer. Writing one fails, and the old scheduler \
                 stays. The names today: none, mq-deadline, kyber, bfq.",
        source: "kernel Documentation/block/switching-sched.rst; Linux 6.12, block/elevator.c",
        bad: Example::files(&[(
            "/etc/udev/rules.d/60-disk.rules",
            "ACTION==\"add\", SUBSYSTEM==\"block\", KERNEL==\"nvme*\", ATTR{queue/scheduler}=\"noop\"\n",
        )]),
        good: Example::files(&[(
            "/etc/udev/rules.d/60-disk.rules",
            "ACTION==\"add\", SUBSYSTEM==\"block\", KERNEL==\"nvme*\", ATTR{queue/scheduler}=\"none\"\n",
        )]),
        check: scheduler,
    },
    Lint {
        id: "nr-requests-over-limit",
        severity: Severity::Warning,
        theme: Theme::Host,
        needs: Needs::Files,
        what: "nr_requests above 2048",
        reason: "With a scheduler the kernel takes at most 2048, without one at most the tags of the device. A guide for \
                 storage servers says 4096, which kernels of today refuse.",
        source: "Linux 6.12, block/blk-mq-sched.h (MAX_SCHED_RQ), block/blk-mq.c (blk_mq_update_nr_requests)",
        bad: Example::files(&[("/etc/rc.local", "echo 4096 > /sys/block/sda/queue/nr_requests\n")]),
        good: Example::files(&[("/etc/rc.local", "echo 1024 > /sys/block/sda/queue/nr_requests\n")]),
        check: nr_requests,
    },
    Lint {
        id: "slot-table",
        severity: Severity::Warning,
        theme: Theme::Host,
        needs: Needs::Files,
        what: "The slot table of NFS over TCP is set",
        reason: "Since Linux 3.1 it grows by itself up to tcp_max_slot_table_entries (65536). \"128 slots\" is advice for \
                 older kernels; the value counts for the next mount only.",
        source: "Linux 6.12, net/sunrpc/xprtsock.c; Documentation/admin-guide/kernel-parameters.txt (sunrpc.tcp_*)",
        bad: Example::files(&[(
            "/etc/rc.local",
            "echo 128 > /proc/sys/sunrpc/tcp_slot_table_entries\n",
        )]),
        good: Example::files(&[("/etc/rc.local", "echo 10 > /proc/sys/vm/swappiness\n")]),
        check: slot_table,
    },
    Lint {
        id: "governor-saves-power",
        severity: Severity::Warning,
        theme: Theme::Host,
        needs: Needs::Files,
        what: "The CPU frequency follows the load",
        reason: "A receiving core that starts slow drops packets until its frequency has followed. `performance` costs \
                 power and nothing else. A guest has no governor, and is not judged when the facts say that it is one.",
        source: "ESnet fasterdata, linux/100g-tuning; kernel Documentation/admin-guide/pm/cpufreq.rst",
        bad: Example::files(&[("/etc/tuned/site/tuned.conf", "[main]\ninclude=balanced\n")]),
        good: Example::files(&[("/etc/tuned/site/tuned.conf", "[cpu]\ngovernor=performance\n")]),
        check: governor,
    },
    Lint {
        id: "iommu-strict",
        severity: Severity::Warning,
        theme: Theme::Host,
        needs: Needs::Files,
        what: "The IOMMU maps and unmaps for each packet",
        reason: "Strict mode invalidates the IOTLB with each unmap: a cost for each packet that passes. `iommu=pt` gives \
                 host drivers a fixed map; lazy mode batches.",
        source: "\"Understanding Host Network Stack Overheads\", SIGCOMM 2021; kernel \
                 Documentation/admin-guide/kernel-parameters.txt (iommu.strict)",
        bad: Example::files(&[(
            "/etc/tuned/site/tuned.conf",
            "[bootloader]\ncmdline_site=iommu.strict=1\n",
        )]),
        good: Example::files(&[(
            "/etc/tuned/site/tuned.conf",
            "[bootloader]\ncmdline_site=iommu=pt\n",
        )]),
        check: iommu,
    },
    Lint {
        id: "hystart-off",
        severity: Severity::Warning,
        theme: Theme::Host,
        needs: Needs::Files,
        what: "HyStart of cubic is switched off",
        reason: "It ends slow start before the queue overflows. On jittery paths it may end it early, which is why some \
                 switch it off; without it slow start ends in loss on every path. Test it on the path in question.",
        source: "Linux 6.12, net/ipv4/tcp_cubic.c",
        bad: Example::files(&[(
            "/etc/rc.local",
            "echo 0 > /sys/module/tcp_cubic/parameters/hystart\n",
        )]),
        good: Example::files(&[(
            "/etc/rc.local",
            "echo 1 > /sys/module/tcp_cubic/parameters/hystart\n",
        )]),
        check: hystart,
    },
];

fn block<'b>(context: &'b Context<'_>, attribute: &'b str) -> impl Iterator<Item = &'b Setting> {
    let of = move |setting: &&Setting| matches!(&setting.what, What::Block(_, name) if name == attribute);
    context.live().filter(of)
}

fn scheduler(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for setting in block(context, "scheduler") {
        let instead = match setting.value.as_str() {
            "noop" => "none",
            "deadline" => "mq-deadline",
            "cfq" => "bfq, or mq-deadline",
            _ => continue,
        };
        let message = format!(
            "{}: kernels since 5.0 have no scheduler of this name",
            setting.shown()
        );
        found.at(&setting.place, message, format!("write {instead}"));
    }
    Ok(())
}

fn nr_requests(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for setting in block(context, "nr_requests") {
        if setting.integer().is_some_and(|requests| requests > 2048) {
            let message = format!("{}: a disk with a scheduler takes at most 2048", setting.shown());
            found.at(&setting.place, message, "at most 2048; a deep queue is latency");
        }
    }
    Ok(())
}

fn slot_table(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for setting in context.sysctl("sunrpc.tcp_slot_table_entries") {
        found.at(
            &setting.place,
            format!("{}: the table grows by itself up to 65536", setting.shown()),
            "remove the line; for more throughput of one mount use nconnect",
        );
    }
    Ok(())
}

fn governor(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    let is_guest = context
        .seen()
        .is_ok_and(|seen| seen.virtualised.guest == Guest::Yes);
    for setting in context
        .live()
        .filter(|setting| setting.what == What::Governor && !is_guest)
    {
        let saving = ["powersave", "schedutil", "ondemand", "conservative"];
        // tuned takes the first of several that the CPU has.
        if setting.value.split('|').all(|name| saving.contains(&name.trim())) {
            let message = format!("{}: a loaded core starts slow", setting.shown());
            found.at(
                &setting.place,
                message,
                "governor=performance, or include throughput-performance",
            );
        }
    }
    Ok(())
}

fn iommu(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for setting in context.live() {
        let What::KernelArgument(name) = &setting.what else {
            continue;
        };
        let strict = match name.as_str() {
            "iommu.strict" => setting.value == "1",
            "intel_iommu" | "amd_iommu" => setting
                .value
                .split(',')
                .any(|word| word == "strict" || word == "fullflush"),
            _ => false,
        };
        if strict {
            let message = format!("{name}={}: a cost for each packet", setting.value);
            found.at(&setting.place, message, "iommu=pt for the drivers of the host");
        }
    }
    Ok(())
}

fn hystart(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for setting in context.live() {
        let off =
            matches!(&setting.what, What::Sysfs(path) if path.ends_with("tcp_cubic/parameters/hystart"));
        if off && setting.integer() == Some(0) {
            found.at(
                &setting.place,
                "HyStart is off: slow start ends in loss on every path",
                "leave it on, unless a test of the path says otherwise",
            );
        }
    }
    Ok(())
}
