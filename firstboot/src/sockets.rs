//! Sockets that stay on an old setting: a socket gets its congestion control when it is made, and what a listener has
//! is what each of its connections gets. So a new default reaches a program when it is started again.
//!
//! Asked of the kernel by `sock_diag`, with the message types of the rust-netlink project: `ss` has no output for
//! machines, its columns differ between releases, and a minimal image may lack it. Buffers need no such list: their
//! limits are read anew whenever a buffer grows, and no plan changes the size that a socket starts with.

mod diag;
mod program;

use crate::host::Host;
pub use diag::DiagError;
use dtnforge_profiles::window::OldSocket;
use std::fs;

const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// The listeners whose congestion control is not the present default, in order of their addresses.
///
/// # Errors
/// When the kernel does not answer.
pub fn on_old_settings(host: &Host) -> Result<Vec<OldSocket>, DiagError> {
    // The kernel answers for itself alone, and never for a host in a directory.
    if !host.is_live() {
        return Ok(Vec::new());
    }
    let Ok(wanted) = fs::read_to_string(host.path(DEFAULT)) else {
        return Ok(Vec::new());
    };
    let wanted = wanted.trim();
    let mut listeners = diag::listeners()?;
    listeners.retain(|listener| listener.congestion != wanted);
    if listeners.is_empty() {
        return Ok(Vec::new());
    }
    let programs = program::by_socket(host);
    let mut old: Vec<OldSocket> = listeners
        .into_iter()
        .map(|listener| {
            let found = programs.get(&listener.inode);
            OldSocket {
                local: listener.local.to_string(),
                has: listener.congestion,
                wanted: wanted.to_owned(),
                program: found.map(|program| program.name.clone()),
                pid: found.map(|program| program.pid),
                unit: found.and_then(|program| program.unit.clone()),
            }
        })
        .collect();
    old.sort();
    Ok(old)
}

/// One line for people.
pub fn line(socket: &OldSocket) -> String {
    let who = match (&socket.unit, &socket.program, socket.pid) {
        (Some(unit), _, Some(pid)) => format!("{unit} (pid {pid})"),
        (None, Some(program), Some(pid)) => format!("{program} (pid {pid})"),
        _ => "a program that cannot be seen".to_owned(),
    };
    format!(
        "needs restart: {who} listens on {} with {}, now {}",
        socket.local, socket.has, socket.wanted
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_the_unit_before_the_program() {
        let mut socket = OldSocket {
            local: "0.0.0.0:1094".into(),
            has: "cubic".into(),
            wanted: "bbr".into(),
            program: Some("xrootd".into()),
            pid: Some(812),
            unit: Some("xrootd@dtn.service".into()),
        };
        assert_eq!(
            line(&socket),
            "needs restart: xrootd@dtn.service (pid 812) listens on 0.0.0.0:1094 with cubic, now bbr"
        );
        socket.unit = None;
        assert!(line(&socket).contains(": xrootd (pid 812) listens"));
        socket.pid = None;
        assert!(line(&socket).contains("a program that cannot be seen"));
    }
}
