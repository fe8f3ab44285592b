//! The files over TFTP, read-only: what a firmware fetches before it knows HTTP. The server prints a line for each.

use super::{ListenError, Set};
use std::net::SocketAddr;
use std::thread;
use tftpd::{Config, Server};

/// Listens on `address` and serves `set` from a thread of its own, until the process ends.
///
/// # Errors
/// The address cannot be listened on.
pub fn start(set: &Set, address: SocketAddr) -> Result<(), ListenError> {
    let failed = |reason: String| ListenError {
        protocol: "TFTP",
        address,
        reason,
    };
    // The server's own words: read-only, and a line for each request.
    let directory = set.directory().display().to_string();
    let (ip, port) = (address.ip().to_string(), address.port().to_string());
    let words = ["dtnforge", "-i", &ip, "-p", &port, "-d", &directory, "-r", "-v"];
    let config =
        Config::new(words.into_iter().map(str::to_owned)).map_err(|error| failed(error.to_string()))?;
    let mut server = Server::new(&config).map_err(|error| failed(error.to_string()))?;
    thread::spawn(move || server.listen());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::time::Duration;

    /// Sends one packet, and again while nothing comes: the thread may not listen yet.
    fn ask(address: SocketAddr, packet: &[u8]) -> Vec<u8> {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        let mut answer = [0; 600];
        for _ in 0..10 {
            socket.send_to(packet, address).unwrap();
            if let Ok((size, _)) = socket.recv_from(&mut answer) {
                return answer[..size].to_vec();
            }
        }
        panic!("no answer");
    }

    #[test]
    fn files_are_given_and_nothing_can_be_written_or_reached_outside() {
        let home = tempfile::tempdir().unwrap();
        let inner = home.path().join("set");
        std::fs::create_dir(&inner).unwrap();
        std::fs::write(home.path().join("secret"), "x").unwrap();
        std::fs::write(inner.join("ipxe.efi"), "MZ").unwrap();
        // A port that was free a moment ago.
        let address = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        start(&Set::open(&inner).unwrap(), address).unwrap();
        assert_eq!(ask(address, b"\x00\x01ipxe.efi\0octet\0"), b"\x00\x03\x00\x01MZ");
        for refused in [
            &b"\x00\x01../secret\0octet\0"[..],
            b"\x00\x02new\0octet\0",
            b"\x00\x01none\0octet\0",
        ] {
            let answer = ask(address, refused);
            assert_eq!(answer[..2], [0, 5], "{refused:?}: {answer:?}");
        }
        assert!(!inner.join("new").exists());
    }
}
