//! A stock boot on a host that is a directory.

use super::*;
use crate::boot::efi::tests::{set_loader, set_loader_list};
use crate::early;
use crate::esp::tests::{host, listed};
use crate::store;
use dtnforge_profiles::fallback::Cause;
use dtnforge_profiles::state::{self, Boot, StateFile};
use std::cell::Cell;
use std::fs;

/// A clock that runs as fast as it is slept on.
#[derive(Default)]
struct Fast(Cell<Duration>);

impl Clock for Fast {
    fn now(&self) -> Duration {
        self.0.get()
    }
    fn sleep(&self, time: Duration) {
        self.0.set(self.0.get() + time);
    }
}

fn write(host: &Host, path: &str, text: &str) {
    let path = host.path(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A committed node in its stock entry; the partition has `entries`, which the boot loader found in this order, and three
/// tuned boots were recorded.
fn stock_boot(entries: &[&str]) -> (tempfile::TempDir, Host) {
    let (dir, host) = host(entries);
    write(&host, "/proc/sys/kernel/random/boot_id", "b9\n");
    write(&host, "/proc/cmdline", "ro dtnforge.mode=stock");
    write(&host, "/proc/self/mounts", "/dev/vda6 /state ext4 rw 0 0\n");
    set_loader(&host, "LoaderEntrySelected", "stock.efi");
    set_loader(&host, "LoaderTimeInitUSec", "1000000");
    set_loader(&host, "LoaderTimeExecUSec", "1000001");
    let without_counter = |file: &&str| EntryName::parse(file).with(None).to_string();
    let listed: Vec<String> = entries.iter().map(without_counter).collect();
    let listed: Vec<&str> = listed.iter().map(String::as_str).collect();
    set_loader_list(&host, "LoaderEntries", &listed);
    let text = include_bytes!("../../../../profiles/src/state/committed.json");
    let committed = state::parse(text).unwrap();
    store::change(&host, |file| {
        *file = StateFile {
            boots: (1..=3).map(tuned).collect(),
            ..committed
        }
    })
    .unwrap();
    (dir, host)
}

fn tuned(done: u32) -> Boot {
    Boot {
        entry: Some("dtnforge".into()),
        tries_left: Some(3 - done),
        tries_done: Some(done),
        active: true,
        ..Boot::begun(&format!("b{done}"), BootKind::Firmware, i64::from(done))
    }
}

/// One port with a link and an address.
fn network_up(host: &Host) {
    write(host, "/sys/class/net/ens2/carrier", "1\n");
    write(host, "/sys/class/net/ens2/device/vendor", "0x1af4\n");
    let address = u32::from_ne_bytes([10, 0, 2, 0]);
    let mask = u32::from_ne_bytes([255, 255, 255, 0]);
    let route = format!("Iface\nens2\t{address:08X}\t00000000\t0001\t0\t0\t0\t{mask:08X}\t0\t0\t0\n");
    write(host, "/proc/net/route", &route);
    write(
        host,
        "/proc/net/fib_trie",
        "  |-- 10.0.2.15\n     /32 host LOCAL\n",
    );
}

fn cause(file: &StateFile) -> Option<Cause> {
    match &file.state {
        State::Fallback(fallback) => Some(fallback.cause),
        _ => None,
    }
}

#[test]
fn the_early_unit_alone_concludes_a_fallback() {
    let (_dir, host) = stock_boot(&["stock.efi", "dtnforge+0-3.efi"]);
    let marker = early::run(&host).unwrap();
    assert!(!marker.activated);
    let file = store::load(&host).file;
    assert_eq!(cause(&file), Some(Cause::CutShort));
    let last = file.history.last().unwrap();
    assert_eq!((last.entered.as_str(), last.boot_id.as_str()), ("fallback", "b9"));
    assert!(
        last.reason.starts_with("3 tuned boots cut short"),
        "{}",
        last.reason
    );
}

#[test]
fn the_main_unit_adds_what_the_watchdog_says() {
    let (_dir, host) = stock_boot(&["stock.efi", "dtnforge+0-3.efi"]);
    store::change(&host, |file| {
        file.boots[1].after_watchdog = true;
        file.boots[2].after_watchdog = true;
    })
    .unwrap();
    early::run(&host).unwrap();
    assert_eq!(cause(&store::load(&host).file), Some(Cause::Mixed));
    write(&host, "/sys/class/watchdog/watchdog0/bootstatus", "32\n");
    let mut context = Context::open(host);
    let end = stock_entry(&mut context, false);
    assert_eq!(cause(&context.file), Some(Cause::Watchdog));
    assert!(end.sentence.contains("reset by the watchdog"), "{}", end.sentence);
    assert!(!end.reboot);
}

#[test]
fn a_node_that_keeps_its_state_in_memory_does_not_try_again_by_itself() {
    let (_dir, host) = stock_boot(&["stock.efi", "dtnforge+0-3.efi"]);
    network_up(&host);
    write(&host, "/proc/self/mounts", "dtn-state /state tmpfs rw 0 0\n");
    early::run(&host).unwrap();
    let end = stock_entry(&mut Context::open(host.clone()), true);
    assert!(!end.reboot, "{}", end.sentence);
    assert_eq!(listed(&host), ["dtnforge+0-3.efi", "stock.efi"]);
}

#[test]
fn after_boots_cut_short_the_node_tries_again_by_itself_once() {
    let (_dir, host) = stock_boot(&["stock.efi", "dtnforge+0-3.efi"]);
    network_up(&host);
    early::run(&host).unwrap();
    let mut context = Context::open(host.clone());
    let end = stock_entry(&mut context, true);
    assert!(end.reboot, "{}", end.sentence);
    assert!(
        end.sentence.contains("tried once more, as dtnforge+3.efi"),
        "{}",
        end.sentence
    );
    assert_eq!(listed(&host), ["dtnforge+3.efi", "stock.efi"]);
    let file = store::load(&host).file;
    assert_eq!((file.state.name(), file.counting.retried), ("committed", 1));
    assert_eq!(file.counting.armed.as_ref().unwrap().boot_id, "b9");
    assert!(
        file.history
            .last()
            .unwrap()
            .reason
            .starts_with("retried after fallback")
    );

    // The power is cut three times more.
    store::change(&host, |file| {
        for done in 1..=3 {
            file.add_boot(Boot {
                boot_id: format!("c{done}"),
                ..tuned(done)
            });
        }
    })
    .unwrap();
    let linux = host.path("/boot/EFI/Linux");
    fs::rename(linux.join("dtnforge+3.efi"), linux.join("dtnforge+0-3.efi")).unwrap();
    set_loader(&host, "LoaderTimeExecUSec", "2000001");
    write(&host, "/proc/sys/kernel/random/boot_id", "b10\n");
    early::run(&host).unwrap();
    let mut context = Context::open(host.clone());
    let end = stock_entry(&mut context, true);
    assert_eq!(cause(&context.file), Some(Cause::CutShort));
    assert!(
        !end.reboot && end.sentence.contains("stock until `dtn-firstboot retry`"),
        "{}",
        end.sentence
    );
    assert_eq!(listed(&host), ["dtnforge+0-3.efi", "stock.efi"]);
}

#[test]
fn without_a_network_the_node_does_not_try_again_by_itself() {
    let (_dir, host) = stock_boot(&["stock.efi", "dtnforge+0-3.efi"]);
    early::run(&host).unwrap();
    let mut context = Context::open(host.clone());
    let State::Fallback(fallback) = context.file.state.clone() else {
        panic!("{:?}", context.file.state)
    };
    let why = retry(&mut context, &fallback, &Fast::default()).unwrap_err();
    assert_eq!(why, "no network after 300 s: no network interface");
    assert_eq!(listed(&host), ["dtnforge+0-3.efi", "stock.efi"]);
}

#[test]
fn a_site_that_says_never_is_obeyed() {
    let (_dir, host) = stock_boot(&["stock.efi", "dtnforge+0-3.efi"]);
    network_up(&host);
    write(&host, "/etc/dtnforge/site.toml", "retry_after_fallback = 'never'");
    early::run(&host).unwrap();
    let end = stock_entry(&mut Context::open(host.clone()), true);
    assert!(!end.reboot, "{}", end.sentence);
    assert_eq!(listed(&host), ["dtnforge+0-3.efi", "stock.efi"]);
}

#[test]
fn a_stock_entry_that_somebody_picked_changes_nothing() {
    let (_dir, host) = stock_boot(&["dtnforge+2-1.efi", "stock.efi"]);
    early::run(&host).unwrap();
    let mut context = Context::open(host);
    let end = stock_entry(&mut context, true);
    assert_eq!(
        end.sentence,
        "the stock entry was booted; state on disk: committed"
    );
    assert_eq!(context.file.boot("b9").unwrap().kind, BootKind::Manual);
}

#[test]
fn an_entry_that_the_boot_loader_does_not_list_is_named_as_damaged() {
    let (_dir, host) = stock_boot(&["dtnforge+3.efi", "stock.efi"]);
    set_loader_list(
        &host,
        "LoaderEntries",
        &["stock.efi", "auto-reboot-to-firmware-setup"],
    );
    early::run(&host).unwrap();
    let mut context = Context::open(host);
    let end = stock_entry(&mut context, true);
    assert_eq!(cause(&context.file), Some(Cause::Missing));
    assert!(
        end.sentence.contains("does not take dtnforge+3.efi for an entry"),
        "{}",
        end.sentence
    );
    assert!(!end.reboot);
}

#[test]
fn a_tuned_entry_that_is_gone_is_named() {
    let (_dir, host) = stock_boot(&["stock.efi"]);
    early::run(&host).unwrap();
    let mut context = Context::open(host);
    let end = stock_entry(&mut context, true);
    assert!(end.sentence.contains("has no dtnforge*.efi"), "{}", end.sentence);
}

#[test]
fn a_stock_entry_that_the_firmware_started_itself_says_so_and_keeps_the_commit() {
    for (entry, tries) in [
        ("dtnforge+2-1.efi", "2 of its tries are left"),
        ("dtnforge.efi", "not counted"),
    ] {
        let (_dir, host) = stock_boot(&[entry, "stock.efi"]);
        // The boot loader could not load the tuned entry: its variables speak of that one, and stock runs.
        set_loader(&host, "LoaderEntrySelected", "dtnforge.efi");
        set_loader(&host, "StubInfo", "systemd-stub 257");
        early::run(&host).unwrap();
        let mut context = Context::open(host);
        let end = stock_entry(&mut context, true);
        assert!(
            end.sentence.starts_with("the firmware started stock itself"),
            "{}",
            end.sentence
        );
        assert!(end.sentence.contains(tries), "{}", end.sentence);
        assert!(!end.reboot);
        assert_eq!(context.file.state.name(), "committed");
        let boot = context.file.boots.last().unwrap();
        assert_eq!(
            (boot.kind, boot.entry.as_deref()),
            (BootKind::Direct, Some("stock"))
        );
    }
}

#[test]
fn a_partition_that_cannot_be_looked_at_concludes_nothing() {
    let on_disk = Err(EspError::NoLoader);
    assert_eq!(judge_entry(on_disk, &[]), TunedEntry::Unknown);
}
