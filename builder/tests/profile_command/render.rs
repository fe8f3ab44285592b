//! `dtnforge profile render`.

use crate::{SERVER, data, dtnforge, file, text};
use std::collections::BTreeMap;
use std::path::Path;

/// Text of every file below a directory, by relative path.
fn files(dir: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut left = vec![dir.to_owned()];
    while let Some(next) = left.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else {
                let name = path.strip_prefix(dir).unwrap().to_str().unwrap().to_owned();
                found.insert(name, std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

#[test]
fn the_same_input_gives_the_same_files_printed_placed_or_as_json() {
    let dir = tempfile::tempdir().unwrap();
    let host = file(dir.path(), "facts.toml", SERVER);
    let base = ["render", "dtn-100g-nvme", "--host", &host, "--role", "dtn"];
    let placed = |name: &str| {
        let out = dir.path().join(name);
        let output = dtnforge(&[base.as_slice(), &["--out", out.to_str().unwrap()]].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        files(&out)
    };
    let (first, second) = (placed("first"), placed("second"));
    assert_eq!(first, second);
    let rules = &first["udev/rules.d/90-dtnforge-40-nic-rings.rules"];
    assert!(rules.contains("ethtool -G $name rx 1500 tx 2048"), "{rules}");

    let answer = data(&dtnforge(&[base.as_slice(), &["--json"]].concat()));
    let listed = answer["files"].as_array().unwrap();
    let by_path: BTreeMap<String, String> = listed
        .iter()
        .map(|file| {
            (
                file["path"].as_str().unwrap().to_owned(),
                file["text"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    assert_eq!(by_path, first);

    let printed = text(&dtnforge(&base).stdout);
    for (path, content) in &first {
        assert!(
            printed.contains(&format!("==> /run/{path} <==\n{content}")),
            "{path} in {printed}"
        );
    }
    assert!(
        printed.contains("left out: boot:iommu: only the kernel command line can set it"),
        "{printed}"
    );
}

#[test]
fn a_directory_with_other_files_is_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let host = file(dir.path(), "facts.toml", SERVER);
    let out = dir.path().to_str().unwrap();
    let output = dtnforge(&["render", "dtn-vm", "--host", &host, "--out", out]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        text(&output.stderr),
        format!("error: {out} is not an empty directory\nhint: name a new one, or empty it first\n")
    );
    assert_eq!(files(dir.path()).len(), 1);
}

#[test]
fn what_a_site_decides_can_be_given_on_the_command_line_or_in_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let host = file(dir.path(), "facts.toml", SERVER);
    let decided = "role = 'dtn'\nmtu = 9000\npause = 'on'\npacing_mbps = 10000\ncongestion_control = 'bbr'\n\
        data_nics = ['eth0']\nstorage_class = 'nvme'\n";
    let site = file(dir.path(), "site.toml", decided);
    let base = ["render", "dtn-100g-nvme", "--host", &host, "--json"];
    let by_file = data(&dtnforge(&[&base[..], &["--site", &site]].concat()));
    let options = "--role dtn --mtu 9000 --pause on --pacing-mbps 10000 --congestion-control bbr --data-nic eth0 \
        --storage-class nvme";
    let options: Vec<&str> = options.split_whitespace().collect();
    let by_options = data(&dtnforge(&[&base[..], &options].concat()));
    assert_eq!(by_options, by_file);
    let files = by_file["files"].as_array().unwrap();
    let paths: Vec<_> = files.iter().map(|file| file["path"].as_str().unwrap()).collect();
    for kind in ["10-mtu", "45-nic-pause", "60-pacing"] {
        let path = format!("udev/rules.d/90-dtnforge-{kind}.rules");
        assert!(paths.contains(&path.as_str()), "{kind} is not among {paths:?}");
    }
    let output = dtnforge(&[&base[..], &["--pause", "perhaps"]].concat());
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("expected `on` or `off`"), "{said}");
}
