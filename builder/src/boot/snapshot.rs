//! A machine that was saved while it ran, and its copies.
//!
//! A snapshot is a directory: every file of the machine, the machine's memory inside the system disk's overlay, and
//! `snapshot.json` with QEMU's exact arguments. To go on with it the files are copied, so one snapshot serves any number
//! of guests. The image underneath is not copied; its stamp tells when it is not the same any more.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use super::accel::{Accel, Chosen};
use super::error::BootError;
use super::image::{Image, Stamp};
use super::machine::{SYSTEM_NODE, VARS_NODE};
use super::prepare::{Parts, Prepared};
use super::qemu::QemuTree;
use super::session::{Session, Stop};
use super::workdir::Workdir;

const RECORD: &str = "snapshot.json";
const SCHEMA: u32 = 1;
/// The name of the saved state inside the overlay.
const TAG: &str = "dtnforge";
/// How long QEMU may take to write or read the guest's memory.
const LIMIT: Duration = Duration::from_secs(300);

/// What `snapshot.json` holds.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    schema: u32,
    /// Version of the QEMU that saved it; another one may not understand it.
    qemu: String,
    accel: Accel,
    image: Stamp,
    parts: Parts,
    args: Vec<String>,
}

/// Saves the running machine and ends it. The directory gets its final name in [`keep`].
///
/// # Errors
/// QEMU's own words when it cannot save.
pub fn save(session: &mut Session, tree: &QemuTree, prepared: &Prepared) -> Result<(), Stop> {
    job(session, "snapshot-save", &prepared.parts)?;
    session.command("quit", &json!(null))?;
    let record = Record {
        schema: SCHEMA,
        qemu: tree.qemu_version()?,
        accel: prepared.accel.accel,
        image: prepared.image.clone(),
        parts: prepared.parts.clone(),
        args: prepared.args.clone(),
    };
    let path = prepared.workdir.path().join(RECORD);
    let text = serde_json::to_string_pretty(&record).map_err(|error| BootError::Snapshot {
        path: path.clone(),
        reason: error.to_string(),
    })?;
    std::fs::write(&path, text + "\n").map_err(BootError::file("write", &path))?;
    Ok(())
}

/// Brings the saved memory and devices back into a QEMU that was started with the saved arguments.
///
/// # Errors
/// QEMU's own words when it cannot load.
pub fn restore(session: &mut Session, parts: &Parts) -> Result<(), Stop> {
    job(session, "snapshot-load", parts)
}

/// Refuses a place for a snapshot that is taken.
///
/// # Errors
/// When `dir` exists.
pub fn check_free(dir: &Path) -> Result<(), BootError> {
    if dir.exists() {
        let reason = "the directory exists\nhint: remove it to save anew".to_owned();
        return Err(BootError::Snapshot {
            path: dir.to_owned(),
            reason,
        });
    }
    Ok(())
}

/// Copies the snapshot `dir` into `workdir`, ready to be started.
///
/// # Errors
/// When it is incomplete, or its image or QEMU is not the one that it was saved with.
pub fn load(tree: &QemuTree, dir: &Path, workdir: Workdir) -> Result<Prepared, BootError> {
    let record = read(dir)?;
    let refuse = |reason: String| BootError::Snapshot {
        path: dir.to_owned(),
        reason,
    };
    let now = Image::find(&record.image.path)?.stamp()?;
    if now != record.image {
        return Err(refuse(format!(
            "the image {} has changed since it was saved\nhint: remove the snapshot and save it anew",
            record.image.path.display()
        )));
    }
    let qemu = tree.qemu_version()?;
    if qemu != record.qemu {
        return Err(refuse(format!(
            "it was saved by QEMU {}, the tools tree has {qemu}\nhint: remove the snapshot and save it anew",
            record.qemu
        )));
    }
    for entry in std::fs::read_dir(dir).map_err(BootError::file("list", dir))? {
        let entry = entry.map_err(BootError::file("list", dir))?;
        let copy = workdir.path().join(entry.file_name());
        std::fs::copy(entry.path(), copy).map_err(BootError::file("copy", entry.path()))?;
    }
    Ok(Prepared {
        workdir,
        args: record.args,
        accel: Chosen {
            accel: record.accel,
            reason: "the snapshot was saved under it".to_owned(),
        },
        image: record.image,
        parts: record.parts,
        saved: true,
        keeps_overlay: false,
        cables_out: Vec::new(),
    })
}

