//! The namespace rung: a test runs itself again inside a network namespace of its own, as root.
//!
//! `ip netns exec` gives the second run its own `/sys`, so that the real doors work on the real kernel and see nothing
//! of the host. Without `DTNFORGE_NS=1`, or without root, the test says that it is skipped.

#![expect(clippy::unwrap_used, reason = "a test that cannot make its namespace fails")]

use std::process::Command;

/// Set in the second run.
const INSIDE: &str = "DTNFORGE_NS_INSIDE";

/// Whether the body of `test` shall run now. The first run makes the namespace, runs the test again in it, removes it
/// and passes on a failure; it has nothing more to do.
pub(crate) fn inside(test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    if std::env::var("DTNFORGE_NS").as_deref() != Ok("1") {
        eprintln!("skipped: {test}: needs DTNFORGE_NS=1");
        return false;
    }
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: {test}: needs root, to make a network namespace");
        return false;
    }
    let namespace = Namespace::new(test);
    let status = Command::new("ip")
        .args(["netns", "exec", &namespace.0])
        .arg(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(INSIDE, "1")
        .status()
        .unwrap();
    drop(namespace);
    assert!(status.success(), "{test} failed inside its namespace");
    false
}

/// A namespace that goes away with its owner, and all links in it.
struct Namespace(String);

impl Namespace {
    fn new(test: &str) -> Self {
        let name = format!("dtnt-{}-{}", std::process::id(), test.len());
        let status = Command::new("ip").args(["netns", "add", &name]).status().unwrap();
        assert!(status.success(), "namespace {name} could not be made");
        Self(name)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let status = Command::new("ip").args(["netns", "del", &self.0]).status();
        if !status.is_ok_and(|status| status.success()) {
            eprintln!("namespace {} could not be removed", self.0);
        }
    }
}
