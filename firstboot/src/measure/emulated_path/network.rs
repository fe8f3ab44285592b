//! The path without its shape: three namespaces, two virtual links, a router in the middle.
//!
//! Nothing of it is seen by the rest of the host: the links are made inside the namespaces, so no udev rule and no
//! network manager meets them, and the iperf3 server listens in a namespace that no real link leads to.

use super::leftovers::{self, Lock, remove_ours};
use super::names::{
    AT_RECEIVER, AT_SENDER, RECEIVER, RECEIVER_NET, ROUTER, ROUTER_AT_RECEIVER, ROUTER_AT_SENDER,
    ROUTER_NET_AT_RECEIVER, ROUTER_NET_AT_SENDER, SENDER, SENDER_NET, TO_RECEIVER, TO_SENDER,
};
use super::namespace::{inside, write};
use crate::host::Host;
use crate::measure::{Deadline, MeasureError};
use std::path::Path;
use std::time::Duration;

/// `ip` answers within this time, also in software emulation.
const STEP: Duration = Duration::from_secs(10);

/// Arguments of `ip` that build the path, in order.
const BUILD: [&[&str]; 18] = [
    &["netns", "add", SENDER],
    &["netns", "add", ROUTER],
    &["netns", "add", RECEIVER],
    &[
        "-n", ROUTER, "link", "add", TO_SENDER, "type", "veth", "peer", "name", AT_SENDER, "netns", SENDER,
    ],
    &[
        "-n",
        ROUTER,
        "link",
        "add",
        TO_RECEIVER,
        "type",
        "veth",
        "peer",
        "name",
        AT_RECEIVER,
        "netns",
        RECEIVER,
    ],
    &["-n", SENDER, "addr", "add", SENDER_NET, "dev", AT_SENDER],
    &[
        "-n",
        ROUTER,
        "addr",
        "add",
        ROUTER_NET_AT_SENDER,
        "dev",
        TO_SENDER,
    ],
    &[
        "-n",
        ROUTER,
        "addr",
        "add",
        ROUTER_NET_AT_RECEIVER,
        "dev",
        TO_RECEIVER,
    ],
    &["-n", RECEIVER, "addr", "add", RECEIVER_NET, "dev", AT_RECEIVER],
    &["-n", SENDER, "link", "set", "dev", AT_SENDER, "up"],
    &["-n", ROUTER, "link", "set", "dev", TO_SENDER, "up"],
    &["-n", ROUTER, "link", "set", "dev", TO_RECEIVER, "up"],
    &["-n", RECEIVER, "link", "set", "dev", AT_RECEIVER, "up"],
    &["-n", SENDER, "link", "set", "dev", "lo", "up"],
    &["-n", RECEIVER, "link", "set", "dev", "lo", "up"],
    &["-n", ROUTER, "link", "set", "dev", "lo", "up"],
    &["-n", SENDER, "route", "add", "default", "via", ROUTER_AT_SENDER],
    &[
        "-n",
        RECEIVER,
        "route",
        "add",
        "default",
        "via",
        ROUTER_AT_RECEIVER,
    ],
];

/// The path while it exists. Dropping it removes it.
pub(super) struct Network {
    host: Host,
    _lock: Lock,
    removed: bool,
}

impl Network {
    /// Builds the path, after removing what a killed agent may have left.
    pub(super) fn build(host: &Host, deadline: Deadline) -> Result<Self, MeasureError> {
        let lock = leftovers::lock(host)?;
        remove_ours(host)?;
        let network = Self {
            host: host.clone(),
            _lock: lock,
            removed: false,
        };
        for args in BUILD {
            host.run("ip", args, deadline.limit(STEP)?)?;
        }
        inside(host, ROUTER, || {
            write(Path::new("/proc/sys/net/ipv4/ip_forward"), "1")
        })?;
        Ok(network)
    }

    /// Lets streams start with a window of `packets`, in every arm alike.
    ///
    /// What is measured is the steady state. Slow start would decide it by luck: HyStart takes a pause of 16 ms of the
    /// machine for a full path and ends slow start there, and on a long path it takes minutes to grow from that.
    pub(super) fn start_with_window(&self, packets: f64, deadline: Deadline) -> Result<(), MeasureError> {
        // The kernel's own start is 10 packets; less would be no help.
        let packets = format!("{:.0}", packets.max(10.0));
        let args = [
            "-n",
            SENDER,
            "route",
            "replace",
            "default",
            "via",
            ROUTER_AT_SENDER,
            "initcwnd",
            &packets,
        ];
        self.host.run("ip", &args, deadline.limit(STEP)?)?;
        Ok(())
    }

    /// Forgets what earlier streams taught the kernel about the path (`net.ipv4.tcp_no_metrics_save`): a round
    /// must not start with the other arm's slow-start threshold.
    pub(super) fn forget_metrics(&self, deadline: Deadline) -> Result<(), MeasureError> {
        for namespace in [SENDER, RECEIVER] {
            let args = ["-n", namespace, "tcp_metrics", "flush", "all"];
            self.host.run("ip", &args, deadline.limit(STEP)?)?;
        }
        Ok(())
    }

    /// Removes the path.
    pub(super) fn remove(mut self) -> Result<(), MeasureError> {
        self.removed = true;
        remove_ours(&self.host).map(|_| ())
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        if self.removed {
            return;
        }
        if let Err(error) = remove_ours(&self.host) {
            log::warn!("the emulated path is not removed: {error}");
        }
    }
}
