//! A tuned boot that dies before its userspace: the boot loader gives it up after its tries, and the node is in stock.

use dtnforge_tests::fallback::{falls_back, server};
use dtnforge_tests::rung::{Rung, say};
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
