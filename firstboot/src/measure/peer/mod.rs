//! Traffic with a peer over the real NIC: iperf3 both ways against servers that the site names.
//!
//! Only configured peers are ever contacted. Both rounds of a pair use the same server; with several servers the pairs
//! take turns. A busy server is asked again a few times, and then there is no number: nobody else's test is disturbed,
//! and a guess is never one. What the tools and CPUs at both ends did is recorded, so that "slower" comes with "where".

mod route;

use super::child::Child;
use super::cpu::CpuTimes;
use super::iperf3::{self, Report, ReportError};
use super::{Deadline, Measure, MeasureError};
use crate::host::Host;
use dtnforge_profiles::decide::context;
use dtnforge_profiles::group::Group;
use dtnforge_profiles::measure::{Arm, Better, MeasureInfo, PEER, RTT_UNDER_LOAD, Sample};
use dtnforge_profiles::peer::Peer;
use route::Route;
use std::collections::BTreeMap;
use std::time::Duration;

/// Seconds at the beginning of a stream that are left out, and seconds that are measured.
const LEFT_OUT_S: u32 = 2;
const MEASURED_S: u32 = 5;

/// Streams in parallel: one alone is limited by a CPU at either end before a fast link is full.
const STREAMS: &str = "4";

/// How often a busy server is asked, and the time between.
const ASKED: u32 = 4;
const PAUSE: Duration = Duration::from_secs(5);

/// Time for connecting and for exchanging results.
const AROUND: Duration = Duration::from_secs(20);

/// The measurement.
pub struct Peers {
    host: Host,
    peers: Vec<Peer>,
    exercises: Vec<Group>,
    route: Option<Route>,
    pause: Duration,
}

/// A direction of the traffic, seen from this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Out,
    In,
}

impl Peers {
    /// Measures with `peers`, one at least, for these groups.
    pub fn new(host: &Host, peers: Vec<Peer>, exercises: Vec<Group>) -> Self {
        Self {
            host: host.clone(),
            peers,
            exercises,
            route: None,
            pause: PAUSE,
        }
    }

    /// The server of a pair: the same one for both of its rounds.
    fn of_pair(&self, pair: u32) -> Result<&Peer, MeasureError> {
        let count = u32::try_from(self.peers.len()).unwrap_or(u32::MAX);
        let turn = pair
            .checked_rem(count)
            .and_then(|turn| usize::try_from(turn).ok());
        turn.and_then(|turn| self.peers.get(turn))
            .ok_or(MeasureError::NotPrepared)
    }

    /// One test; a busy server is asked again.
    fn test(&self, peer: &Peer, way: Way, deadline: Deadline) -> Result<Report, MeasureError> {
        for _ in 1..ASKED {
            match self.ask(peer, way, MEASURED_S, deadline) {
                Err(MeasureError::Report(ReportError::Busy)) => {
                    std::thread::sleep(deadline.limit(self.pause)?)
                }
                answered => return answered,
            }
        }
        match self.ask(peer, way, MEASURED_S, deadline) {
            Err(MeasureError::Report(ReportError::Busy)) => Err(MeasureError::PeerBusy {
                peer: peer.to_string(),
                asked: ASKED,
            }),
            answered => answered,
        }
    }

    fn ask(&self, peer: &Peer, way: Way, seconds: u32, deadline: Deadline) -> Result<Report, MeasureError> {
        let (port, measured, left_out) = (
            peer.port().to_string(),
            seconds.to_string(),
            LEFT_OUT_S.to_string(),
        );
        let mut command = self.host.command("setpriv");
        command
            .args([
                "--pdeathsig",
                "KILL",
                "iperf3",
                "--client",
                peer.host(),
                "--port",
                &port,
                "--json",
            ])
            .args([
                "--connect-timeout",
                "5000",
                "--time",
                &measured,
                "--omit",
                &left_out,
            ])
            .args(["--parallel", STREAMS]);
        if way == Way::In {
            command.arg("--reverse");
        }
        let takes = Duration::from_secs(u64::from(seconds) + u64::from(LEFT_OUT_S)) + AROUND;
        let ended = Child::spawn(command)?.wait(deadline.limit(takes)?)?;
        match iperf3::parse(&ended.stdout) {
            Ok(report) if ended.status.success() => Ok(report),
            Err(error @ (ReportError::Said(_) | ReportError::Busy)) => Err(error.into()),
            Err(error) if ended.status.success() => Err(error.into()),
            _ => Err(ended.failure().into()),
        }
    }

