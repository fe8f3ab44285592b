//! Which boots put a commit in place.

use super::*;
use crate::boot::efi::tests::{set_loader, set_loader_list};
use crate::esp::tests::host;
use dtnforge_profiles::layer::{INDEX_SCHEMA, Index, IndexEntry};
use dtnforge_profiles::state::{self, StateFile};

fn write(host: &Host, path: &str, text: &str) {
    atomic::write(&host.path(path), text.as_bytes(), 0o644).unwrap();
}

/// A committed node whose boot loader started the tuned entry and, where `counted` has a name, counted it.
fn node(counted: Option<&str>) -> (tempfile::TempDir, Host) {
    let (dir, host) = host(&[counted.unwrap_or("dtnforge.efi"), "stock.efi"]);
    write(&host, "/proc/sys/kernel/random/boot_id", "b2\n");
    write(&host, "/proc/cmdline", "ro dtnforge.mode=tuned");
    set_loader(&host, "LoaderEntrySelected", "dtnforge.efi");
    set_loader_list(&host, "LoaderEntries", &["dtnforge.efi", "stock.efi"]);
    if let Some(name) = counted {
        set_loader(&host, "LoaderBootCountPath", &format!(r"\EFI\Linux\{name}"));
    }
    let text = include_bytes!("../../../profiles/src/state/committed.json");
    let mut file = state::parse(text).unwrap();
    file.boots.clear();
    let site = look::site_digest(&siteconf::load(&host).unwrap());
    if let Some(commit) = file.state.commit_mut() {
        commit.site = site;
        let entry = IndexEntry {
            profile: commit.profile.clone(),
            file: "layer.tar.zst".into(),
            digest: commit.layer.clone(),
        };
        let index = Index {
            schema: INDEX_SCHEMA,
            layers: vec![entry],
        };
        let text = serde_json::to_string(&index).unwrap();
        write(&host, &format!("{}/index.json", layers::IMAGE_DIR), &text);
    }
    store::change(&host, |stored| *stored = file).unwrap();
    (dir, host)
}

fn edit(host: &Host, edit: impl FnOnce(&mut StateFile)) {
    store::change(host, edit).unwrap();
}

fn prove(host: &Host) {
    edit(host, |file| {
        if let Some(commit) = file.state.commit_mut() {
            commit.proved_in_boot = Some("b1".into());
        }
    });
}

#[test]
fn a_counted_boot_puts_an_unproved_commit_in_place_and_its_record_says_so() {
    let (_dir, host) = node(Some("dtnforge+2-1.efi"));
    let marker = run(&host).unwrap();
    assert!(marker.activated, "{}", marker.why);
    let file = store::load(&host).file;
    let record = file.boot("b2").unwrap();
    assert!(record.active && record.is_counted(), "{record:?}");
    assert_eq!(boot::this(&host), *record);
}

#[test]
fn a_boot_that_nobody_counts_puts_only_a_proved_commit_in_place() {
    let (_dir, host) = node(None);
    let marker = run(&host).unwrap();
    assert!(!marker.activated);
    assert_eq!(
        marker.why,
        "no counted boot has proved it yet, and this boot is not counted (kind of boot: firmware)"
    );
    assert!(!store::load(&host).file.boot("b2").unwrap().active);
    prove(&host);
    assert!(run(&host).unwrap().activated);
}

#[test]
fn a_fallback_on_disk_keeps_even_a_counted_boot_stock() {
    let (_dir, host) = node(Some("dtnforge+2-1.efi"));
    prove(&host);
    edit(&host, |file| {
        file.fall_back(dtnforge_profiles::fallback::missing("test"), "b1", 1);
    });
    let marker = run(&host).unwrap();
    assert_eq!(
        (marker.activated, marker.why.as_str()),
        (false, "nothing is committed (state fallback)")
    );
}

#[test]
fn a_kexec_does_not_put_an_unproved_commit_in_place() {
    let (_dir, host) = node(Some("dtnforge+2-1.efi"));
    write(&host, "/proc/sys/kernel/bootloader_type", "208\n");
    let marker = run(&host).unwrap();
    assert!(
        !marker.activated && marker.why.contains("kexec"),
        "{}",
        marker.why
    );
}

#[test]
fn a_state_that_cannot_be_stored_does_not_keep_a_boot_from_going_on() {
    let (_dir, host) = node(Some("dtnforge+2-1.efi"));
    // The place of the new file beside the old one is taken: nothing can be written, even as root.
    fs::create_dir_all(host.path("/etc/dtnforge/state.json.new")).unwrap();
    let marker = run(&host).unwrap();
    assert!(marker.activated, "{}", marker.why);
    let this = boot::this(&host);
    assert!(this.is_counted() && this.active, "{this:?}");
}

#[test]
fn a_boot_that_dies_in_the_early_step_has_its_record() {
    let (_dir, host) = node(Some("dtnforge+2-1.efi"));
    // The place of the files is taken.
    write(&host, "/run/sysctl.d", "");
    write(&host, "/run/udev", "");
    write(&host, "/run/modules-load.d", "");
    write(&host, "/run/tuned", "");
    edit(&host, |file| {
        if let Some(commit) = file.state.commit_mut() {
            commit.plan.modules = vec!["tcp_bbr".into()];
        }
    });
    run(&host).unwrap_err();
    let marker = read_marker(&host).unwrap();
    assert_eq!(marker.why, "the early step did not end");
    assert!(store::load(&host).file.boot("b2").unwrap().is_counted());
}

#[test]
fn a_damaged_state_is_left_as_it_is_for_the_main_unit() {
    let (_dir, host) = node(Some("dtnforge+2-1.efi"));
    write(&host, store::STATE_PATH, "{ cut");
    let marker = run(&host).unwrap();
    assert!(
        !marker.activated && marker.why.contains("cannot be read as schema 1"),
        "{}",
        marker.why
    );
    assert_eq!(fs::read_to_string(host.path(store::STATE_PATH)).unwrap(), "{ cut");
    assert!(boot::this(&host).is_counted());
}
