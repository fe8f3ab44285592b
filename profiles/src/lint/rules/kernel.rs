//! Names and values that a kernel does not take.

use crate::lint::context::{Context, Missing};
use crate::lint::definition::{Example, Lint, Needs, Severity, Theme};
use crate::lint::finding::Found;
use crate::lint::kernel::{
    CONGESTION, Known, Names, accept, as_default, default_qdiscs, fields_of, gone, is_in_extra_package,
    look_up, module_of, names_of, nearest_key,
};
use crate::lint::key::SysctlKey;
use crate::lint::setting::{Origin, Setting};
use crate::lint::text::size;

pub(super) const LINTS: &[Lint] = &[
    Lint {
        id: "unknown-key",
        severity: Severity::Error,
        theme: Theme::Kernel,
        needs: Needs::Files,
        what: "No mainline kernel has a sysctl of this name",
        reason: "Writing it fails with ENOENT. systemd-sysctl logs that and goes on, so the file looks right and the \
                 value is never set. A key of the catalog that the registry of knobs lacks is refused as well.",
        source: "Linux 6.12, net/core/sysctl_net_core.c, net/ipv4/{sysctl_net_ipv4,devinet,route}.c, mm/, \
                 net/sunrpc/xprtsock.c",
        bad: Example::files(&[(
            "/etc/sysctl.d/90-site.conf",
            "net.ipv4.tcp_rmen = 4096 131072 33554432\n",
        )]),
        good: Example::files(&[(
            "/etc/sysctl.d/90-site.conf",
            "net.ipv4.tcp_rmem = 4096 131072 33554432\n",
        )]),
        check: unknown_key,
    },
    Lint {
        id: "obsolete-key",
        severity: Severity::Warning,
        theme: Theme::Kernel,
        needs: Needs::Files,
        what: "The sysctl is gone, or does nothing any more",
        reason: "Guides are copied for decades. A line that does nothing hides which lines do something; a key that \
                 is gone makes `sysctl -p` fail.",
        source: "kernel Documentation/networking/ip-sysctl.rst of 6.12; Documentation/admin-guide/sysctl/vm.rst",
        bad: Example::files(&[("/etc/sysctl.d/90-site.conf", "net.ipv4.tcp_low_latency = 1\n")]),
        good: Example::files(&[("/etc/sysctl.d/90-site.conf", "net.ipv4.tcp_fastopen = 3\n")]),
        check: obsolete_key,
    },
    Lint {
        id: "key-needs-module",
        severity: Severity::Warning,
        theme: Theme::Kernel,
        needs: Needs::Files,
        what: "The sysctl is there only once a module is loaded",
        reason: "systemd-sysctl runs early, and passes over a key that is not there yet. When the module comes later, \
                 nobody sets it.",
        source: "sysctl.d(5), example 3; systemd/systemd#43362, systemd/systemd#1113",
        bad: Example::files(&[(
            "/etc/sysctl.d/90-site.conf",
            "net.netfilter.nf_conntrack_max = 1048576\n",
        )]),
        good: Example::files(&[("/etc/sysctl.d/90-site.conf", "net.core.somaxconn = 4096\n")]),
        check: key_needs_module,
    },
    Lint {
        id: "value-refused",
        severity: Severity::Error,
        theme: Theme::Kernel,
        needs: Needs::Files,
        what: "The kernel refuses the value",
        reason: "Most network keys are C ints: 2^31 and more is EINVAL, as is a unit after the number, and some have a \
                 smallest value (buffers; netdev_budget_usecs: two ticks of the timer, 8000 us on Debian, 2000 us on \
                 EL9). The old value stays. Without --host the kernel is Debian 13's 6.12.",
        source: "Linux 6.12, kernel/sysctl.c (do_proc_dointvec_conv), net/core/sysctl_net_core.c, \
                 net/ipv4/sysctl_net_ipv4.c",
        bad: Example::files(&[(
            "/etc/sysctl.d/90-site.conf",
            "net.core.netdev_budget_usecs = 4000\n",
        )]),
        good: Example::files(&[(
            "/etc/sysctl.d/90-site.conf",
            "net.core.netdev_budget_usecs = 4000\n",
        )])
        .on("[host]\nkernel = '5.14.0-503.el9.x86_64'\n"),
        check: value_refused,
    },
    Lint {
        id: "value-out-of-range",
        severity: Severity::Error,
        theme: Theme::Kernel,
        needs: Needs::Files,
        what: "A value of a profile is outside the range of its knob",
        reason: "The registry of knobs has a range for each, no wider than what kernels and devices take, and \
                 narrower where more is known to harm. A plan must never hold a value that cannot be written.",
        source: "docs/reference: the registry of knobs; profiles/src/knob/registry.rs",
        bad: Example::files(&[(
            "site.toml",
            "schema = 1\nname = 'site'\ntitle = 'Site'\nroles = ['dtn']\n[[knob]]\nid = 'sysctl:vm.swappiness'\n\
             value = 300\nwhy = 'w'\nsource = 's'\n",
        )]),
        good: Example::files(&[(
            "site.toml",
            "schema = 1\nname = 'site'\ntitle = 'Site'\nroles = ['dtn']\n[[knob]]\nid = 'sysctl:vm.swappiness'\n\
             value = 10\nwhy = 'w'\nsource = 's'\n",
        )]),
        check: super::catalog::problems,
    },
    Lint {
        id: "vector-form",
        severity: Severity::Error,
        theme: Theme::Kernel,
        needs: Needs::Files,
        what: "A value has too few or too many numbers, or they are not in order",
        reason: "The kernel reads as many numbers as there are: `tcp_rmem = 67108864` sets the minimum of every socket \
                 to 64 MiB and leaves the maximum. It ignores what is too much, and does not look whether minimum, \
                 start and maximum are in order.",
        source: "Linux 6.12, kernel/sysctl.c (__do_proc_dointvec); net/ipv4/sysctl_net_ipv4.c (tcp_rmem)",
        bad: Example::files(&[("/etc/sysctl.d/90-site.conf", "net.ipv4.tcp_rmem = 67108864\n")]),
        good: Example::files(&[(
            "/etc/sysctl.d/90-site.conf",
            "net.ipv4.tcp_rmem = 4096 131072 67108864\n",
        )]),
        check: vector_form,
    },
    Lint {
        id: "pages-not-bytes",
        severity: Severity::Error,
        theme: Theme::Kernel,
        needs: Needs::Host,
        what: "tcp_mem or udp_mem is larger than the memory of the host: it counts pages",
        reason: "tcp_mem and udp_mem are in pages of 4096 byte, unlike tcp_rmem. A value in bytes is 4096 times too \
                 large, and the kernel then never sees memory pressure until there is no memory.",
        source: "kernel Documentation/networking/ip-sysctl.rst (tcp_mem); Linux 6.12, net/ipv4/tcp.c (tcp_init_mem)",
        bad: Example::files(&[(
            "/etc/sysctl.d/90-site.conf",
            "net.ipv4.udp_mem = 16777216 33554432 67108864\n",
        )])
        .on("[host]\nmemory_gib = 64.0\n"),
        good: Example::files(&[(
            "/etc/sysctl.d/90-site.conf",
            "net.ipv4.udp_mem = 786432 1048576 1572864\n",
        )])
        .on("[host]\nmemory_gib = 64.0\n"),
        check: pages_not_bytes,
    },
    Lint {
        id: "module-missing",
        severity: Severity::Error,
        theme: Theme::Kernel,
        needs: Needs::Files,
        what: "The kernel has no module of this name",
        reason: "A congestion control or a default queue discipline is the name of a module. Where it is missing, \
                 writing fails with ENOENT and the old one stays. bbr2 and bbr3 are in no mainline kernel; on EL9 \
                 htcp is in the package kernel-modules-extra.",
        source: "Linux 6.12, net/ipv4/tcp_*.c, net/sched/sch_*.c; EL9 kernel packages",
        bad: Example::files(&[(
            "/etc/sysctl.d/90-site.conf",
            "net.ipv4.tcp_congestion_control = bbr3\n",
        )]),
        good: Example::files(&[(
            "/etc/sysctl.d/90-site.conf",
            "net.ipv4.tcp_congestion_control = cubic\n",
        )]),
        check: module_missing,
    },
];

