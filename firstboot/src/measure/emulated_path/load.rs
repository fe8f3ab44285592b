//! What else the machine did during a stream: CPU time, and packets dropped between the virtual links.

use super::namespace::read;
use crate::host::Host;
use crate::measure::MeasureError;
use crate::measure::cpu::{Busy, CpuTimes};

/// Counters at one point in time.
pub(super) struct Load {
    cpu: CpuTimes,
    softnet_drops: u64,
}

/// What happened between two points.
pub(super) struct Seen {
    /// `None` when the counters say nothing, for instance after a CPU was taken offline.
    pub(super) busy: Option<Busy>,
    /// Packets that did not fit into a CPU's backlog (`net.core.netdev_max_backlog`), of the whole host.
    pub(super) softnet_drops: u64,
}

impl Load {
    /// Reads the counters.
    pub(super) fn read(host: &Host) -> Result<Self, MeasureError> {
        Ok(Self {
            cpu: parsed(
                host,
                "/proc/stat",
                "a line that begins with \"cpu\"",
                CpuTimes::parse,
            )?,
            softnet_drops: parsed(
                host,
                "/proc/net/softnet_stat",
                "hexadecimal columns, one line for each CPU",
                parse_softnet,
            )?,
        })
    }

    /// What happened since `earlier`.
    pub(super) fn since(&self, earlier: &Self) -> Seen {
        Seen {
            busy: self.cpu.since(&earlier.cpu),
            softnet_drops: self.softnet_drops.saturating_sub(earlier.softnet_drops),
        }
    }
}

fn parsed<T>(
    host: &Host,
    path: &str,
    expected: &'static str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<T, MeasureError> {
    let path = host.path(path);
    parse(&read(&path)?).ok_or(MeasureError::Unexpected { path, expected })
}

/// The second column, summed over all CPUs.
fn parse_softnet(text: &str) -> Option<u64> {
    text.lines().try_fold(0, |sum: u64, line| {
        let column = line.split_ascii_whitespace().nth(1)?;
        sum.checked_add(u64::from_str_radix(column, 16).ok()?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_of_all_cpus_are_added_up() {
        let text = "0001f2a3 0000000a 00000001 0 0 0 0 0 0 0 0 0 0\n0000beef 00000010 00000000 0 0 0 0 0 0 0 0 1 0\n";
        assert_eq!(parse_softnet(text), Some(26));
        assert_eq!(parse_softnet("0001f2a3"), None);
        assert_eq!(parse_softnet("0001f2a3 xyz"), None);
    }
}
