//! Images for tests: built by `dtnforge build` into one directory, once for all tests.
//!
//! The directory is `DTNFORGE_TEST_OUT`, else `target/vm`. Builds are cached by content, so asking again costs seconds.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use crate::programs::{Programs, make_dir, run, target_dir};
use crate::rung::say;
use crate::{Trouble, project};

/// A built image.
#[derive(Debug, Clone)]
pub struct Image {
    /// Its output directory, for `dtnforge boot`.
    pub out: PathBuf,
    /// Its manifest.
    pub manifest: Value,
}

/// Where images, overlays and logs of tests go.
///
/// # Errors
/// When it cannot be made.
pub fn test_out() -> Result<PathBuf, Trouble> {
    let out = std::env::var_os("DTNFORGE_TEST_OUT").map_or_else(|| target_dir().join("vm"), PathBuf::from);
    make_dir(&out)?;
    Ok(out)
}

impl Image {
    /// The lean image, which most tests boot.
    ///
    /// # Errors
    /// As [`Image::build`].
    pub fn lean() -> Result<Image, Trouble> {
        Image::of_spec("lean.toml")
    }

    /// The image of one of the tests' own specs.
    ///
    /// # Errors
    /// As [`Image::build`].
    pub fn of_spec(file: &str) -> Result<Image, Trouble> {
        Image::build(&project().join("tests/specs").join(file))
    }

    /// Builds `spec`, or finds it built.
    ///
    /// # Errors
    /// What `dtnforge build` says when it fails.
    pub fn build(spec: &Path) -> Result<Image, Trouble> {
        // One build at a time in this process; between processes the builder's cache has its own lock.
        static ONE: Mutex<()> = Mutex::new(());
        let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let programs = Programs::get()?;
        let name = spec
            .file_stem()
            .map_or_else(|| "image".into(), |stem| stem.to_string_lossy().into_owned());
        let out = test_out()?.join(&name);
        let started = std::time::Instant::now();
        let mut command = Command::new(&programs.dtnforge);
        command
            .arg("build")
            .arg(spec)
            .arg("--out")
            .arg(&out)
            .arg("--agent")
            .arg(&programs.agent);
        run(&mut command)?;
        say(&format!(
            "image {name}: ready after {:.1} s",
            started.elapsed().as_secs_f64()
        ));
        Ok(Image {
            manifest: read_manifest(&out.join("manifest.json"))?,
            out,
        })
    }

    /// Its name.
    pub fn name(&self) -> String {
        let stem = self.out.file_stem().unwrap_or_default();
        stem.to_string_lossy().into_owned()
    }

    /// The raw disk.
    ///
    /// # Errors
    /// When the manifest lists none.
    pub fn disk(&self) -> Result<PathBuf, Trouble> {
        let listed = self.manifest["artefacts"].as_array().into_iter().flatten();
        let mut paths = listed.filter_map(|artefact| artefact["path"].as_str());
        let name = paths.find(|path| path.ends_with(".raw"));
        name.map(|name| self.out.join(name))
            .ok_or_else(|| Trouble::Answer {
                what: "the manifest".to_owned(),
                reason: "it lists no raw disk".to_owned(),
                text: self.manifest.to_string(),
            })
    }

    /// The root's dm-verity hash.
    ///
    /// # Errors
    /// When the manifest has none.
    pub fn root_hash(&self) -> Result<&str, Trouble> {
        let hash = self.manifest["root_hash"]
            .as_str()
            .filter(|hash| hash.len() == 64);
        hash.ok_or_else(|| Trouble::Answer {
            what: "the manifest".to_owned(),
            reason: "it has no root hash".to_owned(),
            text: self.manifest.to_string(),
        })
    }
}

fn read_manifest(path: &Path) -> Result<Value, Trouble> {
    let text = std::fs::read_to_string(path).map_err(Trouble::file("read", path))?;
    serde_json::from_str(&text).map_err(|error| Trouble::Answer {
        what: path.display().to_string(),
        reason: error.to_string(),
        text,
    })
}

/// A lock that lets one test at a time have what it names, over all test processes.
///
/// # Errors
/// When the lock file cannot be made.
pub fn only_one(name: &str) -> Result<File, Trouble> {
    let path = test_out()?.join(format!("{name}.lock"));
    let file = File::create(&path).map_err(Trouble::file("create", &path))?;
    file.lock().map_err(Trouble::file("lock", &path))?;
    Ok(file)
}
