//! Layers built twice, opened again, and tampered with.

use super::*;
use crate::catalog::Catalog;
use crate::digest::Digest;
use crate::site::{Site, SiteFile};
use proptest::prelude::*;
use std::sync::LazyLock;

fn site() -> Site {
    SiteFile::default().check().unwrap()
}

fn layer(profile: &str) -> Layer {
    build(Catalog::embedded().unwrap().get(profile).unwrap(), &site()).unwrap()
}

/// A layer of arbitrary entries: (path, content, entry type).
fn packed(entries: &[(&str, &[u8], tar::EntryType)]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, content, kind) in entries {
        let mut header = tar::Header::new_ustar();
        // Written by hand: the library refuses a path that climbs.
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_size(content.len() as u64);
        header.set_entry_type(*kind);
        header.set_cksum();
        archive.append(&header, *content).unwrap();
    }
    zstd::bulk::compress(&archive.into_inner().unwrap(), 3).unwrap()
}

fn tar_of(layer: &Layer) -> Vec<u8> {
    zstd::bulk::decompress(&layer.bytes, 1 << 20).unwrap()
}

fn refusal(bytes: &[u8]) -> String {
    open(bytes, None).unwrap_err().to_string()
}

#[test]
fn every_profile_survives_the_way_through_its_layer() {
    for profile in Catalog::embedded().unwrap().profiles() {
        let layer = build(profile, &site()).unwrap();
        let opened = open(&layer.bytes, Some(&layer.digest)).unwrap();
        assert_eq!(
            (&opened.profile, &opened.digest, &opened.manifest),
            (profile, &layer.digest, &layer.manifest)
        );
        assert_eq!(layer.digest, Digest::of(&tar_of(&layer)));
    }
}

#[test]
fn built_twice_it_has_the_same_bytes_and_the_name_follows_the_content() {
    assert_eq!(layer("dtn-100g-nvme"), layer("dtn-100g-nvme"));
    let name = layer("dtn-100g-nvme").file_name();
    assert!(
        name.starts_with("dtn-100g-nvme-") && name.ends_with(".tar.zst") && name.len() == 34,
        "{name}"
    );
    let site = SiteFile {
        rtt_ms: Some(30),
        ..SiteFile::default()
    }
    .check()
    .unwrap();
    let other = build(Catalog::embedded().unwrap().get("dtn-100g-nvme").unwrap(), &site).unwrap();
    assert_ne!(other.digest, layer("dtn-100g-nvme").digest);
}

#[test]
fn the_files_for_reading_are_listed_with_their_groups() {
    let paths: Vec<_> = layer("dtn-100g-nvme")
        .manifest
        .files
        .into_iter()
        .map(|file| (file.path, file.group))
        .collect();
    let buffers = (
        "rendered/sysctl.d/90-dtnforge-tcp-buffers.conf".to_owned(),
        Some(crate::group::Group::TcpBuffers),
    );
    assert!(paths.contains(&buffers), "{paths:?}");
    assert_eq!(layer("stock").manifest.files.len(), 1);
}

#[test]
fn another_layer_than_the_expected_one_is_refused() {
    let (layer, other) = (layer("dtn-vm"), Digest::of(b"other"));
    let said = open(&layer.bytes, Some(&other)).unwrap_err().to_string();
    assert_eq!(
        said,
        format!("layer: digest is {}, expected {other}", layer.digest)
    );
}

#[test]
fn a_layer_that_was_tampered_with_is_refused_and_says_where() {
    let tar = tar_of(&layer("dtn-vm"));
    let text = String::from_utf8(tar.clone()).unwrap();
    let at = text.find("title = ").unwrap();
    let mut changed = tar;
    changed[at + 9] ^= 1;
    let said = refusal(&zstd::bulk::compress(&changed, 3).unwrap());
    assert_eq!(
        said,
        "layer: profile.toml: has another SHA-256 than in the manifest"
    );
}

#[test]
fn paths_that_climb_links_and_strange_files_are_refused() {
    use tar::EntryType::{Directory, Regular, Symlink};
    let manifest = br#"{"schema":1,"profile":"x","title":"x","files":[]}"#.as_slice();
    for (bytes, expected) in [
        (
            packed(&[("../../etc/passwd", b"x", Regular)]),
            "\"../../etc/passwd\" is no plain file",
        ),
        (
            packed(&[("/etc/passwd", b"x", Regular)]),
            "\"/etc/passwd\" is no plain file",
        ),
        (packed(&[("a", b"", Symlink)]), "\"a\" is no plain file"),
        (packed(&[("a", b"", Directory)]), "\"a\" is no plain file"),
        (
            packed(&[("a", b"x", Regular), ("a", b"y", Regular)]),
            "stands twice",
        ),
        (packed(&[]), "manifest.json: EOF while parsing"),
        (
            packed(&[("manifest.json", b"{}", Regular)]),
            "manifest.json: missing field `schema`",
        ),
        (
            packed(&[("manifest.json", br#"{"schema":9,"new":1}"#, Regular)]),
            "schema 9, and this version knows 1",
        ),
        (
            packed(&[("manifest.json", manifest, Regular)]),
            "profile.toml: is missing",
        ),
        (
            packed(&[("manifest.json", manifest, Regular), ("b", b"x", Regular)]),
            "b: is not in the manifest",
        ),
        (b"no zstd".to_vec(), "cannot be uncompressed"),
    ] {
        let said = refusal(&bytes);
        assert!(said.contains(expected), "{said:?} does not say {expected:?}");
    }
}

#[test]
fn a_bomb_is_refused_before_it_goes_off() {
    let bomb = zstd::bulk::compress(&vec![0; 64 << 20], 3).unwrap();
    assert!(bomb.len() < 1 << 20);
    assert!(refusal(&bomb).starts_with("layer: "), "{}", refusal(&bomb));
    assert!(refusal(&vec![0; 9 << 20]).contains("more than 8388608 byte"));
}

#[test]
fn an_index_reads_back_and_refuses_names_that_leave_its_directory() {
    let layers = [layer("stock"), layer("dtn-vm")];
    let index = Index::of(&layers);
    assert_eq!(Index::parse(&index.to_text().unwrap()).unwrap(), index);
    assert_eq!(index.get("stock").unwrap().file, layers[0].file_name());
    for (from, to, expected) in [
        (
            layers[0].file_name(),
            "../x".to_owned(),
            "the file name has more than",
        ),
        (
            "\"profile\": \"stock\"".to_owned(),
            "\"profile\": \"dtn-vm\"".to_owned(),
            "the profile stands twice",
        ),
        (
            "\"schema\": 1".to_owned(),
            "\"schema\": 2".to_owned(),
            "schema 2, and this version knows 1",
        ),
    ] {
        let said = Index::parse(&index.to_text().unwrap().replace(&from, &to))
            .unwrap_err()
            .to_string();
        assert!(said.contains(expected), "{said:?} does not say {expected:?}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        prop_assert!(open(&bytes, None).is_err());
        prop_assert!(open(&zstd::bulk::compress(&bytes, 1).unwrap(), None).is_err());
    }

    #[test]
    fn no_damage_goes_unseen(at in 0_usize..4000, bit in 0_u8..8) {
        static STOCK: LazyLock<Layer> = LazyLock::new(|| layer("stock"));
        let layer = &*STOCK;
        let mut tar = tar_of(layer);
        let at = at % tar.len();
        tar[at] ^= 1 << bit;
        prop_assert!(open(&zstd::bulk::compress(&tar, 1).unwrap(), Some(&layer.digest)).is_err());
    }
}
