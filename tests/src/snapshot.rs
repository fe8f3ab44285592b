//! A running guest on the shelf: saved once for each image, continued by every test that needs a booted node soon.
//!
//! A boot takes a minute in emulation, a continued guest a few seconds. Devices that a test needs are plugged in
//! (`dtnforge boot --hotplug`).

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde_json::Value;

use crate::image::only_one;
use crate::rung::say;
use crate::{Image, Trouble, Vm};

/// The snapshot of `image`, with one virtio card on the user network, all services started.
///
/// # Errors
/// When the guest cannot be booted or saved.
pub fn of(image: &Image) -> Result<PathBuf, Trouble> {
    let dir = image.out.with_extension("snapshot");
    let name = dir
        .file_name()
        .map_or_else(|| "snapshot".into(), |name| name.to_string_lossy().into_owned());
    let _one = only_one(&name)?;
    if dir.exists() {
        if fits(&dir)? {
            return Ok(dir);
        }
        say(&format!("{name}: its image has changed, saving anew"));
        std::fs::remove_dir_all(&dir).map_err(Trouble::file("remove", &dir))?;
    }
    let report = Vm::of(image, &name).option("--save-snapshot", &dir).boot()?;
    if report.data.exit != 0 {
        return Err(report.trouble("it was not saved"));
    }
    say(&format!("{name}: saved after {:.1} s", report.data.seconds));
    Ok(dir)
}

/// Whether a snapshot's image is still the one that it was saved over.
fn fits(dir: &Path) -> Result<bool, Trouble> {
    let path = dir.join("snapshot.json");
    let text = std::fs::read_to_string(&path).map_err(Trouble::file("read", &path))?;
    let record: Value = serde_json::from_str(&text).map_err(|error| Trouble::Answer {
        what: path.display().to_string(),
        reason: error.to_string(),
        text,
    })?;
    let image = &record["image"];
    let Some(disk) = image["path"].as_str() else {
        return Ok(false);
    };
    let Ok(data) = std::fs::metadata(disk) else {
        return Ok(false);
    };
    let changed = data
        .modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let same_time =
        changed.is_some_and(|time| image["mtime_ns"].as_u64().map(u128::from) == Some(time.as_nanos()));
    Ok(same_time && image["size"].as_u64() == Some(data.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_snapshot_fits_only_the_very_file_that_it_was_saved_over() {
        let dir = tempfile::tempdir().unwrap();
        let disk = dir.path().join("a.raw");
        std::fs::write(&disk, "one").unwrap();
        let time = std::fs::metadata(&disk).unwrap().modified().unwrap();
        let mtime_ns = u64::try_from(time.duration_since(UNIX_EPOCH).unwrap().as_nanos()).unwrap();
        let record = json!({ "image": { "path": disk, "size": 3, "mtime_ns": mtime_ns } });
        std::fs::write(dir.path().join("snapshot.json"), record.to_string()).unwrap();
        assert!(fits(dir.path()).unwrap());
        std::fs::write(&disk, "other").unwrap();
        assert!(!fits(dir.path()).unwrap());
        std::fs::remove_file(&disk).unwrap();
        assert!(!fits(dir.path()).unwrap());
    }
}
