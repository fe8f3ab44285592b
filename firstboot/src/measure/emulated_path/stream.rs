//! One TCP stream through the path: an iperf3 server in one end, a client in the other.
//!
//! The server is new for each stream, because a connection takes buffer sizes from the socket that listened. Both die
//! with the thread that started them (`setpriv --pdeathsig`), with their group when the stream ends, and are found by
//! their namespace when all else failed.

use super::names::{IPERF3_PORT, RECEIVER, RECEIVER_ADDRESS, SENDER};
use super::namespace::{inside, read};
use crate::host::{CommandError, Host};
use crate::measure::child::Child;
use crate::measure::iperf3::{self, Report};
use crate::measure::{Deadline, MeasureError};
use std::path::Path;
use std::time::{Duration, Instant};

/// A server listens within this time, also in software emulation.
const LISTENS: Duration = Duration::from_secs(10);

/// Time for connecting and for exchanging results, on top of the stream itself.
const AROUND: Duration = Duration::from_secs(20);

/// Seconds of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stream {
    /// Left out of the numbers: slow start.
    pub(super) left_out_s: u32,
    /// Measured.
    pub(super) measured_s: u32,
}

impl Stream {
    /// Runs the stream and reads its report.
    pub(super) fn run(self, host: &Host, deadline: Deadline) -> Result<Report, MeasureError> {
        let port = IPERF3_PORT.to_string();
        let server = start(
            host,
            RECEIVER,
            &[
                "--server",
                "--one-off",
                "--bind",
                RECEIVER_ADDRESS,
                "--port",
                &port,
            ],
        )?;
        // Held until the client has ended; dropping it ends the server.
        let _server = listening(host, server, deadline)?;
        let (left_out, measured) = (self.left_out_s.to_string(), self.measured_s.to_string());
        let mut args = vec!["--client", RECEIVER_ADDRESS, "--port", &port, "--json"];
        args.extend(["--connect-timeout", "10000", "--time", &measured]);
        if self.left_out_s > 0 {
            args.extend(["--omit", &left_out]);
        }
        let client = start(host, SENDER, &args)?;
        let takes = Duration::from_secs(u64::from(self.left_out_s) + u64::from(self.measured_s));
        let ended = client.wait(deadline.limit(takes + AROUND)?)?;
        // A failing client says why in its report, if there is one.
        match iperf3::parse(&ended.stdout) {
            Ok(report) if ended.status.success() => Ok(report),
            Err(error @ iperf3::ReportError::Said(_)) => Err(error.into()),
            Err(error) if ended.status.success() => Err(error.into()),
            _ => Err(ended.failure().into()),
        }
    }
}

fn start(host: &Host, namespace: &str, args: &[&str]) -> Result<Child, CommandError> {
    let mut command = host.command("ip");
    command
        .args([
            "netns",
            "exec",
            namespace,
            "setpriv",
            "--pdeathsig",
            "KILL",
            "iperf3",
        ])
        .args(args);
    Child::spawn(command)
}

/// Waits for the server, or takes its last words when it has ended.
fn listening(host: &Host, server: Child, deadline: Deadline) -> Result<Child, MeasureError> {
    let limit = deadline.limit(LISTENS)?;
    let begin = Instant::now();
    while begin.elapsed() < limit {
        let sockets = inside(host, RECEIVER, || read(Path::new("/proc/thread-self/net/tcp")))?;
        if is_listening(&sockets, IPERF3_PORT) {
            return Ok(server);
        }
        if server.has_ended()? {
            return Err(server.wait(limit)?.failure().into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(MeasureError::NotListening {
        namespace: RECEIVER,
        seconds: limit.as_secs(),
    })
}

/// Whether `/proc/net/tcp` lists a listener on `port`: `sl local_address rem_address st ...`, numbers in hexadecimal,
/// state 0A.
fn is_listening(text: &str, port: u16) -> bool {
    text.lines().skip(1).any(|line| {
        let mut columns = line.split_ascii_whitespace().skip(1);
        let local_port = columns.next().and_then(|local| local.rsplit_once(':'));
        let state = columns.nth(1);
        local_port.is_some_and(|(_, hex)| u16::from_str_radix(hex, 16) == Ok(port)) && state == Some("0A")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_is_known_by_its_port_and_state() {
        let text = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n   \
                    0: 0600 12C6:1451 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0\n"
            .replace("0600 12C6", "060012C6");
        assert!(is_listening(&text, 5201));
        assert!(!is_listening(&text, 22));
        assert!(
            !is_listening(&text.replace(" 0A ", " 01 "), 5201),
            "a connection is no listener"
        );
        assert!(!is_listening("", 5201));
        assert!(!is_listening("x\n0:\n0: 5201\n0: :1451\n", 5201));
    }
}
