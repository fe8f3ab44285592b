//! A tuned boot that dies before its userspace: the boot loader gives it up after its tries, and the node is in stock.

use dtnforge_tests::fallback::{falls_back, server};
use dtnforge_tests::rung::Rung;
use dtnforge_tests::{Disk, Image, Trouble};

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
