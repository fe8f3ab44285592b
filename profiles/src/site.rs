//! What a site decides: the role of a node, its paths and its policy. Set in an image spec, a seed or
//! `/etc/dtnforge/site.toml`; what is nearer to the node wins, key by key.

mod services;

pub use services::Services;

use crate::conclude::StorageClass;
use crate::peer::Peer;
use serde::{Deserialize, Serialize};

/// Form of `site.toml`.
pub const SITE_SCHEMA: u32 = 1;

/// The role of a node. It cannot be detected; without one there is no profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Bulk data transfer.
    Dtn,
    /// Measurement point.
    Perfsonar,
    /// XRootD in front of a network file system.
    XrootdFrontend,
    /// Request-response over a long path.
    RemoteProcessing,
}

impl Role {
    /// All roles.
    pub const ALL: [Role; 4] = [
        Role::Dtn,
        Role::Perfsonar,
        Role::XrootdFrontend,
        Role::RemoteProcessing,
    ];

    /// The name used in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Role::Dtn => "dtn",
            Role::Perfsonar => "perfsonar",
            Role::XrootdFrontend => "xrootd-frontend",
            Role::RemoteProcessing => "remote-processing",
        }
    }

    /// The role with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// `site.toml` as written: nothing is required.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SiteFile {
    /// [`SITE_SCHEMA`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<u32>,
    /// The role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// Use this profile, whatever matching says; it still has to be proved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Interfaces that carry the data, at most 16 names. Default: the fastest ports with link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_nics: Option<Vec<String>>,
    /// Whether the host is a guest, where it does not say so itself. Default: concluded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub virtualised: Option<YesNo>,
    /// Speed of the data link in Mb/s where the kernel knows none; 1 to 800000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_mbps: Option<u32>,
    /// Round-trip time that buffers are sized for, in ms; 1 to 1000. Default 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_ms: Option<u32>,
    /// Parallel streams that share the link; 1 to 256. Default: the profile's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streams: Option<u32>,
    /// `cubic`, `bbr` or `htcp`. Default: the profile's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion_control: Option<String>,
    /// What holds the data, where no mount says it yet: `nvme`, `ssd`, `hdd`, `nfs`, `pnfs`, `cephfs`, `lustre` or
    /// `beegfs`. Default: concluded from mounts, then from disks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_class: Option<StorageClass>,
    /// MTU of the data ports, byte; 1280 to 65535. Only where the whole layer 2 network carries it. Default: as found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Pause frames of the data ports, both directions: decide with the owner of the switch. Default: as found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause: Option<Switch>,
    /// Rate that no flow of a data port exceeds, Mb/s; 1 to 34000, which is what `fq` can hold. All streams together are
    /// best 80 to 90 % of the link. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing_mbps: Option<u32>,
    /// What to do with groups that nothing can speak for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unproved: Option<Unproved>,
    /// Seconds that local measurements may take on first boot; 30 to 900. Default 90.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_s: Option<u32>,
    /// Worst throughput ratio (ours / as found) that is no harm; 0.5 to 1. Default 0.95.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throughput_limit: Option<f64>,
    /// iperf3 servers that may be measured with: `HOST`, `HOST:PORT` or `[IPV6]:PORT`, at most 8. Nothing else ever
    /// loads a production NIC. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peers: Option<Vec<String>>,
    /// Whether a node that fell back to the stock entry tries the tuned one again by itself. Default `cut-short`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_fallback: Option<RetryAfterFallback>,
    /// Whether a node whose hardware changed since its commit tries anew by itself. Default false: it is stock until
    /// `retry`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_retrial: Option<bool>,
    /// Directory for `dtnforge.prom`, which node_exporter's textfile collector reads. Default
    /// `/var/lib/prometheus/node-exporter`. Where there is no such directory, nothing is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics_dir: Option<String>,
    /// Whether the firmware is given a boot entry for the boot loader and one for stock. Default `add`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firmware_entries: Option<FirmwareEntries>,
    /// Services of the site that start after the verdict, so that no transfer runs through a trial; at most 32 names such
    /// as `xrootd.service`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub services_after_verdict: Option<Vec<String>>,
    /// Seconds that those services wait at most; then the agent is stopped, a live trial is taken back, and they start.
    /// 60 to 3000. Default 1800.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub services_deadline_s: Option<u32>,
}

/// The highest rate of a flow that `fq` can hold, Mb/s: its field is 32 bit of byte/s, 34.36 Gb/s.
pub const MAX_PACING: u32 = 34_000;

/// Where node_exporter of Debian looks for text files.
pub const METRICS_DIR: &str = "/var/lib/prometheus/node-exporter";

/// Yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum YesNo {
    /// Yes.
    Yes,
    /// No.
    No,
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Switch {
    /// On.
    On,
    /// Off.
    Off,
}

