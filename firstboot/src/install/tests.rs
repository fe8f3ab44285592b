use super::*;
use crate::boot;
use crate::layers::{self, HOST_DIR};
use crate::store;
use crate::{atomic, early};
use dtnforge_profiles::catalog::Catalog;
use dtnforge_profiles::layer::{Index, Layer, build};
use dtnforge_profiles::site::SiteFile;
use dtnforge_profiles::state::State;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A host in a directory, and a place for layer files beside it.
struct Node {
    dir: tempfile::TempDir,
    host: crate::host::Host,
}

impl Node {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let host = crate::host::Host::at(&dir.path().join("root"), Some(&dir.path().join("bin")));
        for path in [
            "/etc/systemd/system",
            "/usr/lib/tuned/balanced",
            "/etc/tuned",
            "/proc",
        ] {
            fs::create_dir_all(host.path(path)).unwrap();
        }
        Self { dir, host }
    }

    /// The file of a profile's layer.
    fn file(&self, profile: &str) -> PathBuf {
        let layer = layer(profile);
        let path = self.dir.path().join(layer.file_name());
        fs::write(&path, &layer.bytes).unwrap();
        path
    }

    fn install(&self, files: &[PathBuf]) -> Result<Installed, InstallError> {
        install(
            &self.host,
            &Program::at("/usr/local/bin/dtn-firstboot").unwrap(),
            files,
        )
    }

    /// Every file and link with its content, every directory; what `/run` has is gone with a boot.
    fn tree(&self) -> BTreeMap<PathBuf, String> {
        let mut tree = BTreeMap::new();
        walk(&self.host.path("/etc"), &mut tree);
        walk(&self.host.path("/usr"), &mut tree);
        tree
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.host.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }
}

fn walk(directory: &Path, tree: &mut BTreeMap<PathBuf, String>) {
    tree.insert(directory.to_owned(), "directory".to_owned());
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() {
            tree.insert(path.clone(), format!("{:?}", fs::read_link(&path).unwrap()));
        } else if path.is_dir() {
            walk(&path, tree);
        } else {
            tree.insert(path.clone(), fs::read_to_string(&path).unwrap_or_default());
        }
    }
}

fn layer(profile: &str) -> Layer {
    let catalog = Catalog::embedded().unwrap();
    build(
        catalog.get(profile).unwrap(),
        &SiteFile::default().check().unwrap(),
    )
    .unwrap()
}

#[test]
fn a_host_gets_the_layer_the_units_and_a_way_for_tuned_and_loses_all_of_it_again() {
    let node = Node::new();
    let before = node.tree();
    let installed = node.install(&[node.file("dtn-100g-nvme")]).unwrap();
    assert_eq!(installed.layers[0].profile, "dtn-100g-nvme");
    let known = layers::load(&node.host).unwrap();
    assert_eq!(known.digests["dtn-100g-nvme"], layer("dtn-100g-nvme").digest);
    let unit = node.read("/etc/systemd/system/dtn-firstboot.service");
    assert!(
        unit.contains("ExecStart=/usr/local/bin/dtn-firstboot run --unit"),
        "{unit}"
    );
    let link = fs::read_link(node.host.path("/etc/tuned/dtnforge-dtn-100g-nvme")).unwrap();
    assert_eq!(
        link,
        Path::new("/run/dtnforge/tuned/profiles/dtnforge-dtn-100g-nvme")
    );
    let wanted = "/etc/systemd/system/sysinit.target.wants/dtn-firstboot-early.service";
    assert!(node.host.path(wanted).exists(), "the link leads nowhere");
    // A state, labels and the record are ours as well.
    store::change(&node.host, |_| ()).unwrap();
    atomic::write(&node.host.path("/var/lib/dtnforge/labels/x.json"), b"", 0o644).unwrap();
    let removed = remove(&node.host, &[]).unwrap();
    assert_eq!(node.tree(), before);
    assert!(!node.host.path("/var/lib/dtnforge").exists());
    assert_eq!(removed.kept, Vec::<String>::new());
    assert!(matches!(remove(&node.host, &[]), Err(RemoveError::NotInstalled)));
}

