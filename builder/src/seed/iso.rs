//! A small ISO 9660 image with the label `CIDATA`: a few files in its root, their names in Joliet, which keeps `user-data`
//! as it is. Made here because the crates and tools for it write the time of day, and the same table has to give the
//! same bytes. The fields are those of ECMA-119, third edition.

/// Size of a sector, byte.
const SECTOR: usize = 2048;
/// First sector of the volume descriptors.
const DESCRIPTORS: usize = 16;
/// Sectors of the two path tables in both byte orders, then of the two root directories, then the files.
const PATHS: [(usize, usize); 2] = [(19, 20), (21, 22)];
const ROOTS: [usize; 2] = [23, 24];
const FILES: usize = 25;
/// Length of the path table of a tree that is only a root.
const PATH_TABLE: u32 = 10;
/// The label that cloud-init looks for.
const LABEL: &str = "CIDATA";
/// Tells our images from those of others.
pub const APPLICATION: &str = "DTNFORGE SEED";
/// Where the name of the application is in an image, byte.
pub const APPLICATION_AT: usize = DESCRIPTORS * SECTOR + 574;

/// Which names a tree has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    /// Capital letters, for readers that know nothing else.
    Plain,
    /// UCS-2.
    Joliet,
}

/// An image with these files, whose names are ASCII, at most 24 characters long, and sorted here.
pub fn image(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut files = files.to_vec();
    files.sort_by_key(|(name, _)| plain(name));
    let mut image = vec![0; FILES * SECTOR];
    let mut places = Vec::new();
    for (name, content) in &files {
        places.push((*name, image.len() / SECTOR, content.len()));
        image.extend_from_slice(content);
        image.resize(image.len().next_multiple_of(SECTOR), 0);
    }
    let sectors = number(image.len() / SECTOR);
    for (index, names) in [Names::Plain, Names::Joliet].into_iter().enumerate() {
        put(
            &mut image,
            DESCRIPTORS + index,
            &descriptor(names, sectors, PATHS[index], ROOTS[index]),
        );
        let root = number(ROOTS[index]);
        let table = |extent: [u8; 4], parent: [u8; 2]| [&[1, 0][..], &extent, &parent, &[0, 0]].concat();
        put(
            &mut image,
            PATHS[index].0,
            &table(root.to_le_bytes(), 1_u16.to_le_bytes()),
        );
        put(
            &mut image,
            PATHS[index].1,
            &table(root.to_be_bytes(), 1_u16.to_be_bytes()),
        );
        put(&mut image, ROOTS[index], &directory(names, ROOTS[index], &places));
    }
    put(&mut image, DESCRIPTORS + 2, b"\xffCD001\x01");
    image
}

fn put(image: &mut [u8], sector: usize, bytes: &[u8]) {
    let start = sector * SECTOR;
    image[start..start + bytes.len()].copy_from_slice(bytes);
}

/// A seed is some kilobytes; an image of 4 GiB would be cut, and is refused by who reads it.
fn number(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// A number in both byte orders.
fn both(value: u32) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&value.to_le_bytes());
    bytes[4..].copy_from_slice(&value.to_be_bytes());
    bytes
}

fn both_short(value: u16) -> [u8; 4] {
    let [low, high] = value.to_le_bytes();
    [low, high, high, low]
}

fn descriptor(names: Names, sectors: u32, paths: (usize, usize), root: usize) -> Vec<u8> {
    let mut bytes = vec![0; SECTOR];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(0, &[if names == Names::Plain { 1 } else { 2 }]);
    put(1, b"CD001\x01");
    put(8, &text(names, "", 32));
    put(40, &text(names, LABEL, 32));
    put(80, &both(sectors));
    if names == Names::Joliet {
        put(88, b"%/E");
    }
    put(120, &both_short(1));
    put(124, &both_short(1));
    put(128, &both_short(2048));
    put(132, &both(PATH_TABLE));
    put(140, &number(paths.0).to_le_bytes());
    put(148, &number(paths.1).to_be_bytes());
    put(156, &record(&[0], root, SECTOR, true));
    for (at, length, value) in [
        (190, 128, ""),
        (318, 128, ""),
        (446, 128, ""),
        (574, 128, APPLICATION),
        (702, 37, ""),
        (739, 37, ""),
        (776, 37, ""),
    ] {
        put(at, &text(names, value, length));
    }
    for date in [813, 830, 847, 864] {
        put(date, b"0000000000000000\0");
    }
    put(881, &[1]);
    bytes
}

