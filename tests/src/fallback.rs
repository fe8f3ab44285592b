//! A node that ends in its stock entry: how it is booted until then, and what is asked of it there.

use std::path::Path;

use dtnforge_profiles::status::Status;

use crate::rung::say;
use crate::{Answers, Image, Probes, Report, Trouble, Vm, node};

/// The kernel's line that names the stock entry.
pub const STOCK: &str = r"Command line: .*dtnforge\.mode=stock";
/// The same for the entry that tunes.
pub const TUNED: &str = r"Command line: .*dtnforge\.mode=tuned";

/// The server that these tests boot; the port of its sshd is watched.
pub fn server(image: &Image, name: &str) -> Vm {
    node::node(image, name, 100_000)
        .bare_metal()
        .option("--ssh-port", "auto")
        .flag("--until-ssh")
}

/// The same with the disk that an earlier boot left.
pub fn server_again(image: &Image, name: &str, overlay: &Path) -> Vm {
    server(image, name).option("--overlay", overlay)
}

/// Until the boot was judged and what follows from that is done (blessing, arming): up to 3 minutes.
const JUDGED: &str = include_str!("../scripts/wait-until-judged.sh");

/// What a node is asked in each of its boots, once the agent has ended and the boot was judged.
pub fn questions() -> Probes {
    node::verdict()
        .ask("system", "timeout 180 systemctl is-system-running --wait")
        .ask("judged", JUDGED)
        .status()
        .ask("cmdline", "cat /proc/cmdline")
        .ask("esp", "ls /boot/EFI/Linux")
        .ask("boots", "dtn-firstboot boots")
        .ask("motd", "cat /run/motd.d/50-dtnforge")
}

/// A node in its stock entry.
#[derive(Debug)]
pub struct Fallen {
    /// How it came there.
    pub report: Report,
    /// Its status in the first boot there.
    pub status: Status,
    /// Its answers, one set for each boot there.
    pub answers: Vec<Answers>,
}

/// Boots `vm` until its kernel is that of the stock entry and sshd answers there, asks, then reboots it `reboots` times
/// and asks again. In each of these boots it must be in stock, with network and sshd, and give the same reason, which
/// has to hold `reason`.
///
/// # Errors
/// When it does not come there.
pub fn falls_back(vm: Vm, name: &str, reason: &str, reboots: usize) -> Result<Fallen, Trouble> {
    let again = |vm: Vm, _| vm.option("--again", "reboot");
    let vm = (0..reboots).fold(vm.option("--until", STOCK), again);
    let (report, answers) = vm.ask_each(&questions())?;
    let first = report.data.boots.len() - 1 - reboots;
    let seconds = report.data.boots[first].reachable_at().unwrap_or_default();
    say(&format!(
        "{name}: {seconds:.0} s from power-on to reachable stock, in boot {}",
        first + 1
    ));
    for answers in &answers {
        is_in_fallback(answers, reason)?;
    }
    let status = answers[0].status()?;
    say(&format!("{name}: {}", status.reason));
    let console = report.console()?;
    assert!(
        console.contains(&status.reason),
        "not on the console: {}",
        status.reason
    );
    Ok(Fallen {
        report,
        status,
        answers,
    })
}

/// Checks a boot of the stock entry that the boot loader fell back to.
///
/// # Errors
/// When it gives no status.
pub fn is_in_fallback(answers: &Answers, reason: &str) -> Result<(), Trouble> {
    let (status, all) = (answers.status()?, answers.all());
    assert_eq!(status.state, "fallback", "{}\n{all}", status.reason);
    assert!(
        status.reason.contains(reason),
        "{:?} does not say {reason:?}\n{all}",
        status.reason
    );
    is_reachable(answers);
    assert!(answers.text("cmdline").contains("dtnforge.mode=stock"), "{all}");
    assert_eq!(answers.text("tuned unit"), "inactive", "{all}");
    // The message has an end; `status` has the whole.
    let beginning: String = status.reason.chars().take(200).collect();
    assert!(answers.text("motd").contains(&beginning), "{all}");
    Ok(())
}

/// Checks that a node has an address and that its sshd listens.
pub fn is_reachable(answers: &Answers) {
    let all = answers.all();
    assert!(answers.text("address").contains("inet "), "{all}");
    assert!(answers.text("ssh").contains("LISTEN"), "{all}");
}
