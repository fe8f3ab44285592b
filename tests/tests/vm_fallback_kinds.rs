//! Boots that say nothing about tuning: another kernel from a running one, userspace alone, an entry picked by hand.

use dtnforge_profiles::state::{BootKind, Reached};
use dtnforge_profiles::timeline::{BootLine, Event};
use dtnforge_tests::committed::{self, Stage};
use dtnforge_tests::fallback::{is_reachable, questions, server, server_again};
use dtnforge_tests::rung::Rung;
use dtnforge_tests::{Answers, Disk, Image, Trouble};

/// The record of the boot that gave these answers. The node must be reachable in it.
fn present(answers: &Answers) -> Result<BootLine, Trouble> {
    is_reachable(answers);
    let events = answers.status()?.timeline.into_iter().rev();
    let mut boots = events.filter_map(|event| match event {
        Event::Boot(boot) => Some(boot),
        Event::State(_) => None,
    });
    boots.next().ok_or_else(|| Trouble::Answer {
        what: "the node's status".to_owned(),
        reason: "its timeline has no boot".to_owned(),
        text: answers.all(),
    })
}

fn kind_of(answers: &Answers) -> Result<(BootKind, bool), Trouble> {
    let boot = present(answers)?;
    Ok((boot.kind, boot.counted))
}

/// Loads the kernel and the initrd of the tuned entry out of its UKI, as kexec-tools would do.
const LOAD: &str = include_str!("../scripts/load-for-kexec.py");

#[test]
fn neither_kexec_nor_a_soft_reboot_is_a_counted_boot() -> Result<(), Trouble> {
    const NAME: &str = "neither_kexec_nor_a_soft_reboot_is_a_counted_boot";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let image = Image::of_spec("quick.toml")?;
    // Its counter is armed: whatever counts would take a try or bless it.
    let overlay = committed::overlay(&image, Stage::Armed, NAME)?;
    let vm = server_again(&image, NAME, &overlay)
        // The first boot is judged good; a new try is armed by hand.
        .option("--again", "soft-reboot")
        .option("--again", "kexec");
    let probes = questions()
        .ask("counter before", "ls /boot/EFI/Linux")
        .ask("load", &format!("python3 - <<'END'\n{LOAD}\nEND"));
    let (report, rounds) = vm.ask_each(&probes)?;
    let all: String = rounds.iter().map(Answers::all).collect();
    let by: Vec<&str> = report.data.boots.iter().map(|boot| boot.by.as_str()).collect();
    assert_eq!(by, ["power-on", "soft-reboot", "kexec"], "{all}");
    assert_eq!(kind_of(&rounds[0])?, (BootKind::Firmware, true), "{all}");
    assert_eq!(kind_of(&rounds[1])?, (BootKind::Soft, false), "{all}");
    assert_eq!(kind_of(&rounds[2])?, (BootKind::Kexec, false), "{all}");
    for answers in &rounds {
        assert_eq!(answers.status()?.state, "committed", "{}", answers.all());
        assert_eq!(answers.text("failed"), "", "{}", answers.all());
    }
    Ok(())
}

#[test]
fn an_exhausted_entry_picked_by_hand_is_not_judged_and_not_tuned() -> Result<(), Trouble> {
    const NAME: &str = "an_exhausted_entry_picked_by_hand_is_not_judged_and_not_tuned";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let image = Image::of_spec("quick.toml")?;
    let overlay = committed::overlay(&image, Stage::Armed, NAME)?;
    let disk = Disk::of_node(&image, &overlay, NAME)?;
    disk.esp_rename("EFI/Linux/dtnforge+3.efi", "EFI/Linux/dtnforge+0-3.efi")?;
    // Stock, then the tuned entry by hand, then stock again.
    let probes = questions().ask(
        "pick",
        "grep -q dtnforge.mode=stock /proc/cmdline && bootctl set-oneshot dtnforge.efi",
    );
    let vm = server(&disk.image(), NAME)
        .option("--again", "reboot")
        .option("--again", "reboot");
    let (_, rounds) = vm.ask_each(&probes)?;
    let all: String = rounds.iter().map(Answers::all).collect();
    let words: Vec<bool> = rounds
        .iter()
        .map(|answers| answers.text("cmdline").contains("dtnforge.mode=tuned"))
        .collect();
    assert_eq!(words, [false, true, false], "{all}");
    assert_eq!(kind_of(&rounds[1])?, (BootKind::Manual, false), "{all}");
    assert_ne!(present(&rounds[1])?.reached, Reached::Early, "{all}");
    for answers in &rounds {
        let status = answers.status()?;
        assert_eq!(status.state, "fallback", "{all}");
        // systemd-boot goes on counting what was used; what is left stays nothing.
        let file = status.boot_counter.file.unwrap_or_default();
        assert!(file.starts_with("dtnforge+0-"), "{file}\n{all}");
        assert_eq!(answers.text("default qdisc"), "fq_codel", "{all}");
    }
    Ok(())
}

#[test]
fn stock_picked_by_hand_is_no_fallback_and_takes_no_try() -> Result<(), Trouble> {
    const NAME: &str = "stock_picked_by_hand_is_no_fallback_and_takes_no_try";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let image = Image::of_spec("quick.toml")?;
    let overlay = committed::overlay(&image, Stage::Blessed, NAME)?;
    let pick = "[ -e /etc/picked ] || { touch /etc/picked; bootctl set-oneshot stock.efi; }";
    let vm = server_again(&image, NAME, &overlay)
        .option("--again", "reboot")
        .option("--again", "reboot");
    let (_, rounds) = vm.ask_each(&questions().ask("pick", pick))?;
    let all: String = rounds.iter().map(Answers::all).collect();
    assert_eq!(kind_of(&rounds[1])?, (BootKind::Manual, false), "{all}");
    assert!(rounds[1].text("cmdline").contains("dtnforge.mode=stock"), "{all}");
    assert_eq!(rounds[1].text("default qdisc"), "fq_codel", "{all}");
    // It is tuned before and after.
    for tuned in [&rounds[0], &rounds[2]] {
        assert!(tuned.text("cmdline").contains("dtnforge.mode=tuned"), "{all}");
        assert_eq!(tuned.status()?.state, "committed", "{all}");
        assert_eq!(tuned.text("default qdisc"), "fq", "{all}");
    }
    Ok(())
}
