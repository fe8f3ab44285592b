//! A state partition that is there and no good: the node boots as itself all the same, stock, and says what is wrong.

use dtnforge_tests::fallback::is_reachable;
use dtnforge_tests::node::{node, verdict};
use dtnforge_tests::rung::Rung;
use dtnforge_tests::vm::{fresh_path, log_path};
use dtnforge_tests::{Answers, Disk, Image, Probes, Trouble, Vm};
use std::path::{Path, PathBuf};

/// What must not change over a boot with a bad state partition: whoever knows this node knows it again.
fn identity(probes: Probes) -> Probes {
    probes
        .ask("machine id", "cat /etc/machine-id")
        .ask("host key", "ssh-keygen -l -f /etc/ssh/ssh_host_ed25519_key.pub")
        .ask("keys", "cat /root/.ssh/authorized_keys")
        .ask("site", "cat /etc/dtnforge/site.toml")
}

/// A node after its first boot: a site's file, an administrator's key. Its overlay, and what it is.
fn first_boot(image: &Image, name: &str) -> Result<(PathBuf, Answers), Trouble> {
    let overlay = fresh_path(name, "qcow2")?;
    let probes = verdict()
        .ask(
            "write",
            "echo 'rtt_ms = 120' >/etc/dtnforge/site.toml; echo 'a key' >>/root/.ssh/authorized_keys",
        )
        .ask(
            "files",
            "mkdir /etc/some; for i in $(seq 40); do echo $i >/etc/some/$i; done; sync",
        );
    // A port without a speed: nothing is tried, which would take minutes.
    let vm = Vm::of(image, name)
        .option("--keep-overlay", &overlay)
        .flag("--power-off");
    let (_, answers) = vm.ask(&identity(probes))?;
    Ok((overlay, answers))
}

/// Boots a copy of the node whose state partition `damage` has changed. It must be reachable and stock, on a state in
/// memory that can be written, for the reason `why`.
fn boots_on_memory(
    (image, overlay): (&Image, &Path),
    name: &str,
    damage: impl FnOnce(&Disk) -> Result<(), Trouble>,
    why: &str,
) -> Result<Answers, Trouble> {
    let disk = Disk::of_node(image, overlay, name)?;
    damage(&disk)?;
    let probes = verdict()
        .ask("system", "timeout 180 systemctl is-system-running --wait")
        .ask("state", "findmnt --noheadings --output FSTYPE /state")
        .ask(
            "write",
            "touch /etc/probe /var/lib/probe /root/probe /home/probe && echo written",
        )
        .ask("esp", "ls /boot/EFI/Linux");
    let (report, answers) = node(&disk.image(), name, 100_000).ask(&identity(probes))?;
    let (status, all) = (answers.status()?, answers.all());
    assert_eq!(status.state, "stock", "{all}");
    assert!(status.reason.starts_with(why), "{:?}\n{all}", status.reason);
    assert!(
        status.findings.iter().any(|finding| finding.starts_with(why)),
        "{all}"
    );
    assert!(report.console()?.contains(&format!("dtnforge: {why}")), "{all}");
    is_reachable(&answers);
    assert_eq!(answers.text("state"), "tmpfs", "{all}");
    assert_eq!(answers.text("write"), "written", "{all}");
    assert_eq!(answers.text("system"), "running", "{all}");
    Ok(answers)
}

#[test]
fn a_state_partition_that_is_full_or_read_only_leaves_the_node_itself_and_stock() -> Result<(), Trouble> {
    const NAME: &str = "a_state_partition_that_is_full_or_read_only_leaves_the_node_itself_and_stock";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let image = Image::lean()?;
    let (overlay, before) = first_boot(&image, NAME)?;
    let node = (&image, overlay.as_path());
    let full = boots_on_memory(node, &format!("{NAME}-full"), fill, "the state partition is full")?;
    // mount(8) then mounts it read-only, and says so to nobody but the one who writes.
    let read_only = |disk: &Disk| disk.debugfs("dtn-state", "feature read-only").map(drop);
    let name = format!("{NAME}-read-only");
    let read_only = boots_on_memory(node, &name, read_only, "the state partition cannot be written")?;
    for after in [full, read_only] {
        for what in ["machine id", "host key", "keys", "site"] {
            assert_eq!(after.text(what), before.text(what), "{}", after.all());
        }
    }
    Ok(())
}

/// Fills the state file system to its last block.
fn fill(disk: &Disk) -> Result<(), Trouble> {
    let filler = log_path("state", "filler")?;
    std::fs::write(&filler, vec![0x5A; 300 << 20]).map_err(Trouble::file("write", &filler))?;
    disk.debugfs("dtn-state", &format!("write {} filler", filler.display()))?;
    std::fs::remove_file(&filler).map_err(Trouble::file("remove", &filler))
}

#[test]
fn a_state_partition_that_returns_errors_costs_the_tuning_and_not_the_boot() -> Result<(), Trouble> {
    const NAME: &str = "a_state_partition_that_returns_errors_costs_the_tuning_and_not_the_boot";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let image = Image::lean()?;
    let (overlay, before) = first_boot(&image, NAME)?;
    // A file whose name is there and whose inode is not: looking at it is an error of the file system.
    let damage = |disk: &Disk| disk.debugfs("dtn-state", "clri /etc/upper/some/20").map(drop);
    let node = (&image, overlay.as_path());
    let after = boots_on_memory(
        node,
        &format!("{NAME}-damaged"),
        damage,
        "the state partition cannot be read",
    )?;
    for what in ["machine id", "host key", "keys", "site"] {
        assert_eq!(after.text(what), before.text(what), "{}", after.all());
    }
    Ok(())
}

#[test]
fn a_disk_of_the_site_that_is_missing_does_not_cost_the_network() -> Result<(), Trouble> {
    const NAME: &str = "a_disk_of_the_site_that_is_missing_does_not_cost_the_network";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let image = Image::lean()?;
    let overlay = fresh_path(NAME, "qcow2")?;
    let line = "echo 'LABEL=gone /srv/data xfs x-systemd.device-timeout=20s 0 0' >>/etc/fstab; mkdir -p /srv/data; sync";
    let vm = Vm::of(&image, NAME)
        .option("--keep-overlay", &overlay)
        .flag("--power-off");
    vm.ask(&verdict().ask("fstab", line))?;
    let probes = verdict()
        .ask(
            "target",
            "systemctl is-active multi-user.target emergency.target local-fs.target",
        )
        .ask(
            "mount",
            "systemctl show --property=ActiveState --value srv-data.mount",
        );
    let (report, answers) = Vm::of(&image, NAME).option("--overlay", &overlay).ask(&probes)?;
    let all = answers.all();
    is_reachable(&answers);
    assert_eq!(answers.text("target"), "active\ninactive\ninactive", "{all}");
    assert_eq!(answers.text("mount"), "inactive", "{all}");
    assert_eq!(report.data.resets, 0, "{all}");
    Ok(())
}
