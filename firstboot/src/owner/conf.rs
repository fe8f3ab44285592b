//! Files of a search path as systemd reads them: a name in a higher directory hides the same name in lower ones, a link
//! to `/dev/null` or an empty file hides it for good, and all that are left are read in the order of their names.

use crate::host::Host;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// More than any configuration file holds, byte.
const LARGEST: u64 = 1024 * 1024;

/// Links that are followed before a path counts as a loop.
const MOST_LINKS: usize = 16;

/// A configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConfFile {
    /// Its name without a directory.
    pub(super) name: String,
    /// Its path on the host.
    pub(super) path: String,
    /// Its text; bytes that are no UTF-8 are replaced.
    pub(super) text: String,
}

impl ConfFile {
    /// The place of a line, counted from 1.
    pub(super) fn at(&self, line: usize) -> String {
        format!("{}:{line}", self.path)
    }

    /// The configuration management that wrote this file, when a comment at its head says so.
    pub(super) fn managed_by(&self) -> Option<String> {
        managed_by(&self.text)
    }
}

/// The files of `directories` (the highest first) whose names end in `suffix`, in the order of their names.
pub(super) fn files(host: &Host, directories: &[&str], suffix: &str) -> Vec<ConfFile> {
    let mut found: BTreeMap<String, ConfFile> = BTreeMap::new();
    for directory in directories {
        for name in names(host, directory) {
            if !name.ends_with(suffix) || found.contains_key(&name) {
                continue;
            }
            let path = format!("{directory}/{name}");
            // A file that cannot be read says nothing; its name is taken all the same.
            let text = text(host, &path).unwrap_or_default();
            found.insert(name.clone(), ConfFile { name, path, text });
        }
    }
    found.into_values().filter(|file| !file.text.is_empty()).collect()
}

/// One file by its path; `None` when it is missing or cannot be read.
pub(super) fn file(host: &Host, path: &str) -> Option<ConfFile> {
    Some(ConfFile {
        name: path.rsplit('/').next()?.to_owned(),
        path: path.to_owned(),
        text: text(host, path)?,
    })
}

/// The names in a directory; none when there is no such directory.
fn names(host: &Host, directory: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(host.path(directory)) else {
        return Vec::new();
    };
    entries
        .filter_map(Result::ok)
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect()
}

