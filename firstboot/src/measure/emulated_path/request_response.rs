//! Request and response over the emulated path: 64 byte asked for, up to 2 MB answered, with pauses between.
//!
//! It shows what a stream hides: after a pause longer than the retransmission time-out a sender may start again with a
//! window of 10 packets (`tcp_slow_start_after_idle`), and an answer of 1 MB then takes many round trips instead of a few.
//! So its connections start as the kernel starts them, without the full window of [`super::EmulatedPath`].
//!
//! Both ends are threads of ours with sockets that were opened inside the namespaces: no tool is needed, and a process
//! that is killed leaves none behind.

use super::names::{RECEIVER, SENDER, SENDER_ADDRESS};
use super::namespace::inside;
use super::network::Network;
use super::shape::{self, Shape};
use super::{RTT_TOLERANCE, WARM_UP, round_trip, tcp_keys};
use crate::host::Host;
use crate::measure::{Deadline, Measure, MeasureError};
use dtnforge_profiles::decide::context;
use dtnforge_profiles::group::Group;
use dtnforge_profiles::measure::{Arm, Better, MeasureInfo, Sample};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Name of this measurement.
const ID: &str = "request-response";

/// Round-trip time of the path, ms.
const RTT_MS: u32 = 100;

/// Size of a request, byte; its first 8 are the size of the wanted answer.
const REQUEST: usize = 64;

/// Answers of this size decide, byte.
const ANSWER: u64 = 1_000_000;

/// Answers that are told beside it, byte: one packet, and a large one.
const TOLD: [u64; 2] = [64, 2_000_000];

/// Answers of [`ANSWER`] in a round.
const ANSWERS: u32 = 3;

/// Longer than the retransmission time-out at this round-trip time (200 ms at least, twice the round trip here).
const PAUSE: Duration = Duration::from_millis(700);

/// One answer takes less, also in software emulation.
const STEP: Duration = Duration::from_secs(20);

/// Port of our server inside its namespace.
const PORT: u16 = 5210;

/// The measurement.
pub struct RequestResponse {
    host: Host,
    rtt_ms: u32,
    prepared: Option<(Network, Shape)>,
}

impl RequestResponse {
    /// Over a path of 100 ms.
    pub fn new(host: &Host) -> Self {
        Self::with_rtt(host, RTT_MS)
    }

    /// Over a path of `rtt_ms`.
    pub fn with_rtt(host: &Host, rtt_ms: u32) -> Self {
        Self {
            host: host.clone(),
            rtt_ms,
            prepared: None,
        }
    }

    /// The mean time of an answer of [`ANSWER`] and the times of the others, ms.
    fn times(&self, deadline: Deadline) -> Result<(f64, Vec<(u64, f64)>), MeasureError> {
        let listener = inside(&self.host, SENDER, || {
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT)).map_err(exchange)
        })?;
        let limit = deadline.limit(Duration::MAX)?;
        std::thread::scope(|scope| {
            let server = scope.spawn(|| answer(&listener, limit));
            let asked = self.ask(deadline);
            if asked.is_err() {
                // A client that never came leaves the server waiting: one connection lets it end.
                let woken = inside(&self.host, SENDER, || {
                    TcpStream::connect((Ipv4Addr::LOCALHOST, PORT))
                        .map(drop)
                        .map_err(exchange)
                });
                log::debug!("request-response ended early, server woken: {}", woken.is_ok());
            }
            let served = server
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("the answering side panicked")));
            let times = asked?;
            served.map_err(exchange)?;
            Ok(times)
        })
    }

    fn ask(&self, deadline: Deadline) -> Result<(f64, Vec<(u64, f64)>), MeasureError> {
        let address = sender_address()?;
        let mut stream = inside(&self.host, RECEIVER, || {
            let limit = deadline.limit(STEP)?;
            TcpStream::connect_timeout(&address, limit).map_err(exchange)
        })?;
        stream.set_nodelay(true).map_err(exchange)?;
        let mut timed = |size: u64| -> Result<f64, MeasureError> {
            std::thread::sleep(deadline.limit(PAUSE)?);
            stream
                .set_read_timeout(Some(deadline.limit(STEP)?))
                .map_err(exchange)?;
            request(&mut stream, size).map_err(exchange)
        };
        // The first answer grows the window from nothing, in both arms alike: it is left out.
        timed(ANSWER)?;
        let mut sum = 0.0;
        for _ in 0..ANSWERS {
            sum += timed(ANSWER)?;
        }
        let mut told = Vec::new();
        for size in TOLD {
            told.push((size, timed(size)?));
        }
        Ok((sum / f64::from(ANSWERS), told))
    }

    fn sample(&self, arm: Arm, pair: u32, metric: &str, value: f64, seen: &tcp_keys::Values) -> Sample {
        Sample {
            measure: ID.to_owned(),
            metric: metric.to_owned(),
            unit: "ms".to_owned(),
            better: Better::Lower,
            arm,
            pair,
            value,
            context: seen.clone(),
        }
    }
}

impl Measure for RequestResponse {
    fn info(&self) -> MeasureInfo {
        MeasureInfo {
            id: ID.to_owned(),
            exercises: vec![Group::TcpBuffers, Group::Congestion],
            needs: ["ip", "tc", "iperf3", "kernel module sch_netem"]
                .map(str::to_owned)
                .to_vec(),
            seconds_per_round: 8,
        }
    }

