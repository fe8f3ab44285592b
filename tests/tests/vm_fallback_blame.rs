//! Only what can be guilty is blamed: neither a cable that is out nor a power that fails sends a healthy node to stock
//! for good.

use dtnforge_tests::committed::{self, Stage};
use dtnforge_tests::fallback::{STOCK, falls_back, is_reachable, questions, server_again};
use dtnforge_tests::rung::{Rung, say};
use dtnforge_tests::{Answers, Image, Report, Trouble, Vm, node, units};

/// Three power cuts, each in a boot that has left its record and is not judged yet. (The initrd reaches a
/// basic.target too, before that.)
const CUTS: &str = r"3x/Finished.*dtn-firstboot-early/";

/// Checks that the node has its commit in place, proved by the tools.
fn is_tuned(report: &Report, answers: &Answers, boots: usize) -> Result<(), Trouble> {
    let (status, all) = (answers.status()?, answers.all());
    assert_eq!(report.data.boots.len(), boots, "{}\n{all}", report.stderr);
    assert_eq!(status.state, "committed", "{}\n{all}", status.reason);
    assert_eq!(node::tools_agree(&status, answers), Ok(()), "{all}");
    is_reachable(answers);
    Ok(())
}

/// A node whose cable is out from the start and comes back at `back`: nothing reboots, the commit stays.
fn waits_for_its_cable(name: &str, stage: Stage, back: &str) -> Result<(Vm, Image), Trouble> {
    let image = Image::of_spec("quick.toml")?;
    let overlay = committed::overlay(&image, stage, name)?;
    let vm = server_again(&image, name, &overlay)
        .option("--link", "nic1=down@0s")
        .option("--link", format!("nic1=up@{back}"));
    Ok((vm, image))
}

fn stayed_committed(vm: Vm, name: &str) -> Result<Answers, Trouble> {
    let (report, answers) = vm.ask(&questions())?;
    let at = report.data.boots[0].reachable_at().unwrap_or_default();
    say(&format!(
        "{name}: {at:.0} s from power-on to a reachable node, tuned, in boot 1"
    ));
    is_tuned(&report, &answers, 1)?;
    let console = report.console()?;
    assert!(
        console.contains("waiting for link"),
        "{}",
        report.data.console_tail
    );
    // Judged good at last, and so not counted.
    let status = answers.status()?;
    assert_eq!(
        status.boot_counter.file.as_deref(),
        Some("dtnforge.efi"),
        "{}",
        answers.all()
    );
    Ok(answers)
}

#[test]
fn a_cable_that_comes_back_after_five_minutes_finds_the_commit_in_place() -> Result<(), Trouble> {
    const NAME: &str = "a_cable_that_comes_back_after_five_minutes_finds_the_commit_in_place";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let (vm, _image) = waits_for_its_cable(NAME, Stage::Blessed, "300s")?;
    stayed_committed(vm, NAME)?;
    Ok(())
}

#[test]
fn a_cable_that_is_out_in_the_first_boot_with_a_commit_does_not_count_against_it() -> Result<(), Trouble> {
    const NAME: &str = "a_cable_that_is_out_in_the_first_boot_with_a_commit_does_not_count_against_it";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let (vm, _image) = waits_for_its_cable(NAME, Stage::Armed, "/tuning is not the cause/")?;
    let answers = stayed_committed(vm, NAME)?;
    assert!(
        answers
            .text("journal")
            .contains("this boot does not count (dtnforge+3.efi)"),
        "{}",
        answers.all()
    );
    Ok(())
}

#[test]
fn three_power_cuts_of_a_blessed_node_leave_it_tuned() -> Result<(), Trouble> {
    const NAME: &str = "three_power_cuts_of_a_blessed_node_leave_it_tuned";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let image = Image::of_spec("quick.toml")?;
    let overlay = committed::overlay(&image, Stage::Blessed, NAME)?;
    let vm = server_again(&image, NAME, &overlay).option("--power-cycle", CUTS);
    let (report, answers) = vm.ask(&questions())?;
    let at = report.data.boots[3].reachable_at().unwrap_or_default();
    say(&format!(
        "{NAME}: {at:.0} s from the first power-on to a reachable node, tuned, in boot 4"
    ));
    is_tuned(&report, &answers, 4)
}

#[test]
fn three_power_cuts_with_a_fresh_counter_end_in_stock_until_retried() -> Result<(), Trouble> {
    const NAME: &str = "three_power_cuts_with_a_fresh_counter_end_in_stock_until_retried";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let image = Image::of_spec("quick.toml")?;
    let overlay = committed::overlay(&image, Stage::Armed, NAME)?;
    let cut = server_again(&image, NAME, &overlay).option("--power-cycle", CUTS);
    let cut = units::site(cut, "retry_after_fallback = \"never\"").flag("--power-off");
    falls_back(cut, NAME, "3 tuned boots cut short", 1)?;
    Ok(())
}

#[test]
fn after_three_power_cuts_a_node_comes_back_by_itself_once() -> Result<(), Trouble> {
    const NAME: &str = "after_three_power_cuts_a_node_comes_back_by_itself_once";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let image = Image::of_spec("quick.toml")?;
    let overlay = committed::overlay(&image, Stage::Armed, NAME)?;
    let vm = server_again(&image, NAME, &overlay).option("--power-cycle", CUTS);
    // Three cuts, stock, which arms the counter and reboots, and the tuned entry again.
    let vm = units::site(vm, "retry_after_fallback = \"once\"").option("--until", r"committed dtn-100g-nvme");
    let (report, answers) = vm.ask(&questions())?;
    let at = report.data.boots[4].reachable_at().unwrap_or_default();
    say(&format!(
        "{NAME}: {at:.0} s from the first power-on to a reachable node, tuned, in boot 5"
    ));
    is_tuned(&report, &answers, 5)?;
    let console = report.console()?;
    let stock = console
        .split("Command line: ")
        .find(|boot| boot.contains("dtnforge.mode=stock"));
    let said = "3 tuned boots cut short";
    assert!(
        stock.is_some_and(|boot| boot.contains(said)),
        "{STOCK}\n{}",
        answers.all()
    );
    assert!(answers.text("boots").contains("cut-short"), "{}", answers.all());
    Ok(())
}
