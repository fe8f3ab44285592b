//! What a build promises: nothing is made twice, and the same inputs give the same bits. These tests boot nothing, but
//! they build images, so they belong to the VM rung.

use dtnforge_tests::programs::{Programs, run};
use dtnforge_tests::rung::{Rung, say};
use dtnforge_tests::{Image, Trouble, image, project};
use serde_json::Value;
use std::process::Command;

/// Builds `spec` and returns each stage with what it did.
fn stages(spec: &str) -> Result<Vec<(String, String)>, Trouble> {
    let programs = Programs::get()?;
    let file = project().join("tests/specs").join(spec);
    let out = image::test_out()?.join(spec.trim_end_matches(".toml"));
    let output = run(Command::new(&programs.dtnforge)
        .arg("build")
        .arg(&file)
        .arg("--out")
        .arg(out)
        .arg("--agent")
        .arg(&programs.agent)
        .arg("--json"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let answer = |reason: &str| Trouble::Answer {
        what: "dtnforge build --json".to_owned(),
        reason: reason.to_owned(),
        text: text.clone(),
    };
    let json: Value = serde_json::from_str(&text).map_err(|error| answer(&error.to_string()))?;
    let stages = json["data"]["stages"]
        .as_array()
        .ok_or_else(|| answer("no stages"))?;
    let word = |stage: &Value, key: &str| stage[key].as_str().unwrap_or_default().to_owned();
    Ok(stages
        .iter()
        .map(|stage| (word(stage, "stage"), word(stage, "did")))
        .collect())
}

fn that_ran(stages: &[(String, String)]) -> Vec<&str> {
    stages
        .iter()
        .filter(|(_, did)| did == "ran")
        .map(|(stage, _)| stage.as_str())
        .collect()
}

#[test]
fn an_edit_of_a_profile_makes_a_new_disk_and_leaves_the_root_alone() -> Result<(), Trouble> {
    const NAME: &str = "an_edit_of_a_profile_makes_a_new_disk_and_leaves_the_root_alone";
    if !Rung::Vm.runs(NAME) {
        return Ok(());
    }
    let before = Image::lean()?;
    let nothing = stages("lean.toml")?;
    assert_eq!(that_ran(&nothing), Vec::<&str>::new(), "{nothing:?}");
    // `harmful` is `lean` with one value of one profile edited.
    let after = Image::build(&project().join("tests/specs/harmful.toml"))?;
    let again = stages("harmful.toml")?;
    assert_eq!(that_ran(&again), Vec::<&str>::new(), "{again:?}");
    assert_eq!(before.root_hash(), after.root_hash(), "the root was built again");
    assert_ne!(before.manifest["profiles"], after.manifest["profiles"]);
    assert_ne!(before.manifest["artefacts"], after.manifest["artefacts"]);
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