    fn prepare(&mut self, deadline: Deadline) -> Result<(), MeasureError> {
        self.cleanup()?;
        let network = Network::build(&self.host, deadline)?;
        shape::require(&self.host, self.rtt_ms, deadline)?;
        tcp_keys::copy(&self.host)?;
        let unshaped = WARM_UP.run(&self.host, deadline)?;
        let available = super::available_memory(&self.host)?;
        let shape = Shape::below(unshaped.mbps, self.rtt_ms, available)?;
        self.prepared = Some((network, shape));
        Ok(())
    }

    fn round(&mut self, arm: Arm, pair: u32, deadline: Deadline) -> Result<Vec<Sample>, MeasureError> {
        let (network, shape) = self.prepared.as_ref().ok_or(MeasureError::NotPrepared)?;
        shape.put(&self.host, deadline)?;
        let mut seen = tcp_keys::copy(&self.host)?;
        let rtt_ms = round_trip::measure(&self.host, deadline)?;
        if rtt_ms < f64::from(self.rtt_ms) * RTT_TOLERANCE {
            return Err(MeasureError::WrongRtt {
                measured_ms: rtt_ms,
                expected_ms: self.rtt_ms,
            });
        }
        network.forget_metrics(deadline)?;
        let (mean, told) = self.times(deadline)?;
        let over = format!(
            "an emulated {} ms path, answers of 1 MB after a pause",
            self.rtt_ms
        );
        seen.insert(context::OVER.to_owned(), over);
        seen.insert(context::RTT_MS.to_owned(), format!("{rtt_ms:.1}"));
        seen.insert(context::RATE_MBPS.to_owned(), format!("{:.1}", shape.rate_mbps));
        seen.insert("pause_ms".to_owned(), PAUSE.as_millis().to_string());
        seen.insert(
            "netem_drops".to_owned(),
            shape::drops(&self.host, deadline)?.to_string(),
        );
        for (size, time) in told {
            seen.insert(format!("answer_of_{size}_bytes_ms"), format!("{time:.1}"));
        }
        Ok(vec![self.sample(arm, pair, "completion-time", mean, &seen)])
    }

    fn cleanup(&mut self) -> Result<(), MeasureError> {
        self.prepared
            .take()
            .map_or(Ok(()), |(network, _)| network.remove())
    }
}

/// The address of the end that sends the answers.
fn sender_address() -> Result<SocketAddr, MeasureError> {
    let address: Ipv4Addr = SENDER_ADDRESS
        .parse()
        .map_err(|error| exchange(io::Error::other(error)))?;
    Ok(SocketAddr::from((address, PORT)))
}

fn exchange(source: io::Error) -> MeasureError {
    MeasureError::Exchange(source)
}

/// Sends a request and reads its whole answer; returns the time that this took, ms.
fn request(stream: &mut TcpStream, size: u64) -> io::Result<f64> {
    let mut request = [0; REQUEST];
    request[..8].copy_from_slice(&size.to_be_bytes());
    let begin = Instant::now();
    stream.write_all(&request)?;
    let read = io::copy(&mut stream.take(size), &mut io::sink())?;
    if read < size {
        return Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            format!("an answer of {size} byte ended after {read}"),
        ));
    }
    Ok(begin.elapsed().as_secs_f64() * 1e3)
}

/// Answers one connection until it is closed.
fn answer(listener: &TcpListener, limit: Duration) -> io::Result<()> {
    let (mut stream, _) = listener.accept()?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(limit.min(STEP * 2)))?;
    stream.set_write_timeout(Some(limit.min(STEP)))?;
    let mut request = [0; REQUEST];
    loop {
        match stream.read_exact(&mut request) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        }
        let mut size = [0; 8];
        size.copy_from_slice(&request[..8]);
        // No request of ours asks for more, and nobody else is in this namespace.
        let size = u64::from_be_bytes(size).min(TOLD[1]);
        io::copy(&mut io::repeat(0x5a).take(size), &mut stream)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_has_its_size_and_takes_time() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::scope(|scope| {
            let server = scope.spawn(|| answer(&listener, Duration::from_secs(20)));
            let mut stream = TcpStream::connect(address).unwrap();
            for size in [64, ANSWER, 2_000_000] {
                assert!(request(&mut stream, size).unwrap() > 0.0);
            }
            drop(stream);
            server.join().unwrap().unwrap();
        });
    }

    #[test]
    fn an_answer_that_is_cut_short_is_an_error() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = [0; REQUEST];
                stream.read_exact(&mut request).unwrap();
                stream.write_all(&[1; 100]).unwrap();
            });
            let mut stream = TcpStream::connect(address).unwrap();
            let error = request(&mut stream, 1000).unwrap_err().to_string();
            assert_eq!(error, "an answer of 1000 byte ended after 100");
        });
    }

    #[test]
    fn a_round_before_prepare_is_an_error() {
        let error = RequestResponse::new(&Host::live())
            .round(Arm::Ours, 0, Deadline::after(Duration::from_secs(5)))
            .unwrap_err();
        assert!(matches!(error, MeasureError::NotPrepared), "{error}");
    }
}
