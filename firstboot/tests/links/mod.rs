//! Links of a test's namespace: commands that make them and knobs that name them.

#![expect(clippy::unwrap_used, reason = "a test that cannot make its links fails")]

use dtn_firstboot::host::Host;
use dtn_firstboot::netdev;
use dtnforge_profiles::knob::KnobId;
use std::process::Command;

/// Runs `ip`, which must succeed.
pub(crate) fn ip(args: &[&str]) {
    run("ip", args);
}

/// Runs a command, which must succeed, and returns what it printed.
pub(crate) fn run(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output().unwrap();
    assert!(
        output.status.success(),
        "{program} {args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// A knob of an interface of the namespace: `nic` or `qdisc`.
pub(crate) fn knob_of(kind: &str, ifname: &str, key: &str) -> KnobId {
    let id = netdev::identity(&Host::live(), ifname).unwrap();
    format!("{kind}/{id}:{key}").parse().unwrap()
}
