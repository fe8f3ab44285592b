//! Where tuned's choice of a profile is kept, and how it is changed without outliving the boot.
//!
//! On our image the two files are links into `/run`. On an installed host they are the site's own, and stay as they are:
//! a drop-in of tuned's unit binds copies under `/run` over them, when there are such copies at its start.

use super::super::attribute;
use crate::atomic;
use crate::host::Host;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The drop-in, of an installation by hand or of a package.
const DROP_INS: [&str; 2] = [
    "/etc/systemd/system/tuned.service.d/60-dtnforge.conf",
    "/usr/lib/systemd/system/tuned.service.d/60-dtnforge.conf",
];
/// Where the copies are.
const COPIES: &str = "/run/dtnforge/tuned";

/// The trimmed text of a file of tuned's choice; `None` when it is missing or empty.
pub(super) fn read(host: &Host, path: &str) -> io::Result<Option<String>> {
    match copy(host, path).filter(|copy| copy.exists()) {
        Some(copy) => text(&copy),
        None => text(&real_path(host, path)),
    }
}

/// Gives a file of tuned's choice this text, or takes it away.
pub(super) fn write(host: &Host, path: &str, wanted: Option<&str>) -> io::Result<()> {
    if read(host, path)?.as_deref() == wanted {
        return Ok(());
    }
    let Some(copy) = copy(host, path) else {
        return put(&real_path(host, path), wanted);
    };
    if text(&real_path(host, path))?.as_deref() == wanted {
        return put(&copy, None);
    }
    // An empty copy hides the site's file.
    put(&copy, Some(wanted.unwrap_or_default()))
}

/// The copy of a file, which may not be there; `None` on a host where no drop-in would bind it.
fn copy(host: &Host, path: &str) -> Option<PathBuf> {
    let is_bound = DROP_INS.iter().any(|drop_in| host.path(drop_in).exists());
    let (_, name) = path.rsplit_once('/')?;
    is_bound.then(|| host.path(&format!("{COPIES}/{name}")))
}

/// Where a file really is: behind the link, when it is one. A link of a host in a directory points into that directory.
fn real_path(host: &Host, path: &str) -> PathBuf {
    let file = host.path(path);
    match fs::read_link(&file) {
        Ok(target) if target.is_absolute() => host.path(&target.to_string_lossy()),
        Ok(target) => file.with_file_name("").join(target),
        Err(_) => file,
    }
}

fn text(path: &Path) -> io::Result<Option<String>> {
    match attribute::text(path) {
        Ok(text) => Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn put(path: &Path, text: Option<&str>) -> io::Result<()> {
    match text {
        Some(text) => atomic::write(path, format!("{text}\n").as_bytes(), 0o644).map_err(io::Error::other),
        None => fs::remove_file(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "/etc/tuned/active_profile";

    /// A host whose own choice is `own`.
    fn installed(own: Option<&str>) -> (tempfile::TempDir, Host) {
        let dir = tempfile::tempdir().unwrap();
        let host = Host::at(dir.path(), None);
        put(&host.path(DROP_INS[0]), Some("")).unwrap();
        if let Some(own) = own {
            put(&host.path(FILE), Some(own)).unwrap();
        }
        (dir, host)
    }

    fn own(host: &Host) -> Option<String> {
        text(&host.path(FILE)).unwrap()
    }

    #[test]
    fn a_choice_on_an_installed_host_leaves_the_sites_file_alone() {
        for before in [Some("balanced"), None] {
            let (_dir, host) = installed(before);
            write(&host, FILE, Some("dtnforge-dtn-vm")).unwrap();
            assert_eq!(read(&host, FILE).unwrap().as_deref(), Some("dtnforge-dtn-vm"));
            assert_eq!(own(&host).as_deref(), before);
            write(&host, FILE, before).unwrap();
            assert_eq!(read(&host, FILE).unwrap().as_deref(), before);
            assert!(!host.path("/run/dtnforge/tuned/active_profile").exists());
        }
    }

    #[test]
    fn no_choice_at_all_hides_that_of_the_site_until_the_copy_goes() {
        let (_dir, host) = installed(Some("balanced"));
        write(&host, FILE, None).unwrap();
        assert_eq!(read(&host, FILE).unwrap(), None);
        fs::remove_file(host.path("/run/dtnforge/tuned/active_profile")).unwrap();
        assert_eq!(read(&host, FILE).unwrap().as_deref(), Some("balanced"));
    }
}
