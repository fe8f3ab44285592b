//! Congestion control.

use crate::lint::context::{Context, Missing};
use crate::lint::definition::{Example, Lint, Needs, Severity, Theme};
use crate::lint::finding::Found;
use crate::lint::setting::{Origin, Setting};

pub(super) const LINTS: &[Lint] = &[
    Lint {
        id: "bbr-version-1",
        severity: Severity::Warning,
        theme: Theme::Tcp,
        needs: Needs::Files,
        what: "bbr is made the default of the host",
        reason: "The bbr of mainline kernels is version 1: beside cubic, or with a shallow buffer at the bottleneck, it \
                 takes more than its share and retransmits much. A data challenge that compared both saw no gain; some \
                 paths with microbursts do gain. So it is a choice for a path that was measured, not a default. The \
                 name cannot tell a version 3 from outside the mainline. A profile of the catalog that names bbr has \
                 given its reason and is not judged.",
        source: "arXiv 2505.07741; arXiv 2603.12660 (the favourable case); perfsonar/pscheduler#256",
        bad: Example::files(&[(
            "/etc/sysctl.d/90-site.conf",
            "net.ipv4.tcp_congestion_control = bbr\nnet.core.default_qdisc = fq\n",
        )]),
        good: Example::files(&[(
            "/etc/sysctl.d/90-site.conf",
            "net.ipv4.tcp_congestion_control = cubic\n",
        )]),
        check: bbr,
    },
    Lint {
        id: "bbr-unpaced",
        severity: Severity::Error,
        theme: Theme::Tcp,
        needs: Needs::Host,
        what: "bbr without fq, on a kernel whose TCP cannot pace",
        reason: "bbr depends on pacing. TCP paces by itself since Linux 4.20; before that the queue discipline fq has \
                 to. On a later kernel any queue discipline will do.",
        source: "ESnet fasterdata, packet-pacing; Linux 4.20, net/ipv4/tcp_output.c",
        bad: Example::files(&[(
            "site.toml",
            "schema = 1\nname = 'site'\ntitle = 'Site'\nroles = ['dtn']\n[[knob]]\n\
             id = 'sysctl:net.ipv4.tcp_congestion_control'\nvalue = 'bbr'\nwhy = 'w'\nsource = 's'\n",
        )])
        .on("[host]\nkernel = '4.18.0-553.el8.x86_64'\n"),
        good: Example::files(&[(
            "site.toml",
            "schema = 1\nname = 'site'\ntitle = 'Site'\nroles = ['dtn']\n[[knob]]\n\
             id = 'sysctl:net.ipv4.tcp_congestion_control'\nvalue = 'bbr'\nwhy = 'w'\nsource = 's'\n",
        )])
        .on("[host]\nkernel = '6.12.41+deb13-amd64'\n"),
        check: bbr_unpaced,
    },
];

fn bbr(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    let key = "net.ipv4.tcp_congestion_control";
    let foreign = context
        .sysctl(key)
        .filter(|setting| !matches!(setting.origin, Origin::Catalog(_)));
    for setting in foreign.filter(|setting| setting.value == "bbr") {
        found.at(
            &setting.place,
            format!(
                "{}: mainline bbr is version 1, unfair beside cubic where they share a bottleneck",
                setting.shown()
            ),
            "keep cubic, unless a comparison on your own paths says otherwise",
        );
    }
    Ok(())
}

fn bbr_unpaced(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    let bbr: Vec<_> = context
        .sysctl("net.ipv4.tcp_congestion_control")
        .filter(|setting| setting.value == "bbr")
        .collect();
    for setting in bbr {
        // The facts say which kernel it is; without them a kernel of today is meant.
        if context.facts().is_err() || context.kernel.version >= (4, 20) {
            continue;
        }
        let same = |other: &&Setting| other.origin == setting.origin;
        let fq = context
            .sysctl("net.core.default_qdisc")
            .filter(same)
            .any(|other| other.value == "fq");
        if !fq {
            found.at(
                &setting.place,
                format!(
                    "{}: nothing paces on the kernel {}, and bbr needs pacing",
                    setting.shown(),
                    context.kernel.name
                ),
                "set net.core.default_qdisc to fq as well",
            );
        }
    }
    Ok(())
}
