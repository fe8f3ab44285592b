//! Nodes that have committed a profile, on the shelf: each is made once for an image, and every test goes on with a
//! copy of its disk.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::fallback::{questions, server};
use crate::image::only_one;
use crate::rung::say;
use crate::vm::fresh_path;
use crate::{Answers, Image, Trouble};

/// How far the node has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// It committed and shut down: its boot counter is armed, and no boot with the commit was seen yet.
    Armed,
    /// One boot with the commit was good: it is not counted any more.
    Blessed,
}

impl Stage {
    fn name(self) -> &'static str {
        match self {
            Stage::Armed => "armed",
            Stage::Blessed => "blessed",
        }
    }
}

/// A copy, for the test `name`, of the overlay of a node of `image` that came so far. A test of this very stage made
/// it, or it is made now.
///
/// # Errors
/// When the node cannot be booted, or does not commit.
pub fn overlay(image: &Image, stage: Stage, name: &str) -> Result<PathBuf, Trouble> {
    let kept = kept(image, stage)?;
    let copy = fresh_path(name, "qcow2")?;
    std::fs::copy(&kept, &copy).map_err(Trouble::file("copy", &kept))?;
    Ok(copy)
}

fn kept(image: &Image, stage: Stage) -> Result<PathBuf, Trouble> {
    let shelf = image.out.with_extension(format!("{}.qcow2", stage.name()));
    let stamp = shelf.with_extension("json");
    let label = format!("{}-{}", image.name(), stage.name());
    let _one = only_one(&label)?;
    let wanted = of_image(image)?.to_string();
    if shelf.exists() && std::fs::read_to_string(&stamp).is_ok_and(|text| text == wanted) {
        return Ok(shelf);
    }
    for old in [&shelf, &stamp].into_iter().filter(|old| old.exists()) {
        std::fs::remove_file(old).map_err(Trouble::file("remove", old))?;
    }
    let vm = server(image, &label).flag("--power-off");
    let vm = match stage {
        Stage::Armed => vm.option("--keep-overlay", &shelf),
        Stage::Blessed => {
            let armed = kept(image, Stage::Armed)?;
            std::fs::copy(&armed, &shelf).map_err(Trouble::file("copy", &armed))?;
            vm.option("--overlay", &shelf)
        }
    };
    let (report, answers) = vm.ask(&questions())?;
    came_so_far(stage, &answers)?;
    say(&format!(
        "{label}: on the shelf after {:.0} s",
        report.data.seconds
    ));
    std::fs::write(&stamp, wanted).map_err(Trouble::file("write", &stamp))?;
    Ok(shelf)
}

/// Checks that the node is what its stage says, before it goes on the shelf.
fn came_so_far(stage: Stage, answers: &Answers) -> Result<(), Trouble> {
    let (status, all) = (answers.status()?, answers.all());
    assert_eq!(status.state, "committed", "{}\n{all}", status.reason);
    let file = match stage {
        Stage::Armed => "dtnforge+3.efi",
        Stage::Blessed => "dtnforge.efi",
    };
    assert_eq!(status.boot_counter.file.as_deref(), Some(file), "{all}");
    Ok(())
}

/// What tells whether the image is still the one that the node was made of.
fn of_image(image: &Image) -> Result<Value, Trouble> {
    let disk = image.disk()?;
    let data = std::fs::metadata(&disk).map_err(Trouble::file("look at", &disk))?;
    let changed = data.modified().map_err(Trouble::file("look at", &disk))?;
    Ok(json!({ "disk": disk, "changed": format!("{changed:?}") }))
}
