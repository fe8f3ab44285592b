//! Bad days on real boots: whatever is missing, the node stays stock, can be reached, and says why.

use dtnforge_profiles::status::Status;
use dtnforge_tests::node::{node, verdict};
use dtnforge_tests::rung::Rung;
use dtnforge_tests::vm::fresh_path;
use dtnforge_tests::{Answers, Image, Probes, Trouble, Vm};
use std::io::{Read, Seek, SeekFrom, Write};

/// Boots to the end of the agent's run: stock, for a reason that begins with `reason`, sshd listening.
fn stays_stock(vm: Vm, probes: &Probes, reason: &str) -> Result<(Status, Answers), Trouble> {
    let (_, answers) = vm.ask(probes)?;
    let (status, all) = (answers.status()?, answers.all());
    assert_eq!(status.state, "stock", "{all}");
    assert!(
        status.reason.contains(reason),
        "{:?} does not say {reason:?}\n{all}",
        status.reason
    );
    assert!(answers.text("ssh").contains("LISTEN"), "{all}");
    assert_eq!(answers.text("tuned unit"), "inactive", "{all}");
    assert!(answers.text("unit").contains("Result=success"), "{all}");
    Ok((status, answers))
}

#[test]
fn without_a_carrier_the_node_stays_stock_and_says_so() -> Result<(), Trouble> {
    const NAME: &str = "without_a_carrier_the_node_stays_stock_and_says_so";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let vm = Vm::of(&Image::of_spec("lean.toml")?, NAME)
        .bare_metal()
        .nic("virtio,speed=100000,link=down")
        .disk("nvme,size=8G");
    stays_stock(vm, &verdict(), "no carrier")?;
    Ok(())
}

#[test]
fn without_a_role_the_node_stays_stock_and_is_on_the_network() -> Result<(), Trouble> {
    const NAME: &str = "without_a_role_the_node_stays_stock_and_is_on_the_network";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let vm = node(&Image::of_spec("norole.toml")?, NAME, 100_000).bare_metal();
    let (_, answers) = stays_stock(vm, &verdict(), "role not set")?;
    assert!(answers.text("address").contains("inet "), "{}", answers.all());
    Ok(())
}

#[test]
fn without_its_state_partition_the_node_is_stock_and_reachable() -> Result<(), Trouble> {
    const NAME: &str = "without_its_state_partition_the_node_is_stock_and_reachable";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let image = Image::of_spec("lean.toml")?;
    let disk = fresh_path(NAME, "raw")?;
    std::fs::copy(image.out.join("lean.raw"), &disk).map_err(Trouble::file("copy", &disk))?;
    wipe_state(&disk).map_err(Trouble::file("wipe", &disk))?;
    let broken = Image { out: disk, ..image };
    let (_, answers) = stays_stock(
        node(&broken, NAME, 100_000).bare_metal(),
        &verdict(),
        "the state partition is missing",
    )?;
    assert!(answers.text("address").contains("inet "), "{}", answers.all());
    Ok(())
}

/// Overwrites the ext4 superblock of the state file system, found by its label.
fn wipe_state(disk: &std::path::Path) -> std::io::Result<()> {
    const LABEL: &[u8] = b"dtn-state\0";
    /// Offset of the label in a superblock, and of the superblock in its file system.
    const LABEL_AT: u64 = 0x78;
    let mut file = std::fs::File::options().read(true).write(true).open(disk)?;
    let mut block = vec![0u8; 1 << 20];
    let mut at = 0u64;
    loop {
        let length = file.read(&mut block)?;
        if length == 0 {
            return Err(std::io::Error::other(
                "no ext4 with the label dtn-state on this disk",
            ));
        }
        // Superblocks lie on 1 KiB boundaries: so only there the label can be.
        for start in (0..length).step_by(1024) {
            let label = start + usize::try_from(LABEL_AT).unwrap_or(0);
            let magic = start + 0x38;
            if block.get(label..label + LABEL.len()) == Some(LABEL)
                && block.get(magic..magic + 2) == Some(&[0x53, 0xEF])
            {
                file.seek(SeekFrom::Start(at + start as u64))?;
                return file.write_all(&[0; 1024]);
            }
        }
        at += length as u64;
    }
}

#[test]
fn an_unknown_speed_stays_stock_until_the_site_states_one() -> Result<(), Trouble> {
    const NAME: &str = "an_unknown_speed_stays_stock_until_the_site_states_one";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let state = |mbps: u32| format!("echo 'link_mbps = {mbps}' >/etc/dtnforge/site.toml; dtn-firstboot run");
    let vm = Vm::of(&Image::of_spec("lean.toml")?, NAME)
        .bare_metal()
        .option("--ram", "4096")
        .option("--run-timeout", "1000")
        .nic("virtio")
        .disk("nvme,size=8G");
    let probes = verdict()
        .ask(
            "bad site",
            "echo 'link_mbsp = 1' >/etc/dtnforge/site.toml; dtn-firstboot run",
        )
        .ask("100M", &state(100))
        .ask("100G", &state(100_000))
        .ask("final", "dtn-firstboot status --json");
    let (_, answers) = stays_stock(vm, &probes, "speed")?;
    let all = answers.all();
    assert!(
        answers
            .text("bad site")
            .contains("/etc/dtnforge/site.toml:1: unknown field `link_mbsp`"),
        "{all}"
    );
    // No profile is made for so slow a link.
    assert!(answers.text("100M").contains("stock: no profile"), "{all}");
    let last = answers.text("final");
    assert!(
        last.contains("\"state\": \"committed\"") && last.contains("stated by the site"),
        "{all}"
    );
    Ok(())
}
