//! Rules of [`super::conclude`] on small hosts; whole machines are in `tests/hardware.rs`.

use super::*;
use crate::site::SiteFile;

fn concluded(toml: &str) -> Conclusions {
    concluded_at(toml, SiteFile::default())
}

fn concluded_at(toml: &str, site: SiteFile) -> Conclusions {
    conclude(&toml::from_str(toml).unwrap(), &site.check().unwrap())
}

#[test]
fn a_guest_that_looks_like_a_server_has_its_virtio_port_and_its_nvme_disk() {
    let facts = "[host]\ncpu_hypervisor_flag = false\ndmi_vendor = 'Supermicro'\ndmi_product = 'SYS-1'\n\
        [[nic]]\nname = 'enp1s0'\nkind = 'physical'\ndriver = 'virtio_net'\nbus = 'virtio'\noperstate = 'up'\n\
        carrier = true\nspeed_mbps = 100000\nnuma_node = -1\n\
        [[block]]\nname = 'vda'\ntransport = 'virtio'\nsize_bytes = 8000000000\nholds_root = true\n\
        [[block]]\nname = 'nvme0n1'\ntransport = 'nvme'\nnvme_transport = 'pcie'\nsize_bytes = 4294967296\n";
    let seen = concluded(facts);
    assert_eq!(seen.data_nics, ["enp1s0"]);
    assert_eq!(
        (seen.speed_class, seen.link_mbps, seen.link_stated),
        (SpeedClass::G100, Some(100_000), false)
    );
    assert_eq!(
        (seen.storage_class, seen.data_disks),
        (StorageClass::Nvme, vec!["nvme0n1".to_owned()])
    );
    assert_eq!(seen.virtualised.guest, Guest::No);
    assert_eq!(seen.numa_node, None);
    let plain = concluded(&facts.replace("false\ndmi_vendor = 'Supermicro'", "true\ndmi_vendor = 'QEMU'"));
    assert_eq!(plain.virtualised.guest, Guest::Yes);
}

#[test]
fn a_port_without_carrier_is_no_data_port() {
    let seen = concluded("[[nic]]\nname = 'eth0'\nkind = 'physical'\ncarrier = false\nspeed_mbps = 25000\n");
    assert!(seen.data_nics.is_empty());
    assert!(
        seen.why
            .contains(&"data_nics: none, no carrier on eth0".to_owned()),
        "{:?}",
        seen.why
    );
    assert_eq!(seen.speed_class, SpeedClass::Unknown);
}

#[test]
fn an_unknown_speed_stays_unknown_unless_the_site_states_it() {
    for number in ["-1", "0", "65535", "4294967295"] {
        let facts =
            format!("[[nic]]\nname = 'eth0'\nkind = 'physical'\ncarrier = true\nspeed_mbps = {number}\n");
        let seen = concluded(&facts);
        assert_eq!(
            (seen.link_mbps, seen.speed_class),
            (None, SpeedClass::Unknown),
            "{number}"
        );
        assert!(seen.cannot_tell.contains(&"speed_class".to_owned()));
        let site = SiteFile {
            link_mbps: Some(25_000),
            ..SiteFile::default()
        };
        let stated = concluded_at(&facts, site);
        assert_eq!((stated.link_mbps, stated.link_stated), (Some(25_000), true));
        assert!(
            stated
                .why
                .contains(&"speed_class: 25000 Mb/s stated by the site".to_owned())
        );
    }
}

#[test]
fn what_the_site_states_does_not_beat_what_the_kernel_knows() {
    let site = SiteFile {
        link_mbps: Some(100_000),
        ..SiteFile::default()
    };
    let seen = concluded_at(
        "[[nic]]\nname = 'eth0'\nkind = 'physical'\nspeed_mbps = 10000\n",
        site,
    );
    assert_eq!((seen.link_mbps, seen.link_stated), (Some(10_000), false));
}

