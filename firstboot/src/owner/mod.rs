//! Who set a live value: which file, tuned profile, rule or unit says it, or nobody, so that it was set by hand.
//!
//! Nothing in the kernel remembers who wrote a value. So everything on disk that can set one is read once
//! ([`Owners::read`]) and asked what it says of a knob: a claim. The claim that explains the live value and is applied
//! last at boot is the owner. When nothing explains it, somebody changed it by hand since.
//!
//! Read are: sysctl.d with its precedence and `/etc/sysctl.conf`, the active tuned profile with what it includes, udev
//! rules, `.link` and `.network` files, connections of NetworkManager, and commands in a site's own unit files and
//! `rc.local`. Nothing is changed, and nothing on disk is run.

mod claim;
mod command;
mod conf;
mod glob;
mod ini;
mod judge;
mod network_manager;
mod networkd;
mod ours;
mod rules;
mod sysctl;
mod target;
mod tuned;
mod units;

pub use ours::{Restored, read_restored, write_restored};

use crate::door::Door;
use crate::host::Host;
use claim::Claim;
use dtnforge_profiles::audit::Setter;
use dtnforge_profiles::knob::KnobId;
use dtnforge_profiles::plan::Plan;
use dtnforge_profiles::status::ActiveKnob;
use dtnforge_profiles::value::Value;
use target::Target;

/// All that can set a knob on this host.
#[derive(Debug)]
pub struct Owners {
    host: Host,
    ours: ours::Ours,
    sysctl: sysctl::SysctlFiles,
    tuned: tuned::ActiveProfile,
    rules: rules::Rules,
    networkd: networkd::NetworkFiles,
    connections: network_manager::Connections,
    commands: units::Commands,
}

/// Names the owner of each value that is not the committed one. `plan` is the committed one where its values were put
/// in place in this boot. Drift is reported and never fought.
pub fn explain(host: &Host, doors: &dyn Door, plan: Option<&Plan>, knobs: &mut [ActiveKnob]) {
    if knobs.iter().all(|knob| knob.ok) {
        return;
    }
    let owners = Owners::read(host, doors, plan);
    for knob in knobs.iter_mut().filter(|knob| !knob.ok) {
        let expected = plan.is_some().then_some(&knob.committed);
        knob.owner = knob.now.as_ref().map(|now| owners.of(&knob.knob, now, expected));
    }
}

impl Owners {
    /// Reads everything on disk that can set a knob. `plan` is what the agent itself has live in this boot.
    pub fn read(host: &Host, doors: &dyn Door, plan: Option<&Plan>) -> Self {
        Self {
            host: host.clone(),
            ours: ours::Ours::read(host, plan),
            sysctl: sysctl::SysctlFiles::read(host),
            tuned: tuned::ActiveProfile::read(host, doors),
            rules: rules::Rules::read(host),
            networkd: networkd::NetworkFiles::read(host),
            connections: network_manager::Connections::read(host),
            commands: units::Commands::read(host),
        }
    }

    /// Who set `live`, the present value of `knob`. `expected` is the value that a commit put there, if one did.
    pub fn of(&self, knob: &KnobId, live: &Value, expected: Option<&Value>) -> Setter {
        judge::owner(&self.claims(knob), live, expected)
    }

    /// Who sets a value at the next boot that is none of `good`, although a file of ours is there by then.
    /// `tuned_is_ours`: the tuned profile of that boot is ours, whatever is active now.
    pub fn at_boot(&self, knob: &KnobId, good: &[&Value], tuned_is_ours: bool) -> Option<Setter> {
        judge::against_us(&self.claims(knob), good, tuned_is_ours)
    }

    /// What of others sets `knob` to another value than `now` at the next boot.
    pub fn of_others_at_boot(&self, knob: &KnobId, now: &Value) -> Option<Setter> {
        judge::of_others_at_boot(&self.claims(knob), now)
    }

    /// Warnings about `/etc/sysctl.conf` where it holds one of `knobs` and is not read at boot.
    pub fn warnings<'a>(&self, knobs: impl IntoIterator<Item = &'a KnobId>) -> Vec<String> {
        self.sysctl.warnings(knobs)
    }

    /// What is said of a knob, in the order in which it is applied at boot: the last one wins.
    fn claims(&self, knob: &KnobId) -> Vec<Claim> {
        let target = Target::of(&self.host, knob);
        let mut claims = self.ours.claims(knob);
        if matches!(knob, KnobId::Qdisc(_, key) if key == "leaf") {
            // The kernel makes the leaves of a NIC that comes up, by this key.
            claims.extend(self.claims(&KnobId::Sysctl("net.core.default_qdisc".to_owned())));
        }
        claims.extend(self.sysctl.losers(&target));
        claims.extend(self.networkd.claims(&target));
        claims.extend(self.rules.claims(&target));
        // tuned starts after sysctl.d was applied, and then applies the files of /etc and /run once more.
        let winner = self.sysctl.winner(&target);
        let again = self.tuned.reapplies_sysctl();
        let (last, first): (Vec<_>, Vec<_>) = winner
            .into_iter()
            .partition(|winner| again && winner.is_reapplied);
        claims.extend(first.into_iter().map(|winner| winner.claim));
        claims.extend(self.connections.claims(&target));
        claims.extend(self.tuned.claims(&target));
        claims.extend(last.into_iter().map(|winner| winner.claim));
        claims.extend(self.commands.claims(&target));
        claims.extend(self.ours.restored(knob));
        claims
    }
}

#[cfg(test)]
mod tests;
