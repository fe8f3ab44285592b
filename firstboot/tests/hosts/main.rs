//! Hosts as folders: `host.txt` is what the kernel shows, `facts.toml` all that detection must make of it.
//!
//! A bug report becomes a folder; `server` and `port_eth0` are what the others build on. `UPDATE_EXPECTED=1 cargo test` writes the expected files anew; read the difference
//! before you commit it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test ends where its own files fail it"
)]

mod tree;

use dtn_firstboot::detect::{anonymise, detect, detect_through};
use dtnforge_profiles::conclude::{Guest, SpeedClass, StorageClass, conclude};
use dtnforge_profiles::facts::Facts;
use dtnforge_profiles::site::SiteFile;
use proptest::prelude::*;
use proptest::sample::Index;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tree::Tree;

fn cases_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hosts")
}

fn cases() -> Vec<PathBuf> {
    let mut cases: Vec<PathBuf> = fs::read_dir(cases_dir())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    cases.sort();
    cases
}

fn facts_of(tree: &Tree) -> Facts {
    detect_through(&tree.host(), &tree.kernel(), None)
}

#[test]
fn each_host_gives_exactly_its_facts() {
    let update = std::env::var_os("UPDATE_EXPECTED").is_some();
    let cases = cases();
    assert!(cases.len() >= 12, "the folders are gone: {cases:?}");
    let mut wrong = String::new();
    for case in cases {
        let facts = toml::to_string(&facts_of(&Tree::of(&case))).unwrap();
        let expected = case.join("facts.toml");
        if update {
            fs::write(&expected, &facts).unwrap();
        }
        let expected = fs::read_to_string(&expected).unwrap_or_default();
        if facts != expected {
            writeln!(wrong, "=== {}\n{}", case.display(), difference(&expected, &facts)).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The lines that only one of both texts has.
fn difference(expected: &str, found: &str) -> String {
    let only = |mark: &str, of: &str, other: &str| -> String {
        let missing = of
            .lines()
            .filter(|line| !other.lines().any(|there| there == *line));
        missing.map(|line| format!("{mark} {line}\n")).collect()
    };
    only("-", expected, found) + &only("+", found, expected)
}

#[test]
fn facts_survive_being_written_and_read() {
    for case in cases() {
        let facts = facts_of(&Tree::of(&case));
        let again: Facts = toml::from_str(&toml::to_string(&facts).unwrap()).unwrap();
        assert_eq!(again, facts, "{}", case.display());
        let json = serde_json::to_string(&facts).unwrap();
        assert_eq!(
            serde_json::from_str::<Facts>(&json).unwrap(),
            facts,
            "{}",
            case.display()
        );
    }
}

#[test]
fn a_bare_metal_look_has_no_hypervisor_and_the_same_guest_has_one() {
    let of = |case: &str| facts_of(&Tree::of(&cases_dir().join(case))).host;
    let metal = of("bare_metal_look_of_a_qemu_guest");
    assert_eq!((metal.hypervisor, metal.cpu_hypervisor_flag), (None, Some(false)));
    let guest = of("kvm_guest");
    assert_eq!(
        (guest.hypervisor.as_deref(), guest.cpu_hypervisor_flag),
        (Some("kvm"), Some(true))
    );
}

#[test]
fn the_facts_lead_to_the_conclusions_that_they_should() {
    let site = SiteFile::default().check().unwrap();
    let table: [(&str, &[&str], SpeedClass, StorageClass, Guest); 8] = [
        (
            "bare_metal_look_of_a_qemu_guest",
            &["ens2"],
            SpeedClass::G100,
            StorageClass::Nvme,
            Guest::No,
        ),
        (
            "kvm_guest",
            &["ens2"],
            SpeedClass::Unknown,
            StorageClass::Nvme,
            Guest::Yes,
        ),
        (
            "bond_of_two_with_a_vlan_on_top",
            &["eth0", "eth1"],
            SpeedClass::G100,
            StorageClass::Unknown,
            Guest::No,
        ),
        (
            "virtual_functions_belong_to_their_port",
            &["eth0"],
            SpeedClass::G100,
            StorageClass::Unknown,
            Guest::No,
        ),
        (
            "representors_and_subfunctions_are_no_ports",
            &["eth0"],
            SpeedClass::G100,
            StorageClass::Unknown,
            Guest::No,
        ),
        (
            "nic_that_is_down_cannot_tell_its_speed",
            &[],
            SpeedClass::Unknown,
            StorageClass::Unknown,
            Guest::No,
        ),
        (
            "usb_nic_of_the_service_processor",
            &["eth0"],
            SpeedClass::G100,
            StorageClass::Unknown,
            Guest::No,
        ),
        (
            "ipv6_only_default_route",
            &["eth0"],
            SpeedClass::G100,
            StorageClass::Unknown,
            Guest::No,
        ),
    ];
    for (case, nics, speed, storage, guest) in table {
        let concluded = conclude(&facts_of(&Tree::of(&cases_dir().join(case))), &site);
        let found = (
            concluded.speed_class,
            concluded.storage_class,
            concluded.virtualised.guest,
        );
        assert_eq!(concluded.data_nics, nics, "{case}: {:?}", concluded.why);
        assert_eq!(found, (speed, storage, guest), "{case}: {:?}", concluded.why);
    }
    let pnfs = facts_of(&Tree::of(
        &cases_dir().join("network_file_systems_are_seen_and_never_touched"),
    ));
    assert_eq!(conclude(&pnfs, &site).storage_class, StorageClass::Pnfs);
    let verity = conclude(
        &facts_of(&Tree::of(&cases_dir().join("root_of_our_image_on_verity"))),
        &site,
    );
    assert_eq!(verity.data_disks, ["nvme0n1", "nvme1n1"], "{:?}", verity.why);
}

proptest! {
    #[test]
    fn a_byte_changed_or_a_file_cut_anywhere_never_panics(
        which in any::<Index>(),
        at in any::<Index>(),
        byte in any::<u8>(),
        cut in any::<bool>(),
    ) {
        let tree = Tree::of(&cases_dir().join("root_of_our_image_on_verity"));
        let files = files(&tree.host().path("/"));
        let file = &files[which.index(files.len())];
        let mut bytes = fs::read(file).unwrap();
        if !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] = byte;
            if cut {
                bytes.truncate(at);
            }
        }
        fs::write(file, bytes).unwrap();
        let facts = facts_of(&tree);
        prop_assert!(facts.blocks.iter().any(|block| block.name.as_deref() == Some("vda")) || file.ends_with("size"));
        let mut anonymous = facts.clone();
        prop_assert!(anonymise(&mut anonymous).is_ok());
    }
}

#[test]
fn an_empty_root_gives_empty_facts_and_names_what_is_missing() {
    let facts = facts_of(&Tree::new());
    assert!(facts.nics.is_empty() && facts.blocks.is_empty() && facts.mounts.is_empty());
    let missing: Vec<&str> = facts.host.errors.keys().map(String::as_str).collect();
    assert_eq!(missing, ["block", "mount", "nic"]);
    assert_eq!(facts.host.errors["nic"], "/sys/class/net: does not exist");
}

#[test]
fn every_file_may_be_a_directory_huge_or_no_text_and_nothing_panics() {
    let case = cases_dir().join("bond_of_two_with_a_vlan_on_top");
    let spoilt: [&dyn Fn(&Path); 4] = [
        &|file| {
            fs::remove_file(file).unwrap();
            fs::create_dir(file).unwrap();
        },
        &|file| fs::File::create(file).unwrap().set_len(5 << 20).unwrap(),
        &|file| fs::write(file, [0xff, 0x00, 0xfe]).unwrap(),
        &|file| fs::write(file, "").unwrap(),
    ];
    for (number, spoil) in spoilt.iter().enumerate() {
        let tree = Tree::of(&case);
        for file in files(&tree.host().path("/")) {
            spoil(&file);
        }
        let facts = facts_of(&tree);
        let names: Vec<_> = facts.nics.iter().filter_map(|nic| nic.name.as_deref()).collect();
        assert!(names.contains(&"eth0"), "way {number}: {names:?}");
        let eth0 = facts
            .nics
            .iter()
            .find(|nic| nic.name.as_deref() == Some("eth0"))
            .unwrap();
        assert_eq!(
            (eth0.speed_mbps, eth0.carrier, eth0.mtu),
            (None, None, None),
            "way {number}"
        );
        for fact in ["speed_mbps", "carrier", "mtu"] {
            let error = &eth0.errors[fact];
            assert!(error.starts_with("/sys/class/net/eth0/"), "way {number}: {error}");
        }
    }
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(files(&entry.path()));
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
    found
}

/// The parts of a NIC in a slot of its own.
fn add_port(tree: &mut Tree, name: &str, slot: &str, mac: &str) {
    let text = format!(
        "/sys/devices/pci0000:00/{slot}/vendor: 0x15b3\n/sys/devices/pci0000:00/{slot}/device: 0x101d\n\
         /sys/devices/pci0000:00/{slot}/class: 0x020000\n/sys/devices/pci0000:00/{slot}/numa_node: 0\n\
         /sys/devices/pci0000:00/{slot}/current_link_speed: 16.0 GT/s PCIe\n\
         /sys/devices/pci0000:00/{slot}/current_link_width: 16\n\
         /sys/devices/pci0000:00/{slot}/subsystem -> /sys/bus/pci\n\
         /sys/devices/pci0000:00/{slot}/driver -> /sys/bus/pci/drivers/mlx5_core\n\
         /sys/bus/pci/devices/{slot} -> /sys/devices/pci0000:00/{slot}\n\
         /sys/devices/pci0000:00/{slot}/net/{name}/type: 1\n\
         /sys/devices/pci0000:00/{slot}/net/{name}/address: {mac}\n\
         /sys/devices/pci0000:00/{slot}/net/{name}/speed: 100000\n\
         /sys/devices/pci0000:00/{slot}/net/{name}/carrier: 1\n\
         /sys/devices/pci0000:00/{slot}/net/{name}/operstate: up\n\
         /sys/devices/pci0000:00/{slot}/net/{name}/mtu: 1500\n\
         /sys/devices/pci0000:00/{slot}/net/{name}/device -> /sys/devices/pci0000:00/{slot}\n\
         /sys/class/net/{name} -> /sys/devices/pci0000:00/{slot}/net/{name}\n"
    );
    tree.add(&text, &cases_dir());
}

fn add_disk(tree: &mut Tree, number: u32) {
    let device = format!(
        "/sys/devices/pci0000:80/0000:8{:x}:00.0/nvme/nvme{number}",
        number % 16
    );
    let text = format!(
        "{device}/transport: pcie\n{device}/model: Disk\n{device}/nvme{number}n1/size: 7501476528\n\
         {device}/nvme{number}n1/queue/rotational: 0\n{device}/nvme{number}n1/queue/scheduler: [none] mq-deadline\n\
         {device}/nvme{number}n1/device -> {device}\n\
         {device}/nvme{number}n1/nvme{number}n1p1/partition: 1\n\
         /sys/block/nvme{number}n1 -> {device}/nvme{number}n1\n\
         /sys/class/block/nvme{number}n1 -> {device}/nvme{number}n1\n"
    );
    tree.add(&text, &cases_dir());
}

#[test]
fn two_hundred_and_fifty_six_interfaces_are_all_seen() {
    let mut tree = Tree::new();
    for number in 0..256_u32 {
        let slot = format!("0000:{number:02x}:00.0");
        add_port(
            &mut tree,
            &format!("eth{number}"),
            &slot,
            &format!("02:00:00:00:01:{number:02x}"),
        );
    }
    let start = Instant::now();
    let facts = detect(&tree.host());
    println!("detection of 256 interfaces: {:?}", start.elapsed());
    assert_eq!(facts.nics.len(), 256);
    let whole = facts.nics.iter().filter(|nic| {
        nic.kind.as_deref() == Some("physical")
            && nic.speed_mbps == Some(100_000)
            && nic.pci_id.as_deref() == Some("15b3:101d")
            && nic.pcie_gts == Some(16.0)
            && nic.errors.is_empty()
    });
    assert_eq!(whole.count(), 256, "{:?}", facts.nics[0]);
    let macs: std::collections::BTreeSet<_> = facts.nics.iter().map(|nic| &nic.mac).collect();
    assert_eq!(macs.len(), 256);
}

#[test]
fn eight_nics_and_twenty_four_disks_are_seen_in_the_time_that_detection_has() {
    let mut tree = Tree::of(&cases_dir().join("server"));
    for number in 0..8_u32 {
        let slot = format!("0000:c{number:x}:00.0");
        add_port(
            &mut tree,
            &format!("port{number}"),
            &slot,
            &format!("02:00:00:00:02:{number:02x}"),
        );
    }
    (0..24).for_each(|number| add_disk(&mut tree, number));
    let host = tree.host();
    // The best of some runs: the others measure who else uses this machine.
    let best = (0..10)
        .map(|_| {
            let start = Instant::now();
            let facts = detect(&host);
            let took = start.elapsed();
            assert_eq!((facts.nics.len(), facts.blocks.len()), (8, 24));
            took
        })
        .min()
        .unwrap();
    println!("detection of 8 NICs and 24 disks: {best:?}");
    // 50 ms are the budget of detection and plan together.
    assert!(best < Duration::from_millis(40), "{best:?}");
}
