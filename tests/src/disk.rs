//! The disk of a node, outside of any guest: a raw copy whose partitions a test damages or changes.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::programs::run_with;
use crate::tools;
use crate::vm::fresh_path;
use crate::{Image, Trouble};

const SECTOR: u64 = 512;
const MIB: u64 = 1 << 20;

/// A raw disk of its own, gone with its value.
#[derive(Debug)]
pub struct Disk {
    path: PathBuf,
    image: Image,
}

impl Disk {
    /// A copy of the disk of an image as it was built.
    ///
    /// # Errors
    /// When it cannot be copied.
    pub fn of(image: &Image, name: &str) -> Result<Disk, Trouble> {
        Disk::converted(image, &image.disk()?, name)
    }

    /// A copy of the disk of a node: an image with an overlay over it.
    ///
    /// # Errors
    /// When it cannot be copied.
    pub fn of_node(image: &Image, overlay: &Path, name: &str) -> Result<Disk, Trouble> {
        Disk::converted(image, overlay, name)
    }

    fn converted(image: &Image, from: &Path, name: &str) -> Result<Disk, Trouble> {
        let path = fresh_path(name, "raw")?;
        let args: [OsString; 5] = [
            "convert".into(),
            "-O".into(),
            "raw".into(),
            from.into(),
            path.clone().into(),
        ];
        tools::output("usr/bin/qemu-img", args)?;
        Ok(Disk {
            path,
            image: image.clone(),
        })
    }

    /// The disk as an image that can be booted.
    pub fn image(&self) -> Image {
        Image {
            out: self.path.clone(),
            manifest: self.image.manifest.clone(),
        }
    }

    /// Where the partition with this label lies, in bytes.
    ///
    /// # Errors
    /// When there is none.
    pub fn partition(&self, label: &str) -> Result<Range<u64>, Trouble> {
        let mut table = vec![0; 128 * 128];
        File::open(&self.path)
            .and_then(|file| file.read_exact_at(&mut table, 2 * SECTOR))
            .map_err(Trouble::file("read the partition table of", &self.path))?;
        find(&table, label).ok_or_else(|| Trouble::Answer {
            what: format!("the partition table of {}", self.path.display()),
            reason: format!("no partition has the label {label}"),
            text: String::new(),
        })
    }

