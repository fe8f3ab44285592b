//! The agent's binary: it must run on every node, so it must not need a loader or a library of the node.

use crate::fsx::{self, FileError};
use std::path::{Path, PathBuf};

/// Program header type of the interpreter's path.
const PT_INTERP: u32 = 3;

/// Why a file cannot be the agent.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// There is none.
    #[error("there is no agent at {}\nhint: build it (`make build`), or name it with --agent", .0.display())]
    Missing(PathBuf),
    /// It is no program for the image's machines.
    #[error("{}: not a 64-bit x86 ELF program", .0.display())]
    Foreign(PathBuf),
    /// It needs a loader.
    #[error("{}: not a static program, it asks for a loader\nhint: build it with `RUSTFLAGS=\"-C target-feature=+crt-static\" cargo build --release --target x86_64-unknown-linux-gnu -p dtn-firstboot`", .0.display())]
    Dynamic(PathBuf),
    /// It cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Where the agent is when nobody says: beside this executable.
pub fn default_path() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    own.with_file_name("dtn-firstboot")
}

/// Refuses a file that is no static program.
///
/// # Errors
/// [`AgentError`] with what is wrong.
pub fn check(path: &Path) -> Result<(), AgentError> {
    if !path.is_file() {
        return Err(AgentError::Missing(path.to_owned()));
    }
    let bytes = fsx::read(path)?;
    match asks_for_loader(&bytes) {
        None => Err(AgentError::Foreign(path.to_owned())),
        Some(true) => Err(AgentError::Dynamic(path.to_owned())),
        Some(false) => Ok(()),
    }
}

/// Whether an ELF program has an interpreter; `None` when it is no 64-bit little-endian x86 program.
fn asks_for_loader(elf: &[u8]) -> Option<bool> {
    let is_program = elf.starts_with(b"\x7fELF\x02\x01") && u16_at(elf, 18)? == 62;
    if !is_program {
        return None;
    }
    let table = usize::try_from(u64::from_le_bytes(elf.get(32..40)?.try_into().ok()?)).ok()?;
    let (size, count) = (usize::from(u16_at(elf, 54)?), usize::from(u16_at(elf, 56)?));
    let mut found = false;
    for index in 0..count {
        let start = table.checked_add(index.checked_mul(size)?)?;
        let kind = u32::from_le_bytes(elf.get(start..start.checked_add(4)?)?.try_into().ok()?);
        found |= kind == PT_INTERP;
    }
    Some(found)
}

fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    Some(u16::from_le_bytes(
        bytes.get(offset..offset + 2)?.try_into().ok()?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf(kinds: &[u32]) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[18] = 62;
        bytes[32] = 64;
        bytes[54] = 56;
        bytes[56] = u8::try_from(kinds.len()).unwrap();
        for kind in kinds {
            let mut header = vec![0; 56];
            header[..4].copy_from_slice(&kind.to_le_bytes());
            bytes.extend(header);
        }
        bytes
    }

    #[test]
    fn only_a_static_program_is_taken() {
        assert_eq!(asks_for_loader(&elf(&[1, 2])), Some(false));
        assert_eq!(asks_for_loader(&elf(&[1, PT_INTERP])), Some(true));
        assert_eq!(asks_for_loader(b"#!/bin/sh\n"), None);
        assert_eq!(asks_for_loader(&elf(&[1])[..66]), None);
    }

    #[test]
    fn a_missing_agent_says_how_to_get_one() {
        let error = check(Path::new("/no/such/agent")).unwrap_err().to_string();
        assert_eq!(
            error,
            "there is no agent at /no/such/agent\nhint: build it (`make build`), or name it with --agent"
        );
    }
}