/// The text of a file of the host, through links. A link of a host in a directory points into that directory.
fn text(host: &Host, path: &str) -> Option<String> {
    let file = resolve(host, path)?;
    if !fs::metadata(&file).ok()?.is_file() {
        // `/dev/null` masks a file; anything else that is no file says nothing either.
        return Some(String::new());
    }
    let mut bytes = Vec::new();
    fs::File::open(&file)
        .ok()?
        .take(LARGEST)
        .read_to_end(&mut bytes)
        .ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether two paths of the host lead to the same file.
pub(super) fn is_same(host: &Host, one: &str, other: &str) -> bool {
    let real = |path: &str| fs::canonicalize(resolve(host, path)?).ok();
    real(one).is_some_and(|one| Some(one) == real(other))
}

/// Where a path of the host ends up.
fn resolve(host: &Host, path: &str) -> Option<PathBuf> {
    let mut file = host.path(path);
    for _ in 0..MOST_LINKS {
        match fs::read_link(&file) {
            Ok(target) if target.is_absolute() => file = host.path(target.to_str()?),
            Ok(target) => file = file.parent().unwrap_or(Path::new("/")).join(target),
            Err(_) => return Some(file),
        }
    }
    None
}

/// Names that a file's head may carry, and how they are shown.
const MANAGERS: &[(&str, &str)] = &[
    ("puppet", "Puppet"),
    ("ansible", "Ansible"),
    ("cfengine", "CFEngine"),
    ("saltstack", "Salt"),
    ("salt", "Salt"),
    ("chef", "Chef"),
    ("cloud-init", "cloud-init"),
    ("fasterdata-tuning", "fasterdata-tuning.sh"),
];

/// Words by which a comment says that something writes the file.
const SIGNS: &[&str] = &[
    "managed",
    "generated",
    "controlled",
    "maintained",
    "written",
    "created",
];

fn managed_by(text: &str) -> Option<String> {
    let is_comment = |line: &&str| line.trim_start().starts_with(['#', ';']);
    let head: Vec<String> = text
        .lines()
        .take(12)
        .filter(is_comment)
        .map(str::to_lowercase)
        .collect();
    let signed = |line: &&String| SIGNS.iter().any(|sign| line.contains(sign));
    let manager = |line: &String| {
        let mut words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        words.find_map(|word| {
            let known = MANAGERS.iter().find(|(name, _)| word == *name)?;
            Some(known.1.to_owned())
        })
    };
    head.iter().filter(signed).find_map(manager)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn host() -> (tempfile::TempDir, Host) {
        let dir = tempfile::tempdir().unwrap();
        let host = Host::at(dir.path(), None);
        (dir, host)
    }

    fn write(host: &Host, path: &str, text: &str) {
        let path = host.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    const PATH: &[&str] = &["/etc/sysctl.d", "/run/sysctl.d", "/usr/lib/sysctl.d"];

    #[test]
    fn a_name_hides_the_same_name_below_and_the_rest_is_in_order() {
        let (_dir, host) = host();
        write(&host, "/usr/lib/sysctl.d/50-a.conf", "lib");
        write(&host, "/usr/lib/sysctl.d/10-b.conf", "lib");
        write(&host, "/etc/sysctl.d/50-a.conf", "etc");
        write(&host, "/run/sysctl.d/99-c.conf", "run");
        write(&host, "/run/sysctl.d/README", "no");
        let found: Vec<_> = files(&host, PATH, ".conf")
            .into_iter()
            .map(|file| (file.path, file.text))
            .collect();
        let expected = [
            ("/usr/lib/sysctl.d/10-b.conf", "lib"),
            ("/etc/sysctl.d/50-a.conf", "etc"),
            ("/run/sysctl.d/99-c.conf", "run"),
        ];
        assert_eq!(
            found,
            expected.map(|(path, text)| (path.to_owned(), text.to_owned()))
        );
    }

    #[test]
    fn a_masked_name_is_gone_and_a_link_is_followed_inside_the_host() {
        let (_dir, host) = host();
        write(&host, "/usr/lib/sysctl.d/50-a.conf", "lib");
        write(&host, "/etc/sysctl.conf", "own");
        fs::create_dir_all(host.path("/etc/sysctl.d")).unwrap();
        symlink("/dev/null", host.path("/etc/sysctl.d/50-a.conf")).unwrap();
        symlink("../sysctl.conf", host.path("/etc/sysctl.d/99-sysctl.conf")).unwrap();
        symlink("/etc/sysctl.conf", host.path("/etc/sysctl.d/98-abs.conf")).unwrap();
        symlink("98-loop.conf", host.path("/etc/sysctl.d/98-loop.conf")).unwrap();
        let names: Vec<_> = files(&host, PATH, ".conf")
            .into_iter()
            .map(|file| (file.name, file.text))
            .collect();
        let expected = [("98-abs.conf", "own"), ("99-sysctl.conf", "own")];
        assert_eq!(
            names,
            expected.map(|(name, text)| (name.to_owned(), text.to_owned()))
        );
    }

    #[test]
    fn the_head_of_a_file_tells_who_manages_it() {
        for (text, expected) in [
            (
                "# HEADER: This file was autogenerated by puppet.\n",
                Some("Puppet"),
            ),
            ("# Ansible managed\nvm.swappiness=1\n", Some("Ansible")),
            ("; managed by SaltStack\n", Some("Salt")),
            ("# salted hashes are managed elsewhere\n", None),
            ("# the chefs of site X\n", None),
            ("vm.swappiness=1\n# Ansible\n", None),
            ("", None),
        ] {
            assert_eq!(managed_by(text).as_deref(), expected, "{text:?}");
        }
    }
}
