//! The guest's SMBIOS tables: words for systemd in type 11, and a server's identity for a bare-metal look.
//!
//! systemd-stub reads more kernel words, and PID 1 reads credentials, from the OEM strings of type 11. A bare-metal look
//! needs the other types as well, because `systemd-detect-virt` reads them: vendor strings, and one bit in type 0 that
//! says "this is a virtual machine". QEMU always sets that bit in the type 0 that it builds, so ours is built here and
//! handed over as a file.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::fields::FieldError;

/// Name, inside the throw-away directory, of the type 0 table.
pub const TYPE0_FILE: &str = "smbios-type0.bin";

/// A credential for the guest's PID 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    name: String,
    value: Vec<u8>,
}

impl FromStr for Credential {
    type Err = FieldError;

    fn from_str(text: &str) -> Result<Credential, FieldError> {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| FieldError(format!("{text:?} has no `=`, expected NAME=VALUE")))?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-@~".contains(&byte);
        if name.is_empty() || name.starts_with('.') || !name.bytes().all(plain) {
            return Err(FieldError(format!(
                "{name:?} is no credential name: letters, digits, and ._-@~"
            )));
        }
        Ok(Credential {
            name: name.to_owned(),
            value: value.into(),
        })
    }
}

impl fmt::Display for Credential {
    /// The OEM string that PID 1 looks for. Always in the binary form: no text can break it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "io.systemd.credential.binary:{}={}",
            self.name,
            BASE64.encode(&self.value)
        )
    }
}

/// The OEM string that adds `words` to the command line inside a UKI.
pub fn cmdline_extra(words: &str) -> String {
    format!("io.systemd.stub.kernel-cmdline-extra={words}")
}

/// The value of `-smbios` for one OEM string.
pub fn oem_string(text: &str) -> String {
    format!("type=11,value={}", escape(text))
}

/// A text as a value in one of QEMU's comma lists.
pub fn escape(text: &str) -> String {
    text.replace(',', ",,")
}

const MAKER: &str = "Rackforge Systems";
const MODEL: &str = "RS2240-N24";

/// The values of `-smbios` that make the machine look like a server.
pub fn server_tables() -> Vec<String> {
    vec![
        format!("file={TYPE0_FILE}"),
        format!(
            "type=1,manufacturer={MAKER},product={MODEL},version=A2,serial=RS2240-000117,sku={MODEL},family=RS"
        ),
        format!("type=2,manufacturer={MAKER},product=RB2240,version=1.04,serial=RB2240-000117"),
        format!("type=3,manufacturer={MAKER},version=2U,serial=RS2240-000117"),
        format!("type=4,sock_pfx=CPU,manufacturer={MAKER},version=Server Processor"),
        format!("type=17,loc_pfx=DIMM,bank=0,manufacturer={MAKER},speed=3200"),
    ]
}

/// The BIOS table (type 0, SMBIOS 2.4 layout) of a physical machine: like QEMU's, without the virtual-machine bit.
pub fn physical_bios_table() -> Vec<u8> {
    const LENGTH: u8 = 24;
    let mut table = vec![0, LENGTH, 0, 0];
    table.extend([1, 2]); // strings: vendor, version
    table.extend([0x00, 0xe8]); // start segment E800, as QEMU has it
    table.extend([3, 0xff]); // string: date; ROM size 16 MiB
    table.extend(0x0008_0080_u64.to_le_bytes()); // PCI (bit 7), boot from several devices selectable (bit 19)
    table.extend([0x01, 0x0c]); // ACPI; UEFI (bit 3), targeted content (bit 2); bit 4 would say "virtual machine"
    table.extend([2, 4, 0xff, 0xff]); // BIOS release 2.4, no embedded controller
    for text in [MAKER, "2.4.1", "03/14/2025"] {
        table.extend(text.bytes());
        table.push(0);
    }
    table.push(0);
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_kernel_words_are_doubled_once() {
        let value = oem_string(&cmdline_extra("console=ttyS0,115200 quiet"));
        assert_eq!(
            value,
            "type=11,value=io.systemd.stub.kernel-cmdline-extra=console=ttyS0,,115200 quiet"
        );
    }

    #[test]
    fn a_credential_is_handed_over_in_base64() {
        let credential: Credential = "ssh.authorized_keys.root=ssh-ed25519 AAAA, me".parse().unwrap();
        assert_eq!(
            credential.to_string(),
            "io.systemd.credential.binary:ssh.authorized_keys.root=c3NoLWVkMjU1MTkgQUFBQSwgbWU="
        );
        assert!(
            "noequals"
                .parse::<Credential>()
                .unwrap_err()
                .0
                .contains("expected NAME=VALUE")
        );
        assert!(
            "a/b=c"
                .parse::<Credential>()
                .unwrap_err()
                .0
                .contains("is no credential name")
        );
    }

    #[test]
    fn the_physical_bios_table_is_well_formed_and_has_no_vm_bit() {
        let table = physical_bios_table();
        assert_eq!(table[0], 0);
        assert_eq!(table[19] & 0x10, 0, "virtual-machine bit");
        let strings = &table[usize::from(table[1])..];
        assert_eq!(
            strings.iter().filter(|byte| **byte == 0).count(),
            4,
            "three strings and the end"
        );
        assert!(strings.ends_with(&[0, 0]));
    }

    #[test]
    fn no_word_of_the_server_is_one_that_systemd_takes_for_a_hypervisor() {
        let text = server_tables().join(" ");
        for word in [
            "QEMU",
            "KVM",
            "VMware",
            "Bochs",
            "Xen",
            "OpenStack",
            "Parallels",
            "Google",
            "Hyper-V",
        ] {
            assert!(!text.contains(word), "{word}");
        }
    }
}
