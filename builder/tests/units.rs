//! The units of the project as systemd itself reads them. On Debian 12 this also shows that each directive is one that
//! systemd 252 knows. Nothing is started.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use dtnforge::fsx;
use std::path::{Path, PathBuf};
use std::process::Command;

const UNITS: &str = "usr/lib/systemd/system";
/// Only in the unit of the image that takes a credential; older versions say that they ignore it.
const IMAGE_ONLY: &str = "Unknown key 'ImportCredential'";

fn overlay(name: &str) -> PathBuf {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    project.join("overlays").join(name).join(UNITS)
}

/// A directory of units in front of the host's own: those of our overlays, with programs that every host has.
struct Units(tempfile::TempDir);

impl Units {
    /// All of the project, wanted as the preset has it.
    fn of_project() -> Self {
        let units = Self(tempfile::tempdir().unwrap());
        for name in ["agent", "common"] {
            let from = overlay(name);
            for relative in fsx::walk(&from).unwrap() {
                if from.join(&relative).is_file() {
                    units.add(&relative, &fsx::read_text(&from.join(&relative)).unwrap());
                }
            }
        }
        units
    }

    fn add(&self, path: &Path, text: &str) {
        let text = text
            .replace("/usr/bin/dtn-firstboot", "/usr/bin/true")
            .replace("/usr/lib/dtnforge/set-root-password", "/usr/bin/true");
        fsx::write(&self.0.path().join(path), text.as_bytes()).unwrap();
        for target in text.lines().filter_map(|line| line.strip_prefix("WantedBy=")) {
            let drop_in = format!("{target}.d/{}.conf", path.display());
            let wants = format!("[Unit]\nWants={}\n", path.display());
            fsx::write(&self.0.path().join(drop_in), wants.as_bytes()).unwrap();
        }
    }

    /// What systemd has to say about `units`, and about what they pull in when `recursive` is `yes`; `None` on a host without `systemd-analyze`.
    fn complaints(&self, recursive: &str, units: &[String]) -> Option<Vec<String>> {
        let output = Command::new("systemd-analyze")
            .args(["verify", "--man=no"])
            .arg(format!("--recursive-errors={recursive}"))
            .args(units)
            .env(
                "SYSTEMD_UNIT_PATH",
                format!("{}:/usr/lib/systemd/system", self.0.path().display()),
            )
            .env("SYSTEMD_LOG_LEVEL", "warning")
            .output();
        let Ok(output) = output else {
            eprintln!("skipped: this host has no systemd-analyze");
            return None;
        };
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let counts = |line: &&str| !line.is_empty() && !line.contains(IMAGE_ONLY);
        Some(said.lines().filter(counts).map(str::to_owned).collect())
    }
}

/// Our units, with an instance for each template.
fn names() -> Vec<String> {
    let units = ["agent", "common"]
        .into_iter()
        .flat_map(|name| fsx::list(&overlay(name)).unwrap());
    let names: Vec<String> = units
        .filter(|path| path.is_file())
        .map(|path| {
            path.file_name()
                .unwrap()
                .to_string_lossy()
                .replace("@.", "@committed.")
        })
        .collect();
    assert!(
        names
            .iter()
            .any(|name| name == "dtnforge-verdict@committed.target"),
        "{names:?}"
    );
    names
}

#[test]
fn systemd_has_nothing_to_say_about_our_units() {
    if let Some(complaints) = Units::of_project().complaints("no", &names()) {
        assert_eq!(complaints, Vec::<String>::new());
    }
}

/// A service of a site, as the generator orders it.
fn with_a_service_of_the_site(units: &Units, more: &str) {
    let service = "[Service]\nExecStart=/usr/bin/true\n[Install]\nWantedBy=multi-user.target\n";
    let drop_in = "[Unit]\nWants=dtn-verdict.service\nAfter=dtn-verdict.service\n";
    units.add(Path::new("xrootd@clustered.service"), service);
    let path = units
        .0
        .path()
        .join("xrootd@clustered.service.d/50-dtnforge-verdict.conf");
    fsx::write(&path, format!("{drop_in}{more}").as_bytes()).unwrap();
}

#[test]
fn a_boot_with_services_that_wait_for_the_verdict_has_no_cycle() {
    let units = Units::of_project();
    with_a_service_of_the_site(&units, "");
    if let Some(complaints) = units.complaints("yes", &["multi-user.target".to_owned()]) {
        assert_eq!(complaints, Vec::<String>::new());
    }
}

#[test]
fn a_cycle_would_be_seen() {
    let units = Units::of_project();
    with_a_service_of_the_site(&units, "Before=dtn-firstboot-early.service\n");
    if let Some(complaints) = units.complaints("yes", &["multi-user.target".to_owned()]) {
        let said = complaints.join("\n");
        assert!(said.contains("ordering cycle"), "{said}");
    }
}