    fn cpu(&self) -> Option<CpuTimes> {
        let text = std::fs::read_to_string(self.host.path("/proc/stat")).ok()?;
        CpuTimes::parse(&text)
    }

    fn context(&self, peer: &Peer, report: &Report, busiest: Option<f64>) -> BTreeMap<String, String> {
        let mut context = BTreeMap::new();
        let mut put = |key: &str, value: Option<String>| {
            if let Some(value) = value {
                context.insert(key.to_owned(), value);
            }
        };
        let cpus = |cpus: Option<f64>| cpus.map(|cpus| format!("{cpus:.2}"));
        put(context::OVER, Some(format!("the real path to {peer}")));
        put("tool", Some(report.version.clone()));
        put("streams", Some(STREAMS.to_owned()));
        put(context::MEASURED_S, Some(MEASURED_S.to_string()));
        put(
            context::RETRANSMITS,
            report.retransmits.map(|count| count.to_string()),
        );
        put(
            context::RTT_UNDER_LOAD_MS,
            report.mean_rtt_ms.map(|rtt| format!("{rtt:.1}")),
        );
        put("congestion", report.congestion.clone());
        put(context::TOOL_BUSY, cpus(report.tool_busy));
        put(context::PEER_BUSY, cpus(report.peer_busy));
        put(context::CPU_BUSIEST, cpus(busiest));
        if let Some(route) = &self.route {
            put("device", Some(route.device.clone()));
            put("path_mtu", route.mtu.map(|mtu| mtu.to_string()));
            put(context::RATE_MBPS, route.link_mbps.map(|mbps| mbps.to_string()));
        }
        context
    }
}

impl Measure for Peers {
    fn info(&self) -> MeasureInfo {
        MeasureInfo {
            id: PEER.to_owned(),
            exercises: self.exercises.clone(),
            needs: ["iperf3", "setpriv", "an iperf3 server"]
                .map(str::to_owned)
                .to_vec(),
            seconds_per_round: 2 * (LEFT_OUT_S + MEASURED_S + 1),
        }
    }

