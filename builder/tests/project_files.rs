//! The project's own specs and overlays, as the builder and a node will read them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use dtnforge::image::catalog;
use dtnforge::{fsx, spec};
use std::path::{Path, PathBuf};

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The files of `directory` in the project whose names end in `end`.
fn files(directory: &str, end: &str) -> Vec<PathBuf> {
    let found = fsx::list(&project().join(directory)).unwrap();
    found
        .into_iter()
        .filter(|path| path.to_string_lossy().ends_with(end))
        .collect()
}

#[test]
fn every_spec_of_the_project_is_valid_and_its_layers_can_be_built() {
    let specs: Vec<PathBuf> = ["image-specs", "tests/specs"]
        .iter()
        .flat_map(|place| files(place, ".toml"))
        .collect();
    assert!(specs.len() > 2, "{specs:?}");
    for path in specs {
        let spec = spec::load(&path).unwrap_or_else(|error| panic!("{error}"));
        let content = catalog::content(&spec).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(!content.profiles.is_empty(), "{}", path.display());
    }
}

#[test]
fn every_unit_that_wants_to_be_started_is_in_the_preset() {
    let preset = "overlays/common/usr/lib/systemd/system-preset/50-dtnforge.preset";
    let preset = fsx::read_text(&project().join(preset)).unwrap();
    for overlay in ["common", "agent"] {
        for unit in files(&format!("overlays/{overlay}/usr/lib/systemd/system"), ".service") {
            let name = unit.file_name().unwrap().to_string_lossy().into_owned();
            if fsx::read_text(&unit).unwrap().contains("[Install]") {
                assert!(
                    preset.contains(&format!("enable {name}\n")),
                    "{name} is not in the preset"
                );
            }
        }
    }
}

#[test]
fn the_preset_ends_by_switching_off_what_it_does_not_name() {
    let preset = "overlays/common/usr/lib/systemd/system-preset/50-dtnforge.preset";
    let preset = fsx::read_text(&project().join(preset)).unwrap();
    assert_eq!(preset.trim_end().lines().last(), Some("disable *"));
}

#[test]
fn every_overlay_of_the_root_waits_for_the_state_in_the_initrd() {
    let fstab = fsx::read_text(&project().join("overlays/common/etc/fstab")).unwrap();
    let lines: Vec<Vec<&str>> = fstab
        .lines()
        .filter(|line| line.contains("/state/"))
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(lines.len(), 5, "{lines:?}");
    for fields in lines {
        let unit = format!("sysroot{}.mount.d", fields[1].replace('/', "-"));
        let path = format!("overlays/initrd/etc/systemd/system/{unit}/50-dtnforge.conf");
        let text = fsx::read_text(&project().join(&path)).unwrap();
        assert!(
            text.contains("Requires=dtn-state.service\nAfter=dtn-state.service\n"),
            "{path}: {text}"
        );
        assert!(fields[3].contains("x-initrd.mount"), "{fields:?}");
    }
}