#[test]
fn a_bond_is_its_legs_and_its_sum_is_not_the_speed_of_a_flow() {
    let facts = |mode: &str| {
        format!(
            "[[nic]]\nname = 'bond0'\nkind = 'bond'\nspeed_mbps = 50000\noperstate = 'up'\nbond_mode = '{mode}'\n\
             members = ['p0', 'p1']\n[[nic]]\nname = 'p0'\nkind = 'physical'\nmaster = 'bond0'\n\
             [[nic]]\nname = 'p1'\nkind = 'physical'\nmaster = 'bond0'\n"
        )
    };
    let lacp = concluded(&facts("802.3ad"));
    assert_eq!(
        (lacp.data_nics, lacp.link_mbps, lacp.host_mbps),
        (vec!["p0".to_owned(), "p1".to_owned()], Some(25_000), Some(50_000))
    );
    assert_eq!(concluded(&facts("active-backup")).host_mbps, Some(50_000));
    assert_eq!(concluded(&facts("active-backup")).link_mbps, Some(50_000));
}

#[test]
fn a_bond_whose_legs_are_not_listed_is_the_port_and_has_the_speed_of_one_leg() {
    let bond = "[[nic]]\nname = 'bond0'\nkind = 'bond'\noperstate = 'up'\nspeed_mbps = 20000\nbond_mode = '802.3ad'\n";
    let listed = concluded(&format!("{bond}members = ['a', 'b']\n"));
    assert_eq!(
        (listed.data_nics, listed.link_mbps),
        (vec!["bond0".to_owned()], Some(10_000))
    );
    assert_eq!(concluded(bond).link_mbps, None);
}

#[test]
fn representors_vfs_of_a_listed_port_and_usb_are_never_data_ports() {
    let seen = concluded(
        "[[nic]]\nname = 'p0'\nkind = 'physical'\nspeed_mbps = 25000\n\
         [[nic]]\nname = 'pf0vf0'\nkind = 'physical'\nphys_port_name = 'pf0vf0'\nspeed_mbps = 100000\n\
         [[nic]]\nname = 'vf'\nkind = 'vf'\nparent = 'p0'\nspeed_mbps = 100000\n\
         [[nic]]\nname = 'enp0s20f0u7u2c2'\nkind = 'physical'\nspeed_mbps = 100000\n\
         [[nic]]\nname = 'taken'\nkind = 'physical'\ndriver = 'vfio-pci'\nspeed_mbps = 100000\n",
    );
    assert_eq!(seen.data_nics, ["p0"]);
}

#[test]
fn a_slot_that_is_slower_than_its_port_is_a_finding_and_limits_it() {
    let port =
        "[[nic]]\nname = 'p0'\nkind = 'physical'\nspeed_mbps = 100000\npcie_gts = 8.0\npcie_width = 8\n";
    let seen = concluded(port);
    assert_eq!(
        seen.findings,
        [
            "PCIe of p0 is 8 GT/s x8, 63 Gb/s: less than its link of 100000 Mb/s; its settings are left alone, none of \
          them lifts that; move the card to a wider slot"
        ]
    );
    assert_eq!(seen.limited["p0"], "its slot carries 63 Gb/s, less than its link");
    let trained = concluded(&format!("{port}pcie_gts_max = 16.0\npcie_width_max = 16\n"));
    assert!(
        trained.findings[0]
            .ends_with("it could be 16 GT/s x16: reseat the card, or look at the settings of the slot"),
        "{:?}",
        trained.findings
    );
    let enough = concluded(
        &port
            .replace("100000", "25000")
            .replace("width = 8", "width = 8\npcie_width_max = 16"),
    );
    assert!(
        enough.limited.is_empty() && enough.findings[0].ends_with("so nothing is held back"),
        "{enough:?}"
    );
    let guest = concluded(&format!("[host]\nhypervisor = 'kvm'\n{port}"));
    assert!(guest.limited.is_empty() && guest.findings.is_empty());
}

