//! The dump of listening TCP sockets, by `sock_diag`.

use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6, IPPROTO_TCP};
use netlink_packet_sock_diag::inet::nlas::Nla;
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetRequest, InetResponse, SocketId, StateFlags};
use netlink_packet_sock_diag::{SockDiagMessage, TCP_LISTEN};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_SOCK_DIAG};
use nix::sys::socket::{setsockopt, sockopt::ReceiveTimeout};
use nix::sys::time::{TimeVal, TimeValLike};
use std::io;

/// Seconds to wait for a part of the answer.
const PATIENCE: i64 = 10;

/// A listening socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listener {
    pub(super) local: std::net::SocketAddr,
    pub(super) inode: u32,
    pub(super) congestion: String,
}

/// The kernel did not list its sockets.
#[derive(Debug, thiserror::Error)]
pub enum DiagError {
    /// The netlink socket failed.
    #[error("the kernel does not list its sockets: {0}")]
    Socket(#[from] io::Error),
    /// The answer makes no sense.
    #[error("the kernel's list of sockets: {0}")]
    Malformed(String),
}

/// All listening TCP sockets of this network namespace.
pub(super) fn listeners() -> Result<Vec<Listener>, DiagError> {
    let mut found = Vec::new();
    for (family, any) in [(AF_INET, SocketId::new_v4()), (AF_INET6, SocketId::new_v6())] {
        dump(family, any, &mut found)?;
    }
    Ok(found)
}

fn dump(family: u8, any: SocketId, found: &mut Vec<Listener>) -> Result<(), DiagError> {
    let mut socket = Socket::new(NETLINK_SOCK_DIAG)?;
    socket.bind_auto()?;
    setsockopt(&socket, ReceiveTimeout, &TimeVal::seconds(PATIENCE)).map_err(io::Error::from)?;
    socket.send_to(&request(family, any), &SocketAddr::new(0, 0), 0)?;
    loop {
        let bytes = match socket.recv_from_full() {
            Ok((bytes, _)) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        if collect(&bytes, found)? {
            return Ok(());
        }
    }
}

fn request(family: u8, any: SocketId) -> Vec<u8> {
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_DUMP;
    let listening = InetRequest {
        family,
        protocol: IPPROTO_TCP,
        extensions: ExtensionFlags::CONG,
        states: StateFlags::LISTEN,
        socket_id: any,
    };
    let mut message = NetlinkMessage::new(header, SockDiagMessage::InetRequest(listening).into());
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    bytes
}

/// Adds the listeners of one datagram; true when the dump is at its end.
fn collect(mut bytes: &[u8], found: &mut Vec<Listener>) -> Result<bool, DiagError> {
    while !bytes.is_empty() {
        let message = NetlinkMessage::<SockDiagMessage>::deserialize(bytes)
            .map_err(|error| DiagError::Malformed(error.to_string()))?;
        match message.payload {
            NetlinkPayload::Done(_) => return Ok(true),
            NetlinkPayload::Error(error) => return Err(error.to_io().into()),
            NetlinkPayload::InnerMessage(SockDiagMessage::InetResponse(response)) => {
                found.extend(listener(&response));
            }
            _ => {}
        }
        let length = usize::try_from(message.header.length).unwrap_or(usize::MAX);
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

fn listener(response: &InetResponse) -> Option<Listener> {
    let header = &response.header;
    if header.state != TCP_LISTEN {
        return None;
    }
    let congestion = response.nlas.iter().find_map(|nla| match nla {
        Nla::Congestion(name) => Some(name.trim_end_matches('\0').to_owned()),
        _ => None,
    })?;
    let id = &header.socket_id;
    Some(Listener {
        local: (id.source_address, id.source_port).into(),
        inode: header.inode,
        congestion,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn this_kernel_lists_a_listener_with_its_congestion_control() {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let local = socket.local_addr().unwrap();
        let found = listeners().unwrap();
        let ours: Vec<_> = found.iter().filter(|listener| listener.local == local).collect();
        assert_eq!(ours.len(), 1, "{found:?}");
        assert!(!ours[0].congestion.is_empty() && ours[0].inode > 0, "{ours:?}");
    }

    proptest! {
        #[test]
        fn any_answer_is_a_list_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut found = Vec::new();
            let _ = collect(&bytes, &mut found);
        }
    }
}