/// Settings of sysctls of foreign files, those that lose included: a mistake is one, whoever wins.
fn written<'b>(context: &'b Context<'_>) -> impl Iterator<Item = (&'b Setting, &'b SysctlKey)> {
    let foreign = context
        .settings
        .iter()
        .filter(|setting| !matches!(setting.origin, Origin::Catalog(_)));
    // What a profile of tuned includes is not written here.
    let own = foreign.filter(|setting| setting.included_from.is_none());
    own.filter_map(|setting| setting.key().map(|key| (setting, key)))
}

fn unknown_key(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for (setting, key) in written(context).filter(|(_, key)| !key.is_glob()) {
        if gone(key, &context.kernel).is_some() {
            continue;
        }
        match look_up(key, &context.kernel) {
            Known::Yes | Known::NotListed => {}
            Known::Since((major, minor)) => found.at(
                &setting.place,
                format!(
                    "{key} is in Linux {major}.{minor} and later; the kernel is {}",
                    context.kernel.name
                ),
                "remove the line, or put `-` before the key where the file is for several kernels",
            ),
            Known::No => found.at(
                &setting.place,
                format!("no mainline kernel has the sysctl {key}"),
                match nearest_key(key) {
                    Some(near) => format!("did you mean {near}?"),
                    None => "remove the line".to_owned(),
                },
            ),
        }
    }
    super::catalog::problems(context, found)
}

