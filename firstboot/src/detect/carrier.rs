//! Waiting for a link, with a bound.
//!
//! At boot the agent is often faster than the optics: without carrier there is no speed, and without a speed no
//! profile. So it waits, but not for ports that nobody has plugged in, and not for a speed that a virtual NIC will
//! never tell. It is over when a fast port has its link and nothing has changed for a moment (the second port of a
//! bond comes up a little later), when all ports have their link, or at the limit.

use super::nic::CLASS_NET;
use super::source::Source;
use crate::netdev;
use dtnforge_profiles::facts::{Facts, Nic};
use std::time::Duration;

/// The time between two looks.
const STEP: Duration = Duration::from_millis(100);
/// How long nothing may change before a state counts as the final one.
const SETTLED: Duration = Duration::from_secs(2);
/// A port of this speed or more may carry data; a slower one with link may be for management only, Mb/s.
const FAST_MBPS: i64 = 10_000;

/// A clock that can be waited on.
pub trait Clock {
    /// Time since some fixed moment.
    fn now(&self) -> Duration;
    /// Waits.
    fn sleep(&self, time: Duration);
}

/// The clock of the system: monotonic.
#[derive(Debug)]
pub struct SystemClock(std::time::Instant);

impl Default for SystemClock {
    fn default() -> Self {
        Self(std::time::Instant::now())
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// The link of one port at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Interface name.
    pub interface: String,
    /// Whether it has carrier; a port that is down cannot tell and has none.
    pub carrier: bool,
    /// Speed in Mb/s, when the kernel knows one.
    pub speed_mbps: Option<i64>,
}

/// How the wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// A port has carrier and a known speed.
    Ready,
    /// A port has carrier, and none of those has a known speed.
    SpeedUnknown,
    /// No port has carrier.
    NoCarrier,
    /// There is no port to wait for.
    NoPort,
}

/// What was seen at the end of the wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waited {
    /// How it ended.
    pub ended: Ended,
    /// All ports.
    pub links: Vec<Link>,
    /// How long it took.
    pub took: Duration,
}

/// The speed as a number that can be used; -1, 0, 65535 and 4294967295 all mean unknown.
pub fn known_speed(mbps: i64) -> Option<i64> {
    (mbps > 0 && mbps != 65_535 && mbps != 4_294_967_295).then_some(mbps)
}

/// The interfaces that are worth waiting for: wires of this host, not the USB link to its service processor, and the
/// synthetic NIC of Hyper-V.
pub fn candidates(facts: &Facts) -> Vec<String> {
    let is_wire = |nic: &&Nic| match nic.kind.as_deref() {
        Some("physical") => nic.bus.as_deref() != Some("usb") && nic.driver_bound != Some(false),
        // Where its port is ours, a VF is for somebody else.
        Some("vf") => nic.parent.is_none() && nic.driver_bound.is_none(),
        _ => nic.driver.as_deref() == Some("hv_netvsc"),
    };
    let has_interface = |nic: &&Nic| nic.driver_bound.is_none();
    let wires = facts.nics.iter().filter(has_interface).filter(is_wire);
    wires.filter_map(|nic| nic.name.clone()).collect()
}

/// Waits until one of `ports` has carrier and a known speed, for at most `limit`, and says what it saw.
///
/// It returns at once when all ports have that already, and it does not use up `limit` where nothing can be gained:
/// see the story of this module.
pub fn wait_for_carrier(source: &dyn Source, ports: &[String], limit: Duration, clock: &dyn Clock) -> Waited {
    let start = clock.now();
    let mut state = links(source, ports);
    let mut changed = start;
    loop {
        let now = clock.now();
        let still = now.saturating_sub(changed);
        if now.saturating_sub(start) >= limit || is_final(&state, still) {
            return Waited {
                ended: ended(&state),
                links: state,
                took: now.saturating_sub(start),
            };
        }
        clock.sleep(STEP.min(limit));
        let seen = links(source, ports);
        if seen != state {
            state = seen;
            changed = clock.now();
        }
    }
}

/// The links of `ports` at this moment.
pub fn links(source: &dyn Source, ports: &[String]) -> Vec<Link> {
    let link = |port: &String| {
        let attribute = |name: &str| source.sign(&format!("{CLASS_NET}/{port}/{name}"));
        let carrier = attribute("carrier").as_deref() == Some("1");
        let speed = attribute("speed").and_then(|text| known_speed(text.parse().ok()?));
        Link {
            interface: port.clone(),
            carrier,
            // A speed without carrier is a setting or a leftover.
            speed_mbps: speed.filter(|_| carrier),
        }
    };
    let real = ports.iter().filter(|port| netdev::is_interface_name(port));
    real.map(link).collect()
}

/// Whether more waiting would change nothing; `still` is the time since the last change.
fn is_final(links: &[Link], still: Duration) -> bool {
    let all_linked = links.iter().all(|link| link.carrier);
    let all_known = links.iter().all(|link| link.speed_mbps.is_some());
    let fast = links
        .iter()
        .any(|link| link.speed_mbps.is_some_and(|mbps| mbps >= FAST_MBPS));
    (all_linked && all_known) || ((fast || all_linked) && still >= SETTLED)
}

