//! What is true for all cards of one kernel driver, as a table (`drivers.toml`).
//!
//! The table lowers or leaves out values of a profile, and never adds one. What a device says of itself goes before it.

mod written;

use crate::knob::Disrupts;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// What is known of a driver.
#[derive(Debug, Clone, PartialEq)]
pub struct Driver {
    /// The kernel's name for it.
    pub name: String,
    /// The cards that it drives, for people.
    pub cards: String,
    /// Its rings.
    pub rings: Rings,
    /// What a change of a ring interrupts; `None` when it is not known.
    pub ring_change: Option<Disrupts>,
    /// Sides with moderation that follows the load (`rx`, `tx`); `None` when it is not known.
    pub adaptive: Option<Vec<String>>,
    /// Large receive offload as found; `None` when it is not known.
    pub lro: Option<Lro>,
    /// Largest MTU, byte.
    pub mtu_most: Option<i64>,
    /// Settings that are better left as they are: key and reason.
    pub leave: BTreeMap<String, String>,
    /// What a reader should know.
    pub note: Option<String>,
    /// Where it was read.
    pub source: String,
}

/// Rings of a driver; a number that is missing is not known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rings {
    /// Receive descriptors after loading.
    pub rx: Option<i64>,
    /// Transmit descriptors after loading.
    pub tx: Option<i64>,
    /// The most receive descriptors.
    pub rx_most: Option<i64>,
    /// The most transmit descriptors.
    pub tx_most: Option<i64>,
    /// The numbers that it takes.
    pub step: Step,
}

/// The numbers that a ring may have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Step {
    /// Each number.
    #[default]
    Any,
    /// Powers of two.
    PowerOfTwo,
    /// Multiples of this number.
    MultipleOf(u32),
}

/// Large receive offload as found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lro {
    /// On.
    On,
    /// Off.
    Off,
    /// The driver has none.
    None,
}

/// A table that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("drivers.toml: {0}")]
pub struct BadTable(pub String);

static TABLE: LazyLock<Result<Vec<Driver>, BadTable>> =
    LazyLock::new(|| written::read(include_str!("../../drivers.toml")));

/// All drivers of the table, in its order.
///
/// # Errors
/// Never in a program whose tests passed: the table is read by them.
pub fn all() -> Result<&'static [Driver], BadTable> {
    TABLE.as_deref().map_err(Clone::clone)
}

/// What is known of a driver; `None` for one that is not in the table.
///
/// # Errors
/// As [`all`].
pub fn find(name: &str) -> Result<Option<&'static Driver>, BadTable> {
    // The module of a ConnectX-3 port is mlx4_en, and some tools name the one of its bus.
    let name = if name == "mlx4_core" { "mlx4_en" } else { name };
    Ok(all()?.iter().find(|driver| driver.name == name))
}

impl Driver {
    /// Why a setting of its cards is not to be touched, or cannot be.
    pub fn objection(&self, key: &str, value: &str) -> Option<String> {
        if let Some(why) = self.leave.get(key) {
            return Some(format!("driver {}: {why}", self.name));
        }
        if key == "feature.lro" && self.lro == Some(Lro::None) {
            return Some(format!("driver {} has no LRO", self.name));
        }
        let side = key.strip_prefix("coalesce.adaptive-").filter(|_| value == "on")?;
        let sides = self.adaptive.as_ref()?;
        let missing = !sides.iter().any(|known| known == side);
        missing.then(|| format!("driver {} has no moderation by load for {side}", self.name))
    }

    /// The most that the table knows for a setting.
    pub fn most(&self, key: &str) -> Option<i64> {
        match key {
            "ring.rx" => self.rings.rx_most,
            "ring.tx" => self.rings.tx_most,
            "mtu" => self.mtu_most,
            _ => None,
        }
    }

    /// The number nearest to `wanted` that a ring can have, and at most `most`.
    pub fn ring(&self, wanted: i64, most: Option<i64>) -> i64 {
        let most = most.unwrap_or(i64::MAX);
        let bounded = wanted.min(most);
        match self.rings.step {
            Step::Any => bounded,
            Step::MultipleOf(step) => {
                let step = i64::from(step.max(1));
                let up = (bounded + step - 1) / step * step;
                if up <= most { up } else { bounded / step * step }
            }
            Step::PowerOfTwo => {
                let bounded = u64::try_from(bounded).unwrap_or(1).max(1);
                1_i64 << bounded.ilog2()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_valid_and_each_driver_stands_once() {
        let all = all().unwrap();
        for (index, driver) in all.iter().enumerate() {
            assert!(
                all[..index].iter().all(|other| other.name != driver.name),
                "{}",
                driver.name
            );
            assert!(!driver.source.is_empty() && !driver.cards.is_empty());
            for (start, most) in [
                (driver.rings.rx, driver.rings.rx_most),
                (driver.rings.tx, driver.rings.tx_most),
            ] {
                if let (Some(start), Some(most)) = (start, most) {
                    assert!(start <= most, "{}", driver.name);
                    assert_eq!(driver.ring(start, Some(most)), start, "{}", driver.name);
                }
            }
        }
        assert_eq!(find("mlx4_core").unwrap().unwrap().name, "mlx4_en");
        assert_eq!(find("unheard-of").unwrap(), None);
    }

    #[test]
    fn a_ring_gets_a_number_that_its_driver_takes() {
        for (driver, wanted, most, expected) in [
            ("mlx5_core", 3000, Some(8192), 2048),
            ("gve", 2048, Some(1500), 1024),
            ("ice", 2000, Some(8160), 2016),
            ("ice", 2048, Some(2040), 2016),
            ("bnxt_en", 2048, Some(2047), 2047),
            ("ixgbe", 2048, None, 2048),
        ] {
            let driver = find(driver).unwrap().unwrap();
            assert_eq!(driver.ring(wanted, most), expected, "{}", driver.name);
        }
    }

    #[test]
    fn a_setting_that_a_driver_lacks_or_should_keep_has_a_reason() {
        for (driver, key, value, expected) in [
            (
                "mlx4_en",
                "ring.rx",
                "2048",
                "driver mlx4_en: a change stops and starts the port",
            ),
            (
                "ena",
                "coalesce.adaptive-tx",
                "on",
                "driver ena has no moderation by load for tx",
            ),
            ("ice", "feature.lro", "off", "driver ice has no LRO"),
        ] {
            let said = find(driver).unwrap().unwrap().objection(key, value).unwrap();
            assert!(said.starts_with(expected), "{said}");
        }
        let ena = find("ena").unwrap().unwrap();
        assert_eq!(ena.objection("coalesce.adaptive-rx", "on"), None);
        assert_eq!(ena.objection("coalesce.adaptive-tx", "off"), None);
    }
}
