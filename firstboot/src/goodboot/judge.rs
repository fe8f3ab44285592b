//! Is this boot good? Pure.

use super::agent::Agent;
use std::collections::BTreeSet;
use std::time::Duration;

/// How long sshd may take to listen once the network is configured and the agent has ended: its keys may still be
/// made, and a slow disk is no reason to give a boot up.
pub const SSHD_LIMIT: Duration = Duration::from_secs(90);

/// What was seen of a boot at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// By which interface the network is configured, or what is missing.
    pub network: Result<String, String>,
    /// The ports of sshd that something listens on.
    pub ssh_ports: BTreeSet<u16>,
    /// That sshd is masked: nobody is to get in by it.
    pub sshd_masked: Option<String>,
    /// The agent.
    pub agent: Agent,
}

/// What follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// A node that can be reached, whose agent ended: both in one sentence.
    Good(String),
    /// Not yet: the agent is still at work, which may take minutes.
    Working,
    /// Not yet, for this reason. Waiting for a network may take for ever, and is nobody's fault.
    Wait(String),
    /// Nothing listens on a port of sshd although all else is there: nobody can get in.
    NoWayIn(String),
    /// The node can be reached, but its agent failed or was killed. Not good, and no reason to take away a node that
    /// answers: the boot keeps its try, and the reason is kept.
    AgentFailed(String),
}

/// Judges a boot. `without_sshd` is how long sshd has been all that is missing.
pub fn judge(seen: &Seen, without_sshd: Duration) -> Judgement {
    let by = match &seen.network {
        Ok(by) => by,
        Err(why) => return Judgement::Wait(format!("waiting for link: {why}")),
    };
    let verdict = match &seen.agent {
        Agent::Working => return Judgement::Working,
        Agent::Ended(verdict) => Ok(verdict),
        Agent::Failed(why) => Err(why),
    };
    let sshd = match &seen.sshd_masked {
        Some(masked) if seen.ssh_ports.is_empty() => masked.as_str(),
        _ => "sshd listens",
    };
    if seen.ssh_ports.is_empty() && seen.sshd_masked.is_none() {
        let limit = SSHD_LIMIT.as_secs();
        return if without_sshd < SSHD_LIMIT {
            Judgement::Wait("nothing listens on a port of sshd yet".to_owned())
        } else {
            Judgement::NoWayIn(format!("nothing listens on a port of sshd after {limit} s"))
        };
    }
    match verdict {
        Ok(verdict) => Judgement::Good(format!("{by}, {sshd}, the agent ended: {verdict}")),
        Err(why) => Judgement::AgentFailed(format!(
            "the node can be reached, but its agent did not end: {why}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen() -> Seen {
        Seen {
            network: Ok("ens2 has carrier and a public address".into()),
            ssh_ports: BTreeSet::from([22]),
            sshd_masked: None,
            agent: Agent::Ended("rejected: slower".into()),
        }
    }

    #[test]
    fn a_node_that_can_be_reached_is_good_whatever_the_verdict_was() {
        assert_eq!(
            judge(&seen(), Duration::ZERO),
            Judgement::Good(
                "ens2 has carrier and a public address, sshd listens, the agent ended: rejected: slower"
                    .into()
            )
        );
    }

    #[test]
    fn a_missing_network_is_waited_for_however_long_and_whatever_else_is_wrong() {
        let seen = Seen {
            network: Err("no carrier on ens2".into()),
            ssh_ports: BTreeSet::new(),
            sshd_masked: None,
            agent: Agent::Failed("killed".into()),
        };
        assert_eq!(
            judge(&seen, Duration::from_secs(86_400)),
            Judgement::Wait("waiting for link: no carrier on ens2".into())
        );
    }

    #[test]
    fn a_trial_of_minutes_is_waited_for_and_does_not_use_up_the_time_of_sshd() {
        let seen = Seen {
            agent: Agent::Working,
            ssh_ports: BTreeSet::new(),
            ..seen()
        };
        assert_eq!(judge(&seen, SSHD_LIMIT * 10), Judgement::Working);
    }

    #[test]
    fn sshd_has_its_time_and_no_more() {
        let seen = Seen {
            ssh_ports: BTreeSet::new(),
            ..seen()
        };
        assert!(matches!(judge(&seen, SSHD_LIMIT / 2), Judgement::Wait(_)));
        assert_eq!(
            judge(&seen, SSHD_LIMIT),
            Judgement::NoWayIn("nothing listens on a port of sshd after 90 s".into())
        );
    }

    #[test]
    fn a_node_whose_sshd_somebody_masked_is_good_without_it() {
        let seen = Seen {
            ssh_ports: BTreeSet::new(),
            sshd_masked: Some("ssh.service is masked".into()),
            ..seen()
        };
        assert_eq!(
            judge(&seen, Duration::ZERO),
            Judgement::Good(
                "ens2 has carrier and a public address, ssh.service is masked, the agent ended: rejected: slower"
                    .into()
            )
        );
    }

    #[test]
    fn an_agent_that_failed_is_neither_good_nor_given_up() {
        let seen = Seen {
            agent: Agent::Failed("dtn-firstboot.service is failed (timeout)".into()),
            ..seen()
        };
        assert_eq!(
            judge(&seen, Duration::ZERO),
            Judgement::AgentFailed(
                "the node can be reached, but its agent did not end: dtn-firstboot.service is failed (timeout)".into()
            )
        );
    }
}
