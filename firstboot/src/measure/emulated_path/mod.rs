//! One TCP stream over an emulated path inside the node. It needs no peer, and it shows what buffers and congestion
//! control do on a long path.
//!
//! A sender, a router and a receiver live in network namespaces of their own ([`network`]). The router delays and
//! limits ([`shape`]): 200 ms of round trip, and half of what the unshaped path carried in a warm-up, so that neither
//! the machine's CPUs nor its luck set the number. Each round copies the TCP settings that are live on the host into both
//! ends ([`tcp_keys`]) and runs one stream ([`stream`]) of which the first seconds are left out.
//!
//! It speaks for socket buffers and congestion control. It says nothing about rings, queues or offloads of a NIC,
//! because a virtual link has none.

mod leftovers;
mod load;
mod names;
mod namespace;
mod network;
mod request_response;
mod round_trip;
mod sample;
mod shape;
mod stream;
mod tcp_keys;

pub use leftovers::cleanup_leftovers;
pub use request_response::RequestResponse;

use super::{Deadline, Measure, MeasureError};
use crate::host::Host;
use dtnforge_profiles::group::Group;
use dtnforge_profiles::measure::{Arm, MeasureInfo, Sample};
use load::Load;
use network::Network;
use sample::Round;
use shape::Shape;
use stream::Stream;

/// Name of this measurement.
const ID: &str = "emulated-path";

/// The measured RTT may be this much below the wanted one: timers are coarse.
const RTT_TOLERANCE: f64 = 0.98;

/// What the path looks like and how long a round takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Round trip time, ms.
    pub rtt_ms: u32,
    /// Seconds at the beginning of a stream that are left out.
    pub left_out_s: u32,
    /// Seconds that are measured.
    pub measured_s: u32,
}

impl Default for Settings {
    /// A round of about 7 s, so that the least number of pairs and the warm-up fit into 90 s. In the 3 s that are left
    /// out a receiver makes 15 round trips: enough for its window to grow from 64 KiB to whatever its buffer allows.
    fn default() -> Self {
        Self {
            rtt_ms: 200,
            left_out_s: 3,
            measured_s: 3,
        }
    }
}

/// The unshaped stream of the warm-up: long enough to be past its start.
const WARM_UP: Stream = Stream {
    left_out_s: 1,
    measured_s: 2,
};

/// The measurement.
pub struct EmulatedPath {
    host: Host,
    settings: Settings,
    prepared: Option<Prepared>,
}

struct Prepared {
    network: Network,
    shape: Shape,
    unshaped_mbps: f64,
}

impl EmulatedPath {
    /// The path of the first boot: 200 ms.
    pub fn new(host: &Host) -> Self {
        Self::with(host, Settings::default())
    }

    /// A path with other settings.
    pub fn with(host: &Host, settings: Settings) -> Self {
        Self {
            host: host.clone(),
            settings,
            prepared: None,
        }
    }
}

impl Measure for EmulatedPath {
    fn info(&self) -> MeasureInfo {
        let needs = ["ip", "tc", "setpriv", "iperf3", "kernel module sch_netem"];
        MeasureInfo {
            id: ID.to_owned(),
            exercises: vec![Group::TcpBuffers, Group::Congestion],
            needs: needs.map(str::to_owned).to_vec(),
            // Connecting takes several round trips.
            seconds_per_round: self.settings.left_out_s + self.settings.measured_s + 1,
        }
    }

    fn prepare(&mut self, deadline: Deadline) -> Result<(), MeasureError> {
        // A second call builds anew; the first path has to be gone before its lock is taken again.
        self.cleanup()?;
        let network = Network::build(&self.host, deadline)?;
        shape::require(&self.host, self.settings.rtt_ms, deadline)?;
        tcp_keys::copy(&self.host)?;
        let unshaped = WARM_UP.run(&self.host, deadline)?;
        let available = available_memory(&self.host)?;
        let shape = Shape::below(unshaped.mbps, self.settings.rtt_ms, available)?;
        network.start_with_window(shape.product_packets(), deadline)?;
        self.prepared = Some(Prepared {
            network,
            shape,
            unshaped_mbps: unshaped.mbps,
        });
        Ok(())
    }

