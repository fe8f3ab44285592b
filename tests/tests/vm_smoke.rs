//! The lean image as such: it boots, its root is what was built, and everything that must be writable is.

use dtnforge_tests::rung::{Rung, say};
use dtnforge_tests::{Answers, Image, Probes, Trouble, Vm};

/// Questions about the ground that everything else stands on.
fn ground() -> Probes {
    Probes::new()
        .wait_until_up()
        .ask("failed", "systemctl --failed --no-legend --plain")
        .ask("target", "systemctl is-active multi-user.target")
        .ask("cmdline", "cat /proc/cmdline")
        .ask("root", "findmnt --noheadings --output SOURCE,FSTYPE,OPTIONS /")
        .ask("verity", "cat /sys/class/block/dm-*/dm/uuid")
        .ask("write to root", "touch /usr/probe")
        .ask("etc", "findmnt --noheadings --output FSTYPE,OPTIONS /etc")
        .ask(
            "write to etc",
            "echo probe >/etc/probe && cat /state/etc/upper/probe",
        )
        .ask("state", "findmnt --noheadings --output SOURCE,FSTYPE /state")
        .ask("machine id", "cat /etc/machine-id")
        .ask(
            "host keys",
            "for key in /etc/ssh/ssh_host_*_key; do ssh-keygen -l -f $key; done",
        )
        .ask("ssh", "ss --listening --tcp --numeric --no-header 'sport = :22'")
        .ask("address", "ip -oneline -4 address show scope global")
        .ask(
            "entry",
            "tr -d '\\0' </sys/firmware/efi/efivars/LoaderEntrySelected-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f",
        )
        .ask("firmware", "efibootmgr -v")
        .ask("time", "systemd-analyze time")
}

fn check_ground(image: &Image, answers: &Answers) -> Result<(), Trouble> {
    let all = answers.all();
    assert_eq!(answers.text("system"), "running", "{all}");
    assert_eq!(answers.text("failed"), "", "{all}");
    assert_eq!(answers.text("target"), "active", "{all}");
    assert!(
        answers
            .text("cmdline")
            .contains(&format!("roothash={}", image.root_hash()?)),
        "{all}"
    );
    let root = answers.text("root");
    assert!(root.starts_with("/dev/mapper/root erofs ro"), "{all}");
    assert!(answers.text("verity").contains("CRYPT-VERITY-"), "{all}");
    assert!(
        answers.text("write to root").contains("Read-only file system"),
        "{all}"
    );
    for program in [r"\EFI\systemd\systemd-bootx64.efi", r"\EFI\Linux\stock.efi"] {
        let listed = answers.text("firmware").to_ascii_lowercase();
        assert!(listed.contains(&program.to_ascii_lowercase()), "{all}");
    }
    let etc = answers.text("etc");
    assert!(
        etc.starts_with("overlay rw") && etc.contains("state/etc/upper"),
        "{all}"
    );
    assert_eq!(answers.text("write to etc"), "probe", "{all}");
    assert!(answers.text("state").ends_with("ext4"), "{all}");
    let id = answers.text("machine id");
    assert!(
        id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "{all}"
    );
    assert!(answers.text("host keys").contains("(ED25519)"), "{all}");
    assert!(answers.text("ssh").contains("LISTEN"), "{all}");
    assert!(answers.text("address").contains("inet "), "{all}");
    assert!(answers.text("entry").contains("dtnforge"), "{all}");
    Ok(())
}

#[test]
fn lean_image_boots_to_multi_user_with_nothing_failed() -> Result<(), Trouble> {
    const NAME: &str = "lean_image_boots_to_multi_user_with_nothing_failed";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let image = Image::lean()?;
    let (report, answers) = Vm::of(&image, NAME).ask(&ground())?;
    let shell = report.data.seconds_shell.unwrap_or_default();
    say(&format!(
        "{NAME}: {} to a shell after {shell:.1} s; {}",
        report.data.accel,
        answers.text("time")
    ));
    check_ground(&image, &answers)?;
    assert_eq!(report.data.resets, 0, "{}", answers.all());
    Ok(())
}

#[test]
fn a_node_keeps_its_identity_over_a_reboot() -> Result<(), Trouble> {
    const NAME: &str = "a_node_keeps_its_identity_over_a_reboot";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let image = Image::lean()?;
    let overlay = dtnforge_tests::vm::fresh_path(NAME, "qcow2")?;
    let first = Vm::of(&image, NAME)
        .option("--keep-overlay", &overlay)
        .flag("--power-off");
    let (_, before) = first.ask(&ground())?;
    let second = Vm::of(&image, NAME).option("--overlay", &overlay);
    let (_, after) = second.ask(&ground())?;
    check_ground(&image, &after)?;
    for name in ["machine id", "host keys"] {
        assert_eq!(
            after.text(name),
            before.text(name),
            "{}\n{}",
            before.all(),
            after.all()
        );
    }
    Ok(())
}

#[test]
fn a_saved_guest_sees_cards_and_disks_that_are_plugged_in() -> Result<(), Trouble> {
    const NAME: &str = "a_saved_guest_sees_cards_and_disks_that_are_plugged_in";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let saved = dtnforge_tests::snapshot::of(&Image::lean()?)?;
    let probes = Probes::new()
        .ask(
            "drivers",
            "for card in /sys/class/net/*/device/driver; do basename $(readlink -f $card); done",
        )
        .ask("speeds", "cat /sys/class/net/*/speed 2>/dev/null")
        .ask("disks", "cat /sys/block/*/device/serial 2>/dev/null");
    let guest = Vm::of_snapshot(&saved, NAME)
        .option("--hotplug", "nic,model=virtio,speed=100000,net=none")
        .option("--hotplug", "nic,model=vmxnet3,net=none")
        .option("--hotplug", "nic,model=igb,net=none")
        .option("--hotplug", "disk,nvme,size=4G,serial=SHELF-1");
    let (report, answers) = guest.ask(&probes)?;
    say(&format!(
        "{NAME}: shell after {:.1} s",
        report.data.seconds_shell.unwrap_or_default()
    ));
    let drivers = answers.text("drivers");
    let mut drivers: Vec<&str> = drivers.lines().collect();
    drivers.sort_unstable();
    assert_eq!(
        drivers,
        ["igb", "virtio_net", "virtio_net", "vmxnet3"],
        "{}",
        answers.all()
    );
    assert!(
        answers.text("speeds").lines().any(|line| line == "100000"),
        "{}",
        answers.all()
    );
    assert!(answers.text("disks").contains("SHELF-1"), "{}", answers.all());
    Ok(())
}
