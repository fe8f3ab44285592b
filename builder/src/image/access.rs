//! Break-glass access: what `[access]` of the spec says, put into the root. Both places are plain files under `/etc`,
//! so what a node's own administrator writes there later wins.

use crate::fsx;
use crate::spec::Access;
use crate::stage::StageError;
use dtnforge_profiles::digest::Digest;
use std::path::Path;

const SHADOW: &str = "etc/shadow";
/// Read by sshd beside a user's own file (see `50-dtnforge.conf`): `/root` is on the state partition, which an image
/// does not fill.
const KEYS: &str = "etc/ssh/authorized_keys.d/root";

/// What stands for `access` among the inputs of a stage: the cache holds no password hash.
pub fn digest(access: &Access) -> Digest {
    let hash = access.root_password_hash.as_deref().unwrap_or_default();
    Digest::of(format!("{hash}\n{}", access.ssh_authorized_keys.join("\n")).as_bytes())
}

/// Puts the password hash and the keys of root in place. Without them root stays locked, as the packages leave it.
///
/// # Errors
/// A file cannot be read or written; there is no root in `/etc/shadow`.
pub fn install(access: &Access, tree: &Path) -> Result<(), StageError> {
    if let Some(hash) = &access.root_password_hash {
        let path = tree.join(SHADOW);
        let text = with_password(&fsx::read_text(&path)?, hash)
            .ok_or_else(|| StageError::Wrong(format!("{} has no line of root", path.display())))?;
        fsx::write(&path, text.as_bytes())?;
    }
    if !access.ssh_authorized_keys.is_empty() {
        let text = access.ssh_authorized_keys.join("\n") + "\n";
        fsx::write(&tree.join(KEYS), text.as_bytes())?;
    }
    Ok(())
}

/// The shadow file with another second field in the line of root.
fn with_password(shadow: &str, hash: &str) -> Option<String> {
    let mut found = false;
    let lines: Vec<String> = shadow
        .lines()
        .map(|line| match line.split(':').collect::<Vec<_>>().as_slice() {
            ["root", _, rest @ ..] => {
                found = true;
                format!("root:{hash}:{}", rest.join(":"))
            }
            _ => line.to_owned(),
        })
        .collect();
    found.then(|| lines.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCKED: &str = "daemon:*:20787:0:99999:7:::\nroot:*:20787:0:99999:7:::\n";

    fn tree() -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        fsx::write(&home.path().join(SHADOW), LOCKED.as_bytes()).unwrap();
        home
    }

    #[test]
    fn nothing_asked_for_leaves_root_locked_and_without_a_key() {
        let home = tree();
        install(&Access::default(), home.path()).unwrap();
        assert_eq!(fsx::read_text(&home.path().join(SHADOW)).unwrap(), LOCKED);
        assert!(!home.path().join(KEYS).exists());
    }

    #[test]
    fn the_hash_replaces_the_password_of_root_alone_and_the_file_keeps_its_mode() {
        let home = tree();
        let shadow = home.path().join(SHADOW);
        super::super::overlay::set_mode(&shadow, 0o640).unwrap();
        let access = Access {
            root_password_hash: Some("$6$salt$hash".into()),
            ssh_authorized_keys: vec!["ssh-ed25519 AAAA one".into(), "ssh-ed25519 AAAA two".into()],
        };
        install(&access, home.path()).unwrap();
        assert_eq!(
            fsx::read_text(&shadow).unwrap(),
            "daemon:*:20787:0:99999:7:::\nroot:$6$salt$hash:20787:0:99999:7:::\n"
        );
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(&shadow).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        assert_eq!(
            fsx::read_text(&home.path().join(KEYS)).unwrap(),
            "ssh-ed25519 AAAA one\nssh-ed25519 AAAA two\n"
        );
    }

    #[test]
    fn a_shadow_file_without_root_is_an_error() {
        assert_eq!(with_password("daemon:*::\nroot2:*::\n", "$6$a$b"), None);
    }
}
