//! An agent that hangs in a live trial: the trial is taken back, and the node is stock.

use dtnforge_tests::fallback::{is_reachable, questions, server};
use dtnforge_tests::rung::{Rung, say};
use dtnforge_tests::{Image, Probes, Trouble, units};

/// Stops the agent as soon as a value of its trial is live, and again whenever systemd lets it go on.
const STOP: &str = r#"
while sysctl -n net.ipv4.tcp_rmem | grep -q '6291456$'; do sleep 0.2; done
agent=$(systemctl show --property=MainPID --value dtn-firstboot)
sysctl -n net.ipv4.tcp_rmem
while kill -STOP $agent 2>/dev/null; do sleep 0.2; done"#;

#[test]
fn an_agent_that_hangs_in_a_live_trial_ends_in_stock() -> Result<(), Trouble> {
    const NAME: &str = "an_agent_that_hangs_in_a_live_trial_ends_in_stock";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let vm = units::drop_in(
        server(&Image::lean()?, NAME),
        "dtn-firstboot.service",
        "[Service]\nTimeoutStopSec=150\n",
    );
    let probes = Probes::new().ask("stopped", STOP).and(questions());
    let (report, answers) = vm.ask(&probes)?;
    let (status, all) = (answers.status()?, answers.all());
    say(&format!(
        "{NAME}: stock after {:.0} s: {}",
        report.data.seconds, status.reason
    ));
    assert_eq!(report.data.boots.len(), 1, "{}", report.stderr);
    // The trial was live when it was stopped, and is not any more.
    assert!(!answers.text("stopped").ends_with("6291456"), "{all}");
    assert!(answers.text("rmem").ends_with("6291456"), "{all}");
    assert_eq!(status.state, "stock", "{all}");
    assert!(status.reason.starts_with("interrupted: "), "{all}");
    is_reachable(&answers);
    Ok(())
}
