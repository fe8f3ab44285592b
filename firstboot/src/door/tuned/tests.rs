use super::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

/// A `systemctl` that keeps what a running tuned applied in the file `running`, logs what it was told, and, like the
/// real one, calls a start with a failing condition a success.
const SYSTEMCTL: &str = r#"#!/bin/sh
cd "$(dirname "$0")/.."
case "$1" in
show) echo LoadState=loaded
    if [ -e running ]; then echo ActiveState=active; else echo ActiveState=inactive; fi ;;
start|restart) echo "$1" >>log
    if [ -e broken ]; then exit 0; fi
    cat run/dtnforge/tuned/active_profile >running ;;
stop) echo stop >>log; rm -f running ;;
esac
"#;

/// A `tuned-adm` that answers what the daemon applied, or what is preset when it does not run.
const TUNED_ADM: &str = r#"#!/bin/sh
cd "$(dirname "$0")/.."
if [ -e deaf ]; then echo "No current active profile."; exit 1; fi
if [ -e running ]; then echo "Current active profile: $(cat running)"
else echo "It seems that tuned daemon is not running, preset profile is not activated."
    echo "Preset profile: $(cat run/dtnforge/tuned/active_profile)"; fi
"#;

struct Node {
    dir: tempfile::TempDir,
    door: TunedDoor,
}

impl Node {
    /// A node as our image makes it: both state files are links into `/run`, tuned is stopped.
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for path in ["bin", "etc/tuned", "run/dtnforge/tuned"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        for name in ["active_profile", "profile_mode"] {
            symlink(
                format!("/run/dtnforge/tuned/{name}"),
                root.join("etc/tuned").join(name),
            )
            .unwrap();
        }
        script(&root.join("bin/systemctl"), SYSTEMCTL);
        script(&root.join("bin/tuned-adm"), TUNED_ADM);
        let path = format!("{}:/usr/bin:/bin", root.join("bin").display());
        let host = Host::at(root, Some(Path::new(&path)));
        let door = TunedDoor {
            host,
            patience: Duration::from_millis(600),
        };
        Self { dir, door }
    }

    fn running_profile(self, profile: &str) -> Self {
        self.state("active_profile", profile);
        self.state("profile_mode", "auto");
        fs::write(self.dir.path().join("running"), profile).unwrap();
        self
    }

    fn state(&self, name: &str, text: &str) {
        fs::write(
            self.dir.path().join("run/dtnforge/tuned").join(name),
            format!("{text}\n"),
        )
        .unwrap();
    }

    fn read_state(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.dir.path().join("run/dtnforge/tuned").join(name)).ok()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }
}

fn script(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn knob() -> KnobId {
    "tuned:profile".parse().unwrap()
}

fn is(text: &str) -> Reading {
    Reading::Is(text.into())
}

#[test]
fn a_stopped_tuned_is_started_and_stopped_again_without_a_trace() {
    let node = Node::new();
    assert_eq!(node.door.read(&knob()).unwrap(), is("none"));
    let undo = node.door.undo_for(&knob()).unwrap();
    let expected = Undo::Tuned {
        profile: None,
        mode: None,
        running: false,
    };
    assert_eq!(undo, expected);
    node.door.write(&knob(), &"dtnforge-dtn-vm".into()).unwrap();
    assert_eq!(node.door.read(&knob()).unwrap(), is("dtnforge-dtn-vm"));
    assert_eq!(node.read_state("profile_mode").as_deref(), Some("manual\n"));
    node.door.undo(&knob(), &undo).unwrap();
    node.door.undo(&knob(), &undo).unwrap();
    assert_eq!(node.door.read(&knob()).unwrap(), is("none"));
    assert_eq!(node.read_state("active_profile"), None);
    assert_eq!(node.log(), "start\nstop\n");
    assert!(
        node.dir.path().join("etc/tuned/active_profile").is_symlink(),
        "the link was replaced by a file"
    );
}

#[test]
fn a_running_tuned_gets_its_profile_and_mode_back() {
    let node = Node::new().running_profile("balanced");
    let undo = node.door.undo_for(&knob()).unwrap();
    node.door.write(&knob(), &"dtnforge-dtn-vm".into()).unwrap();
    node.door.undo(&knob(), &undo).unwrap();
    assert_eq!(node.door.read(&knob()).unwrap(), is("balanced"));
    assert_eq!(node.read_state("profile_mode").as_deref(), Some("auto\n"));
    assert_eq!(node.log(), "restart\nstop\nstart\n");
}

#[test]
fn a_daemon_with_our_profile_is_restarted_though_its_files_are_back_already() {
    let node = Node::new().running_profile("balanced");
    let undo = node.door.undo_for(&knob()).unwrap();
    node.door.write(&knob(), &"dtnforge-dtn-vm".into()).unwrap();
    node.state("active_profile", "balanced");
    node.state("profile_mode", "auto");
    node.door.undo(&knob(), &undo).unwrap();
    assert_eq!(node.log(), "restart\nstop\nstart\n");
    assert_eq!(node.door.active_by_daemon().as_deref(), Some("balanced"));
    node.door.undo(&knob(), &undo).unwrap();
    assert_eq!(node.log(), "restart\nstop\nstart\n", "a second undo restarted it");
}

#[test]
fn an_undo_after_only_the_files_were_written_puts_them_back() {
    let node = Node::new();
    let undo = node.door.undo_for(&knob()).unwrap();
    node.state("active_profile", "dtnforge-dtn-vm");
    node.door.undo(&knob(), &undo).unwrap();
    assert_eq!(node.read_state("active_profile"), None);
    assert_eq!(node.log(), "");
}

#[test]
fn a_start_that_the_unit_refused_is_no_success() {
    let node = Node::new();
    fs::write(node.dir.path().join("broken"), "").unwrap();
    let error = node
        .door
        .write(&knob(), &"dtnforge-dtn-vm".into())
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("tuned:profile: tuned.service did not stay up; hint:"),
        "{error}"
    );
}

#[test]
fn a_profile_that_never_becomes_active_ends_at_the_limit() {
    let node = Node::new();
    fs::write(node.dir.path().join("deaf"), "").unwrap();
    let error = node
        .door
        .write(&knob(), &"dtnforge-dtn-vm".into())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("tuned did not activate dtnforge-dtn-vm within 0 s (it says \"nothing\")"),
        "{error}"
    );
}

#[test]
fn a_preset_profile_of_a_stopped_daemon_is_not_active() {
    let preset = "It seems that tuned daemon is not running, preset profile is not activated.\n\
                  Preset profile: balanced\n";
    assert_eq!(parse_active(preset), None);
    assert_eq!(
        parse_active("Current active profile: dtnforge-dtn-vm\n").as_deref(),
        Some("dtnforge-dtn-vm")
    );
    assert_eq!(parse_active("No current active profile.\n"), None);
}

#[test]
fn a_unit_that_is_not_there_is_not_installed() {
    assert_eq!(
        parse_daemon("LoadState=not-found\nActiveState=inactive\n"),
        Daemon::NotInstalled
    );
    assert_eq!(
        parse_daemon("LoadState=loaded\nActiveState=failed\n"),
        Daemon::Stopped
    );
    assert_eq!(
        parse_daemon("LoadState=loaded\nActiveState=active\n"),
        Daemon::Running
    );
    assert_eq!(parse_daemon(""), Daemon::NotInstalled);
}
