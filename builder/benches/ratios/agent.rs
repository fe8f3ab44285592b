//! The size of the agent, which every image carries.

use crate::report::{Amount, Line};
use std::path::PathBuf;

fn size(path: &PathBuf) -> Option<Amount> {
    Some(Amount::Bytes(std::fs::metadata(path).ok()?.len()))
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
    let Some(ours) = agent.as_ref().and_then(size) else {
        println!("The agent is left out: DTNFORGE_AGENT names no file.");
        return Vec::new();
    };
    let peer = python().as_ref().and_then(size);
    vec![Line {
        what: "the agent, one static binary".to_owned(),
        ours,
        peer: peer.map(|size| {
            (
                "the python3 that tuned runs on, without its library".to_owned(),
                size,
            )
        }),
        limit: None,
    }]
}
