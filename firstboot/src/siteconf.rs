//! What the site decided, from the image and from the node: `site.toml` beside the layers, then
//! `/etc/dtnforge/site.toml` over it, key by key.

use crate::host::Host;
use dtnforge_profiles::site::{OutOfRange, Services, Site, SiteFile};
use dtnforge_profiles::suggest;
use std::fs;
use std::io;
use std::path::PathBuf;

/// The node's own file: written by an admin or by a seed.
pub const NODE_PATH: &str = "/etc/dtnforge/site.toml";
/// The image's file, on the layers partition.
pub const IMAGE_PATH: &str = "/usr/lib/dtnforge/layers/site.toml";

/// A site file that cannot be used. The node stays stock and says this.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// It cannot be read.
    #[error("{path}: {source}")]
    Read {
        /// The file.
        path: &'static str,
        /// The cause.
        source: io::Error,
    },
    /// It is no valid TOML, or has an unknown key.
    #[error("{path}:{line}: {message}")]
    Parse {
        /// The file.
        path: &'static str,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// A value is out of its range.
    #[error("{NODE_PATH} or {IMAGE_PATH}: {0}")]
    Range(#[from] OutOfRange),
}

fn parse(path: &'static str, text: &str) -> Result<SiteFile, SiteError> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let start = error.span().map_or(0, |span| span.start.min(text.len()));
        let line = text.as_bytes()[..start]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count()
            + 1;
        SiteError::Parse {
            path,
            line,
            message: with_suggestion(error.message()),
        }
    })
}

fn with_suggestion(message: &str) -> String {
    let line = message.replace('\n', " ");
    match suggest::for_unknown(message) {
        Some(hint) => format!("{line}\nhint: {hint}"),
        None => line,
    }
}

fn load_one(host: &Host, path: &'static str) -> Result<SiteFile, SiteError> {
    match fs::read_to_string(host.path(path)) {
        Ok(text) => parse(path, &text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(SiteFile::default()),
        Err(source) => Err(SiteError::Read { path, source }),
    }
}

/// The site's decisions for this node.
///
/// # Errors
/// [`SiteError`], with file and line.
pub fn load(host: &Host) -> Result<Site, SiteError> {
    Ok(written(host)?.check()?)
}

/// Where metrics are written, below the host's root.
///
/// # Errors
/// [`SiteError`], with file and line.
pub fn metrics_dir(host: &Host) -> Result<PathBuf, SiteError> {
    Ok(host.path(written(host)?.metrics_dir()?))
}

/// The services that wait for the verdict.
///
/// # Errors
/// [`SiteError`], with file and line.
pub fn services(host: &Host) -> Result<Services, SiteError> {
    Ok(written(host)?.services()?)
}

/// What the site wrote, unchecked: for keys that decide nothing about tuning.
///
/// # Errors
/// [`SiteError`], with file and line.
pub fn written(host: &Host) -> Result<SiteFile, SiteError> {
    let image = load_one(host, IMAGE_PATH)?;
    Ok(image.overlaid_by(load_one(host, NODE_PATH)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dtnforge_profiles::site::Role;

    #[test]
    fn the_node_wins_over_the_image() {
        let dir = tempfile::tempdir().unwrap();
        let host = Host::at(dir.path(), None);
        crate::atomic::write(
            &host.path(IMAGE_PATH),
            b"role = 'dtn'\nlink_mbps = 10000\n",
            0o644,
        )
        .unwrap();
        crate::atomic::write(&host.path(NODE_PATH), b"link_mbps = 25000\n", 0o644).unwrap();
        let site = load(&host).unwrap();
        assert_eq!((site.role, site.link_mbps), (Some(Role::Dtn), Some(25_000)));
    }

    #[test]
    fn a_bad_file_is_named_with_its_line() {
        let dir = tempfile::tempdir().unwrap();
        let host = Host::at(dir.path(), None);
        crate::atomic::write(&host.path(NODE_PATH), b"role = 'dtn'\nrtt = 3\n", 0o644).unwrap();
        let error = load(&host).unwrap_err().to_string();
        assert!(
            error.starts_with("/etc/dtnforge/site.toml:2: unknown field `rtt`"),
            "{error}"
        );
    }
}