#[test]
fn two_ports_that_share_a_slot_are_told_once() {
    let port = |name: &str, function: u8| {
        format!(
            "[[nic]]\nname = '{name}'\nkind = 'physical'\nspeed_mbps = 100000\npcie_gts = 16.0\npcie_width = 8\n\
             pci_slot = '0000:16:00.{function}'\n"
        )
    };
    let seen = concluded(&format!("{}{}", port("p0", 0), port("p1", 1)));
    assert_eq!(
        seen.findings,
        [
            "PCIe of p0 is 16 GT/s x8, 126 Gb/s, for 2 ports with 200000 Mb/s together: one at a time reaches its speed"
        ]
    );
    assert_eq!((seen.link_mbps, seen.host_mbps), (Some(100_000), Some(200_000)));
}

#[test]
fn an_ice_without_its_package_is_limited_and_says_what_to_do() {
    let port = "[[nic]]\nname = 'p0'\nkind = 'physical'\ndriver = 'ice'\nspeed_mbps = 100000\n\
        rings = { rx = 2048 }\nchannels = { combined = 1 }\n";
    let seen = concluded(port);
    assert!(
        seen.findings[0].starts_with("p0 is in safe mode, without its DDP package: one queue"),
        "{seen:?}"
    );
    assert_eq!(seen.limited["p0"], "its driver is in safe mode");
    for healthy in [
        port.replace("combined = 1", "combined = 64"),
        format!("{port}coalesce = {{ adaptive_rx = true }}\n"),
        port.replace("'ice'", "'iavf'"),
    ] {
        assert!(concluded(&healthy).limited.is_empty(), "{healthy}");
    }
}

#[test]
fn ports_without_link_that_may_be_faster_are_named_with_what_follows() {
    let facts = "[[nic]]\nname = 'eno1'\nkind = 'physical'\ndriver = 'tg3'\nspeed_mbps = 1000\n\
        [[nic]]\nname = 'ens1'\nkind = 'physical'\ndriver = 'mlx5_core'\ncarrier = false\n";
    assert_eq!(
        concluded(facts).findings,
        [
            "no link is seen on ens1, which may be faster; buffers and class are for 1000 Mb/s until one has link"
        ]
    );
    let down = facts.replace("speed_mbps = 1000", "operstate = 'down'");
    assert_eq!(
        concluded(&down).findings,
        ["no link on eno1, ens1: the node stays stock until a data port has one"]
    );
}

#[test]
fn pnfs_shows_in_mountstats_only() {
    let facts = |stats: &str| {
        format!(
            "[[mount]]\nfstype = 'nfs4'\ntarget_role = 'data'\nmountstats = 'statvers=1.1; pnfs={stats}'\n"
        )
    };
    assert_eq!(
        concluded(&facts("not configured")).storage_class,
        StorageClass::Nfs
    );
    assert_eq!(
        concluded(&facts("LAYOUT_NFSV4_1_FILES")).storage_class,
        StorageClass::Pnfs
    );
}

#[test]
fn under_hyper_v_the_synthetic_interface_is_the_data_port() {
    let seen = concluded(
        "[[nic]]\nname = 'eth0'\nkind = 'virtual'\ndriver = 'hv_netvsc'\nspeed_mbps = 50000\n\
         [[nic]]\nname = 'enP1s1'\nkind = 'vf'\ndriver = 'mlx5_core'\nmaster = 'eth0'\nspeed_mbps = 100000\n",
    );
    assert_eq!(
        (seen.data_nics, seen.link_mbps),
        (vec!["eth0".to_owned()], Some(50_000))
    );
}

#[test]
fn a_fabric_port_is_not_named_alone_beside_an_ethernet_that_may_have_link() {
    let ib = "[[nic]]\nname = 'ib0'\nkind = 'ipoib'\nfabric = 'InfiniBand'\ncarrier = true\nib_rate_mbps = 200000\n";
    let eth = "[[nic]]\nname = 'eth0'\nkind = 'physical'\n";
    assert!(concluded(&format!("{ib}{eth}")).data_nics.is_empty());
    assert!(
        concluded(&format!("{ib}{eth}speed_mbps = 1000\n"))
            .data_nics
            .is_empty()
    );
    assert_eq!(
        concluded(&format!("{ib}{eth}speed_mbps = 10000\n")).data_nics,
        ["eth0"]
    );
    assert_eq!(concluded(ib).data_nics, ["ib0"]);
}

