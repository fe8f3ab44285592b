//! `dtn-firstboot boot good`: waits until this boot can be judged, and records the judgement.
//!
//! Nothing else leads to a blessing: the file [`GOOD_BOOT`] is what systemd-bless-boot.service waits for, and it is
//! made only for a boot that the boot loader counted. A boot of the stock entry, or one that the boot loader never saw,
//! is recorded as good and blesses nothing.

use super::{failed, say};
use crate::boot::{self, counter};
use crate::checks;
use crate::detect::{Clock, SystemClock};
use crate::goodboot::{self, Judgement, Seen};
use crate::host::Host;
use crate::notify;
use crate::{atomic, store};
use anyhow::Context as _;
use dtnforge_profiles::envelope::Exit;
use dtnforge_profiles::state::{Boot, BootEnd, Reached};
use log::Level;
use std::time::Duration;

/// Made when a counted boot was judged good.
pub(super) const GOOD_BOOT: &str = "/run/dtnforge/good-boot";

/// The time between two looks. Each one may start a program, and a trial may be measuring meanwhile.
const STEP: Duration = Duration::from_secs(5);
/// Time to hand a job to systemd.
const COMMAND: Duration = Duration::from_secs(10);
/// How long a reason to wait has to last before it is said.
const LASTS: Duration = Duration::from_secs(30);

/// Waits, judges, records.
///
/// # Errors
/// When a good boot cannot be marked as one.
pub(super) fn run(host: &Host) -> anyhow::Result<Exit> {
    let boot = boot::this(host);
    match wait(host, &boot, &SystemClock::default()) {
        Ok(why) => good(host, &boot, &why),
        Err(Bad::NoWayIn) => {
            hand_over(host)?;
            Ok(Exit::Failed)
        }
        Err(Bad::Agent(why)) => {
            agent_failed(host, &boot, &why);
            Ok(Exit::Failed)
        }
    }
}

/// Gives the boot up in a unit of its own, which a shutdown does not end at its beginning as it does this one; here,
/// where that unit cannot be started.
fn hand_over(host: &Host) -> anyhow::Result<()> {
    match host.run(
        "systemctl",
        &["start", "--no-block", "dtn-boot-failed@sshd.service"],
        COMMAND,
    ) {
        Ok(_) => Ok(()),
        Err(error) => {
            log::warn!("{error}");
            failed::give_up(host, "sshd")
        }
    }
}

/// A boot that will not become good.
enum Bad {
    NoWayIn,
    Agent(String),
}

/// Looks until the boot can be judged; for ever, where the network does not come.
fn wait(host: &Host, boot: &Boot, clock: &dyn Clock) -> Result<String, Bad> {
    let mut all_but_sshd: Option<Duration> = None;
    let mut words = Words::default();
    loop {
        let seen = look(host, boot);
        let now = clock.now();
        let rest_is_there = seen.network.is_ok() && !matches!(seen.agent, goodboot::Agent::Working);
        all_but_sshd = rest_is_there.then(|| all_but_sshd.unwrap_or(now));
        let without_sshd = all_but_sshd.map_or(Duration::ZERO, |since| now.saturating_sub(since));
        match goodboot::judge(&seen, without_sshd) {
            Judgement::Good(why) => return Ok(why),
            Judgement::NoWayIn(_) => return Err(Bad::NoWayIn),
            Judgement::AgentFailed(why) => return Err(Bad::Agent(why)),
            Judgement::Working => notify::progress("the agent is still at work", STEP * 30),
            Judgement::Wait(why) => {
                notify::progress(&why, STEP * 30);
                if words.are_news(&why, now) {
                    let sentence = format!("not judged yet: {why}");
                    say(host, Level::Info, &boot.boot_id, &sentence);
                }
            }
        }
        clock.sleep(STEP);
    }
}

/// A reason to wait is said once, when it has lasted: what passes by itself, or flaps, must not fill a console.
#[derive(Default)]
struct Words {
    /// The present reason, and since when.
    reason: Option<(String, Duration)>,
    said: bool,
}

impl Words {
    /// Whether `why`, the reason at `now`, is to be said.
    fn are_news(&mut self, why: &str, now: Duration) -> bool {
        if self.reason.as_ref().is_none_or(|(reason, _)| reason != why) {
            self.reason = Some((why.to_owned(), now));
            self.said = false;
        }
        let since = self.reason.as_ref().map_or(now, |(_, since)| *since);
        let is_news = !self.said && now.saturating_sub(since) >= LASTS;
        self.said |= is_news;
        is_news
    }
}

fn look(host: &Host, boot: &Boot) -> Seen {
    let ssh_ports = checks::listening(host);
    Seen {
        network: checks::configured(host),
        sshd_masked: ssh_ports.is_empty().then(|| checks::masked(host)).flatten(),
        ssh_ports,
        agent: goodboot::observe_agent(host, &boot.boot_id),
    }
}

/// Records a good boot, and marks it for the blessing when it was counted. A state that cannot be written does not
/// make it less good: what this boot would have proved stays unproved, which is safe.
fn good(host: &Host, boot: &Boot, why: &str) -> anyhow::Result<Exit> {
    let known = store::load(host)
        .file
        .boot(&boot.boot_id)
        .map(|record| record.reached);
    // Once a good boot is blessed, its counter may be armed for the next one: that is no try of this boot.
    if known != Some(Reached::Good)
        && let Err(error) = counter::take_again(host, boot)
    {
        let sentence = format!("its try was given back, and cannot be taken again: {error}");
        say(host, Level::Warn, &boot.boot_id, &sentence);
    }
    failed::mark(host, boot, false);
    let stored = store::change(host, |file| {
        let record = file.boot_mut(boot);
        if record.end == Some(BootEnd::Failed) {
            record.end = None;
            record.reason = None;
        }
        file.judged_good(boot);
    });
    if let Err(error) = stored {
        let sentence = format!("a good boot could not be recorded: {error}");
        say(host, Level::Error, &boot.boot_id, &sentence);
    }
    if boot.is_counted() {
        atomic::write(&host.path(GOOD_BOOT), b"", 0o644)
            .context("this boot is good, and cannot be marked as such for the boot loader")?;
    }
    say(
        host,
        Level::Info,
        &boot.boot_id,
        &format!("this boot is good: {why}"),
    );
    Ok(Exit::Ok)
}

/// Keeps the reason and the try; the node stays up.
fn agent_failed(host: &Host, boot: &Boot, why: &str) {
    let stored = failed::store_reason(host, boot, why);
    let sentence = format!("this boot is not good: {why}; the node stays up");
    say(host, Level::Error, &boot.boot_id, &sentence);
    if let Err(error) = stored {
        let sentence = format!("the reason could not be stored: {error}");
        say(host, Level::Error, &boot.boot_id, &sentence);
    }
}

#[cfg(test)]
mod tests;
