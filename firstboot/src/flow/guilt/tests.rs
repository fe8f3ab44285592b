//! Nodes in a directory whose link follows a rule: always out, out with the plan in place, back at some time.

mod node;

use super::*;
use crate::early::Marker;
use crate::esp::tests::listed;
use crate::flow::leftover::{self, Leftover};
use crate::store;
use crate::trial::WITHDRAWAL_PATH;
use dtnforge_profiles::digest::Digest;
use dtnforge_profiles::undo::Undo;
use node::{Node, STOCK, TUNED, commit, die_with_the_plan_out, good_commit, knob, node, step, tc};
use std::fs;

#[test]
fn a_plan_that_takes_the_link_away_is_rejected_and_the_node_stays_up_stock() {
    let node = node(good_commit());
    let (end, context) = node.look_into(&|node, _| !node.is_tuned());
    let end = end.unwrap();
    assert_eq!((end.exit, end.reboot), (Exit::Rejected, false));
    assert_eq!(
        end.sentence,
        "rejected dtn-vm: the node loses its network with dtn-vm in place (no carrier on ens2), and has it without; \
         seen twice; stock, 2 knobs read back as before"
    );
    assert_eq!(node.values(), STOCK);
    node.is_settled(false);
    let State::Rejected(rejection) = store::load(&node.host).file.state else {
        panic!("{:?}", context.file.state)
    };
    assert_eq!(
        rejection.previous, None,
        "nothing is put in place by the next boot"
    );
    assert_eq!(
        listed(&node.host),
        ["dtnforge+2-1.efi", "stock.efi"],
        "a guilty boot's try was given back"
    );
}

#[test]
fn a_cable_that_is_out_costs_nobody_anything() {
    let node = node(good_commit());
    let (end, context) = node.look_into(&|_, _| false);
    let end = end.unwrap();
    assert_eq!((end.exit, end.reboot), (Exit::Ok, false));
    assert_eq!(
        end.sentence,
        "committed: waiting for link: no carrier on ens2; tuning is not the cause: it is the same without it, all 2 \
         knobs taken back"
    );
    assert_eq!(node.values(), TUNED);
    node.is_settled(true);
    let file = store::load(&node.host).file;
    assert_eq!(file.state, State::Committed(Box::new(good_commit())));
    let last = file.history.last().unwrap();
    assert!(
        last.entered == "committed" && last.reason.starts_with("waiting for link"),
        "{last:?}"
    );
    let reason = file.boot("b7").unwrap().reason.clone().unwrap();
    assert!(
        reason.starts_with("waiting for link: no carrier on ens2"),
        "{reason}"
    );
    assert_eq!(listed(&node.host), ["dtnforge+3.efi", "stock.efi"]);
    drop(context);
}

#[test]
fn an_sshd_that_is_gone_without_the_plan_too_is_no_dark_boot() {
    let node = node(good_commit());
    node.write("/proc/net/tcp", "sl\n");
    let (end, _) = node.look_into(&|_, _| true);
    assert_eq!(
        end.unwrap().sentence,
        "committed: waiting for sshd: nothing listens on a port of sshd; tuning is not the cause: it is the same \
         without it, all 2 knobs taken back"
    );
    assert_eq!(
        listed(&node.host),
        ["dtnforge+2-1.efi", "stock.efi"],
        "the boot is not given back"
    );
}

#[test]
fn a_switch_that_comes_up_while_the_plan_is_out_makes_nobody_guilty() {
    let node = node(good_commit());
    let (end, context) = node.look_into(&|_, now| now > PATIENCE + Duration::from_secs(12));
    assert!(end.is_none(), "{end:?}");
    assert_eq!(node.values(), TUNED);
    node.is_settled(true);
    assert_eq!(context.file.state.name(), "committed");
    assert_eq!(listed(&node.host), ["dtnforge+2-1.efi", "stock.efi"]);
}

