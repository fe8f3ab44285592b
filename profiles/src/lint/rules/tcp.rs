//! How TCP behaves: what must stay on, and what is a choice for one role only.

use crate::lint::context::{Context, Missing};
use crate::lint::definition::{Example, Lint, Needs, Severity, Theme};
use crate::lint::finding::Found;
use crate::lint::setting::Origin;
use crate::site::Role;

pub(super) const LINTS: &[Lint] = &[
    Lint {
        id: "timestamps-off",
        severity: Severity::Error,
        theme: Theme::Tcp,
        needs: Needs::Files,
        what: "TCP timestamps are off",
        reason: "Without timestamps there is no protection against wrapped sequence numbers (PAWS; at 100 Gb/s they \
                 wrap in a third of a second), and fewer RTT samples for autotuning. Guides that switch them off to \
                 save 12 bytes are obsolete.",
        source: "RFC 7323; ESnet fasterdata, host-tuning/linux",
        bad: Example::files(&[("/etc/sysctl.d/90-site.conf", "net.ipv4.tcp_timestamps = 0\n")]),
        good: Example::files(&[("/etc/sysctl.d/90-site.conf", "net.ipv4.tcp_timestamps = 1\n")]),
        check: |context, found| {
            must_not_be(
                context,
                found,
                "net.ipv4.tcp_timestamps",
                0,
                "large windows lose PAWS and RTT samples",
            )
        },
    },
    Lint {
        id: "sack-off",
        severity: Severity::Error,
        theme: Theme::Tcp,
        needs: Needs::Files,
        what: "Selective acknowledgements are off",
        reason: "Each loss in a large window then costs a round trip, or the whole window again.",
        source: "RFC 2018; kernel Documentation/networking/ip-sysctl.rst (tcp_sack)",
        bad: Example::files(&[("/etc/sysctl.d/90-site.conf", "net.ipv4.tcp_sack = 0\n")]),
        good: Example::files(&[("/etc/sysctl.d/90-site.conf", "net.ipv4.tcp_sack = 1\n")]),
        check: |context, found| {
            must_not_be(
                context,
                found,
                "net.ipv4.tcp_sack",
                0,
                "a loss in a large window costs a round trip each",
            )
        },
    },
    Lint {
        id: "window-scaling-off",
        severity: Severity::Error,
        theme: Theme::Tcp,
        needs: Needs::Files,
        what: "Window scaling is off",
        reason: "A window is then at most 64 KiB: 5 Mb/s at 100 ms, whatever the buffers are.",
        source: "RFC 7323",
        bad: Example::files(&[("/etc/sysctl.d/90-site.conf", "net.ipv4.tcp_window_scaling = 0\n")]),
        good: Example::files(&[("/etc/sysctl.d/90-site.conf", "net.ipv4.tcp_window_scaling = 1\n")]),
        check: |context, found| {
            must_not_be(
                context,
                found,
                "net.ipv4.tcp_window_scaling",
                0,
                "no window is larger than 64 KiB",
            )
        },
    },
    Lint {
        id: "autotuning-off",
        severity: Severity::Error,
        theme: Theme::Tcp,
        needs: Needs::Files,
        what: "Autotuning of the receive buffer is off",
        reason: "Each socket keeps the start value of tcp_rmem, 128 KiB by default: 5 Mb/s at 100 ms. tcp_rmem[2] then \
                 has no effect.",
        source: "kernel Documentation/networking/ip-sysctl.rst (tcp_moderate_rcvbuf)",
        bad: Example::files(&[("/etc/sysctl.d/90-site.conf", "net.ipv4.tcp_moderate_rcvbuf = 0\n")]),
        good: Example::files(&[("/etc/sysctl.d/90-site.conf", "net.ipv4.tcp_moderate_rcvbuf = 1\n")]),
        check: |context, found| {
            must_not_be(
                context,
                found,
                "net.ipv4.tcp_moderate_rcvbuf",
                0,
                "buffers stay at the start of tcp_rmem",
            )
        },
    },
    Lint {
        id: "mtu-probing-always",
        severity: Severity::Warning,
        theme: Theme::Tcp,
        needs: Needs::Files,
        what: "Path MTU probing starts with small packets on every connection",
        reason: "2 begins each connection at tcp_base_mss and takes each loss for a packet that was too large: on a \
                 lossy path the segments stay small and the ramp is slow. 1 probes only once a black hole is \
                 suspected.",
        source: "ESnet fasterdata, host-tuning/linux; kernel Documentation/networking/ip-sysctl.rst",
        bad: Example::files(&[("/etc/sysctl.d/90-site.conf", "net.ipv4.tcp_mtu_probing = 2\n")]),
        good: Example::files(&[("/etc/sysctl.d/90-site.conf", "net.ipv4.tcp_mtu_probing = 1\n")]),
        check: mtu_probing,
    },
    Lint {
        id: "shrink-window",
        severity: Severity::Warning,
        theme: Theme::Tcp,
        needs: Needs::Files,
        what: "TCP may take back a window that it has offered",
        reason: "A sender then sees data rejected that it was allowed to send. RFC 9293 discourages it; it is meant for \
                 hosts that run out of memory, not for transfers.",
        source: "kernel Documentation/networking/ip-sysctl.rst (tcp_shrink_window); RFC 9293, 3.8.6",
        bad: Example::files(&[("/etc/sysctl.d/90-site.conf", "net.ipv4.tcp_shrink_window = 1\n")]),
        good: Example::files(&[("/etc/sysctl.d/90-site.conf", "net.ipv4.tcp_shrink_window = 0\n")]),
        check: |context, found| {
            must_not_be(
                context,
                found,
                "net.ipv4.tcp_shrink_window",
                1,
                "offered windows are taken back",
            )
        },
    },
    Lint {
        id: "metrics-and-role",
        severity: Severity::Warning,
        theme: Theme::Tcp,
        needs: Needs::Role,
        what: "tcp_no_metrics_save does not fit the role",
        reason: "The cache starts a connection from what the last one to the same host saw. A measurement must not \
                 depend on the one before (1 is right for perfsonar); request-response lives from it (0 is right for \
                 remote-processing and xrootd-frontend). For bulk transfers both are defensible, so a dtn is not \
                 judged.",
        source: "perfsonar/toolkit, configure_sysctl; kernel Documentation/networking/ip-sysctl.rst",
        bad: Example::files(&[("/etc/sysctl.d/90-site.conf", "net.ipv4.tcp_no_metrics_save = 1\n")])
            .role("remote-processing"),
        good: Example::files(&[("/etc/sysctl.d/90-site.conf", "net.ipv4.tcp_no_metrics_save = 1\n")])
            .role("perfsonar"),
        check: metrics,
    },
];

