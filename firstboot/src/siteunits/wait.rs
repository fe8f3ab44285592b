//! Waiting for the verdict, for as long as the site allows.

use crate::boot;
use crate::detect::Clock;
use crate::goodboot::{self, Agent};
use crate::host::Host;
use crate::notify;
use crate::siteconf;
use anyhow::Context as _;
use std::time::Duration;

const AGENT: &str = "dtn-firstboot.service";
/// The time between two looks. Each one may start a program, and a trial may be measuring meanwhile.
const STEP: Duration = Duration::from_secs(2);
/// Stopping the agent: its unit has 10 minutes to take a trial back, and then a killed one is taken back by another
/// process.
const STOPPING: Duration = Duration::from_secs(1300);

/// The last word of an agent that could not say one.
const STOPPED: &str = "stopped at the site's deadline";

/// How the waiting ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waited {
    /// With the agent, whatever became of it: its last word, or why there is none.
    AgentEnded(String),
    /// At the deadline: the agent was stopped, and its trial with it.
    AgentStopped,
}

/// Waits until the agent has ended, or stops it at the site's deadline.
///
/// # Errors
/// When the agent cannot be stopped. Then nobody knows what is live, and the services start all the same.
pub fn wait(host: &Host, clock: &dyn Clock) -> anyhow::Result<Waited> {
    // Settings that cannot be used name no service; what waits all the same waits for the usual time.
    let limit = siteconf::services(host).map_or(Duration::from_secs(1800), |services| services.deadline);
    let boot_id = boot::boot_id(host);
    let deadline = clock.now() + limit;
    loop {
        match goodboot::observe_agent(host, &boot_id) {
            Agent::Ended(word) | Agent::Failed(word) => return Ok(Waited::AgentEnded(word)),
            Agent::Working if clock.now() >= deadline => break,
            Agent::Working => clock.sleep(STEP),
        }
    }
    notify::progress("stopping the agent", STOPPING);
    host.run("systemctl", &["stop", AGENT], STOPPING)
        .with_context(|| {
            format!(
                "no verdict within {} s, and the agent cannot be stopped",
                limit.as_secs()
            )
        })?;
    // One that was still queued leaves no mark: that somebody stopped it is its end, not its failure.
    if let Agent::Failed(_) = goodboot::observe_agent(host, &boot_id)
        && let Err(error) = goodboot::note_end(host, &boot_id, STOPPED)
    {
        log::warn!("the agent was stopped, and that cannot be noted: {error}");
    }
    Ok(Waited::AgentStopped)
}

#[cfg(test)]
mod tests {
    use super::super::testing::Node;
    use super::*;
    use std::cell::Cell;

    /// Time passes only by sleeping.
    #[derive(Default)]
    struct Asleep(Cell<Duration>);

    impl Clock for Asleep {
        fn now(&self) -> Duration {
            self.0.get()
        }

        fn sleep(&self, time: Duration) {
            self.0.set(self.0.get() + time);
        }
    }

    fn answer(state: &str, result: &str, job: &str) -> String {
        format!("printf 'LoadState=loaded\\nActiveState={state}\\nResult={result}\\nJob={job}\\n'")
    }

    #[test]
    fn an_agent_that_ended_died_is_held_or_never_ran_is_not_waited_for() {
        for (state, result) in [
            ("active", "success"),
            ("failed", "signal"),
            ("failed", "timeout"),
            ("inactive", "success"),
        ] {
            let node = Node::new();
            node.systemctl(&answer(state, result, ""));
            let clock = Asleep::default();
            let waited = wait(&node.host, &clock).unwrap();
            assert!(matches!(waited, Waited::AgentEnded(_)), "{state}: {waited:?}");
            assert_eq!(clock.now(), Duration::ZERO);
        }
    }

    #[test]
    fn an_agent_that_is_queued_or_at_work_is_waited_for_until_the_sites_deadline_and_then_stopped() {
        for (state, job) in [("activating", ""), ("inactive", "94")] {
            let node = Node::new();
            node.write("/etc/dtnforge/site.toml", "services_deadline_s = 60\n");
            node.systemctl(&answer(state, "success", job));
            let clock = Asleep::default();
            assert_eq!(wait(&node.host, &clock).unwrap(), Waited::AgentStopped);
            assert_eq!(clock.now(), Duration::from_secs(60));
            assert!(
                node.told().contains("stop dtn-firstboot.service\n"),
                "{}",
                node.told()
            );
        }
    }

    #[test]
    fn an_agent_that_was_stopped_while_it_was_queued_has_ended_and_one_that_ended_keeps_its_word() {
        for (own, last) in [(None, STOPPED), (Some("rejected: slower"), "rejected: slower")] {
            let node = Node::new();
            node.write("/etc/dtnforge/site.toml", "services_deadline_s = 60\n");
            node.write("/proc/sys/kernel/random/boot_id", "b1\n");
            let mark = node.host.path("/run/dtnforge/agent-ended.json");
            let at_its_stop = own.map_or("true".to_owned(), |word| {
                let end = format!("{{\"boot_id\":\"b1\",\"verdict\":\"{word}\"}}");
                format!(
                    "mkdir -p {}; echo '{end}' >{}",
                    mark.parent().unwrap().display(),
                    mark.display()
                )
            });
            let (stopped, there) = (node.host.path("/stopped"), answer("inactive", "success", ""));
            let queued = answer("inactive", "success", "94");
            node.systemctl(&format!(
                "PATH=/usr/bin:/bin\nif [ \"$1\" = stop ]; then >{0}; {at_its_stop}\n\
                 elif [ -e {0} ]; then {there}\nelse {queued}\nfi",
                stopped.display()
            ));
            assert_eq!(
                wait(&node.host, &Asleep::default()).unwrap(),
                Waited::AgentStopped
            );
            assert_eq!(
                goodboot::observe_agent(&node.host, "b1"),
                Agent::Ended(last.into())
            );
        }
    }

    #[test]
    fn an_agent_that_cannot_be_stopped_is_said() {
        let node = Node::new();
        node.write("/etc/dtnforge/site.toml", "services_deadline_s = 60\n");
        let busy = answer("activating", "success", "");
        node.systemctl(&format!(
            "[ \"$1\" = show ] || {{ echo 'Access denied' >&2; exit 1; }}\n{busy}"
        ));
        let error = wait(&node.host, &Asleep::default()).unwrap_err();
        let said = format!("{error:#}");
        assert!(
            said.contains("no verdict within 60 s") && said.contains("Access denied"),
            "{said}"
        );
    }
}
