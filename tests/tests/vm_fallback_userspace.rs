//! A tuned boot whose userspace hangs: it is ended, counted, and the reason is known afterwards.

use dtnforge_tests::fallback::{STOCK, falls_back, is_reachable, server};
use dtnforge_tests::rung::{Rung, say};
use dtnforge_tests::units::{self, ONLY_TUNED};
use dtnforge_tests::{Image, Probes, Trouble, node};

#[test]
fn a_boot_that_hangs_after_the_switch_to_the_root_ends_in_stock() -> Result<(), Trouble> {
    const NAME: &str = "a_boot_that_hangs_after_the_switch_to_the_root_ends_in_stock";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let vm = units::hangs_before_basic(server(&Image::lean()?, NAME), ONLY_TUNED);
    let fallen = falls_back(vm, NAME, "3 tuned boots failed: ", 2)?;
    let (reason, all) = (&fallen.status.reason, fallen.answers[0].all());
    // What else was still starting differs from boot to boot.
    assert!(
        reason.contains("basic.target was not reached (in the last: still starting: "),
        "{all}"
    );
    assert!(
        reason.contains("hang.service") && !reason.contains("multi-user"),
        "{all}"
    );
    assert_eq!(fallen.report.data.boots.len(), 6, "{}", fallen.report.stderr);
    Ok(())
}

/// Stops PID 1 itself, as a bug in it or in the kernel would, before the boot can be judged. Nothing in userspace sees
/// that any more.
const FREEZE: &str = "/bin/sh -c \"sleep 1; echo 1 >/sys/fs/cgroup/init.scope/cgroup.freeze\"";

#[test]
fn an_init_that_hangs_is_reset_by_the_watchdog_and_ends_in_stock() -> Result<(), Trouble> {
    const NAME: &str = "an_init_that_hangs_is_reset_by_the_watchdog_and_ends_in_stock";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let vm = server(&Image::lean()?, NAME).flag("--watchdog");
    let vm = units::runs_once(vm, "freeze", FREEZE, ONLY_TUNED);
    let fallen = falls_back(vm, NAME, "3 tuned boots reset by the watchdog", 0)?;
    let by: Vec<&str> = fallen
        .report
        .data
        .boots
        .iter()
        .map(|boot| boot.by.as_str())
        .collect();
    assert_eq!(by, ["power-on", "watchdog", "watchdog", "watchdog"]);
    Ok(())
}

#[test]
fn without_a_watchdog_device_the_kernels_own_timer_ends_a_hanging_init() -> Result<(), Trouble> {
    const NAME: &str = "without_a_watchdog_device_the_kernels_own_timer_ends_a_hanging_init";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let vm = units::runs_once(server(&Image::lean()?, NAME), "freeze", FREEZE, ONLY_TUNED);
    // The timer leaves no trace, so these count as cut short, which would be tried again.
    let vm = units::site(vm, "retry_after_fallback = \"never\"");
    falls_back(vm, NAME, "3 tuned boots cut short", 0)?;
    Ok(())
}

#[test]
fn where_both_entries_hang_the_node_stays_up_and_says_so() -> Result<(), Trouble> {
    const NAME: &str = "where_both_entries_hang_the_node_stays_up_and_says_so";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let vm = units::hangs_before_basic(server(&Image::lean()?, NAME), "");
    // The agent's own unit never runs in such a boot, so nothing waits for it here.
    let questions = node::live(Probes::new()).ask("boots", "dtn-firstboot boots");
    let (report, answers) = vm
        .option("--until", STOCK)
        .option("--linger", "90")
        .ask(&questions)?;
    let boots = report.data.boots.len();
    assert_eq!(boots, 4, "{}", report.stderr);
    is_reachable(&answers);
    let console = report.console()?;
    let said = "this boot failed: basic.target was not reached";
    assert!(
        console.contains(said) && console.contains("the node stays up"),
        "{}",
        report.data.console_tail
    );
    let at = report.data.boots[3].reachable_at().unwrap_or_default();
    say(&format!("{NAME}: {at:.0} s from power-on to a reachable node"));
    Ok(())
}

#[test]
fn a_rescue_shell_that_was_asked_for_is_never_rebooted_away() -> Result<(), Trouble> {
    const NAME: &str = "a_rescue_shell_that_was_asked_for_is_never_rebooted_away";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let vm = node::node(&Image::lean()?, NAME, 100_000).option("--cmdline", "rescue");
    // Longer than any limit that the units of a boot have, made short here.
    let vm = units::drop_in(vm, "basic.target", "[Unit]\nJobTimeoutSec=20\n");
    let probes = Probes::new()
        .ask("wait", "sleep 60")
        .ask("rescue", "systemctl is-active rescue.target")
        .ask(
            "failed",
            "systemctl status --no-pager dtn-boot-failed@rescue.service",
        )
        .status();
    let (report, answers) = vm.option("--linger", "60").ask(&probes)?;
    let all = answers.all();
    assert_eq!(report.data.boots.len(), 1, "{}", report.stderr);
    assert_eq!(answers.text("rescue"), "active", "{all}");
    assert!(
        answers
            .text("failed")
            .contains("`rescue` is on the kernel command line"),
        "{all}"
    );
    assert_ne!(answers.status()?.state, "fallback", "{all}");
    Ok(())
}
