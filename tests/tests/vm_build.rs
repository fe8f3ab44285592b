//! What a build promises: nothing is made twice, and the same inputs give the same bits. These tests boot nothing, but
//! they build images, so they belong to the VM rung.

use dtnforge_tests::programs::{Programs, run};
use dtnforge_tests::rung::{Rung, say};
use dtnforge_tests::{Image, Trouble, image, project};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Builds `spec` into `out` and returns the names of the stages that ran.
fn stages_that_ran(spec: &Path, out: &str) -> Result<Vec<String>, Trouble> {
    let programs = Programs::get()?;
    let output = run(Command::new(&programs.dtnforge)
        .arg("build")
        .arg(spec)
        .arg("--out")
        .arg(image::test_out()?.join(out))
        .arg("--agent")
        .arg(&programs.agent)
        .arg("--json"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let wrong = |reason: &str| Trouble::Answer {
        what: "dtnforge build --json".to_owned(),
        reason: reason.to_owned(),
        text: text.clone(),
    };
    let json: Value = serde_json::from_str(&text).map_err(|error| wrong(&error.to_string()))?;
    let stages = json["data"]["stages"]
        .as_array()
        .ok_or_else(|| wrong("no stages"))?;
    let mut ran = Vec::new();
    for stage in stages {
        match (stage["stage"].as_str(), stage["did"].as_str()) {
            (Some(name), Some("ran")) => ran.push(name.to_owned()),
            (Some(_), Some("cached")) => {}
            _ => return Err(wrong("a stage without its name or what it did")),
        }
    }
    Ok(ran)
}

#[test]
fn an_edit_of_a_profile_makes_a_new_disk_and_leaves_the_root_alone() -> Result<(), Trouble> {
    const NAME: &str = "an_edit_of_a_profile_makes_a_new_disk_and_leaves_the_root_alone";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    Image::lean()?;
    let lean = project().join("tests/specs/lean.toml");
    assert_eq!(stages_that_ran(&lean, "lean")?, Vec::<String>::new());

    // One value of one file, to a number that was never built before.
    let fresh = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let fresh = 1_048_576 + fresh.map_or(0, |since| since.as_secs() % 1_000_000_000);
    let catalog = project().join("profiles/catalog/dtn-nvme.toml");
    let text = std::fs::read_to_string(&catalog).map_err(Trouble::file("read", &catalog))?;
    let edited = format!(
        "{text}\n[[knob]]\nid = 'sysctl:net.core.optmem_max'\nvalue = {fresh}\nunit = 'byte'\n\
         why = 'a test'\nsource = 'a test'\n"
    );
    // A spec lies inside the project, since the project's overlays are found from there.
    let place = project().join("target/edited-profile");
    std::fs::create_dir_all(place.join("catalog")).map_err(Trouble::file("create", &place))?;
    let write = |name: &str, text: &str| {
        let path = place.join(name);
        std::fs::write(&path, text).map_err(Trouble::file("write", &path))
    };
    write("catalog/dtn-nvme.toml", &edited)?;
    write(
        "edited.toml",
        "schema = 1\nextends = '../../tests/specs/lean.toml'\nname = 'edited'\n\
         [profiles]\nextra_catalogs = ['catalog']\n",
    )?;
    let ran = stages_that_ran(&place.join("edited.toml"), "edited")?;
    assert_eq!(ran, ["layers", "uki", "disk", "qcow2"]);
    Ok(())
}

#[test]
fn the_same_lock_gives_the_same_bits_elsewhere() -> Result<(), Trouble> {
    const NAME: &str = "the_same_lock_gives_the_same_bits_elsewhere";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    Image::lean()?;
    let programs = Programs::get()?;
    let output = run(Command::new(project().join("tests/reproduce"))
        .arg(&programs.dtnforge)
        .arg(&programs.agent)
        .arg("tests/specs/lean.toml")
        .arg(image::test_out()?.join("reproduce"))
        .arg("--reuse-root"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    say(&format!("{NAME}:\n{text}"));
    for file in ["lean.raw", "lean.qcow2", "manifest.json"] {
        assert!(text.contains(&format!("same: {file}")), "{text}");
    }
    Ok(())
}

#[test]
fn a_disk_that_fills_up_in_a_build_leaves_no_half_file_and_the_next_build_works() -> Result<(), Trouble> {
    const NAME: &str = "a_disk_that_fills_up_in_a_build_leaves_no_half_file_and_the_next_build_works";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    Image::lean()?;
    let programs = Programs::get()?;
    // A file system of its own in a private mount namespace; it is filled as soon as the disk is being written.
    let output = run(Command::new("unshare")
        .args(["--mount", "bash", "-eu"])
        .arg(project().join("tests/scripts/fill-up-in-a-build.sh"))
        .arg(&programs.dtnforge)
        .arg(&programs.agent)
        .arg(project().join("tests/specs/lean.toml"))
        .arg(image::test_out()?.join("small")))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    say(&format!("{NAME}:\n{text}"));
    assert!(text.contains("first build: exit 1"), "{text}");
    assert!(text.contains("No space left on device"), "{text}");
    // The disk may have been finished before; what was being written is not there, under no name.
    let files = text
        .lines()
        .find_map(|line| line.strip_prefix("files after it: "));
    let mut files: Vec<&str> = files.unwrap_or_default().split(' ').collect();
    files.retain(|name| *name != "lean.raw");
    assert_eq!(files, ["filler"], "{text}");
    assert!(text.contains("second build: exit 0"), "{text}");
    Ok(())
}
