//! A table of specs that are wrong, each with the whole message that it must give.

use super::*;
use crate::fsx;
use std::path::PathBuf;

/// A project with one spec in it.
struct Project {
    home: tempfile::TempDir,
}

impl Project {
    fn new(text: &str) -> Self {
        let project = Self {
            home: tempfile::tempdir().unwrap(),
        };
        for overlay in ["common", "agent", "initrd"] {
            fsx::create_dir_all(&project.home.path().join("overlays").join(overlay)).unwrap();
        }
        project.write("image-specs/x.toml", text);
        project
    }

    fn write(&self, path: &str, text: &str) {
        fsx::write(&self.home.path().join(path), text.as_bytes()).unwrap();
    }

    fn spec(&self) -> PathBuf {
        self.home.path().join("image-specs/x.toml")
    }

    /// The message, with the temporary directory taken out.
    fn error(&self) -> String {
        let message = load(&self.spec()).unwrap_err().to_string();
        message.replace(&format!("{}/", self.home.path().display()), "")
    }
}

const HEAD: &str = "schema = 1\nname = \"x\"\n";

#[test]
fn every_mistake_is_told_with_file_line_and_key() {
    let cases = [
        (
            "[image]\nesp = 5\n",
            "image-specs/x.toml:4: key `image.esp`: unknown field `esp`, expected one of `hostname`, `console`, `cmdline_extra`, `tuned_cmdline_extra`, `esp_mib`, `state_mib`, `outputs`, `overlays`\nhint: did you mean `esp_mib`?",
        ),
        (
            "[disk]\n",
            "image-specs/x.toml:3: key `disk`: unknown field `disk`, expected one of `schema`, `extends`, `name`, `lock`, `base`, `profiles`, `site`, `access`, `image`",
        ),
        (
            "[image]\nesp_mib = \"big\"\n",
            "image-specs/x.toml:4: key `image.esp_mib`: invalid type: string \"big\", expected u32",
        ),
        (
            "[image]\nesp_mib = 256\n",
            "image-specs/x.toml:4: key `image.esp_mib`: 256 is out of range, expected 264 to 4096 MiB",
        ),
        (
            "[image]\nstate_mib = 1\n",
            "image-specs/x.toml:4: key `image.state_mib`: 1 is out of range, expected 64 to 65536 MiB",
        ),
        (
            "[image]\noutputs = [\"raw\",\n \"iso\"]\n",
            "image-specs/x.toml:4: key `image.outputs`: found \"iso\", expected raw, qcow2 or netboot",
        ),
        (
            "[image]\nhostname = \"DTN_1\"\n",
            "image-specs/x.toml:4: key `image.hostname`: found \"DTN_1\", expected 1 to 32 of a-z, 0-9 and -",
        ),
        (
            "[image]\nconsole = [\"ttyS0 quiet\"]\n",
            "image-specs/x.toml:4: key `image.console`: found \"ttyS0 quiet\", expected a device with options, such as ttyS0,115200",
        ),
        (
            "[image]\ncmdline_extra = [\"roothash=0\"]\n",
            "image-specs/x.toml:4: key `image.cmdline_extra`: found \"roothash=0\", expected a word that the builder does not set itself",
        ),
        (
            "[image]\ncmdline_extra = [\"a b\"]\n",
            "image-specs/x.toml:4: key `image.cmdline_extra`: found \"a b\", expected a word of printable ASCII without quotes",
        ),
        (
            "[image]\ntuned_cmdline_extra = [\"dtnforge.mode=stock\"]\n",
            "image-specs/x.toml:4: key `image.tuned_cmdline_extra`: found \"dtnforge.mode=stock\", expected a word that the builder does not set itself",
        ),
        (
            "[access]\nroot_password_hash = \"secret\"\n",
            "image-specs/x.toml:4: key `access.root_password_hash`: the value, which is not shown here, is not a hash of crypt(5) that starts with $y$, $gy$, $7$, $2b$, $6$ or $5$\nhint: `mkpasswd --method=yescrypt` makes one",
        ),
        (
            "[access]\nssh_authorized_keys = [\"ssh-ed25519\"]\n",
            "image-specs/x.toml:4: key `access.ssh_authorized_keys`: the value, which is not shown here, is not one public key without options, such as \"ssh-ed25519 AAAA... name\"",
        ),
        (
            "[image]\noverlays = [\"commn\"]\n",
            "image-specs/x.toml:4: key `image.overlays`: there is no directory overlays/commn",
        ),
        (
            "[image]\noverlays = [\"../x\"]\n",
            "image-specs/x.toml:4: key `image.overlays`: found \"../x\", expected the name of a tree in overlays/",
        ),
        (
            "[base]\nsuite = \"sid\"\n",
            "image-specs/x.toml:4: key `base.suite`: found \"sid\", expected trixie, the only suite that this version builds",
        ),
        (
            "[base]\nmirror = \"mirror.example\"\n",
            "image-specs/x.toml:4: key `base.mirror`: found \"mirror.example\", expected an http:, https: or file: address without spaces or brackets",
        ),
        (
            "[base]\npackages = [\"--force\"]\n",
            "image-specs/x.toml:4: key `base.packages`: found \"--force\", expected the name of a Debian package",
        ),
        (
            "[profiles]\nextra_catalogs = [\"mine\"]\n",
            "image-specs/x.toml:4: key `profiles.extra_catalogs`: there is no directory image-specs/mine\nhint: paths are relative to the spec",
        ),
        (
            "[site]\nrtt_ms = 0\n",
            "image-specs/x.toml:4: key `site.rtt_ms`: 0 is out of range, expected 1 to 1000 ms",
        ),
        (
            "extends = \"none.toml\"\n",
            "image-specs/x.toml:3: key `extends`: there is no file image-specs/none.toml",
        ),
        (
            "extends = \"x.toml\"\n",
            "image-specs/x.toml:3: key `extends`: more than 8 specs extend each other",
        ),
        (
            "[image\n",
            "image-specs/x.toml:3: key `image`: unclosed table, expected `]`",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(
            Project::new(&format!("{HEAD}{text}")).error(),
            expected,
            "spec: {text}"
        );
    }
}

#[test]
fn what_is_missing_is_named() {
    assert_eq!(
        Project::new("schema = 1\n").error(),
        "image-specs/x.toml: key `name`: is missing"
    );
    assert_eq!(
        Project::new("name = \"x\"\n").error(),
        "image-specs/x.toml: key `schema`: is missing\nhint: write `schema = 1` at the top"
    );
    assert_eq!(
        Project::new("schema = 2\nname = \"x\"\n").error(),
        "image-specs/x.toml:1: key `schema`: is 2, this version reads 1\nhint: a newer dtnforge wrote this spec"
    );
    let nowhere = load(Path::new("/no/such/spec.toml")).unwrap_err().to_string();
    assert!(
        nowhere.starts_with("/no/such/spec.toml: cannot be read: "),
        "{nowhere}"
    );
}

#[test]
fn a_spec_outside_a_project_is_refused_with_a_hint() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("x.toml");
    fsx::write(&path, HEAD.as_bytes()).unwrap();
    let error = load(&path).unwrap_err().to_string();
    assert!(
        error.contains("no directory above it holds overlays/common\nhint: keep specs inside the project"),
        "{error}"
    );
}