fn obsolete_key(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for (setting, key) in written(context) {
        if let Some(gone) = gone(key, &context.kernel) {
            found.at(&setting.place, format!("{key} {}", gone.what()), gone.hint);
        }
    }
    Ok(())
}

fn key_needs_module(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    let at_boot = written(context)
        .filter(|(setting, _)| matches!(setting.origin, Origin::SysctlD(_)) && setting.is_live());
    for (setting, key) in at_boot {
        if let Some(module) = module_of(key) {
            found.at(
                &setting.place,
                format!("{key} is there only once the module {module} is loaded"),
                format!("name {module} in a file of /etc/modules-load.d, which is read before sysctl.d"),
            );
        }
    }
    Ok(())
}

fn value_refused(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for (setting, key) in written(context).filter(|(_, key)| !key.is_glob()) {
        if let Err(refused) = accept(key, &setting.value, &context.kernel) {
            found.at(
                &setting.place,
                format!("{}: {}", setting.shown(), refused.why),
                refused.hint,
            );
        }
    }
    Ok(())
}

fn vector_form(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for (setting, key) in written(context) {
        let (Some(fields), Some(numbers)) = (fields_of(key), setting.integers()) else {
            continue;
        };
        if numbers.is_empty() {
            continue;
        }
        if numbers.len() != fields {
            let (is, wanted) = (count(numbers.len()), count(fields));
            let message = format!("{}: {is}, and the key has {wanted}", setting.shown());
            found.at(&setting.place, message, format!("write {wanted}"));
        } else if !numbers.is_sorted() {
            found.at(
                &setting.place,
                format!("{}: a number is less than the one before it", setting.shown()),
                "write minimum, start (or pressure) and maximum, none less than the one before",
            );
        }
    }
    Ok(())
}

fn count(numbers: usize) -> String {
    match numbers {
        1 => "one number".to_owned(),
        _ => format!("{numbers} numbers"),
    }
}

fn pages_not_bytes(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for (setting, key) in written(context).filter(|(setting, _)| setting.is_live()) {
        let Some(pages) = setting
            .last_integer()
            .filter(|_| ["tcp_mem", "udp_mem"].contains(&key.leaf()))
        else {
            continue;
        };
        let bytes = pages.saturating_mul(4096);
        if bytes as f64 > context.memory()? {
            found.at(
                &setting.place,
                format!(
                    "{} is {} of 4096-byte pages, more than the host has",
                    setting.shown(),
                    size(bytes)
                ),
                "remove the line: the kernel computes it from the memory at boot",
            );
        }
    }
    Ok(())
}

fn module_missing(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    let on_host = context.facts().is_ok();
    for setting in context.live() {
        let Some(names) = setting.key().and_then(names_of) else {
            continue;
        };
        let name = setting.value.as_str();
        // What is no name at all is refused for that.
        let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
        if is_name && !is_known(names, name) {
            let (kind, known) = known(names);
            found.at(
                &setting.place,
                format!("no mainline kernel has the {kind} {name:?}"),
                format!("one of {known}; or leave the line out where a module of your own has the name"),
            );
        } else if on_host && context.kernel.enterprise && is_in_extra_package(name) {
            found.at(
                &setting.place,
                format!(
                    "{name} is not in the main packages of the kernel {}",
                    context.kernel.name
                ),
                "install kernel-modules-extra, or take another one",
            );
        }
    }
    Ok(())
}

fn is_known(names: Names, name: &str) -> bool {
    match names {
        Names::CongestionControl => CONGESTION.contains(&name),
        Names::Qdisc => as_default(name).is_some(),
    }
}

/// What a key names, and the names that it can have.
fn known(names: Names) -> (&'static str, String) {
    match names {
        Names::CongestionControl => ("congestion control", CONGESTION.join(", ")),
        Names::Qdisc => {
            let qdiscs: Vec<&str> = default_qdiscs().collect();
            ("queue discipline", qdiscs.join(", "))
        }
    }
}
