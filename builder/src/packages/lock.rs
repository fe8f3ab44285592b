//! The lock file beside a spec: every package by version and digest. With it and the cached packages, two builds
//! give the same bits; `dtnforge lock --update` writes it anew and says what changed.

use crate::fsx::{self, FileError};
use dtnforge_profiles::digest::Digest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Form of the lock file.
pub const LOCK_SCHEMA: u32 = 1;

/// One package, by name and by content.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// Name.
    pub name: String,
    /// Version, with its epoch.
    pub version: String,
    /// `amd64` or `all`.
    pub arch: String,
    /// Size of the file in bytes.
    pub size: u64,
    /// Digest of the file.
    pub sha256: Digest,
}

/// The lock file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// [`LOCK_SCHEMA`].
    pub schema: u32,
    /// The suite that was resolved.
    pub suite: String,
    /// When, in seconds since 1970. The image's time stamps, `SOURCE_DATE_EPOCH`, are this.
    pub time: u64,
    /// What the spec asked for, sorted.
    pub requested: Vec<String>,
    /// The image's packages, sorted by name.
    pub packages: Vec<Package>,
    /// The packages of the tools tree, sorted by name.
    pub tools: Vec<Package>,
}

/// A lock file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// It cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// It is no lock file of ours.
    #[error("{}: not a lock file that this version reads (schema {LOCK_SCHEMA})\nhint: make it anew with `dtnforge lock --update SPEC`", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: toml::de::Error,
    },
    /// It was made for another request.
    #[error("{}: made for another list of packages or suite:{difference}\nhint: `dtnforge lock --update SPEC` resolves the packages again", path.display())]
    Stale {
        /// The file.
        path: PathBuf,
        /// What differs, as lines.
        difference: String,
    },
}

