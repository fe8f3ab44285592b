//! A node that boots from the network, by iPXE and plain HTTP: it proves itself anew in each boot, touches no disk, says
//! when its memory is too small, and leaves the machine to its local disk when the server is gone.

use dtnforge_tests::fallback::is_reachable;
use dtnforge_tests::netboot::{Server, least_mib};
use dtnforge_tests::node::verdict;
use dtnforge_tests::rung::{Rung, say};
use dtnforge_tests::{Image, Trouble, Vm};

/// A machine with so much memory and a drive that the node must not touch.
fn machine(medium: &Image, name: &str, mib: u64) -> Vm {
    Vm::of(medium, name)
        .option("--ram", mib.to_string())
        .option("--run-timeout", "1000")
        .nic("virtio,speed=100000,rx_queue_size=1024")
        .disk("nvme,size=8G")
}

#[test]
fn a_node_from_the_network_commits_with_the_least_memory() -> Result<(), Trouble> {
    const NAME: &str = "a_node_from_the_network_commits_with_the_least_memory";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let image = Image::of_spec("netboot.toml")?;
    let server = Server::of(&image)?;
    let least = least_mib(&image)?;
    let vm = machine(&server.medium(&image, NAME)?, NAME, least).bare_metal();
    let questions = verdict()
        .ask("cmdline", "cat /proc/cmdline")
        .ask("root", "findmnt --noheadings --output SOURCE,FSTYPE,OPTIONS /")
        .ask("state", "findmnt --noheadings --output FSTYPE /state")
        .ask("boots", "dtn-firstboot boots")
        .ask("memory", "free -m");
    let (report, answers) = vm.ask(&questions)?;
    let (status, all) = (answers.status()?, answers.all());
    say(&format!(
        "{NAME}: {least} MiB, shell after {:.0} s\n{}",
        report.data.seconds_shell.unwrap_or_default(),
        answers.text("text")
    ));
    assert!(answers.text("cmdline").contains("dtnforge.boot=net"), "{all}");
    assert!(
        answers.text("root").starts_with("/dev/mapper/root erofs ro"),
        "{all}"
    );
    assert_eq!(answers.text("state"), "tmpfs", "{all}");
    assert_eq!(status.state, "committed", "{}\n{all}", status.reason);
    assert!(answers.text("boots").contains("net)"), "{all}");
    assert!(answers.text("text").contains("booted from the network"), "{all}");
    assert_eq!(answers.text("failed"), "", "{all}");
    is_reachable(&answers);
    Ok(())
}

#[test]
fn too_little_memory_is_named_and_the_node_stays() -> Result<(), Trouble> {
    const NAME: &str = "too_little_memory_is_named_and_the_node_stays";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let image = Image::of_spec("netboot.toml")?;
    let server = Server::of(&image)?;
    let least = least_mib(&image)?;
    let message = format!("booting from the network needs {least} MiB of memory, and this machine has about");
    let vm = machine(&server.medium(&image, NAME)?, NAME, least - 256);
    let report = vm.option("--until", &message).boot()?;
    assert_eq!(report.data.reason, "done", "{}", report.data.console_tail);
    Ok(())
}

#[test]
fn a_server_that_is_gone_half_way_leaves_the_machine_to_its_local_disk() -> Result<(), Trouble> {
    const NAME: &str = "a_server_that_is_gone_half_way_leaves_the_machine_to_its_local_disk";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let image = Image::of_spec("netboot.toml")?;
    let local = Image::lean()?;
    let server = Server::of(&image)?;
    let medium = server.medium(&image, NAME)?.out;
    // The firmware begins with the medium and goes on to the disk.
    let medium = format!("virtio,size=32M,file={},boot=on", medium.display());
    let vm = machine(&local, NAME, 2048).disk(&medium);
    // The initrd has come, the root has not.
    let gone = server.gone_after("GET /initrd 200");
    let report = vm.option("--until", "Command line: .*dtnforge.mode=").boot()?;
    assert!(
        gone.join().is_ok_and(|seen| seen),
        "the server was not asked\n{}",
        report.data.console_tail
    );
    let console = report.console()?;
    let line = console.split("Command line: ").nth(1).unwrap_or_default();
    let line = line.lines().next().unwrap_or_default();
    assert!(
        line.contains("roothash=") && !line.contains("dtnforge.boot=net"),
        "{line}"
    );
    Ok(())
}
