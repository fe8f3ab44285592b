//! A tree as a Debian package (deb(5)): an `ar` of a version, the control files and the data.

use super::tarball::{compress, tar};
use super::tree::{Entry, Tree};
use super::{DESCRIPTION, Label, NAME, SUMMARY, scripts};
use std::io;

/// The package; zstd, which dpkg of Debian 12 reads.
///
/// # Errors
/// Something that no archive can hold.
pub fn deb(tree: &Tree, label: &Label) -> io::Result<Vec<u8>> {
    let control = tar(&control(tree, label), label.time)?;
    let mut archive = ar::Builder::new(Vec::new());
    for (name, bytes) in [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.zst", compress(&control)?),
        ("data.tar.zst", compress(&tar(tree, label.time)?)?),
    ] {
        let mut header = ar::Header::new(name.as_bytes().to_vec(), bytes.len() as u64);
        header.set_mode(0o100_644);
        header.set_mtime(u64::from(label.time));
        archive.append(&header, bytes.as_slice())?;
    }
    archive.into_inner()
}

fn control(tree: &Tree, label: &Label) -> Tree {
    let mut control = Tree::default();
    let fields = [
        ("Package", NAME.to_owned()),
        ("Version", label.full_version()),
        ("Architecture", "amd64".to_owned()),
        ("Maintainer", label.maintainer.clone()),
        ("Installed-Size", tree.bytes().div_ceil(1024).to_string()),
        ("Depends", "systemd (>= 252), iproute2, ethtool, kmod".to_owned()),
        ("Recommends", "tuned, iperf3".to_owned()),
        ("Section", "admin".to_owned()),
        ("Priority", "optional".to_owned()),
        ("Description", format!("{SUMMARY}\n {DESCRIPTION}")),
    ];
    let text: String = fields
        .into_iter()
        .map(|(key, value)| format!("{key}: {value}\n"))
        .collect();
    control.add("control", Entry::file(text));
    for (name, text) in [
        ("postinst", when("configure", scripts::INSTALLED)),
        ("prerm", when("remove", scripts::BEFORE_REMOVAL)),
        ("postrm", when("remove", scripts::REMOVED) + PURGED),
    ] {
        control.add(name, Entry::program(format!("#!/bin/sh\nset -e\n{text}")));
    }
    control
}

/// A script that does something for one of the words with which dpkg calls it.
fn when(word: &str, script: &str) -> String {
    format!("if [ \"$1\" = {word} ]; then\n{script}fi\n")
}

/// A purge takes what an admin wrote as well.
const PURGED: &str = "if [ \"$1\" = purge ]; then\nrm -rf /etc/dtnforge\nfi\n";