fn must_not_be(
    context: &Context<'_>,
    found: &mut Found<'_>,
    name: &str,
    bad: i128,
    effect: &str,
) -> Result<(), Missing> {
    let settings = context
        .sysctl(name)
        .filter(|setting| setting.integer() == Some(bad));
    for setting in settings {
        let hint = format!("set it to {}, the kernel's default, or remove the line", 1 - bad);
        found.at(&setting.place, format!("{}: {effect}", setting.shown()), hint);
    }
    Ok(())
}

fn mtu_probing(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    let always = context
        .sysctl("net.ipv4.tcp_mtu_probing")
        .filter(|setting| setting.integer() >= Some(2));
    for setting in always {
        let message = format!(
            "{}: every connection starts small, and a loss keeps it small",
            setting.shown()
        );
        found.at(
            &setting.place,
            message,
            "set it to 1, which probes only once a black hole is suspected",
        );
    }
    Ok(())
}

fn metrics(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for setting in context.sysctl("net.ipv4.tcp_no_metrics_save") {
        let roles = match setting.origin {
            Origin::Catalog(index) => context
                .catalog
                .profiles
                .get(index)
                .map(|view| view.profile.roles.clone()),
            _ => Some(vec![context.role()?]),
        };
        let value = setting.integer();
        for role in roles.unwrap_or_default() {
            let Some((wanted, why)) = metrics_of(role) else {
                continue;
            };
            if value.is_some_and(|value| (value != 0) != (wanted != 0)) {
                let message = format!("{} on a {role} host: {why}", setting.shown());
                found.at(
                    &setting.place,
                    message,
                    format!("set it to {wanted} for this role"),
                );
            }
        }
    }
    Ok(())
}

/// The value that a role wants, and what the other one costs; `None` where both are defensible.
fn metrics_of(role: Role) -> Option<(i128, &'static str)> {
    match role {
        Role::Perfsonar => Some((1, "a test starts from what the last one saw")),
        Role::RemoteProcessing | Role::XrootdFrontend => {
            Some((0, "each short connection starts from nothing"))
        }
        Role::Dtn => None,
    }
}
