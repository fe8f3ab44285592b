//! The guest's UEFI firmware: its code, and the variables that it keeps between boots.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::disk::ImageFormat;
use super::error::BootError;
use super::qemu::QemuTree;
use super::request::Vars;
use super::{absolute, utf8};

/// Names in the throw-away directory.
const CODE: &str = "code.fd";
const VARS: &str = "vars.qcow2";

/// Copies the firmware's code into `dir`; its path as QEMU gets it. A copy, so that a snapshot holds it.
///
/// # Errors
/// When it cannot be copied.
pub fn code(firmware: &Path, dir: &Path) -> Result<String, BootError> {
    std::fs::copy(firmware, dir.join(CODE)).map_err(BootError::file("copy", firmware))?;
    Ok(CODE.to_owned())
}

/// Makes or checks the firmware's variables; their path as QEMU, running in `dir`, gets it.
///
/// # Errors
/// When they cannot be made, or the user's file is in another format.
pub fn vars(tree: &QemuTree, vars: &Vars, dir: &Path) -> Result<String, BootError> {
    let factory = tree.firmware_vars()?;
    let make = |path: &Path| {
        tree.qemu_img(&["convert", "-O", "qcow2", utf8(&factory)?, utf8(path)?])
            .map(drop)
    };
    let kept = match vars {
        Vars::ThrowAway => {
            make(&dir.join(VARS))?;
            return Ok(VARS.to_owned());
        }
        Vars::Keep(path) if path.exists() => absolute(path)?,
        Vars::Keep(path) | Vars::Reset(path) => {
            let path = absolute(path)?;
            make(&path)?;
            path
        }
    };
    let mut head = Vec::new();
    File::open(&kept)
        .and_then(|file| file.take(4).read_to_end(&mut head))
        .map_err(BootError::file("read", &kept))?;
    if ImageFormat::of(&head) != ImageFormat::Qcow2 {
        let text = kept.display();
        return Err(BootError::Options(format!(
            "--vars {text}: not a qcow2 file\nhint: qemu-img convert -O qcow2 {text} OTHER, or --fresh-vars"
        )));
    }
    Ok(utf8(&kept)?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_in_another_format_are_refused_with_the_way_out() {
        let tree = tempfile::tempdir().unwrap();
        let factory = tree.path().join("usr/share/OVMF");
        std::fs::create_dir_all(&factory).unwrap();
        std::fs::write(factory.join("OVMF_VARS_4M.fd"), "").unwrap();
        let raw = tree.path().join("vars.fd");
        std::fs::write(&raw, "raw").unwrap();
        let kept = Vars::Keep(raw);
        let error = vars(&QemuTree::new(tree.path()), &kept, tree.path())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("vars.fd: not a qcow2 file\nhint: qemu-img convert -O qcow2"),
            "{error}"
        );
    }
}
