//! A layer that harms the boot, or that cannot be read: the node is stock and can be reached.

use dtnforge_tests::committed::{self, Stage};
use dtnforge_tests::fallback::{is_reachable, questions, server, server_again};
use dtnforge_tests::rung::{Rung, say};
use dtnforge_tests::{Disk, Image, Trouble};

#[test]
fn a_layer_that_loses_the_network_is_rejected_by_its_first_boot() -> Result<(), Trouble> {
    const NAME: &str = "a_layer_that_loses_the_network_is_rejected_by_its_first_boot";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let image = Image::of_spec("netloss.toml")?;
    let overlay = committed::overlay(&image, Stage::Armed, NAME)?;
    let vm = server_again(&image, NAME, &overlay)
        .option("--again", "reboot")
        .option("--again", "reboot");
    let (report, rounds) = vm.ask_each(&questions())?;
    let at = report.data.boots[0].reachable_at().unwrap_or_default();
    say(&format!(
        "{NAME}: {at:.0} s from power-on to reachable stock, in boot 1"
    ));
    // It lost its network, found out why, and got it back without a reboot; so it is at the two reboots.
    assert_eq!(report.data.boots.len(), 3, "{}", report.stderr);
    let console = report.console()?;
    assert!(
        console.contains("no network with the commit in place"),
        "{}",
        report.data.console_tail
    );
    for answers in &rounds {
        let (status, all) = (answers.status()?, answers.all());
        assert_eq!(status.state, "rejected", "{}\n{all}", status.reason);
        assert!(
            status
                .reason
                .contains("the node loses its network with dtn-100g-nvme in place"),
            "{all}"
        );
        assert_ne!(answers.text("default qdisc"), "blackhole", "{all}");
        is_reachable(answers);
    }
    Ok(())
}

#[test]
fn corrupt_layers_cost_the_tuning_and_not_the_boot() -> Result<(), Trouble> {
    const NAME: &str = "corrupt_layers_cost_the_tuning_and_not_the_boot";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let image = Image::of_spec("quick.toml")?;
    let overlay = committed::overlay(&image, Stage::Blessed, NAME)?;
    let disk = Disk::of_node(&image, &overlay, NAME)?;
    disk.spoil("dtn-layers", 0..16)?;
    let (report, answers) = server(&disk.image(), NAME).ask(&questions())?;
    let (status, all) = (answers.status()?, answers.all());
    let at = report.data.boots[0].reachable_at().unwrap_or_default();
    say(&format!(
        "{NAME}: {at:.0} s from power-on to reachable stock, in boot 1: {}",
        status.reason
    ));
    assert_eq!(report.data.boots.len(), 1, "{}", report.stderr);
    assert!(status.reason.contains("layer"), "{all}");
    assert_eq!(answers.text("default qdisc"), "fq_codel", "{all}");
    is_reachable(&answers);
    Ok(())
}
