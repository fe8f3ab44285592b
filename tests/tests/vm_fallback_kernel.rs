//! A tuned boot that dies before its userspace: the boot loader gives it up after its tries, and the node is in stock.

use dtnforge_tests::committed::{self, Stage};
use dtnforge_tests::fallback::{STOCK, falls_back, is_reachable, questions, server, server_again};
use dtnforge_tests::rung::{Rung, say};
use dtnforge_tests::vm::fresh_path;
use dtnforge_tests::{Disk, Image, Trouble, Vm};

#[test]
fn a_panic_in_the_initrd_ends_in_stock_and_stays_there() -> Result<(), Trouble> {
    const NAME: &str = "a_panic_in_the_initrd_ends_in_stock_and_stays_there";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let vm = server(&Image::of_spec("panics.toml")?, NAME);
    let reason = "3 tuned boots died before userspace";
    let fallen = falls_back(vm, NAME, reason, 2)?;
    // Three tries, stock, and stock again at both reboots.
    assert_eq!(fallen.report.data.boots.len(), 6, "{}", fallen.report.stderr);
    Ok(())
}

#[test]
fn a_truncated_uki_ends_in_stock_that_says_so() -> Result<(), Trouble> {
    const NAME: &str = "a_truncated_uki_ends_in_stock_that_says_so";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let disk = Disk::of(&Image::lean()?, NAME)?;
    disk.esp_truncate("EFI/Linux/dtnforge+3.efi", 1 << 20)?;
    falls_back(server(&disk.image(), NAME), NAME, "died before userspace", 2)?;
    Ok(())
}

/// A node that was blessed has no counter any more: only the firmware's own entry leads from its UKI to stock.
#[test]
fn a_truncated_uki_of_a_blessed_node_ends_in_stock_by_the_firmwares_own_entry() -> Result<(), Trouble> {
    const NAME: &str = "a_truncated_uki_of_a_blessed_node_ends_in_stock_by_the_firmwares_own_entry";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let image = Image::of_spec("quick.toml")?;
    let overlay = committed::overlay(&image, Stage::Blessed, NAME)?;
    let vars = fresh_path(NAME, "vars.qcow2")?;
    let questions = questions().ask("entries", "efibootmgr -v");
    let vm = server_again(&image, NAME, &overlay).option("--vars", &vars);
    let (_, answers) = vm.flag("--power-off").ask(&questions)?;
    let listed = answers.text("entries");
    assert!(listed.contains(r"\EFI\Linux\stock.efi"), "{}", answers.all());

    let disk = Disk::of_node(&image, &overlay, NAME)?;
    disk.esp_truncate("EFI/Linux/dtnforge.efi", 1 << 20)?;
    let vm = server(&disk.image(), NAME)
        .option("--vars", &vars)
        .option("--until", STOCK);
    let (report, answers) = vm.ask(&questions)?;
    let (status, all) = (answers.status()?, answers.all());
    let reason = "the firmware started stock itself: it could not load the boot loader or the tuned entry";
    assert!(status.reason.contains(reason), "{}\n{all}", status.reason);
    assert_eq!(status.state, "committed", "{all}");
    assert!(answers.text("boots").contains("(stock, direct)"), "{all}");
    assert_eq!(answers.text("tuned unit"), "inactive", "{all}");
    is_reachable(&answers);
    let seconds = report.data.boots.last().and_then(|boot| boot.reachable_at());
    say(&format!(
        "{NAME}: {:.0} s from power-on to reachable stock, in boot {}",
        seconds.unwrap_or_default(),
        report.data.boots.len()
    ));
    Ok(())
}

#[test]
fn a_corrupt_root_ends_in_a_message_on_the_console_and_no_loop() -> Result<(), Trouble> {
    const NAME: &str = "a_corrupt_root_ends_in_a_message_on_the_console_and_no_loop";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let disk = Disk::of(&Image::lean()?, NAME)?;
    // Not its first block: a root that cannot even be mounted is the easier case.
    disk.spoil("dtn-root", 1..16)?;
    // The message is said every minute: the second time a minute has passed without a reboot.
    let message = "this entry cannot start: the root partition is damaged";
    let vm = Vm::of(&disk.image(), NAME).option("--until", message);
    let report = vm.option("--linger", "100").option("--timeout", "500").boot()?;
    assert_eq!(report.data.reason, "done", "{}", report.data.console_tail);
    let console = report.console()?;
    let boots = report.data.boots.len();
    let last = console.split("Command line: ").last().unwrap_or_default();
    assert!(boots <= 4, "{boots} boots\n{}", report.stderr);
    assert!(
        last.contains("dtnforge.mode=stock"),
        "{}",
        report.data.console_tail
    );
    assert!(last.matches(message).count() > 1, "{}", report.data.console_tail);
    let at = report.data.seconds_until.unwrap_or_default();
    say(&format!(
        "{NAME}: {at:.0} s from power-on to the message, in boot {boots}, which stays"
    ));
    Ok(())
}
