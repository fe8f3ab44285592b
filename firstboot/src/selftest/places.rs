//! Places that the agent writes to, and what only an image of ours has. Nothing is written to find out.

use super::{item, yes_or_no};
use crate::boot::{self, Mode};
use crate::host::Host;
use dtnforge_profiles::selftest::{Answer, Item, Need};
use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::{AccessFlags, access};

/// Directories, who needs them, and what is missing without.
const PLACES: &[(&str, Need, &str)] = &[
    ("/run", Need::Trial, "no journal, so no write"),
    ("/etc/dtnforge", Need::Trial, "no state, so no trial"),
    ("/var/lib/dtnforge", Need::Groups, "labels cannot be saved"),
];

/// Space that a state, its journal and some labels take at most, byte.
const SPACE: u64 = 4 * 1024 * 1024;

pub(super) fn items(host: &Host) -> Vec<Item> {
    let mut items: Vec<Item> = PLACES
        .iter()
        .map(|(path, need, without)| {
            let (there, found) = writable(host, path);
            item(&format!("place:{path}"), *need, there, found, without)
        })
        .collect();
    items.push(efivars(host));
    items
}

/// Whether a directory, or the nearest one above it that exists, takes files.
fn writable(host: &Host, path: &str) -> (Answer, String) {
    let wanted = host.path(path);
    let root = host.path("/");
    let Some(there) = wanted
        .ancestors()
        .take_while(|dir| dir.starts_with(&root))
        .find(|dir| dir.is_dir())
    else {
        return (Answer::No, "its file system is not there".to_owned());
    };
    let shown = there.display();
    match statvfs(there) {
        Err(errno) => return (Answer::CannotTell, format!("{shown}: {errno}")),
        Ok(about) if about.flags().contains(FsFlags::ST_RDONLY) => {
            return (Answer::No, format!("{shown} is on a read-only file system"));
        }
        Ok(about) => {
            let free = about.blocks_available() * about.fragment_size();
            if free < SPACE {
                return (
                    Answer::No,
                    format!("{shown} has {free} byte left, expected {SPACE}"),
                );
            }
        }
    }
    if access(there, AccessFlags::W_OK).is_err() {
        let found = format!("{shown} cannot be written by this user");
        return (Answer::CannotTell, found);
    }
    (Answer::Yes, format!("{shown} takes files"))
}

fn efivars(host: &Host) -> Item {
    let is_there = host.path("/sys/firmware/efi/efivars").is_dir();
    let found = match (is_there, boot::words(host).mode) {
        (true, Mode::Foreign) => "UEFI; this host is no image of dtnforge and has no boot counter",
        (true, _) => "UEFI",
        (false, _) => "no UEFI variables: started by BIOS, or not mounted",
    };
    item(
        "efivars",
        Need::Image,
        yes_or_no(is_there),
        found,
        "boots are not counted: no fallback to a stock entry",
    )
}
