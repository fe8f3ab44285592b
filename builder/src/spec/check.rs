//! Checks of single values, file by file, so that an error names the file that holds the value.

use super::written::{self, Written};
use super::{SPEC_SCHEMA, SpecError, access};
use std::ops::RangeInclusive;
use std::path::Path;

/// An EFI system partition below this is FAT16 to the firmware whatever the tools call it, and does not boot.
pub(super) const ESP_MIB: RangeInclusive<u32> = 264..=4096;
const STATE_MIB: RangeInclusive<u32> = 64..=65536;
/// Words of the command line that the builder owns.
const OWN_WORDS: [&str; 6] = [
    "root",
    "rootfstype",
    "roothash",
    "usrhash",
    "systemd.verity_root_options",
    "dtnforge.mode",
];

/// The first value of `written` that cannot be right.
pub(super) fn values(path: &Path, text: &str, written: &Written) -> Result<(), SpecError> {
    let checks = Checks { path, text };
    checks.form(written)?;
    checks.base(written)?;
    checks.access(&written.access)?;
    checks.image(written)?;
    written.site.clone().check().map_err(|bad| {
        let key = format!("site.{}", bad.key);
        SpecError::at(
            path,
            text,
            &key,
            format!("{} is out of range, expected {}", bad.found, bad.expected),
        )
    })?;
    Ok(())
}

struct Checks<'a> {
    path: &'a Path,
    text: &'a str,
}

impl Checks<'_> {
    fn refuse(&self, key: &str, found: &str, expected: &str) -> SpecError {
        SpecError::at(
            self.path,
            self.text,
            key,
            format!("found {found:?}, expected {expected}"),
        )
    }

    fn each(
        &self,
        key: &str,
        values: Option<&Vec<String>>,
        good: fn(&str) -> bool,
        expected: &str,
    ) -> Result<(), SpecError> {
        match values.into_iter().flatten().find(|value| !good(value)) {
            Some(bad) => Err(self.refuse(key, bad, expected)),
            None => Ok(()),
        }
    }

    fn range(&self, key: &str, value: Option<u32>, range: &RangeInclusive<u32>) -> Result<(), SpecError> {
        match value.filter(|value| !range.contains(value)) {
            Some(bad) => {
                let message = format!(
                    "{bad} is out of range, expected {} to {} MiB",
                    range.start(),
                    range.end()
                );
                Err(SpecError::at(self.path, self.text, key, message))
            }
            None => Ok(()),
        }
    }

    fn form(&self, written: &Written) -> Result<(), SpecError> {
        match written.schema {
            Some(SPEC_SCHEMA) => {}
            Some(other) => {
                let error = SpecError::at(
                    self.path,
                    self.text,
                    "schema",
                    format!("is {other}, this version reads {SPEC_SCHEMA}"),
                );
                return Err(error.hint("a newer dtnforge wrote this spec"));
            }
            None => {
                let error = SpecError::at(self.path, self.text, "schema", "is missing");
                return Err(error.hint(format!("write `schema = {SPEC_SCHEMA}` at the top")));
            }
        }
        match &written.name {
            Some(name) if !is_label(name) => Err(self.refuse("name", name, "1 to 32 of a-z, 0-9 and -")),
            _ => Ok(()),
        }
    }

    fn base(&self, written: &Written) -> Result<(), SpecError> {
        let base = &written.base;
        if let Some(suite) = base.suite.as_ref().filter(|suite| *suite != crate::tools::SUITE) {
            return Err(self.refuse(
                "base.suite",
                suite,
                "trixie, the only suite that this version builds",
            ));
        }
        if let Some(mirror) = base.mirror.as_ref().filter(|mirror| !is_mirror(mirror)) {
            return Err(self.refuse(
                "base.mirror",
                mirror,
                "an http:, https: or file: address without spaces or brackets",
            ));
        }
        let name = "the name of a Debian package";
        self.each("base.packages", base.packages.as_ref(), is_package, name)?;
        self.each(
            "base.extra_packages",
            base.extra_packages.as_ref(),
            is_package,
            name,
        )
    }

    /// The values themselves are not shown: somebody may have written a password in place of its hash.
    fn access(&self, written: &written::Access) -> Result<(), SpecError> {
        let refuse = |key: &str, expected: &str| {
            let message = format!("the value, which is not shown here, is not {expected}");
            SpecError::at(self.path, self.text, key, message)
        };
        if written
            .root_password_hash
            .iter()
            .any(|hash| !access::is_hash(hash))
        {
            let error = refuse("access.root_password_hash", access::HASH);
            return Err(error.hint("`mkpasswd --method=yescrypt` makes one"));
        }
        match written
            .ssh_authorized_keys
            .iter()
            .flatten()
            .all(|key| access::is_key(key))
        {
            true => Ok(()),
            false => Err(refuse("access.ssh_authorized_keys", access::KEY)),
        }
    }

    /// Words for a kernel command line.
    fn words(&self, key: &str, words: Option<&Vec<String>>) -> Result<(), SpecError> {
        self.each(key, words, is_word, "a word of printable ASCII without quotes")?;
        let is_free = |word: &str| !OWN_WORDS.contains(&word.split('=').next().unwrap_or(""));
        self.each(key, words, is_free, "a word that the builder does not set itself")
    }

    fn image(&self, written: &Written) -> Result<(), SpecError> {
        let image = &written.image;
        if let Some(name) = image.hostname.as_ref().filter(|name| !is_label(name)) {
            return Err(self.refuse("image.hostname", name, "1 to 32 of a-z, 0-9 and -"));
        }
        self.each(
            "image.console",
            image.console.as_ref(),
            is_console,
            "a device with options, such as ttyS0,115200",
        )?;
        self.words("image.cmdline_extra", image.cmdline_extra.as_ref())?;
        self.words("image.tuned_cmdline_extra", image.tuned_cmdline_extra.as_ref())?;
        self.each(
            "image.outputs",
            image.outputs.as_ref(),
            |name| matches!(name, "raw" | "qcow2" | "netboot"),
            "raw, qcow2 or netboot",
        )?;
        self.each(
            "image.overlays",
            image.overlays.as_ref(),
            |name| is_label(name) && name != "initrd",
            "the name of a tree in overlays/",
        )?;
        self.range("image.esp_mib", image.esp_mib, &ESP_MIB)?;
        self.range("image.state_mib", image.state_mib, &STATE_MIB)
    }
}

fn is_label(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=32).contains(&text.len())
        && text.chars().all(inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

fn is_package(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '+' | '-' | '.');
    text.len() >= 2
        && text.chars().all(inner)
        && text.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
}

fn is_mirror(text: &str) -> bool {
    let scheme = ["http://", "https://", "file:///"]
        .iter()
        .any(|scheme| text.starts_with(scheme) && text.len() > scheme.len());
    scheme
        && text
            .chars()
            .all(|c| c.is_ascii_graphic() && !matches!(c, '[' | ']' | '#' | '"' | '\''))
}

fn is_console(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == ',')
}

fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_ascii_graphic() && !matches!(c, '"' | '\'' | '\\'))
}
