//! An EFI system partition that cannot be written: nothing can be counted there, so nothing is tried.

use dtnforge_tests::fallback::{is_reachable, questions, server};
use dtnforge_tests::rung::{Rung, say};
use dtnforge_tests::{Answers, Disk, Image, Trouble, Vm};

/// Boots to the end of the agent's run, and twice more: stock each time, because of the partition.
fn stays_stock(vm: Vm, name: &str, reason: &str) -> Result<Answers, Trouble> {
    let vm = vm.option("--again", "reboot").option("--again", "reboot");
    let (report, mut rounds) = vm.ask_each(&questions())?;
    let at = report.data.boots[0].reachable_at().unwrap_or_default();
    say(&format!(
        "{name}: {at:.0} s from power-on to reachable stock, in boot 1"
    ));
    assert_eq!(report.data.boots.len(), 3, "{}", report.stderr);
    for answers in &rounds {
        let (status, all) = (answers.status()?, answers.all());
        assert_eq!(status.state, "stock", "{}\n{all}", status.reason);
        assert!(status.reason.contains(reason), "{:?}\n{all}", status.reason);
        assert!(answers.text("rmem").ends_with("6291456"), "{all}");
        is_reachable(answers);
    }
    say(&format!("{name}: {}", rounds[0].status()?.reason));
    Ok(rounds.remove(0))
}

#[test]
fn with_a_full_esp_nothing_is_tried() -> Result<(), Trouble> {
    const NAME: &str = "with_a_full_esp_nothing_is_tried";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let disk = Disk::of(&Image::lean()?, NAME)?;
    disk.esp_fill()?;
    let vm = server(&disk.image(), NAME);
    stays_stock(vm, NAME, "a tuned boot could not be counted")?;
    Ok(())
}

#[test]
fn with_a_read_only_esp_nothing_is_tried() -> Result<(), Trouble> {
    const NAME: &str = "with_a_read_only_esp_nothing_is_tried";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let disk = Disk::of(&Image::lean()?, NAME)?;
    let medium = disk.split_off_esp(NAME)?;
    let medium = format!("virtio,file={},readonly=on,boot=on", medium.display());
    let vm = server(&disk.image(), NAME).disk(&medium);
    stays_stock(vm, NAME, "a tuned boot could not be")?;
    Ok(())
}
