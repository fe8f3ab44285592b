//! Network devices by identity: from the bus address and permanent MAC to the interface name of this moment.
//!
//! A plan, an undo record and a commit name a NIC by [`DeviceId`]; the kernel wants an interface name. The name may
//! change between boots, and a swapped card may take over the name of another, so the way back is looked up each
//! time and never stored.
//!
//! The bus address is the deepest directory of the device that stands for real hardware: for a virtio NIC the netdev
//! hangs under `virtio0`, whose parent, the PCI function, is what the hardware is known by.

use crate::door::link;
use crate::host::Host;
use dtnforge_profiles::device::DeviceId;
use std::path::Path;

/// The bus part of the identity of a device without a bus: veth, tap and their like. Only tests use such devices as
/// ports; facts give them no PCI slot, so that no plan names one.
pub const NO_BUS: &str = "virtual";

/// Where the kernel lists network devices.
const CLASS_NET: &str = "/sys/class/net";

/// The interfaces of the host, sorted.
pub fn names(host: &Host) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(host.path(CLASS_NET)) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .filter_map(Result::ok)
        // `bonding_masters` is a file in the same directory.
        .filter(|entry| entry.path().is_dir())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| is_interface_name(name))
        .collect();
    names.sort();
    names
}

/// Whether the kernel would take `name` as the name of an interface; what it would not take names no file either.
pub fn is_interface_name(name: &str) -> bool {
    let odd = |c: char| c == '/' || c == ':' || c.is_whitespace() || c == '\0';
    !name.is_empty() && name.len() < 16 && name != "." && name != ".." && !name.contains(odd)
}

/// The bus address of an interface, for instance `0000:01:00.0`; `None` for a device without a bus, or none at all.
pub fn bus_path(host: &Host, ifname: &str) -> Option<String> {
    if !is_interface_name(ifname) {
        return None;
    }
    let link = host.path(&format!("{CLASS_NET}/{ifname}/device"));
    // A test tree may hold the link without the directory that it points to: its text says the same.
    let target = std::fs::canonicalize(&link)
        .or_else(|_| std::fs::read_link(&link))
        .ok()?;
    bus_path_of(&target)
}

/// The bus address in the path of a device directory.
fn bus_path_of(target: &Path) -> Option<String> {
    target
        .iter()
        .rev()
        .filter_map(|part| part.to_str())
        .find(|part| !is_virtio(part) && *part != "..")
        .map(str::to_owned)
}

/// Whether a directory is a virtio device: a function of its transport (PCI, MMIO), not a place on a bus.
fn is_virtio(part: &str) -> bool {
    part.strip_prefix("virtio")
        .is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit()))
}

/// The MAC that the hardware came with, in lower case. A bond gives its members another one for as long as they are
/// members, and an admin may set one; the kernel is asked first, the present address is the last resort (a device
/// without hardware, a host in a directory).
pub fn permanent_mac(host: &Host, ifname: &str) -> Option<String> {
    if !is_interface_name(ifname) {
        return None;
    }
    let by_kernel = || link::query(ifname)?.permanent_mac;
    host.is_live()
        .then(by_kernel)
        .flatten()
        .or_else(|| attribute(host, ifname, "bonding_slave/perm_hwaddr"))
        .or_else(|| attribute(host, ifname, "address"))
}

/// The identity of an interface; a device without a bus gets [`NO_BUS`] for one. `None` when it is gone or when its
/// bus address has characters that an identity may not hold.
pub fn identity(host: &Host, ifname: &str) -> Option<DeviceId> {
    let mac = permanent_mac(host, ifname)?;
    let bus = bus_path(host, ifname).unwrap_or_else(|| NO_BUS.to_owned());
    DeviceId::nic(&bus, &mac).ok()
}

/// The present name of a NIC; `None` when no interface has this identity. Representors share the PCI address of
/// their port and are never found.
pub fn find(host: &Host, id: &DeviceId) -> Option<String> {
    names(host)
        .into_iter()
        .filter(|name| bus_path(host, name).as_deref().unwrap_or(NO_BUS) == id.bus_path())
        .filter(|name| !is_representor(host, name))
        .find(|name| identity(host, name).as_ref() == Some(id))
}

/// The bond that an interface is a member of.
pub fn bond_of(host: &Host, ifname: &str) -> Option<String> {
    let path = |name: &str| host.path(&format!("{CLASS_NET}/{ifname}/{name}"));
    if !is_interface_name(ifname) || !path("bonding_slave").is_dir() {
        return None;
    }
    let master = std::fs::read_link(path("master")).ok()?;
    Some(master.file_name()?.to_str()?.to_owned())
}

/// Whether an interface stands for a virtual function or subfunction inside the card's switch.
pub fn is_representor(host: &Host, ifname: &str) -> bool {
    attribute(host, ifname, "phys_port_name").is_some_and(|name| is_representor_port(&name))
}

/// Whether a `phys_port_name` is a representor's: `pf0vf3`, `pf0sf88`, `c1pf0vf3`, `c1pf0`, `pf0hpf`. A port is `p0`.
pub fn is_representor_port(phys_port_name: &str) -> bool {
    let numbered = |text: &str, prefix: &str| {
        let rest = text.strip_prefix(prefix)?;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        (digits > 0).then(|| rest[digits..].to_owned())
    };
    let after_controller = numbered(phys_port_name, "c").unwrap_or_else(|| phys_port_name.to_owned());
    numbered(&after_controller, "pf").is_some()
}