impl Switch {
    /// The word for it, as ethtool has it.
    pub fn word(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
        }
    }
}

/// What is done with the firmware's own list of boot entries. No part of [`Site`]: it decides nothing about tuning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FirmwareEntries {
    /// Missing ones are added, right behind the entry that started the boot: the boot loader, then the stock entry. A
    /// boot loader or an entry that cannot be loaded then ends in stock.
    #[default]
    Add,
    /// Nothing is written.
    Leave,
}

/// Whether a node in fallback tries the tuned entry again without being told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RetryAfterFallback {
    /// Once, after boots that were cut short: a site-wide power cut is not the fault of tuning.
    #[default]
    CutShort,
    /// Once, whatever the cause.
    Once,
    /// Never: it waits for `dtn-firstboot retry`.
    Never,
}

/// Policy for groups without matching evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Unproved {
    /// Hold what could flap a link or lose packets; apply what is harmless by nature. The default.
    Hold,
    /// Apply them all.
    Apply,
}

/// A value of `site.toml` that is out of its range.
#[derive(Debug, thiserror::Error)]
#[error("key `{key}`: {found} is out of range, expected {expected}")]
pub struct OutOfRange {
    /// Key in the file.
    pub key: &'static str,
    /// What was found.
    pub found: String,
    /// The range.
    pub expected: &'static str,
}

/// What the program uses: all checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Site {
    /// The role; `None` keeps a node stock ("role not set").
    pub role: Option<Role>,
    /// A profile chosen by the site.
    pub profile: Option<String>,
    /// Stated data ports; empty where the site says nothing.
    pub data_nics: Vec<String>,
    /// Whether the host is a guest, when the site says so.
    pub virtualised: Option<YesNo>,
    /// Stated link speed, Mb/s.
    pub link_mbps: Option<u32>,
    /// Design RTT, ms.
    pub rtt_ms: u32,
    /// Streams, when the site says so.
    pub streams: Option<u32>,
    /// Congestion control, when the site says so.
    pub congestion_control: Option<String>,
    /// What holds the data, when the site says so.
    pub storage_class: Option<StorageClass>,
    /// MTU of the data ports, when the site says so, byte.
    pub mtu: Option<u32>,
    /// Pause frames of the data ports, when the site says so.
    pub pause: Option<Switch>,
    /// Rate of a flow of a data port, when the site limits it, Mb/s.
    pub pacing_mbps: Option<u32>,
    /// Policy for groups without evidence.
    pub unproved: Unproved,
    /// Budget of local measurements, s.
    pub budget_s: u32,
    /// Worst throughput ratio that is no harm.
    pub throughput_limit: f64,
    /// iperf3 servers that may be measured with.
    pub peers: Vec<Peer>,
    /// Whether a node in fallback tries again by itself.
    pub retry_after_fallback: RetryAfterFallback,
    /// Whether a node with other hardware than that of its commit tries anew by itself.
    pub auto_retrial: bool,
}

impl SiteFile {
    /// This file with the keys of `nearer` laid over it.
    #[must_use]
    pub fn overlaid_by(self, nearer: SiteFile) -> SiteFile {
        SiteFile {
            schema: nearer.schema.or(self.schema),
            role: nearer.role.or(self.role),
            profile: nearer.profile.or(self.profile),
            data_nics: nearer.data_nics.or(self.data_nics),
            virtualised: nearer.virtualised.or(self.virtualised),
            link_mbps: nearer.link_mbps.or(self.link_mbps),
            rtt_ms: nearer.rtt_ms.or(self.rtt_ms),
            streams: nearer.streams.or(self.streams),
            congestion_control: nearer.congestion_control.or(self.congestion_control),
            storage_class: nearer.storage_class.or(self.storage_class),
            mtu: nearer.mtu.or(self.mtu),
            pause: nearer.pause.or(self.pause),
            pacing_mbps: nearer.pacing_mbps.or(self.pacing_mbps),
            unproved: nearer.unproved.or(self.unproved),
            budget_s: nearer.budget_s.or(self.budget_s),
            throughput_limit: nearer.throughput_limit.or(self.throughput_limit),
            peers: nearer.peers.or(self.peers),
            retry_after_fallback: nearer.retry_after_fallback.or(self.retry_after_fallback),
            auto_retrial: nearer.auto_retrial.or(self.auto_retrial),
            metrics_dir: nearer.metrics_dir.or(self.metrics_dir),
            firmware_entries: nearer.firmware_entries.or(self.firmware_entries),
            services_after_verdict: nearer.services_after_verdict.or(self.services_after_verdict),
            services_deadline_s: nearer.services_deadline_s.or(self.services_deadline_s),
        }
    }

