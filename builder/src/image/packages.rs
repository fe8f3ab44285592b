//! Stage `packages`: the locked packages, installed by mmdebstrap from a local archive that holds nothing else.

use super::Context;
use crate::cache::Cache;
use crate::fsx;
use crate::packages::lock::{Lock, Package};
use crate::packages::pool::Pool;
use crate::packages::{repository, stanza};
use crate::run::Program;
use crate::stage::{Failed, Inputs, Made, Pipeline, StageError, Work};
use std::collections::BTreeSet;
use std::path::Path;

const CODE: u32 = 1;
/// What no node reads: manuals, translations. Copyright files stay, licences ask for it.
const LEFT_OUT: [&str; 6] = [
    "path-exclude=/usr/share/doc/*",
    "path-include=/usr/share/doc/*/copyright",
    "path-exclude=/usr/share/man/*",
    "path-exclude=/usr/share/info/*",
    "path-exclude=/usr/share/locale/*",
    "path-exclude=/usr/share/lintian/*",
];

/// Runs the stage. Its output holds `tree`.
///
/// # Errors
/// mmdebstrap fails, or installs something else than the lock says.
pub fn stage(
    pipeline: &mut Pipeline<'_>,
    cache: &Cache,
    context: &Context,
    lock: &Lock,
) -> Result<Made, Failed> {
    let mut inputs = Inputs::of_code(CODE)
        .with("suite", &lock.suite)
        .with("time", context.epoch)
        .with("requested", lock.requested.join(" "));
    for package in &lock.packages {
        inputs = inputs.with(
            &format!("package {}", package.name),
            format!("{} {}", package.version, package.sha256),
        );
    }
    pipeline.stage("packages", &inputs, |work| install(work, cache, context, lock))
}

fn install(work: &Work<'_>, cache: &Cache, context: &Context, lock: &Lock) -> Result<(), StageError> {
    let archive = cache.scratch("archive")?;
    repository::make(archive.path(), &Pool::of(cache), &lock.packages, &work.log)?;
    let temporary = cache.scratch("mmdebstrap")?;
    Program::new("mmdebstrap")
        .args(["--mode=root", "--variant=essential", "--format=directory"])
        .arg(format!("--include={}", lock.requested.join(",")))
        .args(LEFT_OUT.map(|option| format!("--dpkgopt={option}")))
        // An empty suite: packages are chosen by what the archive holds, and it holds the lock.
        .arg("")
        .arg(work.path("tree"))
        .arg(repository::source_line(archive.path()))
        .env("SOURCE_DATE_EPOCH", context.epoch.to_string())
        .env("TMPDIR", temporary.path())
        // The initrd has its own stage.
        .env("INITRD", "No")
        .run(&work.log)?;
    check_installed(&work.path("tree"), &lock.packages)
}

/// Refuses a tree that does not hold exactly the locked versions.
fn check_installed(tree: &Path, locked: &[Package]) -> Result<(), StageError> {
    let status = fsx::read_text(&tree.join("var/lib/dpkg/status"))?;
    let field = |stanza: &stanza::Stanza, key| stanza.get(key).unwrap_or_default().to_owned();
    let installed: BTreeSet<(String, String)> = stanza::parse(&status)
        .iter()
        .map(|stanza| (field(stanza, "Package"), field(stanza, "Version")))
        .collect();
    let locked: BTreeSet<(String, String)> = locked
        .iter()
        .map(|package| (package.name.clone(), package.version.clone()))
        .collect();
    match installed.symmetric_difference(&locked).next() {
        None => Ok(()),
        Some((name, version)) => Err(StageError::Wrong(format!(
            "{name} {version} is not both in the lock and in the tree\nhint: `dtnforge lock --update SPEC` makes the lock anew"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dtnforge_profiles::digest::Digest;

    #[test]
    fn a_tree_that_differs_from_the_lock_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let status = home.path().join("var/lib/dpkg/status");
        fsx::write(&status, b"Package: a\nVersion: 1\n\nPackage: b\nVersion: 2\n").unwrap();
        let package = |name: &str, version: &str| Package {
            name: name.into(),
            version: version.into(),
            arch: "all".into(),
            size: 1,
            sha256: Digest::of(b""),
        };
        check_installed(home.path(), &[package("a", "1"), package("b", "2")]).unwrap();
        let error = check_installed(home.path(), &[package("a", "1")])
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("b 2 is not both in the lock and in the tree"),
            "{error}"
        );
    }
}
