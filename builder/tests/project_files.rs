//! The project's own specs and overlays, as the builder and a node will read them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use dtnforge::image::catalog;
use dtnforge::{fsx, spec};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

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

/// Every script of the project that a node or an initrd runs.
fn scripts() -> Vec<PathBuf> {
    let overlays = project().join("overlays");
    let files = fsx::walk(&overlays).unwrap();
    let scripts: Vec<PathBuf> = files
        .into_iter()
        .map(|path| overlays.join(path))
        .filter(|path| path.is_file())
        .filter(|path| {
            let is_named_so = path.extension().is_some_and(|end| end == "sh");
            is_named_so || fsx::read(path).unwrap().starts_with(b"#!/bin/sh")
        })
        .collect();
    assert!(scripts.len() >= 6, "{scripts:?}");
    scripts
}

#[test]
fn every_script_is_understood_by_the_shell() {
    for script in scripts() {
        let output = Command::new("sh").arg("-n").arg(&script).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{}: {said}", script.display());
    }
}

#[test]
fn every_file_of_ours_that_a_unit_of_the_initrd_names_is_there() {
    let overlay = project().join("overlays/initrd");
    let mut named = 0;
    for relative in fsx::walk(&overlay).unwrap() {
        let path = overlay.join(relative);
        if !path.is_file() {
            continue;
        }
        let text = fsx::read_text(&path).unwrap();
        for word in text
            .split_whitespace()
            .filter(|word| word.starts_with("/usr/lib/dtnforge/"))
        {
            named += 1;
            let found = overlay.join(word.trim_start_matches('/'));
            assert!(found.is_file(), "{} names {word}", path.display());
        }
    }
    assert!(named >= 5, "only {named} were found");
}

/// Runs the script that sets root's password with `credential`; what it says, and what chpasswd was told.
fn set_root_password(credential: &str) -> (Output, String) {
    let home = tempfile::tempdir().unwrap();
    let told = home.path().join("told");
    fsx::write(
        &home.path().join("passwd.hashed-password.root"),
        credential.as_bytes(),
    )
    .unwrap();
    let chpasswd = format!("#!/bin/sh\necho \"$*\" >'{0}'\ncat >>'{0}'\n", told.display());
    let program = home.path().join("bin/chpasswd");
    fsx::write(&program, chpasswd.as_bytes()).unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let output = Command::new("sh")
        .arg(project().join("overlays/common/usr/lib/dtnforge/set-root-password"))
        .env("CREDENTIALS_DIRECTORY", home.path())
        .env(
            "PATH",
            format!("{}:/usr/bin:/bin", home.path().join("bin").display()),
        )
        .output()
        .unwrap();
    (output, fsx::read_text(&told).unwrap_or_default())
}

#[test]
fn a_credential_becomes_the_password_of_root_only_if_it_is_a_hash() {
    let hash = "$y$j9T$F5Jx5fExrKuPp53xLKQ..1$X3DX6M94c7o.9agCG9G317fhZg9SqC.5i5rd.RhAtQ7";
    for credential in [hash.to_owned(), format!("{hash}\n")] {
        let (output, told) = set_root_password(&credential);
        assert!(output.status.success(), "{output:?}");
        assert_eq!(told, format!("--encrypted\nroot:{hash}\n"));
    }
    for (credential, why) in [
        ("", "does not start with"),
        ("secret", "does not start with"),
        ("$1$salt$hash", "does not start with"),
        (
            "$6$salt$hash\nother:$6$salt$hash",
            "holds a character that no hash has",
        ),
        ("$6$salt$ha:sh", "holds a character that no hash has"),
    ] {
        let (output, told) = set_root_password(credential);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{credential:?}: {said}");
        assert!(
            said.contains(why) && said.contains("hint: "),
            "{credential:?}: {said}"
        );
        assert_eq!(told, "", "{credential:?}");
    }
}
