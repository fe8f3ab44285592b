//! What is to be looked at: texts with their paths, and what is known of the host.

use crate::catalog::Catalog;
use crate::facts::{BadFacts, Facts};
use crate::site::{OutOfRange, Role, Site, SiteFile};

/// A text, and the path that it is known by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Path, as it stands in findings. It tells the directories of sysctl.d apart and names a profile of tuned.
    pub path: String,
    /// The whole text.
    pub text: String,
}

impl Source {
    /// A text with its path.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        let (path, text) = (path.into(), text.into());
        Self { path, text }
    }
}

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A profile of the catalog.
    Profile,
    /// A file of sysctl.d, or sysctl.conf.
    Sysctl,
    /// A tuned.conf, or tuned-main.conf.
    Tuned,
    /// udev rules.
    Udev,
    /// A shell script, rc.local, or a systemd unit.
    Script,
}

impl Form {
    /// The kind that a path suggests.
    pub fn of(path: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or_default();
        let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
        if ends(&[".toml"]) {
            Form::Profile
        } else if ["tuned.conf", "tuned-main.conf"].contains(&name) {
            Form::Tuned
        } else if ends(&[".rules"]) {
            Form::Udev
        } else if name == "rc.local" || ends(&[".sh", ".service"]) {
            Form::Script
        } else {
            Form::Sysctl
        }
    }
}

/// Everything to be looked at.
#[derive(Debug, Clone)]
pub struct Input {
    /// Profiles, TOML.
    pub profiles: Vec<Source>,
    /// The catalog that they are laid over: its bases may be extended, and its profiles are matched beside theirs.
    pub beneath: Catalog,
    /// Files of sysctl.d.
    pub sysctl: Vec<Source>,
    /// Profiles of tuned.
    pub tuned: Vec<Source>,
    /// Profiles of tuned that may be included, and are not looked at themselves.
    pub tuned_library: Vec<Source>,
    /// udev rules.
    pub udev: Vec<Source>,
    /// Scripts and units.
    pub scripts: Vec<Source>,
    /// The host.
    pub host: Option<Facts>,
    /// Role, streams and RTT of the host.
    pub site: Site,
}

/// A host or role of an example that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BadInput {
    /// The facts.
    #[error("the facts of the host: {0}")]
    Facts(#[from] BadFacts),
    /// The site.
    #[error(transparent)]
    Site(#[from] OutOfRange),
    /// The role.
    #[error("{0:?} is no role")]
    Role(String),
}

impl Input {
    /// Nothing yet.
    pub fn new(site: Site) -> Self {
        Self {
            profiles: Vec::new(),
            beneath: Catalog::default(),
            sysctl: Vec::new(),
            tuned: Vec::new(),
            tuned_library: Vec::new(),
            udev: Vec::new(),
            scripts: Vec::new(),
            host: None,
            site,
        }
    }

    /// Files of all kinds, told apart by their paths, with facts (TOML) and role where they are not empty.
    ///
    /// # Errors
    /// Facts or a role that cannot be read.
    pub fn of(files: &[(&str, &str)], host: &str, role: &str) -> Result<Self, BadInput> {
        let role = match role {
            "" => None,
            name => Some(Role::from_name(name).ok_or_else(|| BadInput::Role(name.to_owned()))?),
        };
        let site = SiteFile {
            role,
            ..SiteFile::default()
        };
        let mut input = Self::new(site.check()?);
        if !host.is_empty() {
            input.host = Some(Facts::read(host)?);
        }
        for (path, text) in files {
            input.add(Source::new(*path, *text));
        }
        Ok(input)
    }

    /// Adds a file of the kind that its path suggests.
    pub fn add(&mut self, source: Source) {
        match Form::of(&source.path) {
            Form::Profile => self.profiles.push(source),
            Form::Sysctl => self.sysctl.push(source),
            Form::Tuned => self.tuned.push(source),
            Form::Udev => self.udev.push(source),
            Form::Script => self.scripts.push(source),
        }
    }
}