    fn round(&mut self, arm: Arm, pair: u32, deadline: Deadline) -> Result<Vec<Sample>, MeasureError> {
        let prepared = self.prepared.as_ref().ok_or(MeasureError::NotPrepared)?;
        let host = &self.host;
        let stream = Stream {
            left_out_s: self.settings.left_out_s,
            measured_s: self.settings.measured_s,
        };
        prepared.shape.put(host, deadline)?;
        let tcp = tcp_keys::copy(host)?;
        let rtt_ms = round_trip::measure(host, deadline)?;
        if rtt_ms < f64::from(self.settings.rtt_ms) * RTT_TOLERANCE {
            return Err(MeasureError::WrongRtt {
                measured_ms: rtt_ms,
                expected_ms: self.settings.rtt_ms,
            });
        }
        prepared.network.forget_metrics(deadline)?;
        let before = Load::read(host)?;
        let report = stream.run(host, deadline)?;
        let load = Load::read(host)?.since(&before);
        let round = Round {
            shape: prepared.shape,
            unshaped_mbps: prepared.unshaped_mbps,
            stream,
            rtt_ms,
            tcp,
            netem_drops: shape::drops(host, deadline)?,
            load,
            report,
        };
        Ok(vec![round.sample(arm, pair)])
    }

    fn cleanup(&mut self) -> Result<(), MeasureError> {
        self.prepared
            .take()
            .map_or(Ok(()), |prepared| prepared.network.remove())
    }
}

/// Memory that is free for data under way, bytes.
fn available_memory(host: &Host) -> Result<f64, MeasureError> {
    let path = host.path("/proc/meminfo");
    let text = namespace::read(&path)?;
    let expected = "a line \"MemAvailable: N kB\"";
    available_bytes(&text).ok_or(MeasureError::Unexpected { path, expected })
}

/// `MemAvailable` of `/proc/meminfo`, bytes.
fn available_bytes(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: f64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    (kib.is_finite() && kib > 0.0).then_some(kib * 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dtnforge_profiles::decide::MIN_PAIRS;
    use std::time::Duration;

    #[test]
    fn it_speaks_for_tcp_settings_only() {
        let info = EmulatedPath::new(&Host::live()).info();
        assert_eq!(info.exercises, [Group::TcpBuffers, Group::Congestion]);
        for group in info.exercises {
            assert_eq!(
                group.evidence(),
                dtnforge_profiles::group::EvidenceKind::EmulatedPath
            );
        }
    }

    #[test]
    fn the_least_number_of_pairs_fits_into_the_first_boots_90_s() {
        let round = EmulatedPath::new(&Host::live()).info().seconds_per_round;
        assert!(2 * MIN_PAIRS * round <= 90, "{round} s a round");
    }

    #[test]
    fn a_round_before_prepare_is_an_error() {
        let mut path = EmulatedPath::new(&Host::live());
        let error = path
            .round(Arm::Ours, 0, Deadline::after(Duration::from_secs(5)))
            .unwrap_err();
        assert!(matches!(error, MeasureError::NotPrepared), "{error}");
        path.cleanup().unwrap();
    }

    #[test]
    fn memory_is_read_in_bytes() {
        let text = "MemTotal:        2013040 kB\nMemFree:         1500000 kB\nMemAvailable:    1795072 kB\n";
        assert_eq!(available_bytes(text), Some(1_795_072.0 * 1024.0));
        for bad in [
            "",
            "MemAvailable:\n",
            "MemAvailable: 0 kB\n",
            "MemAvailable: NaN kB\n",
        ] {
            assert_eq!(available_bytes(bad), None, "{bad}");
        }
    }
}