#[test]
fn every_unit_of_an_installed_host_names_the_program_that_was_started() {
    let node = Node::new();
    let installed = node.install(&[node.file("dtn-vm")]).unwrap();
    let units = installed.files.iter().filter(|path| path.ends_with(".service"));
    for path in units.filter(|path| !path.contains(".wants/")) {
        assert!(!node.read(path).contains("/usr/bin/dtn-firstboot"), "{path}");
    }
}

#[test]
fn a_newer_layer_replaces_the_older_one_and_others_stay() {
    let node = Node::new();
    node.install(&[node.file("dtn-vm"), node.file("dtn-100g-nvme")])
        .unwrap();
    let old = "dtn-vm-000000000000.tar.zst";
    let index = node.read("/etc/dtnforge/layers/index.json");
    let mut parsed = Index::parse(&index).unwrap();
    let entry = parsed
        .layers
        .iter_mut()
        .find(|entry| entry.profile == "dtn-vm")
        .unwrap();
    fs::rename(
        node.host.path(&format!("{HOST_DIR}/{}", entry.file)),
        node.host.path(&format!("{HOST_DIR}/{old}")),
    )
    .unwrap();
    entry.file = old.to_owned();
    fs::write(
        node.host.path("/etc/dtnforge/layers/index.json"),
        parsed.to_text().unwrap(),
    )
    .unwrap();
    node.install(&[node.file("dtn-vm")]).unwrap();
    assert!(!node.host.path(&format!("{HOST_DIR}/{old}")).exists());
    assert_eq!(layers::load(&node.host).unwrap().digests.len(), 2);
}

#[test]
fn a_directory_of_layers_is_taken_by_its_index_and_a_damaged_layer_leaves_all_as_it_is() {
    let node = Node::new();
    let layers = [layer("dtn-vm"), layer("dtn-25g-nvme")];
    let directory = node.dir.path().join("layers");
    fs::create_dir_all(&directory).unwrap();
    fs::write(
        directory.join("index.json"),
        Index::of(&layers).to_text().unwrap(),
    )
    .unwrap();
    for layer in &layers {
        fs::write(directory.join(layer.file_name()), &layer.bytes).unwrap();
    }
    let before = node.tree();
    let damaged = directory.join(layers[1].file_name());
    fs::write(&damaged, &layers[0].bytes).unwrap();
    let error = node
        .install(std::slice::from_ref(&directory))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("dtn-25g-nvme-") && error.contains("digest is"),
        "{error}"
    );
    assert_eq!(node.tree(), before);
    fs::write(&damaged, &layers[1].bytes).unwrap();
    assert_eq!(node.install(&[directory]).unwrap().layers.len(), 2);
}

#[test]
fn a_file_whose_name_says_another_digest_is_refused() {
    let node = Node::new();
    let renamed = node.dir.path().join("dtn-vm-0123456789ab.tar.zst");
    fs::rename(node.file("dtn-vm"), &renamed).unwrap();
    let error = node.install(&[renamed]).unwrap_err().to_string();
    assert!(error.contains("the name says 0123456789ab"), "{error}");
}

#[test]
fn what_is_no_layer_is_refused_with_a_hint() {
    let node = Node::new();
    let path = node.dir.path().join("x.deb");
    fs::write(&path, b"!<arch>\n").unwrap();
    let error = node.install(&[path]).unwrap_err().to_string();
    assert!(
        error.contains("x.deb") && error.contains("hint: `dtnforge layer"),
        "{error}"
    );
}