    /// One short test shows that the server answers, and by which way it is reached.
    fn prepare(&mut self, deadline: Deadline) -> Result<(), MeasureError> {
        let peer = self.of_pair(0)?.clone();
        let report = self.ask(&peer, Way::Out, 1, deadline);
        match report {
            Ok(report) => {
                self.route = match &report.remote {
                    Some(remote) => Some(Route::to(&self.host, remote, deadline)?),
                    None => None,
                };
                Ok(())
            }
            // It is there, and may be free when its turn comes.
            Err(MeasureError::Report(ReportError::Busy)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn round(&mut self, arm: Arm, pair: u32, deadline: Deadline) -> Result<Vec<Sample>, MeasureError> {
        let peer = self.of_pair(pair)?;
        let mut samples = Vec::new();
        for (way, metric) in [(Way::Out, "throughput-out"), (Way::In, "throughput-in")] {
            let before = self.cpu();
            let report = self.test(peer, way, deadline)?;
            let busy = self
                .cpu()
                .zip(before)
                .and_then(|(late, early)| late.since(&early));
            let context = self.context(peer, &report, busy.map(|busy| busy.busiest));
            let sample = |metric: &str, unit: &str, better, value| Sample {
                measure: PEER.to_owned(),
                metric: metric.to_owned(),
                unit: unit.to_owned(),
                better,
                arm,
                pair,
                value,
                context: context.clone(),
            };
            samples.push(sample(metric, "Mb/s", Better::Higher, report.mbps));
            // Only a sender knows the round trips of its streams.
            if let (Way::Out, Some(rtt)) = (way, report.mean_rtt_ms.filter(|rtt| *rtt > 0.0)) {
                samples.push(sample(RTT_UNDER_LOAD, "ms", Better::Lower, rtt));
            }
        }
        Ok(samples)
    }

    fn cleanup(&mut self) -> Result<(), MeasureError> {
        self.route = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    const BUSY: &str =
        r#"{"start":{},"end":{},"error":"error - the server is busy running a test. try again later"}"#;

    /// A host whose iperf3 says busy for the first `busy` tests, and then what a real one said.
    fn host(busy: u32) -> (tempfile::TempDir, Host) {
        let dir = tempfile::tempdir().unwrap();
        let here = dir.path();
        std::fs::write(here.join("busy.json"), BUSY).unwrap();
        std::fs::write(
            here.join("ok.json"),
            include_str!("../fixtures/iperf3-3.18-ok.json"),
        )
        .unwrap();
        let here = here.display();
        let scripts = [
            ("setpriv", "shift 2\nexec \"$@\"\n".to_owned()),
            (
                "iperf3",
                format!(
                    "echo \"$*\" >> {here}/log\nif [ $(wc -l < {here}/log) -le {busy} ]; then cat {here}/busy.json; exit 1; fi\n\
                     cat {here}/ok.json\n"
                ),
            ),
            (
                "ip",
                "echo '[{\"dst\":\"198.18.0.6\",\"dev\":\"lo\",\"metrics\":[{\"mtu\":9000}]}]'\n".to_owned(),
            ),
        ];
        for (name, body) in scripts {
            let path = dir.path().join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{body}")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let path = format!("{}:/usr/bin:/bin", dir.path().display());
        let host = Host::at(Path::new("/"), Some(Path::new(&path)));
        (dir, host)
    }

    fn peers(host: &Host) -> Peers {
        let peers = ["192.0.2.1", "[2001:db8::1]:5202"].map(|text| text.parse().unwrap());
        let mut peers = Peers::new(host, peers.to_vec(), vec![Group::NicCoalesce]);
        peers.pause = Duration::from_millis(1);
        peers
    }

    fn minute() -> Deadline {
        Deadline::after(Duration::from_secs(60))
    }

    #[test]
    fn a_round_goes_both_ways_and_servers_take_turns_by_pairs() {
        let (dir, host) = host(0);
        let mut peers = peers(&host);
        peers.prepare(minute()).unwrap();
        for (arm, pair) in [(Arm::AsFound, 0), (Arm::Ours, 0), (Arm::Ours, 1)] {
            let samples = peers.round(arm, pair, minute()).unwrap();
            let metrics: Vec<&str> = samples.iter().map(|sample| sample.metric.as_str()).collect();
            assert_eq!(metrics, ["throughput-out", RTT_UNDER_LOAD, "throughput-in"]);
            assert_eq!(samples[0].context["path_mtu"], "9000");
            assert_eq!(samples[0].context[context::PEER_BUSY], "0.17");
        }
        let log = std::fs::read_to_string(dir.path().join("log")).unwrap();
        let servers: Vec<bool> = log
            .lines()
            .map(|line| line.contains("2001:db8::1 --port 5202"))
            .collect();
        assert_eq!(servers, [false, false, false, false, false, true, true]);
        let reversed: Vec<bool> = log.lines().map(|line| line.contains("--reverse")).collect();
        assert_eq!(reversed, [false, false, true, false, true, false, true]);
    }

    #[test]
    fn a_busy_server_is_asked_again_and_then_there_is_no_number() {
        let (_dir, host) = host(3);
        let mut patient = peers(&host);
        assert_eq!(patient.round(Arm::Ours, 0, minute()).unwrap().len(), 3);
        let (_dir, host) = self::host(99);
        let mut peers = peers(&host);
        peers.prepare(minute()).unwrap();
        let error = peers.round(Arm::Ours, 0, minute()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the iperf3 server 192.0.2.1:5201 was busy 4 times"
        );
        assert!(!error.may_pass());
    }
}
