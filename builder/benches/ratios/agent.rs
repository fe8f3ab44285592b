//! The agent, which every image carries: its size, whether it is static, and what a boot costs.

use crate::cost;
use crate::report::{Amount, Line};
use std::path::{Path, PathBuf};

const PROMISED: Amount = Amount::Bytes(5_000_000);

/// The program header by which a dynamic binary names its loader (`PT_INTERP`).
const INTERPRETER: usize = 3;

fn size(path: &PathBuf) -> Option<Amount> {
    Some(Amount::Bytes(std::fs::metadata(path).ok()?.len()))
}

/// Whether this binary needs no loader, and so no library of the image.
fn is_static(path: &Path) -> bool {
    let bytes = std::fs::read(path).unwrap();
    assert!(
        bytes.starts_with(b"\x7fELF\x02\x01"),
        "no 64-bit little-endian ELF"
    );
    let number = |at: usize, size: usize| {
        let bytes = bytes[at..at + size].iter().rev();
        bytes.fold(0, |number: usize, byte| number << 8 | usize::from(*byte))
    };
    let (first, size, count) = (number(32, 8), number(54, 2), number(56, 2));
    (0..count).all(|index| number(first + index * size, 4) != INTERPRETER)
}

/// The program of this name, behind links and wrappers of the search path.
fn python() -> Option<PathBuf> {
    let output = std::process::Command::new("python3")
        .args(["-c", "import sys, os; print(os.path.realpath(sys.executable))"])
        .output();
    Some(String::from_utf8(output.ok()?.stdout).ok()?.trim().into())
}

pub(crate) fn lines() -> Vec<Line> {
    let agent = std::env::var_os("DTNFORGE_AGENT").map(PathBuf::from);
    let Some((path, ours)) = agent.and_then(|path| Some((path.clone(), size(&path)?))) else {
        println!("The agent is left out: DTNFORGE_AGENT names no file.");
        return Vec::new();
    };
    let word = if is_static(&path) { "kept" } else { "NOT KEPT" };
    println!("The agent is promised to be static: {word}\n");
    let peer = python().as_ref().and_then(size);
    let of_size = Line {
        what: "the agent, one binary".to_owned(),
        ours,
        peer: peer.map(|size| {
            (
                "the python3 that tuned runs on, without its library".to_owned(),
                size,
            )
        }),
        limit: Some(PROMISED),
    };
    [of_size].into_iter().chain(cost::lines()).collect()
}
