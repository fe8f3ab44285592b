//! Queue disciplines that the kernel has, and that do not do as the default of every device.

use crate::lint::context::{Context, Missing};
use crate::lint::definition::{Example, Lint, Needs, Severity, Theme};
use crate::lint::finding::Found;
use crate::lint::kernel::{AsDefault, Names, as_default, names_of};
use crate::lint::setting::{Setting, What};

pub(super) const LINTS: &[Lint] = &[
    Lint {
        id: "qdisc-drops-all",
        severity: Severity::Error,
        theme: Theme::Queues,
        needs: Needs::Files,
        what: "A queue discipline lets no packet pass",
        reason: "blackhole drops every packet. drr and qfq drop what is in none of their classes, and have none as a \
                 default; plug waits for a command that never comes. As net.core.default_qdisc each of them takes the \
                 host off the network at the next link up, which is the next boot: a port that is up keeps the one it \
                 has, so all looks well until then.",
        source: "Linux 6.12, net/sched/sch_blackhole.c, sch_drr.c, sch_qfq.c, sch_plug.c, sch_generic.c \
                 (attach_default_qdiscs)",
        bad: Example::files(&[(
            "/etc/sysctl.d/90-site.conf",
            "net.core.default_qdisc = blackhole\n",
        )]),
        good: Example::files(&[("/etc/sysctl.d/90-site.conf", "net.core.default_qdisc = fq\n")]),
        check: drops_all,
    },
    Lint {
        id: "default-qdisc-unfit",
        severity: Severity::Error,
        theme: Theme::Queues,
        needs: Needs::Files,
        what: "The default queue discipline cannot be set up without options, or not below a transmit queue",
        reason: "The kernel takes the name of any discipline that it has. Where it cannot set it up (htb and tbf want \
                 options, mq and ingress another place), it says `default qdisc fail, fallback to noqueue` in its log \
                 and leaves the device without a queue: what the NIC cannot take at once is lost.",
        source: "Linux 6.12, net/sched/sch_api.c (set_default_qdisc), sch_generic.c (attach_default_qdiscs), the init \
                 of each discipline",
        bad: Example::files(&[("/etc/sysctl.d/90-site.conf", "net.core.default_qdisc = htb\n")]),
        good: Example::files(&[("/etc/rc.local", "tc qdisc replace dev eth0 parent 1:1 fq\n")]),
        check: unfit,
    },
];

/// The live values of `net.core.default_qdisc`, with what they do.
fn defaults<'b>(context: &'b Context<'_>, does: AsDefault) -> impl Iterator<Item = &'b Setting> {
    context.live().filter(move |setting| {
        setting.key().and_then(names_of) == Some(Names::Qdisc)
            && as_default(setting.value.as_str()) == Some(does)
    })
}

fn drops_all(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for setting in defaults(context, AsDefault::DropsAll) {
        let message = format!(
            "{}: no packet leaves by a device that comes up with it",
            setting.shown()
        );
        found.at(&setting.place, message, "take fq or fq_codel");
    }
    for setting in context.live().filter(|setting| setting.value == "blackhole") {
        if let What::Qdisc(device, _) = &setting.what {
            let message = format!("blackhole on {device} drops every packet that it is to send");
            found.at(&setting.place, message, "take fq or fq_codel");
        }
    }
    Ok(())
}

fn unfit(context: &Context<'_>, found: &mut Found<'_>) -> Result<(), Missing> {
    for setting in defaults(context, AsDefault::Fails) {
        let message = format!(
            "{}: the kernel cannot set it up below a transmit queue, and leaves the device without a queue",
            setting.shown()
        );
        let hint = "take fq or fq_codel; set what needs options by tc, on one device";
        found.at(&setting.place, message, hint);
    }
    Ok(())
}