#[test]
fn a_short_spec_has_defaults_for_everything() {
    let spec = load(&Project::new(HEAD).spec()).unwrap();
    assert_eq!((spec.suite.as_str(), spec.hostname.as_str()), ("trixie", "dtn"));
    assert_eq!((spec.esp_mib, spec.state_mib), (512, 256));
    assert_eq!(spec.outputs.len(), 2);
    let overlays: Vec<&str> = spec
        .overlays
        .iter()
        .map(|overlay| overlay.name.as_str())
        .collect();
    assert_eq!(overlays, ["common", "agent"]);
    assert_eq!(spec.packages, valid::REQUIRED_PACKAGES);
    assert_eq!(spec.access, Access::default());
    assert!(spec.lock_file.ends_with("image-specs/x.lock"));
}

#[test]
fn specs_that_extend_each_other_can_share_a_lock() {
    let project = Project::new("schema = 1\nname = \"x\"\nextends = \"../base.toml\"\n");
    project.write(
        "base.toml",
        "schema = 1\nname = \"base\"\nlock = \"shared.lock\"\n",
    );
    let spec = load(&project.spec()).unwrap();
    assert_eq!(
        spec.lock_file,
        project.spec().parent().unwrap().join("../shared.lock")
    );
}

#[test]
fn a_nearer_spec_replaces_values_and_adds_extra_packages() {
    let project = Project::new(
        "schema = 1\nextends = \"base.toml\"\n[base]\nextra_packages = [\"htop\"]\n[site]\nrtt_ms = 200\n[image]\nhostname = \"near\"\n",
    );
    project.write(
        "image-specs/base.toml",
        "schema = 1\nname = \"base\"\n[base]\npackages = [\"fio\"]\n[site]\nrole = \"dtn\"\nrtt_ms = 50\n[image]\nhostname = \"far\"\nesp_mib = 300\n",
    );
    let spec = load(&project.spec()).unwrap();
    assert_eq!(
        (spec.name.as_str(), spec.hostname.as_str(), spec.esp_mib),
        ("base", "near", 300)
    );
    assert_eq!((spec.site.rtt_ms, spec.site.role.is_some()), (Some(200), true));
    assert!(
        ["fio", "htop"]
            .iter()
            .all(|name| spec.packages.contains(&(*name).to_owned()))
    );
}

#[test]
fn a_mistake_in_an_extended_spec_names_that_file() {
    let project = Project::new("schema = 1\nextends = \"base.toml\"\n");
    project.write(
        "image-specs/base.toml",
        "schema = 1\nname = \"base\"\n[image]\nesp_mib = 1\n",
    );
    assert_eq!(
        project.error(),
        "image-specs/base.toml:4: key `image.esp_mib`: 1 is out of range, expected 264 to 4096 MiB"
    );
}