#[test]
fn a_network_that_is_there_or_comes_in_time_is_not_looked_into() {
    for rule in [
        &(|_: &Node, _: Duration| true) as &dyn Fn(&Node, Duration) -> bool,
        &|_, now| now > Duration::from_secs(50),
    ] {
        let node = node(good_commit());
        assert!(node.look_into(rule).0.is_none());
        assert_eq!(node.values(), TUNED);
        assert!(
            fs::read_to_string(node.host.path("/dev/console"))
                .unwrap()
                .is_empty()
        );
    }
}

#[test]
fn nothing_is_blamed_for_what_was_missing_when_the_plan_was_committed() {
    let node = node(commit(&["sshd"]));
    assert!(node.look_into(&|_, _| false).0.is_none());
    assert_eq!(node.values(), TUNED);
    node.is_settled(true);
}

#[test]
fn a_commit_that_is_not_in_place_is_not_looked_into() {
    let node = node(good_commit());
    let marker = early::read_marker(&node.host).unwrap();
    for other in [
        Marker {
            activated: false,
            ..marker.clone()
        },
        Marker {
            boot_id: "b6".into(),
            ..marker
        },
    ] {
        early::write_marker(&node.host, &other).unwrap();
        assert!(node.look_into(&|_, _| false).0.is_none());
        assert_eq!(node.values(), TUNED);
    }
}

#[test]
fn a_plan_that_does_not_come_out_is_a_state_of_its_own_and_worth_one_reboot() {
    let mut commit = good_commit();
    // A way back that its door refuses.
    let foreign = Undo::DelQdisc { before: "60".into() };
    commit.stock.insert(knob("sysctl:vm.swappiness"), foreign);
    let node = node(commit);
    let (end, context) = node.look_into(&|_, _| false);
    let end = end.unwrap();
    assert_eq!((end.exit, end.reboot), (Exit::RollbackUnverified, true));
    let State::RollbackUnverified { what } = &context.file.state else {
        panic!("{:?}", context.file.state)
    };
    assert!(
        what.len() == 1
            && what[0].starts_with("sysctl:vm.swappiness: expected \"60\" as before the trial, found \"10 ("),
        "{what:?}"
    );
    assert_eq!(node.values(), [STOCK[0], TUNED[1]]);
    // What runs after the agent clears away what is left, and does not put the plan back.
    let state = context.file.state.clone();
    assert_eq!(leftover::end(&node.host, &state, "b7"), Leftover::Settled);
    assert_eq!(node.values(), [STOCK[0], TUNED[1]]);
    node.is_settled(false);
}

#[test]
fn a_journal_that_is_in_the_way_is_told_and_the_commit_stays() {
    let node = node(good_commit());
    node.write(WITHDRAWAL_PATH, "");
    let (end, _) = node.look_into(&|_, _| false);
    let end = end.unwrap();
    assert_eq!(end.exit, Exit::Ok);
    assert!(
        end.sentence
            .contains("whether tuning is the cause could not be tried: trial journal"),
        "{}",
        end.sentence
    );
    assert_eq!(node.values(), TUNED);
    assert_eq!(
        listed(&node.host),
        ["dtnforge+2-1.efi", "stock.efi"],
        "nobody knows that the plan is innocent"
    );
}

#[test]
fn a_state_that_cannot_be_stored_leaves_the_node_reachable_and_never_rebooting() {
    let full = |node: &Node| fs::create_dir_all(node.host.path("/etc/dtnforge/state.json.new")).unwrap();
    let guilty = node(good_commit());
    full(&guilty);
    let (end, _) = guilty.look_into(&|node, _| !node.is_tuned());
    let end = end.unwrap();
    assert_eq!((end.exit, end.reboot), (Exit::Rejected, false));
    let said = "only in this boot, because it cannot be stored: cannot write";
    assert!(end.sentence.contains(said), "{}", end.sentence);
    assert_eq!(guilty.values(), STOCK);
    guilty.is_settled(false);

    let mut commit = good_commit();
    let foreign = Undo::DelQdisc { before: "60".into() };
    commit.stock.insert(knob("sysctl:vm.swappiness"), foreign);
    let stuck = node(commit);
    full(&stuck);
    let end = stuck.look_into(&|_, _| false).0.unwrap();
    assert_eq!((end.exit, end.reboot), (Exit::RollbackUnverified, false));
    assert!(
        end.sentence.contains("no reboot, because that cannot be stored"),
        "{}",
        end.sentence
    );
}

