//! Finds the disk that an argument means: a build's output directory, or an image file.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde_json::Value;

use crate::image::manifest::FILE as MANIFEST;

use super::disk::ImageFormat;
use super::error::BootError;

/// A disk image on the host, never written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Absolute path.
    pub path: PathBuf,
    /// Its format.
    pub format: ImageFormat,
}

/// Tells whether an image is still the one that was seen before.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Stamp {
    /// Absolute path.
    pub path: PathBuf,
    /// Length in bytes.
    pub size: u64,
    /// Time of the last change, in nanoseconds since 1970.
    pub mtime_ns: u128,
}

impl Image {
    /// The image that `out` means.
    ///
    /// # Errors
    /// When there is none, or when it cannot be read.
    pub fn find(out: &Path) -> Result<Image, BootError> {
        if !out.exists() {
            let reason = "there is no such file".to_owned();
            return Err(BootError::NoImage {
                path: out.to_owned(),
                reason,
            });
        }
        let path = if out.is_dir() {
            disk_of_build(out)?
        } else {
            out.to_owned()
        };
        let path = path.canonicalize().map_err(BootError::file("open", &path))?;
        let mut head = Vec::new();
        File::open(&path)
            .and_then(|file| file.take(4).read_to_end(&mut head))
            .map_err(BootError::file("read", &path))?;
        Ok(Image {
            path,
            format: ImageFormat::of(&head),
        })
    }

    /// The image's stamp as of now.
    ///
    /// # Errors
    /// When it is not there any more.
    pub fn stamp(&self) -> Result<Stamp, BootError> {
        let meta = std::fs::metadata(&self.path).map_err(BootError::file("look at", &self.path))?;
        let mtime = meta.modified().map_err(BootError::file("look at", &self.path))?;
        let mtime_ns = mtime
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_nanos());
        Ok(Stamp {
            path: self.path.clone(),
            size: meta.len(),
            mtime_ns,
        })
    }
}

/// The disk that a build's manifest lists: the raw one when it is there (fastest), else the qcow2 one.
fn disk_of_build(out: &Path) -> Result<PathBuf, BootError> {
    let manifest = out.join(MANIFEST);
    let no_image = |reason: String| BootError::NoImage {
        path: out.to_owned(),
        reason,
    };
    let text = match std::fs::read_to_string(&manifest) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(no_image(format!("it has no {MANIFEST}")));
        }
        Err(error) => return Err(BootError::file("read", manifest)(error)),
    };
    let disks = disks_of_manifest(&text).map_err(no_image)?;
    let found = disks.iter().map(|disk| out.join(disk)).find(|path| path.exists());
    found.ok_or_else(|| {
        no_image(format!(
            "{MANIFEST} lists {}, which is not there",
            disks.join(" and ")
        ))
    })
}

/// The paths of the disks in the text of a manifest, raw first.
fn disks_of_manifest(text: &str) -> Result<Vec<String>, String> {
    let manifest: Value =
        serde_json::from_str(text).map_err(|error| format!("{MANIFEST} is no JSON: {error}"))?;
    let artefacts = manifest["artefacts"]
        .as_array()
        .ok_or(format!("{MANIFEST} has no list `artefacts`"))?;
    let paths: Vec<&str> = artefacts
        .iter()
        .filter_map(|artefact| artefact["path"].as_str())
        .collect();
    let ending = |suffix: &str| {
        paths
            .iter()
            .filter(move |path| path.ends_with(suffix))
            .map(|path| (*path).to_owned())
            .collect::<Vec<_>>()
    };
    let disks = [ending(".raw"), ending(".qcow2")].concat();
    if disks.is_empty() {
        return Err(format!("{MANIFEST} lists no .raw and no .qcow2 file"));
    }
    Ok(disks)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{ "schema": 1, "artefacts": [
        { "path": "esp/stock.efi", "size": 1, "sha256": "00" },
        { "path": "dtn.qcow2", "size": 1, "sha256": "00" },
        { "path": "dtn.raw", "size": 1, "sha256": "00" } ] }"#;

    #[test]
    fn the_raw_disk_of_a_build_is_preferred_and_the_qcow2_one_serves_too() {
        let out = tempfile::tempdir().unwrap();
        std::fs::write(out.path().join(MANIFEST), TEXT).unwrap();
        std::fs::write(out.path().join("dtn.qcow2"), b"QFI\xfb....").unwrap();
        assert_eq!(Image::find(out.path()).unwrap().format, ImageFormat::Qcow2);
        std::fs::write(out.path().join("dtn.raw"), b"").unwrap();
        let image = Image::find(out.path()).unwrap();
        assert!(image.path.ends_with("dtn.raw"));
        assert_eq!(image.format, ImageFormat::Raw);
    }

    #[test]
    fn a_directory_without_a_disk_says_what_was_looked_for() {
        let out = tempfile::tempdir().unwrap();
        let missing = Image::find(&out.path().join("none")).unwrap_err().to_string();
        assert!(
            missing.contains("none: there is no such file\nhint:"),
            "{missing}"
        );
        let message = || Image::find(out.path()).unwrap_err().to_string();
        assert!(
            message().contains("it has no manifest.json\nhint: name the output directory"),
            "{}",
            message()
        );
        let cases = [
            ("{", "manifest.json is no JSON"),
            ("{}", "manifest.json has no list `artefacts`"),
            (r#"{"artefacts": []}"#, "lists no .raw and no .qcow2 file"),
            (
                TEXT,
                "manifest.json lists dtn.raw and dtn.qcow2, which is not there",
            ),
        ];
        for (text, expected) in cases {
            std::fs::write(out.path().join(MANIFEST), text).unwrap();
            assert!(message().contains(expected), "{text}: {}", message());
        }
    }

    #[test]
    fn an_image_that_was_written_again_has_another_stamp() {
        let out = tempfile::tempdir().unwrap();
        let path = out.path().join("a.raw");
        std::fs::write(&path, "one").unwrap();
        let image = Image::find(&path).unwrap();
        let before = image.stamp().unwrap();
        assert_eq!(image.stamp().unwrap(), before);
        std::fs::write(&path, "other").unwrap();
        assert_ne!(image.stamp().unwrap(), before);
    }
}