#[test]
fn small_disks_caches_and_media_of_the_service_processor_hold_no_data() {
    let store = |toml: &str| concluded(toml).storage_class;
    let nvme = "[[block]]\nname = 'nvme0n1'\ntransport = 'nvme'\n";
    let disk = "[[block]]\nname = 'sda'\ntransport = 'sas'\nrotational = true\nsize = '7.3T'\n";
    assert_eq!(
        store(&format!("{nvme}size_bytes = 256060514304\n{disk}")),
        StorageClass::Hdd
    );
    assert_eq!(
        store(&format!(
            "{nvme}size = '3T'\nholders = ['bcache0']\n{disk}holders = ['bcache0']\n"
        )),
        StorageClass::Hdd
    );
    assert_eq!(
        store(&format!("{nvme}size_bytes = 393000000\n")),
        StorageClass::Unknown
    );
    assert_eq!(
        store("[[block]]\nname = 'sr0'\nrotational = true\nsize = '8G'\n"),
        StorageClass::Unknown
    );
    assert_eq!(
        store(&format!("{nvme}nvme_transport = 'tcp'\nsize = '3T'\n")),
        StorageClass::Unknown
    );
}

#[test]
fn a_local_file_system_for_data_decides_by_its_disks_and_nothing_else_that_is_plugged_in() {
    let disks = "[[block]]\nname = 'nvme0n1'\ntransport = 'nvme'\nsize_bytes = 960000000000\nholds_root = true\n\
        [[block]]\nname = 'sda'\ntransport = 'sas'\nrotational = true\nsize_bytes = 16000000000000\n\
        [[block]]\nname = 'sdb'\ntransport = 'sas'\nrotational = true\nsize_bytes = 16000000000000\n";
    let by_disks = concluded(disks);
    assert_eq!(by_disks.storage_class, StorageClass::Hdd);
    assert_eq!(
        by_disks.why.last().unwrap(),
        "storage_class: hdd, 2 local disks with 32000 GB, by disks, not by mounts"
    );
    let mount = "[[mount]]\nfstype = 'xfs'\ntarget_role = 'data'\ntarget = '/data'\ndisks = ['nvme0n1']\n";
    let by_mount = concluded(&format!("{disks}{mount}"));
    assert_eq!(
        (by_mount.storage_class, by_mount.data_disks),
        (StorageClass::Nvme, vec!["nvme0n1".to_owned()])
    );
    assert_eq!(
        by_mount.why.last().unwrap(),
        "storage_class: nvme, 1 local disk with 960 GB, mounted for data"
    );
    assert!(
        !by_mount.cannot_tell.contains(&"storage_class".to_owned()),
        "a mount says it"
    );
    let scratch = mount.replace("'data'", "'scratch'");
    assert_eq!(
        concluded(&format!("{disks}{scratch}")).storage_class,
        StorageClass::Hdd
    );
}

#[test]
fn a_size_that_is_not_known_is_not_said_to_be_nothing() {
    for (block, expected) in [
        ("count = 8\n", "hdd, 8 local disks of unknown size"),
        (
            "size_bytes = 4000000000000\n[[block]]\nname = 'sdb'\ntransport = 'sata'\nrotational = true\n",
            "hdd, 2 local disks with 4000 GB and more",
        ),
    ] {
        let facts = format!("[[block]]\nname = 'sda'\ntransport = 'sata'\nrotational = true\n{block}");
        let why = concluded(&facts).why.pop().unwrap();
        assert!(why.contains(expected), "{why}");
    }
}

