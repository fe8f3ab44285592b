//! The round trip over the idle path, without a tool and without a listener: a connection to a closed port is refused
//! after exactly one.

use super::names::{RECEIVER_ADDRESS, SENDER};
use super::namespace::inside;
use crate::host::Host;
use crate::measure::{Deadline, MeasureError};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// TCP port 9, discard: nothing listens inside our namespaces but iperf3.
const CLOSED_PORT: u16 = 9;

/// The first probe also waits for address resolution, the second does not.
const PROBES: usize = 2;

/// One probe ends within this time: a lost packet is sent again after 1 and 3 s.
const STEP: Duration = Duration::from_secs(8);

/// The least time of a few probes from the sender to the receiver, ms.
pub(super) fn measure(host: &Host, deadline: Deadline) -> Result<f64, MeasureError> {
    let address: Ipv4Addr = RECEIVER_ADDRESS
        .parse()
        .map_err(|error| MeasureError::NoRoundTrip(io::Error::other(error)))?;
    let address = SocketAddr::from((address, CLOSED_PORT));
    inside(host, SENDER, || {
        let mut least = Duration::MAX;
        for _ in 0..PROBES {
            least = least.min(probe(address, deadline.limit(STEP)?)?);
        }
        Ok(least.as_secs_f64() * 1e3)
    })
}

fn probe(address: SocketAddr, limit: Duration) -> Result<Duration, MeasureError> {
    let begin = Instant::now();
    match TcpStream::connect_timeout(&address, limit) {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(begin.elapsed()),
        Err(error) => Err(MeasureError::NoRoundTrip(error)),
        Ok(_) => Err(MeasureError::NoRoundTrip(io::Error::other(format!(
            "port {} is open, expected it closed",
            address.port()
        )))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_port_is_told() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let error = probe(address, Duration::from_secs(5)).unwrap_err().to_string();
        assert!(error.ends_with("is open, expected it closed"), "{error}");
    }

    #[test]
    fn a_closed_port_answers() {
        use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, bind, getsockname, socket};
        use std::os::fd::AsRawFd;
        // Bound and not listening: nobody else can open this port meanwhile.
        let held = socket(
            AddressFamily::Inet,
            SockType::Stream,
            SockFlag::SOCK_CLOEXEC,
            None,
        )
        .unwrap();
        bind(held.as_raw_fd(), &SockaddrIn::new(127, 0, 0, 1, 0)).unwrap();
        let port = getsockname::<SockaddrIn>(held.as_raw_fd()).unwrap().port();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        assert!(probe(address, Duration::from_secs(5)).unwrap() < Duration::from_secs(5));
    }
}