    /// Where metrics are written. No part of [`Site`]: it decides nothing about tuning, and a commit fits whatever it is.
    ///
    /// # Errors
    /// When it is no absolute path, or climbs.
    pub fn metrics_dir(&self) -> Result<&str, OutOfRange> {
        let dir = self.metrics_dir.as_deref().unwrap_or(METRICS_DIR);
        if dir.starts_with('/') && dir.split('/').all(|part| part != "..") && !dir.contains('\0') {
            return Ok(dir);
        }
        Err(OutOfRange {
            key: "metrics_dir",
            found: format!("{dir:?}"),
            expected: "an absolute path without `..`",
        })
    }

    /// Checks all ranges and fills in the defaults.
    ///
    /// # Errors
    /// The first key that is out of its range.
    pub fn check(self) -> Result<Site, OutOfRange> {
        let bad = |key, found: String, expected| Err(OutOfRange { key, found, expected });
        self.metrics_dir()?;
        self.services()?;
        let schema = self.schema.unwrap_or(SITE_SCHEMA);
        if schema != SITE_SCHEMA {
            return bad("schema", schema.to_string(), "1");
        }
        let names = self.data_nics.iter().flatten();
        if let Some(name) = names.clone().find(|name| !is_interface_name(name)) {
            return bad(
                "data_nics",
                format!("{name:?}"),
                "names of interfaces, 1 to 15 bytes",
            );
        }
        if names.count() > 16 {
            return bad("data_nics", "a longer list".to_owned(), "at most 16 names");
        }
        if let Some(mbps) = self.link_mbps.filter(|mbps| !(1..=800_000).contains(mbps)) {
            return bad("link_mbps", mbps.to_string(), "1 to 800000 Mb/s");
        }
        let rtt_ms = self.rtt_ms.unwrap_or(100);
        if !(1..=1000).contains(&rtt_ms) {
            return bad("rtt_ms", rtt_ms.to_string(), "1 to 1000 ms");
        }
        if let Some(streams) = self.streams.filter(|streams| !(1..=256).contains(streams)) {
            return bad("streams", streams.to_string(), "1 to 256");
        }
        let known = ["cubic", "bbr", "htcp", "reno"];
        if let Some(name) = self
            .congestion_control
            .as_ref()
            .filter(|name| !known.contains(&name.as_str()))
        {
            return bad("congestion_control", name.clone(), "cubic, bbr, htcp or reno");
        }
        if self.storage_class == Some(StorageClass::Unknown) {
            let expected = "a class that is known; leave the key out where it is not";
            return bad("storage_class", StorageClass::Unknown.to_string(), expected);
        }
        if let Some(mtu) = self.mtu.filter(|mtu| !(1280..=65_535).contains(mtu)) {
            return bad("mtu", mtu.to_string(), "1280 to 65535 byte");
        }
        if let Some(mbps) = self.pacing_mbps.filter(|mbps| !(1..=MAX_PACING).contains(mbps)) {
            return bad("pacing_mbps", mbps.to_string(), "1 to 34000 Mb/s");
        }
        let budget_s = self.budget_s.unwrap_or(90);
        if !(30..=900).contains(&budget_s) {
            return bad("budget_s", budget_s.to_string(), "30 to 900 s");
        }
        let throughput_limit = self.throughput_limit.unwrap_or(0.95);
        if !(0.5..=1.0).contains(&throughput_limit) {
            return bad("throughput_limit", throughput_limit.to_string(), "0.5 to 1");
        }
        let peers = self.peers.as_deref().unwrap_or_default();
        if peers.len() > 8 {
            return bad("peers", "a longer list".to_owned(), "at most 8 servers");
        }
        let Ok(peers) = peers
            .iter()
            .map(|text| text.parse())
            .collect::<Result<Vec<Peer>, _>>()
        else {
            let expected = "HOST, HOST:PORT or [IPV6]:PORT";
            return bad("peers", format!("{peers:?}"), expected);
        };
        Ok(Site {
            role: self.role,
            profile: self.profile,
            data_nics: self.data_nics.unwrap_or_default(),
            virtualised: self.virtualised,
            link_mbps: self.link_mbps,
            rtt_ms,
            streams: self.streams,
            congestion_control: self.congestion_control,
            storage_class: self.storage_class,
            mtu: self.mtu,
            pause: self.pause,
            pacing_mbps: self.pacing_mbps,
            unproved: self.unproved.unwrap_or(Unproved::Hold),
            budget_s,
            throughput_limit,
            peers,
            retry_after_fallback: self.retry_after_fallback.unwrap_or_default(),
            auto_retrial: self.auto_retrial.unwrap_or(false),
        })
    }
}

/// A name as the kernel takes it, without what would be odd in a generated line.
fn is_interface_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-@:".contains(c);
    (1..=15).contains(&name.len()) && name.chars().all(plain) && name != "." && name != ".."
}

#[cfg(test)]
mod tests;
