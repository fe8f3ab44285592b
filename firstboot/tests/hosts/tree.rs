//! A host out of a text: the files, links and errors that a kernel would answer with.
//!
//! ```text
//! # a remark
//! include server                    the lines of another folder's host.txt
//! /proc/cmdline: quiet              a file of one line
//! /proc/net/route <<                a file of several lines, up to a line `.`
//! ...
//! .
//! /sys/class/net/eth0/device -> /sys/devices/pci0000:00/0000:01:00.0
//! /sys/class/net/bond0/bonding/     a directory
//! /sys/class/net/eth0/speed ! EINVAL
//! /etc/os-release bytes ff fe       a file of bytes
//! ```
//!
//! A later line wins. Links are made relative, as the kernel makes them.

use dtn_firstboot::detect::source::{Content, ReadError, Source};
use dtn_firstboot::host::Host;
use nix::errno::Errno;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// A host that lies in a temporary directory.
pub(crate) struct Tree {
    root: tempfile::TempDir,
    errors: BTreeMap<String, Errno>,
}

impl Tree {
    pub(crate) fn new() -> Self {
        Self {
            // Thousands of small files: in memory where there is a place for it.
            root: tempfile::tempdir_in("/dev/shm")
                .or_else(|_| tempfile::tempdir())
                .unwrap(),
            errors: BTreeMap::new(),
        }
    }

    /// The host of a folder beside this file.
    pub(crate) fn of(case: &Path) -> Self {
        let mut tree = Self::new();
        tree.add_file(case);
        tree
    }

    fn add_file(&mut self, case: &Path) {
        let path = case.join("host.txt");
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        self.add(&text, case.parent().unwrap());
    }

    /// Adds the lines of `text`; includes are folders of `cases`.
    pub(crate) fn add(&mut self, text: &str, cases: &Path) {
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(case) = line.strip_prefix("include ") {
                self.add_file(&cases.join(case));
            } else if let Some(path) = line.strip_suffix(" <<") {
                let body: Vec<&str> = lines.by_ref().take_while(|line| *line != ".").collect();
                self.write(path, (body.join("\n") + "\n").as_bytes());
            } else if let Some((path, target)) = line.split_once(" -> ") {
                self.link(path, target);
            } else if let Some((path, errno)) = line.split_once(" ! ") {
                self.write(path, b"");
                self.errors.insert(path.to_owned(), errno_of(errno));
            } else if let Some((path, bytes)) = line.split_once(" bytes ") {
                let bytes: Vec<u8> = bytes
                    .split(' ')
                    .map(|byte| u8::from_str_radix(byte, 16).unwrap())
                    .collect();
                self.write(path, &bytes);
            } else if line.ends_with('/') {
                fs::create_dir_all(self.inside(line)).unwrap();
            } else {
                let split = line
                    .split_once(": ")
                    .or_else(|| Some((line.strip_suffix(':')?, "")));
                let (path, value) = split.unwrap_or_else(|| panic!("no line of a host: {line:?}"));
                self.write(path, format!("{value}\n").as_bytes());
            }
        }
    }

    pub(crate) fn write(&mut self, path: &str, bytes: &[u8]) {
        let file = self.inside(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, bytes).unwrap_or_else(|error| panic!("{path}: {error}"));
        self.errors.remove(path);
    }

    fn link(&self, path: &str, target: &str) {
        let link = self.inside(path);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        // Relative to where the directory of the link really is, since it may be reached through links itself.
        let real = fs::canonicalize(link.parent().unwrap()).unwrap();
        let up = real
            .strip_prefix(fs::canonicalize(self.root.path()).unwrap())
            .unwrap();
        let ups: PathBuf = up.components().map(|_| Component::ParentDir).collect();
        let target = ups.join(target.trim_start_matches('/'));
        std::os::unix::fs::symlink(target, &link).unwrap_or_else(|error| panic!("{path}: {error}"));
    }

    fn inside(&self, path: &str) -> PathBuf {
        assert!(path.starts_with('/'), "{path:?} is no absolute path");
        self.root.path().join(&path[1..])
    }

    pub(crate) fn host(&self) -> Host {
        Host::at(self.root.path(), None)
    }

    /// The host as its kernel would answer, errors included.
    pub(crate) fn kernel(&self) -> Kernel<'_> {
        Kernel {
            host: self.host(),
            errors: &self.errors,
        }
    }
}

/// A host whose kernel refuses some reads.
pub(crate) struct Kernel<'a> {
    host: Host,
    errors: &'a BTreeMap<String, Errno>,
}

impl Source for Kernel<'_> {
    fn content(&self, path: &str, limit: usize) -> Result<Content, ReadError> {
        match self.errors.get(path) {
            Some(errno) => Err(ReadError::Os(*errno)),
            None => self.host.content(path, limit),
        }
    }

    fn list(&self, directory: &str) -> Result<Vec<String>, ReadError> {
        match self.errors.get(directory) {
            Some(errno) => Err(ReadError::Os(*errno)),
            None => self.host.list(directory),
        }
    }

    fn link_name(&self, path: &str) -> Option<String> {
        self.host.link_name(path)
    }

    fn resolved(&self, path: &str) -> Option<String> {
        self.host.resolved(path)
    }

    fn exists(&self, path: &str) -> bool {
        self.host.exists(path)
    }
}

fn errno_of(name: &str) -> Errno {
    let known = [
        Errno::EINVAL,
        Errno::EOPNOTSUPP,
        Errno::EIO,
        Errno::EACCES,
        Errno::ENODEV,
        Errno::EPERM,
    ];
    let found = known.into_iter().find(|errno| format!("{errno:?}") == name);
    found.unwrap_or_else(|| panic!("{name} is no errno that a host.txt may name"))
}
