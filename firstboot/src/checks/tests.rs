use super::*;
use std::cell::RefCell;

fn link(carrier: bool, speed_mbps: Option<i64>) -> Link {
    Link {
        interface: "eth0".into(),
        carrier,
        speed_mbps,
    }
}

fn seen(link: Link) -> Observation {
    Observation {
        reach: Reach {
            links: vec![link],
            network: Ok("eth0 has carrier and a public address".into()),
            gateways: Vec::new(),
            ssh_ports: BTreeSet::from([22]),
        },
        failed_units: Ok(BTreeSet::new()),
    }
}

#[test]
fn a_link_is_judged_by_carrier_and_speed_against_before() {
    let fast = || link(true, Some(100_000));
    let table = [
        (fast(), fast(), true, true, "100000 Mb/s"),
        (fast(), link(true, Some(200_000)), true, true, "200000 Mb/s"),
        (
            fast(),
            link(true, Some(10_000)),
            false,
            true,
            "10000 Mb/s, was 100000 Mb/s",
        ),
        (
            fast(),
            link(true, None),
            false,
            true,
            "carrier of unknown speed, was 100000 Mb/s",
        ),
        (fast(), link(false, None), false, true, "no carrier"),
        (
            link(true, None),
            link(true, None),
            true,
            true,
            "carrier of unknown speed",
        ),
        (
            link(false, None),
            link(false, None),
            false,
            false,
            "no carrier; it failed before the trial too",
        ),
        (
            link(false, None),
            fast(),
            true,
            false,
            "100000 Mb/s; it failed before the trial",
        ),
    ];
    for (before, after, ok, required, detail) in table {
        let check = compare(&seen(before.clone()), &seen(after.clone())).remove(0);
        let found = (
            check.name.as_str(),
            check.ok,
            check.required,
            check.detail.as_str(),
        );
        assert_eq!(found, ("link:eth0", ok, required, detail), "{before:?} {after:?}");
    }
}

#[test]
fn a_data_nic_that_is_gone_fails() {
    let mut after = seen(link(true, None));
    after.reach.links.clear();
    let check = compare(&seen(link(true, Some(25_000))), &after).remove(0);
    assert_eq!(
        (check.ok, check.required, check.detail.as_str()),
        (false, true, "no carrier")
    );
}

#[test]
fn an_address_that_was_missing_before_the_trial_is_not_missed_after_it() {
    let without = || {
        let mut seen = seen(link(true, None));
        seen.reach.network = Err("carrier on eth0, but no address that reaches beyond the link".into());
        seen
    };
    let judged = |before, after| {
        let check = compare(&before, &after).remove(1);
        assert_eq!(check.name, "network");
        (check.ok, check.required, check.detail)
    };
    let missing = "carrier on eth0, but no address that reaches beyond the link";
    assert_eq!(
        judged(seen(link(true, None)), without()),
        (false, true, missing.to_owned())
    );
    assert_eq!(
        judged(without(), without()),
        (false, false, format!("{missing}; it failed before the trial too"))
    );
}

#[test]
fn every_check_has_its_stable_name() {
    let checks = compare(&seen(link(true, None)), &seen(link(true, None)));
    let names: Vec<&str> = checks.iter().map(|check| check.name.as_str()).collect();
    assert_eq!(names, ["link:eth0", "network", "sshd", "failed-units"]);
}

/// A clock that only sleeping moves.
#[derive(Default)]
struct Ticks(RefCell<Duration>);

impl Clock for Ticks {
    fn now(&self) -> Duration {
        *self.0.borrow()
    }
    fn sleep(&self, time: Duration) {
        self.0.replace_with(|now| *now + time);
    }
}

#[test]
fn a_link_that_comes_back_in_time_is_waited_for() {
    let clock = Ticks::default();
    let before = seen(link(true, Some(100_000)));
    let look = || {
        let back = clock.now() >= Duration::from_secs(7);
        seen(if back {
            link(true, Some(100_000))
        } else {
            link(false, None)
        })
    };
    let after = until_recovered(&before, look, &clock);
    assert_eq!(after, before);
    assert_eq!(clock.now(), Duration::from_secs(7));
}

#[test]
fn a_link_that_stays_away_is_waited_for_no_longer_than_the_limit() {
    let clock = Ticks::default();
    let after = until_recovered(&seen(link(true, None)), || seen(link(false, None)), &clock);
    assert!(!after.reach.links[0].carrier);
    assert_eq!(clock.now(), RECOVERY);
}

#[test]
fn what_failed_before_is_not_waited_for() {
    let clock = Ticks::default();
    let away = || seen(link(false, None));
    until_recovered(&away(), away, &clock);
    assert_eq!(clock.now(), Duration::ZERO);
}
