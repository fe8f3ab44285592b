//! The agent killed at every point of everything that it does, then started again: stock or the commit, every knob read.
//!
//! The node is the one of the tests of commands, a directory with the files of a machine, except that its
//! `net.ipv4` is the real kernel's, of a network namespace. Each flow is run again and again, killed by SIGKILL at its
//! 1st, 2nd, 3rd ... fail point until it comes through. After each kill the node is started again in two ways: in the
//! same boot, where the values are as the dead process left them, and after a power cut, where `/run` and all values are
//! gone and the early unit goes first.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test ends where its own node fails it"
)]

mod machine;
#[path = "../namespace/mod.rs"]
mod namespace;
#[path = "../states/node.rs"]
#[expect(dead_code, reason = "the tests of commands use more of it")]
mod node;
mod power;

use machine::{Machine, Values};
use namespace::inside;
use std::collections::BTreeMap;

/// Fail points that have to be tried at least, in all flows together.
const ENOUGH: usize = 500;

/// Something that the agent does, from a state that other commands lead to.
#[derive(Default)]
struct Flow {
    name: &'static str,
    /// Commands that lead to its start, from stock.
    start: &'static [&'static [&'static str]],
    /// A command after them that is killed itself, at this point.
    died: Option<(&'static [&'static str], usize)>,
    /// Whether a boot lies between them and it.
    after_a_boot: bool,
    /// The command that is killed.
    killed: &'static [&'static str],
}

const TRY: &[&str] = &["try"];
const COMMIT: &[&str] = &["commit"];
const ROLLBACK: &[&str] = &["rollback"];
const RUN: &[&str] = &["run"];

/// A flow from stock.
const fn fresh(name: &'static str, killed: &'static [&'static str]) -> Flow {
    after(name, &[], killed)
}

/// A flow after other commands.
const fn after(
    name: &'static str,
    start: &'static [&'static [&'static str]],
    killed: &'static [&'static str],
) -> Flow {
    Flow {
        name,
        start,
        died: None,
        after_a_boot: false,
        killed,
    }
}

/// A flow of a boot after a commit.
const fn booted(name: &'static str, killed: &'static [&'static str]) -> Flow {
    Flow {
        after_a_boot: true,
        ..after(name, &[TRY, COMMIT], killed)
    }
}

/// A flow after a command that died in its middle.
const fn after_death(
    name: &'static str,
    start: &'static [&'static [&'static str]],
    died: (&'static [&'static str], usize),
    killed: &'static [&'static str],
) -> Flow {
    Flow {
        died: Some(died),
        ..after(name, start, killed)
    }
}

const FLOWS: &[Flow] = &[
    fresh("try", TRY),
    fresh("try of one group", &["try", "--group", "tcp-buffers"]),
    fresh("try --confirm-within", &["try", "--confirm-within", "1h"]),
    after("confirm", &[&["try", "--confirm-within", "1h"]], &["confirm"]),
    after("commit", &[TRY], COMMIT),
    after("rollback of a trial", &[TRY], ROLLBACK),
    after("rollback of a commit", &[TRY, COMMIT], ROLLBACK),
    booted("rollback of a commit of an earlier boot", ROLLBACK),
    after_death("recover after a try that died", &[], (TRY, 70), &["recover"]),
    after_death("run after a try that died", &[], (TRY, 70), RUN),
    after_death(
        "run after a rollback that died",
        &[TRY, COMMIT],
        (ROLLBACK, 30),
        RUN,
    ),
    fresh("the boot's own trial", RUN),
    fresh("try --prove", &["try", "--prove"]),
    booted("a committed boot", RUN),
    booted("the early unit with a commit", &["early"]),
    after("the early unit after a soft-reboot", &[TRY], &["early"]),
    after("retry after a rollback", &[TRY, COMMIT, ROLLBACK], &["retry"]),
    after("hold with a commit", &[TRY, COMMIT], &["hold"]),
    fresh("save", &["save", "now"]),
];

#[test]
fn the_agent_killed_anywhere_and_started_again_is_stock_or_committed() {
    if !inside("the_agent_killed_anywhere_and_started_again_is_stock_or_committed") {
        return;
    }
    let machine = Machine::new();
    let stock = machine.values();
    let tuned = machine.tuned();
    let mut ends: BTreeMap<String, usize> = BTreeMap::new();
    let mut points = 0;
    for flow in FLOWS {
        let found = kill_at_each(&machine, flow, &stock, &tuned, &mut ends);
        println!("{}: {found} fail points", flow.name);
        assert!(found > 0, "{}: nothing to be killed at", flow.name);
        points += found;
    }
    println!("{points} fail points, each started again in the same boot and after a power cut: {ends:?}");
    assert!(points >= ENOUGH, "only {points} points");
}

/// Kills the flow at each of its fail points until it comes through; returns how many there were.
fn kill_at_each(
    machine: &Machine,
    flow: &Flow,
    stock: &Values,
    tuned: &Values,
    ends: &mut BTreeMap<String, usize>,
) -> usize {
    machine.become_stock(stock);
    for command in flow.start {
        machine.must(command);
    }
    if let Some((command, point)) = flow.died {
        assert!(
            machine.killed_at(command, point),
            "{}: {command:?} has no point {point}",
            flow.name
        );
    }
    if flow.after_a_boot {
        machine.boot(stock);
    }
    let begin = machine.snapshot();
    for point in 1.. {
        machine.restore(&begin);
        if !machine.killed_at(flow.killed, point) {
            return point - 1;
        }
        let dead = machine.snapshot();
        let about = format!(
            "{}, killed at point {point}, started again in the same boot",
            flow.name
        );
        count(ends, judge(machine, machine.start_again(), stock, tuned, &about));
        machine.restore(&dead);
        let about = format!("{}, killed at point {point}, after a power cut", flow.name);
        count(ends, judge(machine, machine.boot(stock), stock, tuned, &about));
    }
    0
}

fn count(ends: &mut BTreeMap<String, usize>, end: String) {
    *ends.entry(end).or_default() += 1;
}

/// The state in which the node ended; fails where its values are not all of it.
fn judge(machine: &Machine, state: String, stock: &Values, tuned: &Values, about: &str) -> String {
    let values = machine.values();
    // A hold lets what is live stay live until the next boot.
    let holds_the_commit = state == "held" && values == *tuned;
    let is_tuned = state == "committed" || holds_the_commit;
    let expected = if is_tuned { tuned } else { stock };
    let wrong: Vec<_> = values
        .iter()
        .filter(|(path, value)| expected.get(*path) != Some(value))
        .collect();
    assert!(wrong.is_empty(), "{about}: {state}, and {wrong:?}");
    assert!(
        ["stock", "committed", "rejected", "held"].contains(&state.as_str()),
        "{about}: {state}"
    );
    machine.has_nothing_left(about);
    state
}
