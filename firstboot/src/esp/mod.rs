//! The EFI system partition that this boot came from, where the name of a file is the boot counter.
//!
//! It is opened for one look or one rename and closed again. Whatever is done is read back by listing the directory:
//! a rename that a full or failing file system swallowed must not pass for done.

mod error;
mod place;

pub use error::EspError;

use crate::boot::efi;
use crate::host::Host;
use dtnforge_profiles::bootcount::{Counter, ENTRY_DIR, EntryName, TUNED_ENTRY};
use place::Place;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Size of the file that [`Esp::probe`] writes, in bytes: more than a cluster of a small FAT holds.
const PROBE_SIZE: usize = 64 * 1024;
/// Its name. The boot loader leaves out what begins with a dot.
const PROBE_NAME: &str = ".dtnforge-probe";

/// What the partition is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// To look at names.
    Read,
    /// To change them.
    Write,
}

/// The partition, mounted. What was mounted for us is unmounted when this is dropped.
#[derive(Debug)]
pub struct Esp {
    place: Place,
}

impl Esp {
    /// Opens the partition that the boot loader came from.
    ///
    /// # Errors
    /// When there is none, or it cannot be mounted in this way.
    pub fn open(host: &Host, access: Access) -> Result<Self, EspError> {
        let uuid = efi::loader(host, "LoaderDevicePartUUID").ok_or(EspError::NoLoader)?;
        let place = place::find(host, &uuid.to_ascii_lowercase(), access)?;
        Ok(Self { place })
    }

    /// The tuned entry of the partition that the boot loader came from, which may be read-only.
    ///
    /// # Errors
    /// When the partition cannot be opened, or has two tuned entries, or none.
    pub fn find_tuned_entry(host: &Host) -> Result<EntryName, EspError> {
        Self::open(host, Access::Read)?
            .tuned_entry()?
            .ok_or(EspError::NoEntry)
    }

    /// The tuned entry; `None` when no file is called so.
    ///
    /// # Errors
    /// When the directory cannot be read, or two files claim to be the tuned entry.
    pub fn tuned_entry(&self) -> Result<Option<EntryName>, EspError> {
        let mut found: Vec<String> = self
            .names()?
            .into_iter()
            .filter(|file| file.to_ascii_lowercase().ends_with(".efi"))
            .filter(|file| EntryName::parse(file).is(TUNED_ENTRY))
            .collect();
        found.sort();
        if found.len() > 1 {
            return Err(EspError::Several(found));
        }
        Ok(found.first().map(|file| EntryName::parse(file)))
    }

    /// Gives the tuned entry this counter, or none, and reads it back. Nothing is done when it has it already.
    ///
    /// # Errors
    /// When there is no such entry, or the name is not the new one afterwards.
    pub fn set_counter(&self, counter: Option<Counter>) -> Result<EntryName, EspError> {
        let old = self.tuned_entry()?.ok_or(EspError::NoEntry)?;
        let new = old.with(counter);
        if old.counter == counter {
            return Ok(new);
        }
        let (from, to) = (old.to_string(), new.to_string());
        let failed = |source| EspError::Rename {
            from: from.clone(),
            to: to.clone(),
            source,
        };
        let dir = self.dir();
        fs::rename(dir.join(&from), dir.join(&to)).map_err(failed)?;
        sync(&dir).map_err(failed)?;
        match self.tuned_entry()? {
            Some(now) if now.counter == counter => Ok(now),
            now => Err(EspError::NotRenamed {
                from,
                to,
                found: now.map_or_else(|| "no such entry".to_owned(), |now| now.to_string()),
            }),
        }
    }

    /// Tries whether the partition takes writes: a small file is made, synced and removed. What we cannot write, the
    /// boot loader cannot count on.
    ///
    /// # Errors
    /// What went wrong: read-only, full, failing.
    pub fn probe(&self) -> Result<(), EspError> {
        let path = self.dir().join(PROBE_NAME);
        let written = File::create(&path).and_then(|mut file| {
            file.write_all(&[0; PROBE_SIZE])?;
            file.sync_all()
        });
        let removed = match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
        written.and(removed).map_err(EspError::Probe)
    }

    fn dir(&self) -> PathBuf {
        self.place.dir().join(ENTRY_DIR)
    }

    fn names(&self) -> Result<Vec<String>, EspError> {
        let list = || -> io::Result<Vec<String>> {
            let entries = fs::read_dir(self.dir())?;
            entries
                .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
                .collect()
        };
        list().map_err(EspError::List)
    }
}

/// Everything of the file system that `dir` is on goes to the disk. FAT has no journal: a rename that is not synced is
/// one that a power cut takes back, or worse.
fn sync(dir: &Path) -> io::Result<()> {
    let dir = File::open(dir)?;
    Ok(nix::unistd::syncfs(dir)?)
}

#[cfg(test)]
pub(crate) mod tests;
