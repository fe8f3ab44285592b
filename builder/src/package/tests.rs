use super::*;
use dtnforge_profiles::catalog::Catalog;
use dtnforge_profiles::layer::{self, Layer};
use dtnforge_profiles::site::SiteFile;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;
use std::process::Command;

fn layers(profiles: &[&str]) -> Vec<Layer> {
    let catalog = Catalog::embedded().unwrap();
    let site = SiteFile::default().check().unwrap();
    let layer = |name: &&str| layer::build(catalog.get(name).unwrap(), &site).unwrap();
    profiles.iter().map(layer).collect()
}

fn sample() -> Tree {
    let content = Content {
        agent: b"\x7fELF agent".to_vec(),
        layers: layers(&["dtn-vm"]),
        site: Some("role = \"dtn\"\n".to_owned()),
    };
    tree(&content).unwrap()
}

fn label(time: u32) -> Label {
    Label {
        version: "1.2.3".to_owned(),
        revision: NonZeroU32::new(4).unwrap(),
        maintainer: "A Site <ops@site.example>".to_owned(),
        time,
    }
}

/// Paths of a tar, with the mode of each and the target of a link.
fn listed(tar: &[u8]) -> BTreeMap<String, (u32, Option<String>)> {
    let mut archive = tar::Archive::new(tar);
    let entries = archive.entries().unwrap().map(|entry| {
        let entry = entry.unwrap();
        let header = entry.header();
        let owner = (
            header.uid().unwrap(),
            header.gid().unwrap(),
            header.mtime().unwrap(),
        );
        assert_eq!(owner, (0, 0, 7));
        let target = entry
            .link_name()
            .unwrap()
            .map(|to| to.to_string_lossy().into_owned());
        let path = entry.path().unwrap().to_string_lossy().into_owned();
        (path, (header.mode().unwrap(), target))
    });
    entries.collect()
}

/// What a program says to `arguments` and a file of these bytes; `None` where it is not installed.
fn said(program: &str, arguments: &[&str], name: &str, bytes: &[u8]) -> Option<String> {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let Ok(output) = Command::new(program)
        .args(arguments)
        .arg(&path)
        .env("LC_ALL", "C")
        .output()
    else {
        eprintln!("skipped: this host has no {program}");
        return None;
    };
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {text}");
    Some(text)
}

#[test]
fn a_tree_has_the_program_the_units_switched_on_and_the_layers_with_their_index() {
    let tree = sample();
    let entries: BTreeMap<&str, &Entry> = tree.entries().collect();
    assert_eq!(entries["usr/bin/dtn-firstboot"].mode(), 0o755);
    let wanted = "usr/lib/systemd/system/multi-user.target.wants/dtn-firstboot.service";
    assert_eq!(
        entries[wanted],
        &Entry::Link("../dtn-firstboot.service".to_owned())
    );
    let link = &Entry::Link("/run/dtnforge/tuned/profiles/dtnforge-dtn-vm".to_owned());
    assert_eq!(entries["usr/lib/tuned/dtnforge-dtn-vm"], link);
    let Entry::File { bytes, .. } = entries["usr/lib/dtnforge/layers/index.json"] else {
        panic!("the index is no file")
    };
    let index = layer::Index::parse(std::str::from_utf8(bytes).unwrap()).unwrap();
    let file = format!("usr/lib/dtnforge/layers/{}", index.get("dtn-vm").unwrap().file);
    let Entry::File { bytes, .. } = entries[file.as_str()] else {
        panic!("the layer is no file")
    };
    assert!(layer::open(bytes, Some(&index.layers[0].digest)).is_ok());
    assert!(
        tree.entries().all(|(path, _)| path.starts_with("usr/")),
        "something is outside of /usr"
    );
}

#[test]
fn a_tar_holds_the_tree_and_nothing_of_this_host() {
    let packed = tarball(&sample(), &label(7)).unwrap();
    let tar = zstd::decode_all(packed.as_slice()).unwrap();
    let listed = listed(&tar);
    assert_eq!(listed["usr/bin/dtn-firstboot"], (0o755, None));
    assert_eq!(listed["usr/lib/systemd/system/"].0, 0o755);
    let wanted = "usr/lib/systemd/system/sysinit.target.wants/dtn-firstboot-early.service";
    assert_eq!(
        listed[wanted].1.as_deref(),
        Some("../dtn-firstboot-early.service")
    );
}