/// A field of text, filled up with spaces.
fn text(names: Names, value: &str, length: usize) -> Vec<u8> {
    let padded = format!("{value:length$}");
    let mut bytes = match names {
        Names::Plain => padded.into_bytes(),
        Names::Joliet => wide(&padded),
    };
    bytes.truncate(length);
    bytes
}

fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_be_bytes).collect()
}

fn directory(names: Names, own: usize, files: &[(&str, usize, usize)]) -> Vec<u8> {
    let mut bytes = record(&[0], own, SECTOR, true);
    bytes.extend(record(&[1], own, SECTOR, true));
    for (name, sector, length) in files {
        let name = match names {
            Names::Plain => plain(name),
            Names::Joliet => wide(name),
        };
        bytes.extend(record(&name, *sector, *length, false));
    }
    bytes
}

/// `user-data` is `USER_DAT.;1`: what the oldest readers take.
fn plain(name: &str) -> Vec<u8> {
    let allowed = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_uppercase()
        } else {
            '_'
        }
    };
    let short: String = name.chars().take(8).map(allowed).collect();
    format!("{short}.;1").into_bytes()
}

/// A directory record: of the root, or of a file in it. Its date is the beginning of 1980, in every image.
fn record(name: &[u8], sector: usize, length: usize, is_directory: bool) -> Vec<u8> {
    let padding = usize::from(name.len().is_multiple_of(2));
    let whole = 33 + name.len() + padding;
    let mut bytes = vec![u8::try_from(whole).unwrap_or(u8::MAX), 0];
    bytes.extend(both(number(sector)));
    bytes.extend(both(number(length)));
    bytes.extend([80, 1, 1, 0, 0, 0, 0]);
    bytes.extend([if is_directory { 2 } else { 0 }, 0, 0]);
    bytes.extend(both_short(1));
    bytes.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
    bytes.extend(name);
    bytes.resize(whole, 0);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn sample() -> Vec<u8> {
        image(&[
            ("user-data", b"#cloud-config\n{}\n"),
            ("meta-data", &[b'x'; 5000]),
        ])
    }

    #[test]
    fn the_label_is_where_cloud_init_looks_and_the_size_is_that_of_the_file() {
        let image = sample();
        assert_eq!(&image[16 * SECTOR + 40..16 * SECTOR + 47], b"CIDATA ");
        assert_eq!(image.len(), (FILES + 1 + 3) * SECTOR);
        assert_eq!(
            image[16 * SECTOR + 80..16 * SECTOR + 84],
            number(image.len() / SECTOR).to_le_bytes()
        );
        assert_eq!(
            &image[APPLICATION_AT..APPLICATION_AT + APPLICATION.len()],
            APPLICATION.as_bytes()
        );
    }

    #[test]
    fn the_same_files_in_any_order_give_the_same_bytes() {
        let turned = image(&[
            ("meta-data", &[b'x'; 5000]),
            ("user-data", b"#cloud-config\n{}\n"),
        ]);
        assert!(sample() == turned);
    }

    /// Skipped, with a word, where there is no xorriso.
    #[test]
    fn another_program_reads_the_files_back() {
        let home = tempfile::tempdir().unwrap();
        let (iso, out) = (home.path().join("seed.iso"), home.path().join("out"));
        std::fs::write(&iso, sample()).unwrap();
        let reader = Command::new("xorriso")
            .args(["-osirrox", "on", "-indev"])
            .arg(&iso)
            .args(["-extract", "/"])
            .arg(&out)
            .output();
        let Ok(reader) = reader else {
            eprintln!("skipped: no xorriso to read the image with");
            return;
        };
        let said = String::from_utf8_lossy(&reader.stderr);
        assert!(reader.status.success(), "{said}");
        assert!(said.contains("CIDATA"), "{said}");
        assert_eq!(
            std::fs::read(out.join("user-data")).unwrap(),
            b"#cloud-config\n{}\n"
        );
        assert_eq!(std::fs::read(out.join("meta-data")).unwrap(), [b'x'; 5000]);
    }
}