fn ended(links: &[Link]) -> Ended {
    if links.is_empty() {
        Ended::NoPort
    } else if links.iter().any(|link| link.speed_mbps.is_some()) {
        Ended::Ready
    } else if links.iter().any(|link| link.carrier) {
        Ended::SpeedUnknown
    } else {
        Ended::NoCarrier
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Host;
    use std::cell::RefCell;
    use std::fs;
    use std::path::Path;

    /// A host whose files change at given times, and a clock that only sleeping moves.
    struct Boot<'a> {
        root: &'a Path,
        now: RefCell<Duration>,
        events: Vec<(u64, &'a str, &'a str)>,
    }

    impl<'a> Boot<'a> {
        fn new(root: &'a Path, events: &[(u64, &'a str, &'a str)]) -> Self {
            let boot = Self {
                root,
                now: RefCell::new(Duration::ZERO),
                events: events.to_vec(),
            };
            boot.happen(Duration::ZERO);
            boot
        }

        fn happen(&self, now: Duration) {
            for (at, file, text) in &self.events {
                if Duration::from_millis(*at) <= now {
                    let path = self.root.join("sys/class/net").join(file);
                    fs::create_dir_all(path.parent().unwrap()).unwrap();
                    fs::write(path, text).unwrap();
                }
            }
        }

        fn wait(&self, ports: &[&str]) -> Waited {
            let host = Host::at(self.root, None);
            let ports: Vec<String> = ports.iter().map(|port| (*port).to_owned()).collect();
            wait_for_carrier(&host, &ports, Duration::from_secs(30), self)
        }
    }

    impl Clock for Boot<'_> {
        fn now(&self) -> Duration {
            *self.now.borrow()
        }

        fn sleep(&self, time: Duration) {
            let later = self.now() + time;
            self.now.replace(later);
            self.happen(later);
        }
    }

    #[test]
    fn a_link_that_is_there_costs_no_time() {
        let dir = tempfile::tempdir().unwrap();
        let boot = Boot::new(
            dir.path(),
            &[(0, "eth0/carrier", "1\n"), (0, "eth0/speed", "100000\n")],
        );
        let waited = boot.wait(&["eth0"]);
        assert_eq!((waited.ended, waited.took), (Ended::Ready, Duration::ZERO));
        assert_eq!(waited.links[0].speed_mbps, Some(100_000));
    }

    #[test]
    fn the_second_fast_port_is_given_a_moment_and_an_unplugged_one_no_more() {
        let dir = tempfile::tempdir().unwrap();
        let events = [
            (0, "eth2/carrier", "0\n"),
            (4000, "eth0/carrier", "1\n"),
            (4000, "eth0/speed", "100000\n"),
            (5500, "eth1/carrier", "1\n"),
            (5500, "eth1/speed", "100000\n"),
        ];
        let waited = Boot::new(dir.path(), &events).wait(&["eth0", "eth1", "eth2"]);
        assert_eq!(waited.ended, Ended::Ready);
        assert_eq!(waited.links.iter().filter(|link| link.carrier).count(), 2);
        assert_eq!(waited.took, Duration::from_millis(7500));
    }

    #[test]
    fn a_slow_port_does_not_end_the_wait_for_a_fast_one() {
        let dir = tempfile::tempdir().unwrap();
        let events = [
            (0, "mgmt/carrier", "1\n"),
            (0, "mgmt/speed", "1000\n"),
            (0, "eth0/carrier", "0\n"),
            (0, "eth0/speed", "-1\n"),
            (20_000, "eth0/carrier", "1\n"),
            (20_000, "eth0/speed", "25000\n"),
        ];
        let waited = Boot::new(dir.path(), &events).wait(&["mgmt", "eth0"]);
        assert_eq!(waited.links[1].speed_mbps, Some(25_000));
        assert_eq!(waited.took, Duration::from_secs(20));
    }

    #[test]
    fn a_speed_that_is_never_told_does_not_use_up_the_limit() {
        for unknown in ["-1\n", "0\n", "65535\n", "4294967295\n", "", "fast\n"] {
            let dir = tempfile::tempdir().unwrap();
            let boot = Boot::new(
                dir.path(),
                &[(0, "eth0/carrier", "1\n"), (0, "eth0/speed", unknown)],
            );
            let waited = boot.wait(&["eth0"]);
            assert_eq!(
                (waited.ended, waited.took),
                (Ended::SpeedUnknown, SETTLED),
                "{unknown:?}"
            );
        }
    }

    #[test]
    fn without_carrier_it_ends_at_the_limit_and_without_ports_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let boot = Boot::new(
            dir.path(),
            &[(0, "eth0/carrier", "0\n"), (0, "eth0/speed", "100000\n")],
        );
        let waited = boot.wait(&["eth0"]);
        assert_eq!(
            (waited.ended, waited.took),
            (Ended::NoCarrier, Duration::from_secs(30))
        );
        assert_eq!(waited.links[0].speed_mbps, None);
        assert_eq!(boot.wait(&[]).ended, Ended::NoPort);
        assert_eq!(boot.wait(&["../x"]).ended, Ended::NoPort);
    }
}
