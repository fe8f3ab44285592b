//! Reads what the build host's apt uses, for [`sources`] to translate.

use super::sources::{self, Source};
use crate::cache::Cache;
use crate::fsx::{self, FileError};
use crate::run::{Program, RunError};
use std::path::Path;

/// Why no archive is known.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// mmdebstrap could not be asked for its default.
    #[error(
        "the build host's apt has no Debian archive, and mmdebstrap's default cannot be read\nhint: name one as `mirror` under [base] in the spec"
    )]
    Default(#[source] RunError),
    /// Files of the host.
    #[error(transparent)]
    File(#[from] FileError),
}

/// The archives for `suite`: the spec's `mirror`, else those of the host under `root`, else mmdebstrap's.
///
/// # Errors
/// None of the three is to be had.
pub fn archives(
    root: &Path,
    cache: &Cache,
    mirror: Option<&str>,
    suite: &str,
) -> Result<Vec<Source>, HostError> {
    if let Some(mirror) = mirror {
        let keyring = Path::new(sources::DEBIAN_KEYRING)
            .is_file()
            .then_some(sources::DEBIAN_KEYRING);
        return Ok(sources::of_mirror(mirror, suite, keyring));
    }
    let own = of_host(root, suite)?;
    if own.is_empty() {
        of_mmdebstrap(cache, suite)
    } else {
        Ok(own)
    }
}

/// What the apt configuration under `root` says, translated to `suite`; empty when it says nothing fitting.
///
/// # Errors
/// A file cannot be read.
pub fn of_host(root: &Path, suite: &str) -> Result<Vec<Source>, FileError> {
    let Some(codename) = codename(root) else {
        return Ok(Vec::new());
    };
    let mut files = Vec::new();
    let main = root.join("etc/apt/sources.list");
    let directory = root.join("etc/apt/sources.list.d");
    let more = if directory.is_dir() {
        fsx::list(&directory)?
    } else {
        Vec::new()
    };
    for path in std::iter::once(main).chain(more) {
        let known = path
            .extension()
            .is_some_and(|end| end == "list" || end == "sources");
        if known && path.is_file() {
            files.push((path.display().to_string(), fsx::read_text(&path)?));
        }
    }
    Ok(sources::translate(&files, &codename, suite))
}

fn codename(root: &Path) -> Option<String> {
    let text = ["etc/os-release", "usr/lib/os-release"]
        .iter()
        .find_map(|path| fsx::read_text(&root.join(path)).ok())?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("VERSION_CODENAME="))?;
    Some(line.trim_matches('"').to_owned())
}

/// Asks mmdebstrap for its default, without letting it fetch or make anything.
fn of_mmdebstrap(cache: &Cache, suite: &str) -> Result<Vec<Source>, HostError> {
    let scratch = cache.scratch("mirror")?;
    Program::new("mmdebstrap")
        .args([
            "--variant=extract",
            "--format=null",
            "--skip=update",
            "--setup-hook=copy-out /etc/apt/sources.list .",
        ])
        .args([suite, "/dev/null"])
        .current_dir(scratch.path())
        .run(&scratch.path().join("log"))
        .map_err(HostError::Default)?;
    let text = fsx::read_text(&scratch.path().join("sources.list"))?;
    Ok(sources::translate(&[("sources.list".into(), text)], suite, suite))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_a_hosts_files_are_read() {
        let home = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| fsx::write(&home.path().join(path), text.as_bytes()).unwrap();
        write("etc/os-release", "ID=debian\nVERSION_CODENAME=bookworm\n");
        write(
            "etc/apt/sources.list",
            "deb http://a.example/debian bookworm main\n",
        );
        write(
            "etc/apt/sources.list.d/b.sources",
            "Types: deb\nURIs: http://b.example/s\nSuites: bookworm-security\n",
        );
        write(
            "etc/apt/sources.list.d/b.sources.save",
            "Types: deb\nURIs: http://old.example\nSuites: bookworm\n",
        );
        let found = of_host(home.path(), "trixie").unwrap();
        let told: Vec<String> = found
            .iter()
            .map(|source| format!("{} {}", source.uri, source.suite))
            .collect();
        assert_eq!(
            told,
            [
                "http://a.example/debian trixie",
                "http://b.example/s trixie-security"
            ]
        );
    }

    #[test]
    fn a_host_without_apt_says_nothing() {
        let home = tempfile::tempdir().unwrap();
        assert!(of_host(home.path(), "trixie").unwrap().is_empty());
    }
}