fn read(dir: &Path) -> Result<Record, BootError> {
    let path = dir.join(RECORD);
    let text = std::fs::read_to_string(&path).map_err(BootError::file("read", &path))?;
    let refuse = |reason: String| BootError::Snapshot {
        path: path.clone(),
        reason,
    };
    let value: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| refuse(format!("no JSON: {error}")))?;
    if value["schema"] != SCHEMA {
        return Err(refuse(format!(
            "schema {} is not known here, expected {SCHEMA}\nhint: remove the snapshot and save it anew",
            value["schema"]
        )));
    }
    serde_json::from_value(value).map_err(|error| refuse(error.to_string()))
}

/// Runs one of QEMU's snapshot jobs over every disk that can change, to its end.
fn job(session: &mut Session, command: &str, parts: &Parts) -> Result<(), Stop> {
    let mut nodes = vec![SYSTEM_NODE.to_owned(), VARS_NODE.to_owned()];
    nodes.extend((0..parts.disks).map(|index| format!("data{index}")));
    let arguments = json!({ "job-id": TAG, "tag": TAG, "vmstate": SYSTEM_NODE, "devices": nodes });
    session.command(command, &arguments)?;
    let deadline = Instant::now() + LIMIT;
    loop {
        let jobs = session.command("query-jobs", &json!(null))?;
        let ours = jobs
            .as_array()
            .and_then(|jobs| jobs.iter().find(|job| job["id"] == TAG));
        let Some(ours) = ours else {
            let reason = "its job vanished".to_owned();
            return Err(BootError::Qmp {
                command: command.to_owned(),
                reason,
            }
            .into());
        };
        if let Some(reason) = ours["error"].as_str() {
            return Err(BootError::Qmp {
                command: command.to_owned(),
                reason: reason.to_owned(),
            }
            .into());
        }
        if ours["status"] == "concluded" {
            session.command("job-dismiss", &json!({ "id": TAG }))?;
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(Stop::TimedOut(format!("the end of QEMU's {command}")));
        }
        session.pause(Duration::from_millis(50))?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(image: Stamp) -> Record {
        Record {
            schema: SCHEMA,
            qemu: "10.0.0".into(),
            accel: Accel::Tcg,
            image,
            parts: Parts {
                nics: 1,
                disks: 0,
                user_net: Some("net1".into()),
            },
            args: vec!["-m".into(), "512".into()],
        }
    }

    #[test]
    fn a_snapshot_of_an_image_that_changed_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.raw");
        std::fs::write(&path, "one").unwrap();
        let stamp = Image::find(&path).unwrap().stamp().unwrap();
        let snapshot = dir.path().join("snapshot");
        std::fs::create_dir(&snapshot).unwrap();
        std::fs::write(
            snapshot.join(RECORD),
            serde_json::to_string(&record(stamp.clone())).unwrap(),
        )
        .unwrap();
        assert_eq!(read(&snapshot).unwrap(), record(stamp));
        std::fs::write(&path, "another").unwrap();
        let workdir = Workdir::create(dir.path()).unwrap();
        let error = load(&QemuTree::new(Path::new("/none")), &snapshot, workdir)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("has changed since it was saved\nhint: remove the snapshot"),
            "{error}"
        );
    }

    #[test]
    fn a_newer_or_broken_record_is_refused_with_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let message = |text: &str| {
            std::fs::write(dir.path().join(RECORD), text).unwrap();
            read(dir.path()).unwrap_err().to_string()
        };
        assert!(message(r#"{"schema": 2}"#).contains("schema 2 is not known here, expected 1"));
        assert!(message("").contains("no JSON"));
        assert!(message(r#"{"schema": 1}"#).contains("missing field"));
    }

    #[test]
    fn a_directory_that_exists_is_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        assert!(
            check_free(dir.path())
                .unwrap_err()
                .to_string()
                .contains("the directory exists")
        );
        assert!(check_free(&dir.path().join("new")).is_ok());
    }
}
