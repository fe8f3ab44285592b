//! A directory of files, over HTTP and TFTP, for a bench or a small site. Nothing is written, nothing is listed, and what
//! is a link out of the directory is not there.

mod http;
mod set;
pub mod tftp;

pub use http::Http;
pub use set::{Set, SetError};

use std::net::SocketAddr;

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot listen on {protocol} {address}: {reason}\nhint: is the address one of this host, and the port free? Ports below 1024 need root"
)]
pub struct ListenError {
    /// `HTTP` or `TFTP`.
    pub protocol: &'static str,
    /// The address as asked for.
    pub address: SocketAddr,
    /// What the system said.
    pub reason: String,
}