impl Lock {
    /// Reads the lock file at `path`; `None` when there is none.
    ///
    /// # Errors
    /// A file that cannot be read or is of another form.
    pub fn read(path: &Path) -> Result<Option<Self>, LockError> {
        let text = match fsx::read_text(path) {
            Ok(text) => text,
            Err(error) if error.source_kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let form = |source| LockError::Form {
            path: path.to_owned(),
            source,
        };
        let lock: Self = toml::from_str(&text).map_err(form)?;
        if lock.schema != LOCK_SCHEMA {
            let source = serde::de::Error::custom(format!("schema is {}", lock.schema));
            return Err(form(source));
        }
        Ok(Some(lock))
    }

    /// Refuses a lock that was made for another suite or another list of packages.
    ///
    /// # Errors
    /// [`LockError::Stale`] with what differs.
    pub fn check(&self, path: &Path, suite: &str, requested: &[String]) -> Result<(), LockError> {
        let mut difference = String::new();
        if self.suite != suite {
            let _ = write!(difference, "\n  suite {} -> {suite}", self.suite);
        }
        for name in requested.iter().filter(|name| !self.requested.contains(name)) {
            let _ = write!(difference, "\n  + {name}");
        }
        for name in self.requested.iter().filter(|name| !requested.contains(name)) {
            let _ = write!(difference, "\n  - {name}");
        }
        if difference.is_empty() {
            Ok(())
        } else {
            Err(LockError::Stale {
                path: path.to_owned(),
                difference,
            })
        }
    }

    /// The text of the file: one package a line, so that a change reads well in a diff.
    pub fn to_text(&self) -> String {
        let mut text =
            String::from("# Written by `dtnforge lock`; change it with `dtnforge lock --update`.\n");
        let _ = writeln!(
            text,
            "schema = {}\nsuite = {}\ntime = {}",
            self.schema,
            quoted(&self.suite),
            self.time
        );
        let names: Vec<String> = self.requested.iter().map(|name| quoted(name)).collect();
        let _ = writeln!(text, "requested = [{}]", names.join(", "));
        write_packages(&mut text, "packages", &self.packages);
        write_packages(&mut text, "tools", &self.tools);
        text
    }

    /// Writes the lock file.
    ///
    /// # Errors
    /// As the system says; an older file is then untouched.
    pub fn write(&self, path: &Path) -> Result<(), FileError> {
        fsx::write_atomically(path, self.to_text().as_bytes())
    }

    /// The digest of everything in it.
    pub fn digest(&self) -> Digest {
        Digest::of(self.to_text().as_bytes())
    }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn write_packages(text: &mut String, key: &str, packages: &[Package]) {
    let _ = writeln!(text, "{key} = [");
    for package in packages {
        let _ = writeln!(
            text,
            "  {{ name = {}, version = {}, arch = {}, size = {}, sha256 = \"{}\" }},",
            quoted(&package.name),
            quoted(&package.version),
            quoted(&package.arch),
            package.size,
            package.sha256
        );
    }
    text.push_str("]\n");
}

/// What changes from `old` to `new`, a line each: `+ name version`, `- name version`, `name old -> new`.
pub fn difference(old: &[Package], new: &[Package]) -> Vec<String> {
    let by_name = |packages: &[Package]| -> BTreeMap<String, Package> {
        packages
            .iter()
            .map(|package| (package.name.clone(), package.clone()))
            .collect()
    };
    let (old, new) = (by_name(old), by_name(new));
    let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
    names.sort();
    names.dedup();
    names
        .into_iter()
        .filter_map(|name| one_difference(old.get(name), new.get(name)))
        .collect()
}

fn one_difference(old: Option<&Package>, new: Option<&Package>) -> Option<String> {
    match (old, new) {
        (None, Some(new)) => Some(format!("+ {} {}", new.name, new.version)),
        (Some(old), None) => Some(format!("- {} {}", old.name, old.version)),
        (Some(old), Some(new)) if old.version != new.version => {
            Some(format!("  {} {} -> {}", old.name, old.version, new.version))
        }
        (Some(old), Some(new)) if old.sha256 != new.sha256 => {
            Some(format!("  {} {} with other content", old.name, old.version))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, version: &str, content: &str) -> Package {
        Package {
            name: name.into(),
            version: version.into(),
            arch: "amd64".into(),
            size: 3,
            sha256: Digest::of(content.as_bytes()),
        }
    }

    fn lock() -> Lock {
        Lock {
            schema: LOCK_SCHEMA,
            suite: "trixie".into(),
            time: 1_790_000_000,
            requested: vec!["tuned".into()],
            packages: vec![package("a", "1:2.0-1", "a")],
            tools: vec![],
        }
    }

    #[test]
    fn a_lock_file_is_read_back_as_it_was_written() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("dtn.lock");
        lock().write(&path).unwrap();
        assert_eq!(Lock::read(&path).unwrap(), Some(lock()));
    }

    #[test]
    fn no_lock_file_is_not_an_error_but_a_broken_one_is() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("dtn.lock");
        assert!(Lock::read(&path).unwrap().is_none());
        std::fs::write(&path, "schema = 1").unwrap();
        let error = Lock::read(&path).unwrap_err().to_string();
        assert!(
            error.contains("dtn.lock: not a lock file") && error.contains("hint: make it anew"),
            "{error}"
        );
    }

    #[test]
    fn a_lock_for_another_request_names_what_differs() {
        let path = Path::new("x.lock");
        lock().check(path, "trixie", &["tuned".into()]).unwrap();
        let error = lock()
            .check(path, "sid", &["fio".into()])
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("\n  suite trixie -> sid\n  + fio\n  - tuned\nhint: "),
            "{error}"
        );
    }

    #[test]
    fn the_difference_names_added_removed_and_changed_packages() {
        let old = [
            package("a", "1", "a1"),
            package("b", "1", "b1"),
            package("c", "1", "c1"),
        ];
        let new = [
            package("a", "2", "a2"),
            package("c", "1", "c9"),
            package("d", "1", "d1"),
        ];
        assert_eq!(
            difference(&old, &new),
            ["  a 1 -> 2", "- b 1", "  c 1 with other content", "+ d 1"]
        );
        assert!(difference(&old, &old).is_empty());
    }
}