    /// Overwrites 4 KiB at these places of a partition, counted in sixteenths of it, with what is no data of it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn spoil(&self, label: &str, places: Range<u64>) -> Result<(), Trouble> {
        let garbage = [0xA5; 4096];
        let Range { start, end } = self.partition(label)?;
        let sixteenth = (end - start) / 16 / 4096 * 4096;
        let file = self.open()?;
        for place in places {
            file.write_all_at(&garbage, start + place * sixteenth)
                .map_err(Trouble::file("write", &self.path))?;
        }
        Ok(())
    }

    /// Gives debugfs a request for the ext4 file system of a partition, such as `clri /etc/upper`; what it said.
    ///
    /// # Errors
    /// When it cannot be run. It does not say by its exit code that a request failed.
    pub fn debugfs(&self, label: &str, request: &str) -> Result<String, Trouble> {
        let mut image = self.path.clone().into_os_string();
        image.push(format!("?offset={}", self.partition(label)?.start));
        let head: [OsString; 3] = ["-w".into(), "-R".into(), request.into()];
        tools::output("usr/sbin/debugfs", head.into_iter().chain([image]))
    }

    /// Names of the files in a directory of the EFI system partition.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn esp_list(&self, directory: &str) -> Result<Vec<String>, Trouble> {
        let listing = self.mtools("mdir", &["-b".as_ref(), format!("::{directory}").as_ref()])?;
        let name = |line: &str| line.rsplit('/').next().unwrap_or_default().to_owned();
        Ok(listing.lines().map(name).collect())
    }

    /// Cuts a file on the EFI system partition to its first `length` bytes.
    ///
    /// # Errors
    /// When there is no such file, or it cannot be written.
    pub fn esp_truncate(&self, file: &str, length: u64) -> Result<(), Trouble> {
        let (copy, on_esp) = (self.path.with_extension("file"), format!("::{file}"));
        let (overwrite, on_esp) = ("-o".as_ref(), on_esp.as_ref());
        self.mtools("mcopy", &[overwrite, on_esp, copy.as_ref()])?;
        File::options()
            .write(true)
            .open(&copy)
            .and_then(|cut| cut.set_len(length))
            .map_err(Trouble::file("truncate", &copy))?;
        self.mtools("mcopy", &[overwrite, copy.as_ref(), on_esp])?;
        std::fs::remove_file(&copy).map_err(Trouble::file("remove", &copy))
    }

    /// Gives a file on the EFI system partition another name.
    ///
    /// # Errors
    /// When there is no such file, or it cannot be written.
    pub fn esp_rename(&self, file: &str, to: &str) -> Result<(), Trouble> {
        let names = [format!("::{file}"), format!("::{to}")];
        self.mtools("mren", &names.each_ref().map(AsRef::as_ref))
            .map(drop)
    }

    /// Fills the EFI system partition to its last cluster.
    ///
    /// # Errors
    /// When it still has room.
    pub fn esp_fill(&self) -> Result<(), Trouble> {
        let filler = self.path.with_extension("filler");
        let free = self.esp_free()?;
        File::create(&filler)
            .and_then(|file| file.set_len(free))
            .map_err(Trouble::file("create", &filler))?;
        self.mtools("mcopy", &[filler.as_ref(), "::/filler".as_ref()])?;
        std::fs::remove_file(&filler).map_err(Trouble::file("remove", &filler))?;
        match self.esp_free()? {
            0 => Ok(()),
            left => Err(Trouble::Answer {
                what: "the EFI system partition".to_owned(),
                reason: format!("{left} bytes are free after it was filled"),
                text: String::new(),
            }),
        }
    }

    /// Free bytes on the EFI system partition, as its last line of `mdir` says it: `  133 783 552 bytes free`.
    fn esp_free(&self) -> Result<u64, Trouble> {
        let listing = self.mtools("mdir", &["::/".as_ref()])?;
        let line = listing.lines().rev().find(|line| line.ends_with("bytes free"));
        let digits: String = line
            .unwrap_or_default()
            .chars()
            .filter(char::is_ascii_digit)
            .collect();
        digits.parse().map_err(|_| Trouble::Answer {
            what: "mdir".to_owned(),
            reason: "it does not say how much is free".to_owned(),
            text: listing.clone(),
        })
    }

    fn mtools(&self, tool: &str, args: &[&OsStr]) -> Result<String, Trouble> {
        let mut image = self.path.clone().into_os_string();
        image.push(format!("@@{}", self.partition("esp")?.start));
        let head: [OsString; 4] = ["-c".into(), tool.into(), "-i".into(), image];
        let args = args.iter().map(|arg| (*arg).to_owned());
        tools::output("usr/bin/mtools", head.into_iter().chain(args))
    }

    /// Moves the EFI system partition to a disk of its own, and returns that: a boot medium with a lock of its own.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn split_off_esp(&self, name: &str) -> Result<PathBuf, Trouble> {
        let Range { start, end } = self.partition("esp")?;
        let path = fresh_path(name, "esp.raw")?;
        let mut medium = File::create(&path).map_err(Trouble::file("create", &path))?;
        // Room for the table before it and the second copy of the table behind it.
        medium
            .set_len(end - start + 2 * MIB)
            .map_err(Trouble::file("create", &path))?;
        let uuid = sfdisk(&["--part-uuid".into(), self.path.clone().into(), "1".into()], "")?;
        let (sectors, uuid) = ((end - start) / SECTOR, uuid.trim());
        let table = format!("label: gpt\nstart=2048, size={sectors}, type=U, uuid={uuid}, name=esp\n");
        sfdisk(&[path.clone().into()], &table)?;
        let mut disk = self.open()?;
        disk.seek(SeekFrom::Start(start))
            .and_then(|_| medium.seek(SeekFrom::Start(MIB)))
            .and_then(|_| std::io::copy(&mut disk.take(end - start), &mut medium))
            .map_err(Trouble::file("write", &path))?;
        sfdisk(&["--delete".into(), self.path.clone().into(), "1".into()], "")?;
        Ok(path)
    }

    fn open(&self) -> Result<File, Trouble> {
        File::options()
            .read(true)
            .write(true)
            .open(&self.path)
            .map_err(Trouble::file("open", &self.path))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // A gigabyte of a test that is over; who cannot remove it finds it in the directory of the tests.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn sfdisk(args: &[OsString], input: &str) -> Result<String, Trouble> {
    let mut command = tools::program("usr/sbin/sfdisk")?;
    let output = run_with(command.arg("--no-reread").args(args), input.as_bytes())?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The bytes of the partition with this label in a GPT of 128-byte entries.
fn find(table: &[u8], label: &str) -> Option<Range<u64>> {
    let number = |entry: &[u8], at: usize| Some(u64::from_le_bytes(entry.get(at..at + 8)?.try_into().ok()?));
    table.chunks_exact(128).find_map(|entry| {
        let name: Vec<u16> = entry[56..]
            .chunks_exact(2)
            .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
            .take_while(|letter| *letter != 0)
            .collect();
        let found = String::from_utf16_lossy(&name) == label;
        let bytes = number(entry, 32)? * SECTOR..(number(entry, 40)? + 1) * SECTOR;
        found.then_some(bytes)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_is_found_by_its_label() {
        let mut table = vec![0; 4 * 128];
        table[128 + 32] = 2;
        table[128 + 40] = 3;
        for (letter, place) in "esp".bytes().zip((128 + 56..).step_by(2)) {
            table[place] = letter;
        }
        assert_eq!(find(&table, "esp"), Some(1024..2048));
        assert_eq!(find(&table, "es"), None);
    }
}