#[test]
fn data_on_a_file_system_without_a_class_is_not_on_the_local_disks() {
    let facts = |fstype: &str| {
        format!(
            "[[block]]\nname = 'nvme0n1'\ntransport = 'nvme'\nsize = '7T'\n\
             [[mount]]\nfstype = '{fstype}'\ntarget_role = 'data (/data)'\n"
        )
    };
    for fstype in ["gpfs", "cifs", "fuse.s3fs"] {
        let seen = concluded(&facts(fstype));
        assert_eq!(seen.storage_class, StorageClass::Unknown, "{fstype}");
        assert!(seen.cannot_tell.contains(&"storage_class".to_owned()));
    }
    assert_eq!(concluded(&facts("xfs")).storage_class, StorageClass::Nvme);
}

#[test]
fn a_disk_without_a_flag_is_likely_what_its_model_number_says() {
    let seen = concluded(
        "[[block]]\nname = 'sda'\ntransport = 'sas'\nsize = '16T'\nmodel = 'ST16000NM001G'\n\
         [[block]]\nname = 'sdb'\ntransport = 'sas'\nsize = '16T'\nmodel = 'ST16000NM001G'\n\
         [[block]]\nname = 'sdc'\ntransport = 'sas'\nsize = '400G'\nmodel = 'HUSMM1640ASS200'\n",
    );
    assert_eq!(seen.storage_class, StorageClass::Hdd);
    assert_eq!(seen.data_disks, ["sda", "sdb"]);
    assert!(seen.cannot_tell.contains(&"storage_class".to_owned()));
}

#[test]
fn where_no_link_shows_the_more_capable_card_is_likely_and_equal_cards_are_all_named() {
    let port = |name: &str, driver: &str, slot: &str| {
        format!(
            "[[nic]]\nname = '{name}'\nkind = 'physical'\ndriver = '{driver}'\nmodel = '{driver}'\npci_slot = '{slot}'\n"
        )
    };
    let onboard = port("eno1", "ixgbe", "0000:01:00.0");
    let card = port("ens1", "ice", "0000:81:00.0");
    let seen = concluded(&format!("{onboard}{card}"));
    assert_eq!(seen.data_nics, ["ens1"]);
    assert!(seen.cannot_tell.contains(&"data_nic".to_owned()));
    let second = port("ens2", "ice", "0000:c1:00.0");
    assert_eq!(
        concluded(&format!("{onboard}{card}{second}")).data_nics,
        ["ens1", "ens2"]
    );
    let other = port("ens2", "mlx5_core", "0000:c1:00.0");
    assert!(concluded(&format!("{onboard}{card}{other}")).data_nics.is_empty());
}

#[test]
fn a_vf_beside_a_synthetic_interface_and_a_wireless_port_carry_no_data() {
    let seen = concluded(
        "[[nic]]\nname = 'eth0'\nkind = 'virtual'\ndriver = 'hv_netvsc'\noperstate = 'up'\nspeed_mbps = 50000\n\
         [[nic]]\nname = 'enP4s1'\nkind = 'vf'\ndriver = 'mlx5_core'\noperstate = 'up'\nspeed_mbps = 100000\n\
         [[nic]]\nname = 'wlp2s0'\nkind = 'physical'\noperstate = 'up'\nspeed_mbps = 100000\n",
    );
    assert_eq!(seen.data_nics, ["eth0"]);
}

#[test]
fn an_address_on_a_bridge_above_a_slower_port_puts_the_faster_one_in_doubt() {
    let facts = "[[nic]]\nname = 'fast'\nkind = 'physical'\nspeed_mbps = 100000\n\
        [[nic]]\nname = 'slow'\nkind = 'physical'\nspeed_mbps = 25000\nmaster = 'br0'\n\
        [[nic]]\nname = 'br0'\nkind = 'bridge'\naddr_scope = 'public'\n";
    let seen = concluded(facts);
    assert_eq!(seen.data_nics, ["fast"]);
    assert!(seen.cannot_tell.contains(&"data_nic".to_owned()), "{seen:?}");
    let idle = concluded(&facts.replace("addr_scope = 'public'\n", ""));
    assert!(!idle.cannot_tell.contains(&"data_nic".to_owned()), "{idle:?}");
}

