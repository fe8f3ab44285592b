//! The catalog: one profile for each class of hosts, with a reason and a source for every value.
//!
//! A profile is read in three types: as written (every key, nothing unknown), valid (every value checked against the
//! registry of knobs), and then as part of a [`Catalog`], where a profile of a nearer directory replaces the one of
//! the same name. All that is wrong is reported at once, each with file, line, key and a hint.

mod buffer;
mod check;
mod embedded;
mod lint;
mod problem;
mod profile;
mod range;
mod template;
mod tuned_stock;
mod written;

pub use buffer::{Buffer, LARGEST, memory_cap};
pub use problem::{Problem, Problems};
pub use profile::{KnobLine, Match, PROFILE_SCHEMA, Profile, STOCK, Tuned, Wanted};
pub(crate) use range::in_range;
pub use template::{BadKnobTemplate, BadValueTemplate, KnobTemplate, Target, ValueTemplate};
pub use tuned_stock::{Include, Reset};

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Profiles by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Catalog {
    profiles: BTreeMap<String, Profile>,
}

/// A catalog that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// A directory or file cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// Files with mistakes.
    #[error("{0}")]
    Invalid(Problems),
    /// A directory without any profile.
    #[error("{0} has no *.toml file")]
    Empty(PathBuf),
}

impl Profile {
    /// Reads one profile; `file` is its name in messages.
    ///
    /// # Errors
    /// All that is wrong in it, each with its line and key.
    pub fn parse(file: &str, text: &str) -> Result<Self, Problems> {
        check::read(file, text)
    }
}

impl FromIterator<Profile> for Catalog {
    /// Profiles that were checked before, for instance out of layers. The last one of a name stays.
    fn from_iter<I: IntoIterator<Item = Profile>>(profiles: I) -> Self {
        let profiles = profiles
            .into_iter()
            .map(|profile| (profile.name.clone(), profile))
            .collect();
        Self { profiles }
    }
}

impl Catalog {
    /// The catalog that is built into the program.
    ///
    /// # Errors
    /// Never in a program whose tests passed: the files are checked by them.
    pub fn embedded() -> Result<Self, Problems> {
        Self::parse(embedded::FILES)
    }

    /// Reads a list of (file name, text).
    ///
    /// # Errors
    /// All that is wrong in all files, a name that stands in two of them included.
    pub fn parse<F: AsRef<str>, T: AsRef<str>>(files: &[(F, T)]) -> Result<Self, Problems> {
        let mut catalog = Self::default();
        let mut problems = Vec::new();
        for (file, text) in files {
            match Profile::parse(file.as_ref(), text.as_ref()) {
                Err(Problems(more)) => problems.extend(more),
                Ok(profile) => {
                    if catalog.profiles.contains_key(&profile.name) {
                        problems.push(name_twice(file.as_ref(), &profile.name));
                    }
                    catalog.profiles.insert(profile.name.clone(), profile);
                }
            }
        }
        if problems.is_empty() {
            Ok(catalog)
        } else {
            Err(Problems(problems))
        }
    }

    /// Reads all `*.toml` files of a directory, in the order of their names.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub fn load(dir: &Path) -> Result<Self, CatalogError> {
        let read = |path: &Path, source| CatalogError::Read {
            path: path.to_owned(),
            source,
        };
        let mut files = Vec::new();
        for entry in std::fs::read_dir(dir).map_err(|error| read(dir, error))? {
            let path = entry.map_err(|error| read(dir, error))?.path();
            if path.extension().is_some_and(|ext| ext == "toml") {
                let text = std::fs::read_to_string(&path).map_err(|error| read(&path, error))?;
                files.push((path.display().to_string(), text));
            }
        }
        if files.is_empty() {
            return Err(CatalogError::Empty(dir.to_owned()));
        }
        files.sort();
        Self::parse(&files).map_err(CatalogError::Invalid)
    }

    /// This catalog with another laid over it: a profile of the same name replaces ours.
    #[must_use]
    pub fn overlaid_by(mut self, nearer: Catalog) -> Catalog {
        self.profiles.extend(nearer.profiles);
        self
    }

    /// The profile with this name.
    pub fn get(&self, name: &str) -> Option<&Profile> {
        self.profiles.get(name)
    }

    /// All profiles, in the order of their names.
    pub fn profiles(&self) -> impl Iterator<Item = &Profile> {
        self.profiles.values()
    }
}

fn name_twice(file: &str, name: &str) -> Problem {
    Problem {
        file: file.to_owned(),
        line: 0,
        key: "name".to_owned(),
        what: format!("{name:?} stands in another file of the same directory too"),
        hint: Some("a profile may be replaced only from another directory".to_owned()),
    }
}

#[cfg(test)]
mod tests;