#[test]
fn a_process_that_dies_with_the_plan_out_leaves_a_whole_commit() {
    let node = node(good_commit());
    die_with_the_plan_out(&node);
    let state = store::load(&node.host).file.state;
    assert_eq!(leftover::end(&node.host, &state, "b7"), Leftover::PutBack(2));
    assert_eq!(node.values(), TUNED);
    node.is_settled(true);
    assert_eq!(leftover::end(&node.host, &state, "b7"), Leftover::None);
}

#[test]
fn a_process_that_dies_after_its_rejection_leaves_stock() {
    let node = node(good_commit());
    die_with_the_plan_out(&node);
    let state = State::Stock {
        why: "rejected".into(),
    };
    assert_eq!(leftover::end(&node.host, &state, "b7"), Leftover::Settled);
    assert_eq!(node.values(), STOCK);
    node.is_settled(false);
    assert_eq!(leftover::end(&node.host, &state, "b7"), Leftover::None);
}

#[test]
fn a_dark_boot_with_nothing_in_place_gives_its_try_back_and_a_lit_one_does_not() {
    let node = node(good_commit());
    store::change(&node.host, |file| {
        file.state = State::Stock {
            why: "no carrier".into(),
        }
    })
    .unwrap();
    node.carrier(true);
    after(&Context::open(node.host.clone()));
    assert_eq!(listed(&node.host), ["dtnforge+2-1.efi", "stock.efi"]);
    node.carrier(false);
    after(&Context::open(node.host.clone()));
    assert_eq!(listed(&node.host), ["dtnforge+3.efi", "stock.efi"]);
}

#[test]
fn a_former_commit_that_the_early_unit_put_in_place_is_looked_into_as_well() {
    let node = node(good_commit());
    store::change(&node.host, |file| {
        file.state = State::Rejected(Box::new(Rejection {
            profile: "dtn-100g".into(),
            layer: Digest::of(b"other"),
            site: Digest::of(b"site"),
            reason: "slower".into(),
            verdict: None,
            boot_id: "b6".into(),
            at: 0,
            previous: Some(Box::new(good_commit())),
        }));
    })
    .unwrap();
    let (end, context) = node.look_into(&|node, _| !node.is_tuned());
    assert_eq!(end.unwrap().exit, Exit::Rejected);
    let State::Rejected(rejection) = &context.file.state else {
        panic!("{:?}", context.file.state)
    };
    assert_eq!(
        (rejection.profile.as_str(), &rejection.previous),
        ("dtn-vm", &None)
    );
}

#[test]
fn nics_that_came_up_with_the_default_qdisc_of_the_plan_are_taken_back_with_it() {
    let mut commit = good_commit();
    let default = step("sysctl:net.core.default_qdisc", "fq_codel", "fq");
    commit.plan.steps.insert(0, default);
    let node = node(commit.clone());
    node.write("/sys/class/net/ens9/address", "52:54:00:00:00:09\n");
    let leaf = knob("qdisc/virtual+52:54:00:00:00:09:leaf");

    let follows = tc(&node, "fq");
    let changed = reach_of_plan::changed(&follows, &Doors::new(&follows), &commit);
    assert_eq!(changed.plan.steps.len(), 4);
    let added = changed.plan.steps.last().unwrap();
    assert_eq!(
        (&added.knob, added.from.as_str(), added.to.as_str()),
        (&leaf, "fq_codel", "fq")
    );
    assert_eq!(
        changed.stock[&leaf],
        Undo::DelQdisc {
            before: "fq_codel".into()
        }
    );

    let other = tc(&node, "pfifo_fast");
    let changed = reach_of_plan::changed(&other, &Doors::new(&other), &commit);
    assert_eq!(changed.plan, commit.plan, "a NIC that somebody else saw to");
}
