//! A private apt: the host's `apt-get` with a root, sources and an empty package state of its own. It says which
//! versions a request needs and fetches their files; it never looks at what the host has installed.

use super::lock::Package;
use super::sources::{self, Source};
use super::stanza::{self, Stanza};
use crate::cache::Cache;
use crate::fsx::{self, FileError};
use crate::run::{Program, RunError};
use dtnforge_profiles::digest::Digest;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Why apt gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum AptError {
    /// The archive's lists could not be fetched.
    #[error(
        "cannot fetch the package lists\nhint: is the network there, and does the mirror have the suite? `--offline` uses what is cached"
    )]
    Update(#[source] RunError),
    /// A package is unknown, or the request cannot be met.
    #[error(
        "cannot resolve the packages of the spec\nhint: look for a misspelt name in the last lines above"
    )]
    Resolve(#[source] RunError),
    /// The lists were asked for something they do not answer.
    #[error("cannot read the package lists")]
    Lists(#[source] RunError),
    /// Files could not be fetched.
    #[error("cannot download packages\nhint: run it again; what was fetched is kept")]
    Download(#[source] RunError),
    /// Versions of the lock that the archive no longer has.
    #[error("the archive no longer has {} of the locked versions: {}\nhint: `dtnforge lock --update SPEC` takes the versions of today", missing.len(), missing.join(", "))]
    Gone {
        /// `name=version` of each.
        missing: Vec<String>,
    },
    /// apt answered in a form that we do not know.
    #[error("apt said {said:?}, expected {expected}")]
    Form {
        /// What it said.
        said: String,
        /// What was expected.
        expected: &'static str,
    },
    /// Files of ours.
    #[error(transparent)]
    File(#[from] FileError),
}

/// A private apt root.
#[derive(Debug)]
pub struct Apt {
    root: PathBuf,
}

impl Apt {
    /// The apt root for `sources`, made in the cache when it is not there.
    ///
    /// # Errors
    /// Its files cannot be written.
    pub fn open(cache: &Cache, sources: &[Source]) -> Result<Self, AptError> {
        let list = sources::to_list(sources);
        let root = cache.path("apt").join(Digest::of(list.as_bytes()).short());
        for part in [
            "etc/apt/preferences.d",
            "etc/apt/apt.conf.d",
            "var/lib/apt/lists/partial",
            "var/cache/apt/archives/partial",
        ] {
            fsx::create_dir_all(&root.join(part))?;
        }
        fsx::write(&root.join("etc/apt/sources.list"), list.as_bytes())?;
        fsx::write(&root.join("var/lib/dpkg/status"), b"")?;
        fsx::write(&root.join("apt.conf"), configuration(&root).as_bytes())?;
        Ok(Self { root })
    }

    /// Fetches the lists.
    ///
    /// # Errors
    /// [`AptError::Update`].
    pub fn update(&self) -> Result<(), AptError> {
        let arguments = ["update", "--error-on=any"];
        self.program("apt-get")
            .args(arguments)
            .run(&self.log("update"))
            .map_err(AptError::Update)
    }

    /// The packages that `requested` needs, with all that they depend on; with `essential` also the packages that
    /// every Debian system has. Sorted by name.
    ///
    /// # Errors
    /// [`AptError::Resolve`] and the like.
    pub fn resolve(&self, requested: &[String], essential: bool) -> Result<Vec<Package>, AptError> {
        let mut program = self.program("apt-get").args(["install", "--yes", "--print-uris"]);
        if essential {
            program = program.arg("?essential");
        }
        let printed = program
            .arg("--")
            .args(requested)
            .output(&self.log("resolve"))
            .map_err(AptError::Resolve)?;
        let wanted = printed
            .lines()
            .filter(|line| line.starts_with('\''))
            .map(uri_line)
            .collect::<Result<Vec<_>, _>>()?;
        self.describe(&wanted)
    }

    /// Downloads `packages` into `directory`.
    ///
    /// # Errors
    /// [`AptError::Gone`] when the archive has other versions by now; [`AptError::Download`].
    pub fn download(&self, packages: &[&Package], directory: &Path) -> Result<(), AptError> {
        let names: Vec<String> = packages
            .iter()
            .map(|package| pinned(&package.name, &package.version))
            .collect();
        self.program("apt-get")
            .arg("download")
            .args(&names)
            .current_dir(directory)
            .run(&self.log("download"))
            .map_err(AptError::Download)
    }

    /// Refuses versions that the lists do not have.
    ///
    /// # Errors
    /// [`AptError::Gone`] with all of them.
    pub fn check_available(&self, packages: &[&Package]) -> Result<(), AptError> {
        let names: BTreeSet<&str> = packages.iter().map(|package| package.name.as_str()).collect();
        let listed = self
            .program("apt-cache")
            .arg("madison")
            .args(names)
            .output(&self.log("lists"))
            .map_err(AptError::Lists)?;
        let available: BTreeSet<String> = listed.lines().filter_map(madison_line).collect();
        let missing: Vec<String> = packages
            .iter()
            .map(|package| pinned(&package.name, &package.version))
            .filter(|name| !available.contains(name))
            .collect();
        if missing.is_empty() {
            Ok(())
        } else {
            Err(AptError::Gone { missing })
        }
    }

    fn describe(&self, wanted: &[String]) -> Result<Vec<Package>, AptError> {
        let shown = self
            .program("apt-cache")
            .arg("show")
            .args(wanted)
            .output(&self.log("lists"))
            .map_err(AptError::Lists)?;
        let mut packages: Vec<Package> = Vec::new();
        for stanza in stanza::parse(&shown) {
            let package = described(&stanza)?;
            // Two archives may hold the same version.
            if !packages.iter().any(|known| known.name == package.name) {
                packages.push(package);
            }
        }
        packages.sort();
        if packages.len() != wanted.len() {
            let said = format!("{} descriptions", packages.len());
            return Err(AptError::Form {
                said,
                expected: "one for each package that was resolved",
            });
        }
        Ok(packages)
    }

    fn program(&self, name: &str) -> Program {
        Program::new(name).env("APT_CONFIG", self.root.join("apt.conf"))
    }

    fn log(&self, name: &str) -> PathBuf {
        self.root.join(format!("{name}.log"))
    }
}

/// The empty list of forced essentials: apt would count itself among them, and an immutable image has no use for it.
fn configuration(root: &Path) -> String {
    let root = root.display();
    format!(
        "Dir \"{root}\";\nDir::State::status \"{root}/var/lib/dpkg/status\";\n\
         Dir::Etc::trusted \"/etc/apt/trusted.gpg\";\nDir::Etc::trustedparts \"/etc/apt/trusted.gpg.d\";\n\
         Dir::Bin::methods \"/usr/lib/apt/methods\";\n\
         APT::Architecture \"amd64\";\nAPT::Architectures {{ \"amd64\"; }};\n\
         APT::Install-Recommends \"false\";\nAPT::Sandbox::User \"root\";\n\
         pkgCacheGen::ForceEssential \",\";\nAcquire::Languages \"none\";\nAcquire::Retries \"2\";\nAcquire::http::Timeout \"20\";\n"
    )
}

fn pinned(name: &str, version: &str) -> String {
    format!("{name}={version}")
}

/// `'URI' name_version_arch.deb size ...` as `name=version`.
fn uri_line(line: &str) -> Result<String, AptError> {
    let form = || AptError::Form {
        said: line.to_owned(),
        expected: "'URI' NAME_VERSION_ARCH.deb SIZE",
    };
    let file = line.split_whitespace().nth(1).ok_or_else(form)?;
    let mut parts = file.strip_suffix(".deb").ok_or_else(form)?.split('_');
    match (parts.next(), parts.next()) {
        (Some(name), Some(version)) => Ok(pinned(name, &version.replace("%3a", ":"))),
        _ => Err(form()),
    }
}

/// ` name | version | archive ...` as `name=version`.
fn madison_line(line: &str) -> Option<String> {
    let mut fields = line.split('|').map(str::trim);
    Some(pinned(fields.next()?, fields.next()?))
}

fn described(stanza: &Stanza) -> Result<Package, AptError> {
    let form = || AptError::Form {
        said: format!("{stanza:?}"),
        expected: "a stanza with Package, Version, Architecture, Size and SHA256",
    };
    let text = |key| stanza.get(key).map(str::to_owned).ok_or_else(form);
    Ok(Package {
        name: text("Package")?,
        version: text("Version")?,
        arch: text("Architecture")?,
        size: text("Size")?.parse().map_err(|_| form())?,
        sha256: Digest::try_from(text("SHA256")?).map_err(|_| form())?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_print_uris_gives_name_and_version_with_epoch() {
        let line =
            "'http://mirror.example/pool/o/openssh_10.deb' openssh-server_1%3a10.0p1-7_amd64.deb 594656 ";
        assert_eq!(uri_line(line).unwrap(), "openssh-server=1:10.0p1-7");
        let error = uri_line("'http://mirror.example/odd'").unwrap_err().to_string();
        assert!(
            error.contains("expected 'URI' NAME_VERSION_ARCH.deb SIZE"),
            "{error}"
        );
    }

    #[test]
    fn a_line_of_madison_gives_name_and_version() {
        let line = "   systemd | 257.13-1~deb13u1 | http://mirror.example/debian trixie/main amd64 Packages";
        assert_eq!(madison_line(line).as_deref(), Some("systemd=257.13-1~deb13u1"));
    }

    #[test]
    fn versions_that_are_gone_are_all_named_with_a_way_out() {
        let missing = vec!["fio=3.39-1".to_owned(), "tuned=2.25.1-2".to_owned()];
        assert_eq!(
            AptError::Gone { missing }.to_string(),
            "the archive no longer has 2 of the locked versions: fio=3.39-1, tuned=2.25.1-2\n\
             hint: `dtnforge lock --update SPEC` takes the versions of today"
        );
    }
}
