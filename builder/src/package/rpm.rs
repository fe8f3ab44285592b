//! A tree as an RPM package, in the form that rpm 4.16 of EL9 reads.

use super::tree::{Entry, Tree};
use super::{DESCRIPTION, LICENCE, Label, NAME, SUMMARY, scripts};
use rpm::{BuildConfig, CompressionWithLevel, Dependency, FileOptions, PackageBuilder, Scriptlet};

/// An RPM that could not be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot make the RPM")]
pub struct RpmError(#[from] rpm::Error);

/// The package. Its file list has no directories: those of the system belong to other packages.
///
/// # Errors
/// Something that no RPM can hold.
pub fn rpm(tree: &Tree, label: &Label) -> Result<Vec<u8>, RpmError> {
    let mut builder = PackageBuilder::new(NAME, &label.version, LICENCE, "x86_64", SUMMARY);
    builder
        .release(label.revision.to_string())
        .description(DESCRIPTION)
        .packager(&*label.maintainer)
        // Not the name of the machine: it would be in the bytes.
        .build_host("localhost")
        .using_config(
            BuildConfig::v4()
                .source_date(label.time)
                .compression(CompressionWithLevel::Gzip(9)),
        )
        .requires(Dependency::greater_eq("systemd", "252"))
        .post_install_script(script(format!("{}exit 0\n", scripts::INSTALLED)))
        // The argument is how many packages are left.
        .pre_uninstall_script(when_last(scripts::BEFORE_REMOVAL))
        .post_uninstall_script(when_last(scripts::REMOVED));
    for name in ["iproute", "ethtool", "kmod"] {
        builder.requires(Dependency::any(name));
    }
    for name in ["tuned", "iperf3"] {
        builder.recommends(Dependency::any(name));
    }
    for (path, entry) in tree.entries() {
        let path = format!("/{path}");
        match entry {
            Entry::File { bytes, .. } => {
                let options = FileOptions::new(path).permissions(entry.mode());
                builder.with_file_contents(bytes.clone(), options)?;
            }
            Entry::Link(target) => {
                builder.with_symlink(FileOptions::symlink(path, target))?;
            }
        }
    }
    let mut bytes = Vec::new();
    builder.build()?.write(&mut bytes)?;
    Ok(bytes)
}

/// For the last package of the name that goes, not for an upgrade.
fn when_last(text: &str) -> Scriptlet {
    script(format!("if [ \"$1\" = 0 ]; then\n{text}fi\nexit 0\n"))
}

fn script(text: String) -> Scriptlet {
    Scriptlet::new(text).prog(vec!["/bin/sh"])
}
