//! The three outcomes that a published challenge across several sites had, and whether ours come out right.

use super::random::Random;
use super::trial::{Ended, Metric, trial};
use dtnforge_profiles::apart::apart;
use dtnforge_profiles::decide::{Decision, context};
use dtnforge_profiles::group::{EvidenceKind, Group};
use dtnforge_profiles::measure::{Better, PEER};
use dtnforge_profiles::verdict::Outcome;
use std::convert::Infallible;

/// A site of the challenge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Archetype {
    /// 60 to 90 Gb/s, and the storage can: keep.
    StorageCapable,
    /// The network goes from 20 to 90 Gb/s and transfers stay as they were: keep, and name the storage.
    StorageBound,
    /// A 25G link that was full already, and NIC groups that lower it, with a peer to see it: none of them is kept.
    FullLinkWithPeer,
    /// The same without a peer: never committed whole.
    FullLinkWithoutPeer,
}

impl Archetype {
    pub(crate) const ALL: [Self; 4] = [
        Self::StorageCapable,
        Self::StorageBound,
        Self::FullLinkWithPeer,
        Self::FullLinkWithoutPeer,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::StorageCapable => "A: 60 -> 90 Gb/s, storage capable",
            Self::StorageBound => "B: network 20 -> 90, transfers unchanged",
            Self::FullLinkWithPeer => "C: full 25G link, with a peer",
            Self::FullLinkWithoutPeer => "C: full 25G link, without one",
        }
    }
}

/// The groups of the profile in archetype C; the NIC groups do the harm.
const PROFILE: [Group; 4] = [
    Group::TcpBuffers,
    Group::Congestion,
    Group::NicRings,
    Group::NicCoalesce,
];

/// Whether the trial of this site comes out right.
pub(crate) fn is_right(archetype: Archetype, pair_noise: f64, site: u64) -> bool {
    let mut random = Random::new(site.wrapping_add(1 << 40));
    match archetype {
        Archetype::StorageCapable => {
            let metrics = [
                network(60_000.0, 90_000.0 / 60_000.0),
                transfer(58_000.0, 1.4, 200_000.0),
            ];
            trial(&metrics, pair_noise, &mut random).decision.outcome == Outcome::Keep
        }
        Archetype::StorageBound => {
            let metrics = [
                network(20_000.0, 90_000.0 / 20_000.0),
                transfer(8_000.0, 1.0, 8_100.0),
            ];
            let decision = trial(&metrics, pair_noise, &mut random).decision;
            decision.outcome == Outcome::Keep && decision.sentence.contains("storage-bound at 8.1 Gb/s")
        }
        Archetype::FullLinkWithPeer => {
            let committed = commit_with_peer(pair_noise, &mut random);
            !committed.contains(&Group::NicRings) && !committed.contains(&Group::NicCoalesce)
        }
        Archetype::FullLinkWithoutPeer => {
            let committed = commit_without_peer(pair_noise, &mut random);
            committed
                .iter()
                .all(|group| group.evidence() != EvidenceKind::RealNic)
        }
    }
}

fn network(as_found_mbps: f64, effect: f64) -> Metric {
    Metric {
        measure: "emulated-path",
        name: "throughput",
        better: Better::Higher,
        as_found: as_found_mbps,
        effect,
        context: vec![(context::RATE_MBPS, "100000".to_owned())],
    }
}

/// Data from the store to the network.
fn transfer(as_found_mbps: f64, effect: f64, storage_mbps: f64) -> Metric {
    Metric {
        measure: "storage-and-network",
        name: "transfer",
        better: Better::Higher,
        as_found: as_found_mbps,
        effect,
        context: vec![(context::STORAGE_MBPS, storage_mbps.to_string())],
    }
}

/// What the peer of a full 25G link sees with these groups live: each NIC group costs some of it.
fn at_peer(groups: &[Group]) -> Metric {
    let cost = |group: &Group| match group {
        Group::NicRings => 0.85,
        Group::NicCoalesce => 0.90,
        _ => 1.0,
    };
    Metric {
        measure: PEER,
        name: "throughput",
        better: Better::Higher,
        as_found: 23_500.0,
        effect: groups.iter().map(cost).product(),
        context: vec![(context::RATE_MBPS, "25000".to_owned())],
    }
}

/// Proves the whole, and the groups apart when it harms; returns what would be committed.
fn commit_with_peer(pair_noise: f64, random: &mut Random) -> Vec<Group> {
    let mut prove = |groups: &[Group]| -> Result<Option<Decision>, Infallible> {
        let Ended { decision, .. } = trial(&[at_peer(groups)], pair_noise, random);
        Ok(Some(decision))
    };
    let Ok(Some(whole)) = prove(&PROFILE) else {
        return Vec::new();
    };
    match whole.outcome {
        Outcome::Keep => PROFILE.to_vec(),
        Outcome::Inconclusive => Vec::new(),
        Outcome::Revert => match apart(&PROFILE, &mut prove) {
            Ok(found) => found.kept,
            Err(never) => match never {},
        },
    }
}

/// Local evidence alone: it speaks for the TCP groups, and the NIC groups are held.
fn commit_without_peer(pair_noise: f64, random: &mut Random) -> Vec<Group> {
    let path = Metric {
        measure: "emulated-path",
        ..at_peer(&[Group::TcpBuffers, Group::Congestion])
    };
    let proved = trial(&[path], pair_noise, random).decision.outcome == Outcome::Keep;
    PROFILE
        .into_iter()
        .filter(|group| proved && group.evidence() == EvidenceKind::EmulatedPath)
        .filter(|group| !group.held_when_unproved())
        .collect()
}
