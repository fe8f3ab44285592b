//! The kernel that files are judged for.

use crate::facts::Facts;

/// A kernel, as far as its release says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::lint) struct Kernel {
    /// The release, for people.
    pub(in crate::lint) name: String,
    /// Major and minor number.
    pub(in crate::lint) version: (u32, u32),
    /// Whether it is one of Enterprise Linux, where a low number says little.
    pub(in crate::lint) enterprise: bool,
    /// Timer frequency, Hz, where it is known.
    pub(in crate::lint) hz: Option<u32>,
}

impl Kernel {
    /// The kernel of Debian 13, which everything is judged for when there is no host.
    pub(in crate::lint) fn of_debian_13() -> Self {
        Self {
            name: "6.12 (Debian 13)".to_owned(),
            version: (6, 12),
            enterprise: false,
            hz: Some(250),
        }
    }

    /// The kernel of a host; `None` when its facts have no release, or none that begins with two numbers.
    pub(in crate::lint) fn of(facts: &Facts) -> Option<Self> {
        let release = facts.host.kernel.as_deref()?.trim();
        let mut numbers = release.split(['.', '-', '+']).map(str::parse);
        let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next()) else {
            return None;
        };
        let enterprise = [".el8", ".el9", ".el10"]
            .iter()
            .any(|mark| release.contains(mark));
        let debian = release.contains("deb") || release.ends_with("-amd64") || release.ends_with("-arm64");
        let hz = match (enterprise, debian) {
            (true, _) => Some(1000),
            (_, true) => Some(250),
            _ => None,
        };
        Some(Self {
            name: release.to_owned(),
            version: (major, minor),
            enterprise,
            hz,
        })
    }

    /// Whether it has what mainline has since `version`; backports of Enterprise Linux are given the benefit.
    pub(in crate::lint) fn has(&self, version: (u32, u32)) -> bool {
        self.enterprise || self.version >= version
    }

    /// Whether the tables may be older than this kernel.
    pub(in crate::lint) fn is_newer_than_tables(&self) -> bool {
        self.version > (6, 12)
    }

    /// The smallest `net.core.netdev_budget_usecs`: two ticks of the timer, µs.
    pub(in crate::lint) fn smallest_budget_usecs(&self) -> i64 {
        // The fastest timer that a kernel can be built with, where the frequency is not known.
        2_000_000 / i64::from(self.hz.unwrap_or(1000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_gives_version_and_timer_where_it_can() {
        for (release, version, enterprise, hz) in [
            ("6.12.41+deb13-amd64", (6, 12), false, Some(250)),
            ("5.14.0-503.el9.x86_64", (5, 14), true, Some(1000)),
            ("6.8.0-45-generic", (6, 8), false, None),
        ] {
            let facts = Facts::read(&format!("[host]\nkernel = '{release}'\n")).unwrap();
            let kernel = Kernel::of(&facts).unwrap();
            assert_eq!(
                (kernel.version, kernel.enterprise, kernel.hz),
                (version, enterprise, hz)
            );
        }
        let odd = Facts::read("[host]\nkernel = 'unknown'\n").unwrap();
        assert_eq!(Kernel::of(&odd), None);
    }
}
