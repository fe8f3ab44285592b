//! `[access]`: how an administrator gets into a node when nothing else works. Without it nobody does: root is locked.

use super::written;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

/// What a password hash must look like, for messages.
pub(crate) const HASH: &str = "a hash of crypt(5) that starts with $y$, $gy$, $7$, $2b$, $6$ or $5$";
/// What a key must look like, for messages.
pub(crate) const KEY: &str = "one public key without options, such as \"ssh-ed25519 AAAA... name\"";
/// Methods of crypt(5) that are not broken.
const METHODS: [&str; 6] = ["y", "gy", "7", "2b", "6", "5"];
/// The longest hash of crypt(5).
const MAX_HASH: usize = 384;
const KEY_TYPES: [&str; 7] = [
    "ssh-ed25519",
    "sk-ssh-ed25519@openssh.com",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ecdsa-sha2-nistp256@openssh.com",
    "ssh-rsa",
];

/// `[access]`, checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Access {
    /// Hash of root's password; without one root is locked.
    pub root_password_hash: Option<String>,
    /// Public keys that may log in as root, one line each.
    pub ssh_authorized_keys: Vec<String>,
}

impl From<written::Access> for Access {
    fn from(written: written::Access) -> Self {
        Self {
            root_password_hash: written.root_password_hash,
            ssh_authorized_keys: written.ssh_authorized_keys.unwrap_or_default(),
        }
    }
}

/// Whether `text` is a password hash: `$METHOD$` and more fields, nothing that would end a field of `/etc/shadow`.
pub(crate) fn is_hash(text: &str) -> bool {
    let fields: Vec<&str> = text.split('$').collect();
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | ',' | '=' | '_' | '-' | '+');
    text.len() <= MAX_HASH
        && fields.len() >= 4
        && fields.first() == Some(&"")
        && fields.get(1).is_some_and(|method| METHODS.contains(method))
        && fields
            .iter()
            .skip(2)
            .all(|field| !field.is_empty() && field.chars().all(inner))
}

/// Whether `text` is one public key: a known type, its body, which names the same type, and perhaps a comment.
pub(crate) fn is_key(text: &str) -> bool {
    let mut words = text.splitn(3, ' ');
    let (Some(kind), Some(body)) = (words.next(), words.next()) else {
        return false;
    };
    let names_kind = |body: Vec<u8>| {
        let length = u32::try_from(kind.len()).unwrap_or_default().to_be_bytes();
        body.strip_prefix(&length)
            .is_some_and(|rest| rest.starts_with(kind.as_bytes()))
    };
    KEY_TYPES.contains(&kind)
        && !text.chars().any(char::is_control)
        && BASE64_STANDARD.decode(body).is_ok_and(names_kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ED25519: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILg6wUKtGCI8D1GE6Ht2xbnbPJchAF7pAIImjC17818A";

    #[test]
    fn hashes_of_good_methods_are_taken_and_everything_else_is_not() {
        for good in [
            "$y$j9T$F5Jx5fExrKuPp53xLKQ..1$X3DX6M94c7o.9agCG9G317fhZg9SqC.5i5rd.RhAtQ7",
            "$6$rounds=656000$saltsalt$hash./ABC",
            "$2b$05$abcdefghijklmnopqrstuuE1xXwd3wQ1Z0vN2qQ5bX6cU8yJtW4nS",
        ] {
            assert!(is_hash(good), "{good}");
        }
        for bad in [
            "",
            "secret",
            "$6$salt",
            "$1$salt$hash",
            "*",
            "!$6$salt$hash",
            "$6$$hash",
            "$6$salt$ha:sh",
            "$6$salt$hash\nroot2::0:0:::",
        ] {
            assert!(!is_hash(bad), "{bad}");
        }
    }

    #[test]
    fn a_key_is_one_line_whose_body_names_its_type() {
        for good in [ED25519.to_owned(), format!("{ED25519} ops, second floor")] {
            assert!(is_key(&good), "{good}");
        }
        for bad in [
            "".to_owned(),
            "ssh-ed25519".to_owned(),
            "ssh-ed25519 AAAA".to_owned(),
            ED25519.replace("ssh-ed25519", "ssh-rsa"),
            format!("command=\"id\" {ED25519}"),
            format!("{ED25519} a\n{ED25519}"),
            "-----BEGIN OPENSSH PRIVATE KEY-----".to_owned(),
        ] {
            assert!(!is_key(&bad), "{bad}");
        }
    }
}
