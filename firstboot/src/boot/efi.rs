//! EFI variables of the boot loader, through efivarfs. They are read and never written: it is not ours to say what it
//! did, and a firmware takes no volatile variable from a running system.

use crate::host::Host;
use std::fs;

const DIR: &str = "/sys/firmware/efi/efivars";
/// systemd's vendor id, for what the boot loader and the stub say.
const LOADER: &str = "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";

/// A text variable of the boot loader; `None` when it is not there or not a text.
pub fn loader(host: &Host, name: &str) -> Option<String> {
    let texts = texts(&fs::read(host.path(&format!("{DIR}/{name}-{LOADER}"))).ok()?);
    texts.into_iter().next()
}

/// A list variable of the boot loader; empty when it is not there.
pub fn loader_list(host: &Host, name: &str) -> Vec<String> {
    let bytes = fs::read(host.path(&format!("{DIR}/{name}-{LOADER}"))).unwrap_or_default();
    texts(&bytes)
}

/// The texts of a variable: four bytes of attributes, then UTF-16, each text ended by a NUL.
fn texts(bytes: &[u8]) -> Vec<String> {
    let units: Vec<u16> = bytes
        .get(4..)
        .unwrap_or_default()
        .chunks_exact(2)
        .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
        .collect();
    units
        .split(|unit| *unit == 0)
        .filter(|text| !text.is_empty())
        .filter_map(|text| String::from_utf16(text).ok())
        .collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn utf16(text: &str) -> Vec<u8> {
        let units = text.encode_utf16().flat_map(u16::to_le_bytes);
        [6, 0, 0, 0].into_iter().chain(units).collect()
    }

    /// Gives a test host a text variable of the boot loader.
    pub(crate) fn set_loader(host: &Host, name: &str, text: &str) {
        fs::create_dir_all(host.path(DIR)).unwrap();
        let path = host.path(&format!("{DIR}/{name}-{LOADER}"));
        fs::write(path, utf16(&format!("{text}\0"))).unwrap();
    }

    /// Gives a test host a list variable of the boot loader.
    pub(crate) fn set_loader_list(host: &Host, name: &str, texts: &[&str]) {
        set_loader(host, name, &texts.join("\0"));
    }

    #[test]
    fn an_efi_text_is_utf16_after_its_attributes() {
        assert_eq!(texts(&utf16("ab\0")), ["ab"]);
        assert_eq!(
            texts(&utf16("dtnforge+3.efi\0stock.efi\0")),
            ["dtnforge+3.efi", "stock.efi"]
        );
        for cut in [&[][..], &[6, 0], &[6, 0, 0, 0], &[6, 0, 0, 0, b'a']] {
            assert!(texts(cut).is_empty(), "{cut:?}");
        }
    }

    #[test]
    fn variables_of_the_boot_loader_are_read_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let host = Host::at(dir.path(), None);
        set_loader(&host, "LoaderEntrySelected", "stock.efi");
        assert_eq!(loader(&host, "LoaderEntrySelected").as_deref(), Some("stock.efi"));
        assert_eq!(loader(&host, "LoaderBootCountPath"), None);
        assert!(loader_list(&host, "LoaderEntries").is_empty());
    }
}