#[test]
fn an_image_of_ours_is_left_alone() {
    let node = Node::new();
    fs::write(node.host.path("/proc/cmdline"), "ro dtnforge.mode=tuned\n").unwrap();
    assert_eq!(boot::words(&node.host).mode, boot::Mode::Tuned);
    let error = node.install(&[node.file("dtn-vm")]).unwrap_err();
    assert!(matches!(error, InstallError::Image), "{error}");
}

#[test]
fn a_file_of_somebody_else_is_not_replaced() {
    let node = Node::new();
    fs::write(
        node.host.path("/etc/systemd/system/dtn-firstboot.service"),
        "[Unit]\n",
    )
    .unwrap();
    let before = node.tree();
    let error = node.install(&[node.file("dtn-vm")]).unwrap_err().to_string();
    assert!(
        error.contains("dtn-firstboot.service is there already"),
        "{error}"
    );
    assert_eq!(node.tree(), before);
}

#[test]
fn a_program_that_no_unit_can_start_is_refused() {
    for path in [
        "/root/dtn-firstboot",
        "/usr/local/bin/a b",
        "/usr/bin/dtn-firstboot (deleted)",
    ] {
        let error = Program::at(path).unwrap_err().to_string();
        assert!(error.contains("hint: install -m 755"), "{error}");
    }
}

#[test]
fn units_of_a_package_are_not_placed_a_second_time() {
    let node = Node::new();
    atomic::write(
        &node.host.path("/usr/lib/systemd/system/dtn-firstboot.service"),
        b"[Unit]\n",
        0o644,
    )
    .unwrap();
    let installed = node.install(&[node.file("dtn-vm")]).unwrap();
    assert_eq!(installed.files, ["/etc/tuned/dtnforge-dtn-vm"]);
}

#[test]
fn what_an_admin_wrote_is_kept_and_named() {
    let node = Node::new();
    node.install(&[node.file("dtn-vm")]).unwrap();
    fs::write(node.host.path("/etc/dtnforge/site.toml"), "role = 'dtn'\n").unwrap();
    let removed = remove(&node.host, &[]).unwrap();
    assert_eq!(removed.kept, ["/etc/dtnforge/site.toml"]);
    assert_eq!(node.read("/etc/dtnforge/site.toml"), "role = 'dtn'\n");
    assert!(!node.host.path("/etc/dtnforge/layers").exists());
}

#[test]
fn one_profile_can_go_alone_and_an_unknown_one_is_named() {
    let node = Node::new();
    node.install(&[node.file("dtn-vm"), node.file("dtn-25g-nvme")])
        .unwrap();
    remove(&node.host, &["dtn-vm".to_owned()]).unwrap();
    assert_eq!(layers::load(&node.host).unwrap().digests.len(), 1);
    assert!(!node.host.path("/etc/tuned/dtnforge-dtn-vm").is_symlink());
    let error = remove(&node.host, &["dtn-vm".to_owned()])
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("no layer of dtn-vm") && error.contains("installed are dtn-25g-nvme"),
        "{error}"
    );
}

#[test]
fn nothing_is_removed_while_a_trial_or_placed_values_are_live() {
    let node = Node::new();
    node.install(&[node.file("dtn-vm")]).unwrap();
    let trial = State::Baseline {
        boot_id: "b1".into(),
        layer: layer("dtn-vm").digest,
        previous: None,
    };
    store::change(&node.host, |file| file.state = trial).unwrap();
    let error = remove(&node.host, &[]).unwrap_err().to_string();
    assert!(
        error.contains("a trial is on disk") && error.contains("hint: take it back first"),
        "{error}"
    );
    store::change(&node.host, |file| {
        file.state = State::Stock { why: String::new() }
    })
    .unwrap();
    atomic::write(&node.host.path("/run/dtnforge/files-active.json"), b"{}", 0o644).unwrap();
    assert!(early::read_marker(&node.host).is_none());
    let error = remove(&node.host, &[]).unwrap_err().to_string();
    assert!(error.contains("values of a profile are live"), "{error}");
}