#[test]
fn every_format_gives_the_same_bytes_twice() {
    let (tree, label) = (sample(), label(7));
    assert_eq!(tarball(&tree, &label).unwrap(), tarball(&tree, &label).unwrap());
    assert_eq!(deb(&tree, &label).unwrap(), deb(&tree, &label).unwrap());
    let first = rpm::rpm(&tree, &label).unwrap();
    // A time stamp of the clock would differ by now.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(first, rpm::rpm(&tree, &label).unwrap());
}

#[test]
fn dpkg_reads_the_deb_with_its_fields_files_and_scripts() {
    let bytes = deb(&sample(), &label(7)).unwrap();
    let Some(fields) = said("dpkg-deb", &["--info"], "x.deb", &bytes) else {
        return;
    };
    for line in [
        "Package: dtnforge-agent",
        "Version: 1.2.3-4",
        "Architecture: amd64",
        "Maintainer: A Site <ops@site.example>",
        "Depends: systemd (>= 252), iproute2, ethtool, kmod",
        "postrm               #!/bin/sh",
    ] {
        assert!(fields.contains(line), "{line}: {fields}");
    }
    let files = said("dpkg-deb", &["--contents"], "x.deb", &bytes).unwrap();
    assert!(
        files.contains("-rwxr-xr-x root/root        10 1970-01-01 00:00 usr/bin/dtn-firstboot"),
        "{files}"
    );
    assert!(
        files.contains("usr/lib/tuned/dtnforge-dtn-vm -> /run/dtnforge/tuned/profiles/"),
        "{files}"
    );
}

#[test]
fn every_script_of_a_package_is_understood_by_the_shell() {
    let bytes = deb(&sample(), &label(7)).unwrap();
    let mut archive = ar::Archive::new(bytes.as_slice());
    let mut scripts = 0;
    while let Some(member) = archive.next_entry() {
        let mut member = member.unwrap();
        if member.header().identifier() != b"control.tar.zst" {
            continue;
        }
        let mut packed = Vec::new();
        member.read_to_end(&mut packed).unwrap();
        let tar = zstd::decode_all(packed.as_slice()).unwrap();
        for entry in tar::Archive::new(tar.as_slice()).entries().unwrap() {
            let mut entry = entry.unwrap();
            let name = entry.path().unwrap().to_string_lossy().into_owned();
            if Path::new(&name).file_name().is_some_and(|name| name != "control") && !name.ends_with('/') {
                let mut text = Vec::new();
                entry.read_to_end(&mut text).unwrap();
                said("sh", &["-n"], "script", &text).unwrap();
                scripts += 1;
            }
        }
    }
    assert_eq!(scripts, 3);
}

#[test]
fn rpm_reads_the_package_with_its_fields_files_and_scripts_and_finds_it_whole() {
    let bytes = rpm::rpm(&sample(), &label(7)).unwrap();
    let query = |arguments: &[&str]| said("rpm", arguments, "x.rpm", &bytes);
    let Some(fields) = query(&["-qip"]) else { return };
    let fields = fields.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "Name : dtnforge-agent",
        "Version : 1.2.3",
        "Release : 4",
        "Architecture: x86_64",
        "License : Apache-2.0 OR MIT",
        "Packager : A Site <ops@site.example>",
        "Build Date : Thu Jan 1 00:00:07 1970",
    ] {
        assert!(fields.contains(part), "{part}: {fields}");
    }
    let files = query(&["-qlvp"]).unwrap();
    assert!(files.contains("-rwxr-xr-x    1 root     root"), "{files}");
    assert!(
        files.contains("/usr/lib/tuned/dtnforge-dtn-vm -> /run/dtnforge/"),
        "{files}"
    );
    let scripts = query(&["-qp", "--scripts"]).unwrap();
    assert!(
        scripts.contains("preuninstall scriptlet (using /bin/sh)"),
        "{scripts}"
    );
    assert!(scripts.contains("dtn-firstboot rollback"), "{scripts}");
    let requires = query(&["-qp", "--requires"]).unwrap();
    assert!(
        requires.contains("systemd >= 252") && requires.contains("iproute\n"),
        "{requires}"
    );
    let checked = query(&["-K", "--nosignature"]).unwrap();
    assert!(checked.contains("digests OK"), "{checked}");
}

#[test]
fn the_time_of_a_package_is_that_of_the_environment_or_none() {
    assert_eq!(time(None), Ok(0));
    assert_eq!(time(Some("1700000000")), Ok(1_700_000_000));
    let error = time(Some("yesterday")).unwrap_err();
    assert!(
        error.contains("SOURCE_DATE_EPOCH") && error.contains("\"yesterday\""),
        "{error}"
    );
}