#[test]
fn what_the_site_states_answers_what_cannot_be_told() {
    let facts = "[[nic]]\nname = 'ens1'\nkind = 'physical'\ndriver = 'mlx5_core'\n\
        [[nic]]\nname = 'ens2'\nkind = 'physical'\ndriver = 'ice'\n\
        [[nic]]\nname = 'usb0'\nkind = 'physical'\ndriver = 'cdc_ether'\n\
        [[block]]\nname = 'sda'\ntransport = 'raid'\nsize = '20T'\n";
    let seen = concluded(facts);
    assert_eq!(
        seen.questions(),
        [
            "which interfaces carry the data? (key `data_nics` in site.toml)",
            "what is the speed of the data link? (key `link_mbps` in site.toml)",
            "what holds the data? (key `storage_class` in site.toml)",
            "is this host a guest? (key `virtualised` in site.toml)",
        ]
    );
    let site: SiteFile = toml::from_str(
        "data_nics = ['ens2']\nlink_mbps = 100000\nstorage_class = 'nfs'\nvirtualised = 'no'\n",
    )
    .unwrap();
    let stated = concluded_at(facts, site.clone());
    assert!(stated.questions().is_empty(), "{stated:?}");
    assert_eq!(
        (
            stated.data_nics,
            stated.link_mbps,
            stated.storage_class,
            stated.virtualised.guest
        ),
        (
            vec!["ens2".to_owned()],
            Some(100_000),
            StorageClass::Nfs,
            Guest::No
        )
    );
    let wrong = SiteFile {
        data_nics: Some(vec!["usb0".to_owned()]),
        ..site
    };
    let seen = concluded_at(&format!("[host]\nhypervisor = 'kvm'\n{facts}"), wrong);
    assert!(seen.data_nics.is_empty());
    assert_eq!(
        seen.findings,
        [
            "virtualised is no by the site's word, and hypervisor kvm speaks against it",
            "usb0 carries the data by the site's word, and is no port of this host that can",
        ]
    );
}

#[test]
fn a_bond_that_the_site_names_stands_for_its_legs_with_link() {
    let facts = "[[nic]]\nname = 'bond0'\nkind = 'bond'\nmembers = ['p0', 'p1']\noperstate = 'up'\n\
        [[nic]]\nname = 'p0'\nkind = 'physical'\nmaster = 'bond0'\nspeed_mbps = 25000\n\
        [[nic]]\nname = 'p1'\nkind = 'physical'\nmaster = 'bond0'\ncarrier = false\n\
        [[nic]]\nname = 'p2'\nkind = 'physical'\nspeed_mbps = 100000\n";
    let site = SiteFile {
        data_nics: Some(vec!["bond0".to_owned()]),
        ..SiteFile::default()
    };
    let seen = concluded_at(facts, site);
    assert_eq!(
        (seen.data_nics, seen.link_mbps),
        (vec!["p0".to_owned()], Some(25_000))
    );
}

#[test]
fn a_disk_behind_a_frontend_or_a_network_has_no_known_medium() {
    let class = |block: &str| {
        concluded(&format!(
            "[[block]]\n{block}\nrotational = false\nsize_bytes = 4000000000000"
        ))
        .storage_class
    };
    for block in [
        "name = 'vdb'\ntransport = 'virtio'",
        "name = 'vdb'",
        "name = 'xvdf'",
        "name = 'xvdf'\ntransport = 'xen'",
        "name = 'rbd0'\ntransport = 'rbd'",
    ] {
        assert_eq!(class(block), StorageClass::Unknown, "{block}");
    }
    // The label of a RAID volume looks alike.
    assert_eq!(class("name = 'vd0'\ntransport = 'raid'"), StorageClass::Ssd);
    assert_eq!(class("name = 'vd0'"), StorageClass::Ssd);
}
