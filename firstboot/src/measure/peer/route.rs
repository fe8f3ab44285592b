//! The way to a peer: device, path MTU and the speed of the link.

use crate::host::Host;
use crate::measure::{Deadline, MeasureError};
use serde::Deserialize;
use std::time::Duration;

/// The way that packets to a peer take out of this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) device: String,
    /// Path MTU, as far as the kernel knows one for this destination, byte.
    pub(super) mtu: Option<u32>,
    /// Speed of the link, Mb/s.
    pub(super) link_mbps: Option<u32>,
}

#[derive(Deserialize)]
struct Raw {
    dev: String,
    #[serde(default)]
    metrics: Vec<RawMetrics>,
}

#[derive(Deserialize)]
struct RawMetrics {
    mtu: Option<u32>,
}

impl Route {
    /// Asks the kernel for the way to `address`.
    pub(super) fn to(host: &Host, address: &str, deadline: Deadline) -> Result<Self, MeasureError> {
        let limit = deadline.limit(Duration::from_secs(10))?;
        let text = host.run("ip", &["-j", "route", "get", address], limit)?;
        let (device, mtu) = parse(&text).ok_or_else(|| MeasureError::NoRoute {
            address: address.to_owned(),
            found: text.chars().take(120).collect(),
        })?;
        // A virtual link has no speed, and one that is down has none to tell.
        let speed = std::fs::read_to_string(host.path(&format!("/sys/class/net/{device}/speed")));
        let link_mbps = speed.ok().and_then(|text| text.trim().parse().ok());
        Ok(Self {
            link_mbps: link_mbps.filter(|mbps| (1..=800_000).contains(mbps)),
            device,
            mtu,
        })
    }
}

fn parse(text: &str) -> Option<(String, Option<u32>)> {
    let routes: Vec<Raw> = serde_json::from_str(text).ok()?;
    let route = routes.into_iter().next()?;
    // It becomes part of a path.
    let is_name = !route.dev.is_empty() && !route.dev.contains('/') && !route.dev.starts_with('.');
    let mtu = route.metrics.iter().find_map(|metrics| metrics.mtu);
    is_name.then_some((route.dev, mtu))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_and_path_mtu_are_read() {
        let text = r#"[{"dst":"192.0.2.1","gateway":"10.0.0.1","dev":"eth0","flags":[],"metrics":[{"mtu":1400}],"cache":[]}]"#;
        assert_eq!(parse(text), Some(("eth0".to_owned(), Some(1400))));
        assert_eq!(parse(r#"[{"dev":"eth0"}]"#), Some(("eth0".to_owned(), None)));
        for bad in ["", "[]", "{}", r#"[{"dev":"../x"}]"#, r#"[{"dev":""}]"#] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
