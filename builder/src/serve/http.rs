//! The files over HTTP: GET and HEAD, a few at a time, a line for each.

use super::{ListenError, Set};
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use tiny_http::{Method, Request, Response, Server};

/// Machines that are served at the same time; others wait.
const AT_A_TIME: usize = 8;

/// A server that runs.
#[derive(Debug)]
pub struct Http {
    address: SocketAddr,
    stop: Stop,
}

struct Stop(Arc<Server>);

impl std::fmt::Debug for Stop {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Stop")
    }
}

impl Http {
    /// Listens on `address` and serves `set` from threads of its own.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub fn start(set: &Set, address: SocketAddr) -> Result<Self, ListenError> {
        let failed = |reason: String| ListenError {
            protocol: "HTTP",
            address,
            reason,
        };
        let server = Arc::new(Server::http(address).map_err(|error| failed(error.to_string()))?);
        let bound = server.server_addr().to_ip();
        let bound = bound.ok_or_else(|| failed("it has no address of the internet".to_owned()))?;
        for _ in 0..AT_A_TIME {
            let (server, set) = (Arc::clone(&server), set.clone());
            thread::spawn(move || {
                while let Ok(request) = server.recv() {
                    serve(&set, request);
                }
            });
        }
        Ok(Self {
            address: bound,
            stop: Stop(server),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends the threads, once each has ended what it is at.
    pub fn stop(&self) {
        for _ in 0..AT_A_TIME {
            self.stop.0.unblock();
        }
    }
}

/// Answers one request and prints a line. A client that goes away in the middle is no fault of ours.
fn serve(set: &Set, request: Request) {
    let who = request
        .remote_addr()
        .map_or_else(|| "?".to_owned(), |address| address.ip().to_string());
    // What a client sends reaches a terminal.
    let what = format!("{} {}", request.method(), request.url().escape_default());
    let (status, sent) = answer(set, request);
    let end = sent.map_or_else(
        |error| format!("ended: {error}"),
        |bytes| format!("{bytes} bytes"),
    );
    println!("{who} {what} {status} {end}");
}

fn answer(set: &Set, request: Request) -> (u16, io::Result<u64>) {
    if !matches!(request.method(), Method::Get | Method::Head) {
        return refuse(request, 405, "only GET and HEAD\n");
    }
    let Some(path) = set.file(request.url()) else {
        return refuse(request, 404, "no such file\n");
    };
    match File::open(&path).and_then(|file| Ok((file.metadata()?.len(), file))) {
        Ok((size, file)) => (200, request.respond(Response::from_file(file)).map(|()| size)),
        Err(_) => refuse(request, 404, "it cannot be read\n"),
    }
}

fn refuse(request: Request, status: u16, why: &str) -> (u16, io::Result<u64>) {
    let response = Response::from_string(why).with_status_code(status);
    (status, request.respond(response).map(|()| why.len() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;

    fn ask(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "{request}\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    #[test]
    fn files_are_given_and_nothing_else() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("boot.ipxe"), "#!ipxe\n").unwrap();
        let http = Http::start(&Set::open(home.path()).unwrap(), "127.0.0.1:0".parse().unwrap()).unwrap();
        let ask = |request: &str| ask(http.address(), request);
        let given = ask("GET /boot.ipxe HTTP/1.1");
        assert!(
            given.starts_with("HTTP/1.1 200") && given.ends_with("\r\n\r\n#!ipxe\n"),
            "{given}"
        );
        let head = ask("HEAD /boot.ipxe HTTP/1.1");
        assert!(
            head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"),
            "{head}"
        );
        assert!(head.to_ascii_lowercase().contains("content-length: 7"), "{head}");
        assert!(ask("GET /../etc/passwd HTTP/1.1").starts_with("HTTP/1.1 404"));
        assert!(ask("PUT /boot.ipxe HTTP/1.1").starts_with("HTTP/1.1 405"));
        http.stop();
    }

    #[test]
    fn an_address_that_is_taken_is_named() {
        let home = tempfile::tempdir().unwrap();
        let set = Set::open(home.path()).unwrap();
        let first = Http::start(&set, "127.0.0.1:0".parse().unwrap()).unwrap();
        let error = Http::start(&set, first.address()).unwrap_err().to_string();
        let expected = format!("cannot listen on HTTP {}", first.address());
        assert!(
            error.starts_with(&expected) && error.contains("hint: "),
            "{error}"
        );
        first.stop();
    }
}
