//! The arms of the experiment on a real host: the plan by a [`Transaction`], the network by the checks.

use super::experiment::{Arms, Sight};
use super::reach_of_plan::Changed;
use crate::checks::{self, Known, Loss};
use crate::detect::Clock;
use crate::door::Doors;
use crate::host::Host;
use crate::notify;
use crate::trial::{RollbackReport, Transaction, WITHDRAWAL_PATH};
use dtnforge_profiles::knob::Disrupts;
use std::time::Duration;

/// How long a network may take to come back when neither links nor addresses were touched.
const RECOVERY: Duration = Duration::from_secs(30);
/// The same when links went down, or an address is asked for anew, which may take the link down as well: the port of a
/// switch may not forward for 30 s, and the wait between two requests for a lease has grown by then.
const RECOVERY_OF_LINK: Duration = Duration::from_secs(75);
/// A change takes a moment to show: a link that goes down is up for a little longer.
const SHOWS: Duration = Duration::from_secs(5);
/// The time between two looks.
const STEP: Duration = Duration::from_secs(2);
/// Time for one way of the plan: a start or a stop of tuned alone may take three minutes.
const ONE_WAY: Duration = Duration::from_secs(600);
/// Time to have interfaces configured anew.
const COMMAND: Duration = Duration::from_secs(20);

/// The eye on the network.
pub(super) struct Watch<'a> {
    host: &'a Host,
    clock: &'a dyn Clock,
    known: &'a Known,
    ports: Vec<String>,
}

impl<'a> Watch<'a> {
    pub(super) fn new(host: &'a Host, clock: &'a dyn Clock, known: &'a Known) -> Self {
        Self {
            host,
            clock,
            known,
            ports: known.ports(),
        }
    }

    /// Whether all is there at a glance: what nearly every boot finds, in no time.
    pub(super) fn all_is_there(&self) -> bool {
        self.known
            .is_all_there(&checks::reach_at_a_glance(self.host, &self.ports))
    }

    /// Looks for the network for at most `limit`.
    pub(super) fn look_for(&self, limit: Duration) -> Sight {
        let start = self.clock.now();
        loop {
            match self.known.lost(&checks::reach(self.host, &self.ports)) {
                None => return Sight::There,
                Some(_) if notify::stop_asked() => return Sight::Stopped,
                Some(lost) if self.clock.now().saturating_sub(start) >= limit => return Sight::Lost(lost),
                Some(_) => self.clock.sleep(STEP),
            }
        }
    }
}

/// A commit that can be taken out and put back.
pub(super) struct PlanArms<'a> {
    watch: &'a Watch<'a>,
    doors: &'a Doors,
    changed: &'a Changed,
    /// Open while the plan is out.
    out: Option<Transaction<'a>>,
    /// Interfaces whose addresses are asked for anew after each change.
    renewed: Vec<String>,
}

impl<'a> PlanArms<'a> {
    /// The arms of an experiment on what is `lost`. Where it is an address, each arm asks for one anew: a client that
    /// got no answer waits longer and longer, and one that has an address would not notice that it could not get one.
    pub(super) fn new(watch: &'a Watch<'a>, doors: &'a Doors, changed: &'a Changed, lost: &Loss) -> Self {
        let renewed = match lost {
            Loss::Address(_) => checks::waiting_for_address(watch.host),
            _ => Vec::new(),
        };
        Self {
            watch,
            doors,
            changed,
            out: None,
            renewed,
        }
    }

    /// Ends an experiment that left the plan out.
    ///
    /// # Errors
    /// When the journal cannot be removed.
    pub(super) fn finish(self) -> anyhow::Result<()> {
        match self.out {
            Some(transaction) => Ok(transaction.finish()?),
            None => Ok(()),
        }
    }

    /// How many knobs are taken out and put back.
    pub(super) fn knobs(&self) -> usize {
        self.changed.plan.steps.len()
    }

    fn limit(&self) -> Duration {
        let steps = &self.changed.plan.steps;
        let flaps = steps.iter().any(|step| step.disrupts == Disrupts::Link);
        if flaps || !self.renewed.is_empty() {
            RECOVERY_OF_LINK
        } else {
            RECOVERY
        }
    }

    /// Has the interfaces configured anew. Without networkd, whoever configures them asks again by itself.
    fn renew(&self) {
        if self.renewed.is_empty() {
            return;
        }
        let mut args = vec!["reconfigure"];
        args.extend(self.renewed.iter().map(String::as_str));
        if let Err(error) = self.watch.host.run("networkctl", &args, COMMAND) {
            log::info!("addresses are not asked for anew: {error}");
        }
    }
}

impl Arms for PlanArms<'_> {
    fn take_out(&mut self) -> Result<Vec<String>, String> {
        notify::progress("taking the commit out: is it why there is no network?", ONE_WAY);
        let host = self.watch.host;
        let journal = host.path(WITHDRAWAL_PATH);
        let transaction = Transaction::begin(host, self.doors, &journal);
        let transaction = self.out.insert(transaction.map_err(|error| error.to_string())?);
        let report = transaction.withdraw(&self.changed.plan, &self.changed.stock);
        report
            .map(|report| report.problems())
            .map_err(|error| error.to_string())
    }

    fn put_back(&mut self) -> Vec<String> {
        notify::progress("putting the commit back in", ONE_WAY);
        let Some(mut transaction) = self.out.take() else {
            return Vec::new();
        };
        let mut problems = RollbackReport::problems(&transaction.rollback());
        // What could not be put back is drift of a commit, which is told; a journal that stayed would have it be tried
        // again by every run of this boot.
        if let Err(error) = transaction.finish() {
            problems.push(error.to_string());
        }
        problems
    }

    fn look(&mut self) -> Sight {
        let limit = self.limit();
        notify::progress("looking for the network", limit * 2);
        self.renew();
        self.watch.clock.sleep(SHOWS);
        self.watch.look_for(limit)
    }
}