/// A one-line attribute of an interface; `None` when it is empty or cannot be read.
fn attribute(host: &Host, ifname: &str, name: &str) -> Option<String> {
    let path = host.path(&format!("{CLASS_NET}/{ifname}/{name}"));
    let text = std::fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// A host with one interface whose `device` link points to `target`.
    fn add(root: &Path, ifname: &str, mac: &str, target: Option<&str>) {
        let dir = root.join("sys/class/net").join(ifname);
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("address"), format!("{mac}\n")).unwrap();
        if let Some(target) = target {
            symlink(target, dir.join("device")).unwrap();
        }
    }

    fn host() -> (tempfile::TempDir, Host) {
        let dir = tempfile::tempdir().unwrap();
        let host = Host::at(dir.path(), None);
        (dir, host)
    }

    #[test]
    fn a_virtio_nic_is_known_by_its_pci_function() {
        let (dir, host) = host();
        let device = dir.path().join("sys/devices/pci0000:00/0000:00:02.0/virtio0");
        fs::create_dir_all(&device).unwrap();
        add(
            dir.path(),
            "ens2",
            "52:54:00:AA:00:01",
            Some("../../../devices/pci0000:00/0000:00:02.0/virtio0"),
        );
        assert_eq!(bus_path(&host, "ens2").as_deref(), Some("0000:00:02.0"));
        let id = DeviceId::nic("0000:00:02.0", "52:54:00:aa:00:01").unwrap();
        assert_eq!(identity(&host, "ens2"), Some(id.clone()));
        assert_eq!(find(&host, &id).as_deref(), Some("ens2"));
    }

    #[test]
    fn a_bus_other_than_pci_is_named_as_the_kernel_names_it() {
        for (target, expected) in [
            ("../../../0000:01:00.0", "0000:01:00.0"),
            ("/sys/devices/pci0000:00/0000:00:14.0/usb1/1-2/1-2:1.0", "1-2:1.0"),
            ("/sys/devices/platform/virtio-mmio.3/virtio3", "virtio-mmio.3"),
            ("../../../mlx5_core.sf.4", "mlx5_core.sf.4"),
        ] {
            assert_eq!(
                bus_path_of(Path::new(target)).as_deref(),
                Some(expected),
                "{target}"
            );
        }
        assert_eq!(bus_path_of(Path::new("../../..")), None);
    }

    #[test]
    fn two_ports_of_one_function_differ_by_mac() {
        let (dir, host) = host();
        add(
            dir.path(),
            "eth0",
            "02:00:00:00:00:01",
            Some("../../../0000:81:00.0"),
        );
        add(
            dir.path(),
            "eth1",
            "02:00:00:00:00:02",
            Some("../../../0000:81:00.0"),
        );
        let second = DeviceId::nic("0000:81:00.0", "02:00:00:00:00:02").unwrap();
        assert_eq!(find(&host, &second).as_deref(), Some("eth1"));
    }

    #[test]
    fn a_swapped_card_in_the_same_slot_is_another_device() {
        let (dir, host) = host();
        add(
            dir.path(),
            "eth0",
            "02:00:00:00:00:09",
            Some("../../../0000:81:00.0"),
        );
        let old = DeviceId::nic("0000:81:00.0", "02:00:00:00:00:01").unwrap();
        assert_eq!(find(&host, &old), None);
    }

    #[test]
    fn a_bond_member_keeps_its_permanent_mac() {
        let (dir, host) = host();
        add(
            dir.path(),
            "eth0",
            "02:00:00:00:00:ff",
            Some("../../../0000:81:00.0"),
        );
        let slave = dir.path().join("sys/class/net/eth0/bonding_slave");
        fs::create_dir_all(&slave).unwrap();
        fs::write(slave.join("perm_hwaddr"), "02:00:00:00:00:01\n").unwrap();
        let id = DeviceId::nic("0000:81:00.0", "02:00:00:00:00:01").unwrap();
        assert_eq!(find(&host, &id).as_deref(), Some("eth0"));
    }

    #[test]
    fn a_representor_is_never_found_as_a_port() {
        let (dir, host) = host();
        add(
            dir.path(),
            "eth0",
            "02:00:00:00:00:01",
            Some("../../../0000:81:00.0"),
        );
        fs::write(dir.path().join("sys/class/net/eth0/phys_port_name"), "pf0vf3\n").unwrap();
        let id = DeviceId::nic("0000:81:00.0", "02:00:00:00:00:01").unwrap();
        assert_eq!(find(&host, &id), None);
        for (name, representor) in [
            ("p0", false),
            ("p1", false),
            ("pf0", true),
            ("pf0vf12", true),
            ("pf1sf88", true),
            ("c1pf0vf3", true),
            ("pf0hpf", true),
            ("pfx", false),
            ("", false),
            ("c", false),
        ] {
            assert_eq!(is_representor_port(name), representor, "{name:?}");
        }
    }

    #[test]
    fn a_device_without_a_bus_has_an_identity_and_no_bus_path() {
        let (dir, host) = host();
        add(dir.path(), "veth-long-name", "02:00:00:00:00:07", None);
        assert_eq!(bus_path(&host, "veth-long-name"), None);
        let id = identity(&host, "veth-long-name").unwrap();
        assert_eq!(id.as_str(), "virtual+02:00:00:00:00:07");
        assert_eq!(find(&host, &id).as_deref(), Some("veth-long-name"));
    }

    #[test]
    fn a_name_that_would_climb_is_no_interface() {
        let (_dir, host) = host();
        for name in ["..", ".", "", "a/b", "a b", "averyverylongname", "a:b"] {
            assert!(!is_interface_name(name), "{name:?}");
            assert_eq!(bus_path(&host, name), None);
        }
    }
}
