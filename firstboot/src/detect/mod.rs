//! Detection: what this host is made of, read from sysfs and procfs into [`Facts`], the form of a hardware report.
//!
//! Detection only looks. It starts no program, waits for nothing, and never touches a mounted file system. All reads
//! go through [`Source`] and are bounded, so that an odd file ends up in `errors` beside the facts and not in a panic
//! or a default. Nothing is concluded here: a speed of -1 stays -1, a carrier that could not be read stays unread;
//! what follows from the facts is decided by `dtnforge_profiles`, for a live host and a report alike.
//!
//! The order: the machine, its interfaces, its disks, its mounts. Waiting for
//! a link is apart, in [`wait_for_carrier`], and so is taking out what names a site, in [`anonymise()`].

mod address;
mod anonymise;
mod attributes;
mod carrier;
mod container;
mod cpu;
mod disk;
mod driver;
mod hypervisor;
mod kind;
mod machine;
mod mounts;
mod network;
mod nic;
mod pci;
mod rdma;
pub mod routes;
pub mod source;
mod stack;
mod stacking;
mod transport;

use crate::door::ethtool::{Ethtool, KernelEthtool};
use crate::host::Host;
pub(crate) use address::{Scope, scopes};
pub use anonymise::anonymise;
pub use carrier::{
    Clock, Ended, Link, SystemClock, Waited, candidates, known_speed, links, wait_for_carrier,
};
use dtnforge_profiles::facts::{self, FACTS_SCHEMA, Facts};
pub use source::Source;
use stacking::Stacking;
use std::collections::BTreeSet;

/// All that can be seen of a host. Never fails: what could not be read stands in `errors`.
pub fn detect(host: &Host) -> Facts {
    // A host in a directory has no kernel that could be asked for more than its files hold.
    let ethtool: Option<&dyn Ethtool> = if host.is_live() {
        Some(&KernelEthtool)
    } else {
        None
    };
    detect_through(host, host, ethtool)
}

/// What can be seen of the machine alone, without its devices.
pub fn detect_host(host: &Host) -> facts::Host {
    machine::read(host, host)
}

/// As [`detect`], read through a source and a way to the drivers of the caller's.
pub fn detect_through(host: &Host, source: &dyn Source, ethtool: Option<&dyn Ethtool>) -> Facts {
    let mut machine = machine::read(host, source);
    let mut nics = network::read(host, source, &mut machine.errors);
    if let Some(ethtool) = ethtool {
        let with_interface = nics.iter_mut().filter(|nic| nic.driver_bound.is_none());
        with_interface.for_each(|nic| driver::read(ethtool, nic));
    }
    let table = mounts::table(source).unwrap_or_else(|error| {
        let text = format!("/proc/self/mountinfo: {error}");
        machine.errors.insert("mount".to_owned(), text);
        Vec::new()
    });
    let stacking = Stacking::of(source, disk::names(source, &mut machine.errors));
    let root = mounts::root_disks(source, &table, &stacking);
    let mut blocks: Vec<facts::Block> = stacking
        .disks
        .iter()
        .map(|name| disk::read(source, name, &stacking, root.as_ref()))
        .collect();
    let mounts = mounts::read(source, &table, &stacking, &root.unwrap_or_default());
    blocks
        .iter_mut()
        .for_each(|block| block.filesystem = filesystem(block, &mounts));
    machine.raid_driver = raid_driver(&blocks);
    Facts {
        schema: Some(FACTS_SCHEMA),
        host: machine,
        nics,
        blocks,
        mounts,
        ..Facts::default()
    }
}

/// The file systems that are mounted from a disk, each type once.
fn filesystem(block: &facts::Block, mounts: &[facts::Mount]) -> Option<String> {
    let name = block.name.as_deref()?;
    let lies_on = |mount: &&facts::Mount| {
        let disks = mount.disks.as_ref();
        disks.is_some_and(|disks| disks.iter().any(|disk| disk == name))
    };
    let types: BTreeSet<&str> = mounts
        .iter()
        .filter(lies_on)
        .filter_map(|mount| mount.fstype.as_deref())
        .collect();
    (!types.is_empty()).then(|| types.into_iter().collect::<Vec<_>>().join(", "))
}

/// The driver of the controller whose volumes we see.
fn raid_driver(blocks: &[facts::Block]) -> Option<String> {
    let volume = blocks
        .iter()
        .find(|block| block.transport.as_deref() == Some("raid"))?;
    volume.driver.clone()
}
