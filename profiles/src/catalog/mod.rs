//! The catalog: one profile for each class of hosts, with a reason and a source for every value.
//!
//! A profile is read in three types: as written (every key, nothing unknown), a draft (every field valid on its own,
//! with its place), and a profile (the bases that it extends put in, one for each of its speeds, checked as a whole).
//! In a [`Catalog`] a profile of a nearer directory replaces the one of the same name. All that is wrong is reported at
//! once, each with file, line, key and a hint.

mod buffer;
mod check;
mod draft;
mod embedded;
mod lint;
mod places;
mod problem;
mod profile;
mod range;
mod resolve;
mod template;
mod tuned_stock;
mod written;

pub use buffer::{Bound, Buffer, LARGEST, Sized, memory_cap};
pub(crate) use places::Places;
pub use problem::{Problem, Problems};
pub use profile::{Advice, KnobLine, Match, PROFILE_SCHEMA, Profile, STOCK, Tuned, Wanted};
pub(crate) use range::in_range;
pub use template::{BadKnobTemplate, BadValueTemplate, KnobTemplate, SiteChoice, Target, ValueTemplate};
pub use tuned_stock::{Include, Reset};

use draft::Draft;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Profiles by name, and the bases that a nearer directory may extend.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Catalog {
    profiles: BTreeMap<String, Profile>,
    bases: BTreeMap<String, Draft>,
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
    /// Reads one profile that extends nothing, as a layer has it; `file` is its name in messages.
    ///
    /// # Errors
    /// All that is wrong in it, each with its line and key.
    pub fn parse(file: &str, text: &str) -> Result<Self, Problems> {
        let draft = check::read(file, text)?;
        let mut profiles = resolve::profiles(&draft, |_| None)?;
        match (profiles.pop(), draft.is_base) {
            (Some(profile), false) if profiles.is_empty() => Ok(profile),
            _ => {
                let what = "is a base, or several profiles, and one profile is expected";
                Err(Problems(vec![draft.name.at.problem("name", what, None)]))
            }
        }
    }
}

impl FromIterator<Profile> for Catalog {
    /// Profiles that were checked before, for instance out of layers. The last one of a name stays.
    fn from_iter<I: IntoIterator<Item = Profile>>(profiles: I) -> Self {
        let profiles = profiles
            .into_iter()
            .map(|profile| (profile.name.clone(), profile))
            .collect();
        let bases = BTreeMap::new();
        Self { profiles, bases }
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

    /// Name and text of each file that is built into the program.
    pub fn embedded_files() -> impl Iterator<Item = (&'static str, &'static str)> {
        embedded::FILES.iter().copied()
    }

    /// Reads a list of (file name, text).
    ///
    /// # Errors
    /// All that is wrong in all files, a name that stands in two of them included.
    pub fn parse<F: AsRef<str>, T: AsRef<str>>(files: &[(F, T)]) -> Result<Self, Problems> {
        Self::default().with_files(files)
    }

    /// This catalog with more files laid over it: a profile of the same name replaces ours, and a base of theirs or of
    /// ours may be extended. A base of theirs changes no profile of ours.
    ///
    /// # Errors
    /// All that is wrong in all files, a name that stands in two of them included.
    pub fn with_files<F: AsRef<str>, T: AsRef<str>>(mut self, files: &[(F, T)]) -> Result<Self, Problems> {
        let (drafts, mut problems) = read_all(files);
        let mut names: Vec<String> = Vec::new();
        for draft in drafts.iter().filter(|draft| draft.is_base) {
            problems.extend(lint::lines(draft));
            note_name(&mut names, &draft.name.value, draft, &mut problems);
            self.bases.insert(draft.name.value.clone(), draft.clone());
        }
        for draft in drafts.iter().filter(|draft| !draft.is_base) {
            match resolve::profiles(draft, |name| self.bases.get(name)) {
                Err(Problems(more)) => problems.extend(more),
                Ok(profiles) => {
                    for profile in profiles {
                        note_name(&mut names, &profile.name, draft, &mut problems);
                        self.profiles.insert(profile.name.clone(), profile);
                    }
                }
            }
        }
        if problems.is_empty() {
            return Ok(self);
        }
        // A mistake in a base shows in each profile that extends it.
        problems.sort_by(|a, b| (&a.file, a.line, &a.what).cmp(&(&b.file, b.line, &b.what)));
        problems.dedup();
        Err(Problems(problems))
    }

    /// Reads all `*.toml` files of a directory, in the order of their names.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub fn load(dir: &Path) -> Result<Self, CatalogError> {
        Self::default().with_directory(dir)
    }

    /// This catalog with all `*.toml` files of a directory laid over it, as [`Catalog::with_files`] does it.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub fn with_directory(self, dir: &Path) -> Result<Self, CatalogError> {
        let read = |path: &Path, source| CatalogError::Read {
            path: path.to_owned(),
            source,
        };
        let mut files = Vec::new();
        for entry in std::fs::read_dir(dir).map_err(|error| read(dir, error))? {
            let path = entry.map_err(|error| read(dir, error))?.path();
            // A pipe of that name would be waited for without end; a link that leads nowhere is told.
            let has_text = !path.exists() || path.is_file();
            if path.extension().is_some_and(|ext| ext == "toml") && has_text {
                let text = std::fs::read_to_string(&path).map_err(|error| read(&path, error))?;
                files.push((path.display().to_string(), text));
            }
        }
        if files.is_empty() {
            return Err(CatalogError::Empty(dir.to_owned()));
        }
        files.sort();
        self.with_files(&files).map_err(CatalogError::Invalid)
    }

    /// The bases of this catalog without its profiles: what a file of somebody else may extend.
    #[must_use]
    pub fn bases_only(self) -> Catalog {
        let profiles = BTreeMap::new();
        Catalog { profiles, ..self }
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

/// All files on their own, and what is wrong in them.
fn read_all<F: AsRef<str>, T: AsRef<str>>(files: &[(F, T)]) -> (Vec<Draft>, Vec<Problem>) {
    let (mut drafts, mut problems) = (Vec::new(), Vec::new());
    for (file, text) in files {
        match check::read(file.as_ref(), text.as_ref()) {
            Ok(draft) => {
                problems.extend(of_a_layer(&draft));
                drafts.push(draft);
            }
            Err(Problems(more)) => problems.extend(more),
        }
    }
    (drafts, problems)
}

/// What only the profile of a layer says.
fn of_a_layer(draft: &Draft) -> Option<Problem> {
    let mut lines = draft.lines.iter();
    let line = lines.find(|line| line.line.inherited_from.is_some())?;
    let what = "is only for the profile of a layer, which has its bases put in";
    let hint = "remove it, or name the base in `extends`".to_owned();
    Some(line.id_at.problem("inherited_from", what, Some(hint)))
}

fn note_name(names: &mut Vec<String>, name: &str, draft: &Draft, problems: &mut Vec<Problem>) {
    if names.iter().any(|known| known == name) {
        let what = format!("{name:?} stands in another file of the same directory too");
        let hint = "a profile may be replaced only from another directory".to_owned();
        problems.push(draft.name.at.problem("name", what, Some(hint)));
    }
    names.push(name.to_owned());
}

#[cfg(test)]
mod tests;
