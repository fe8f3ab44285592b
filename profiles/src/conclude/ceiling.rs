//! The most that a card can reach, by its driver or its name: it chooses among ports whose link is not known, and says
//! which port is management. The speed of a link is never taken from it.

use crate::facts::Nic;

/// Drivers of cards that reach 1 Gb/s (a few 2.5 Gb/s) at most.
const GIGABIT: &[&str] = &[
    "tg3",
    "igb",
    "igbvf",
    "igc",
    "e100",
    "e1000",
    "e1000e",
    "r8169",
    "r8125",
    "8139cp",
    "8139too",
    "bnx2",
    "forcedeth",
    "sky2",
    "skge",
    "jme",
    "macb",
    "bcmgenet",
    "stmmac",
    "dwmac",
    "genet",
    "via-velocity",
    "alx",
    "atl1c",
    "atl1e",
];

/// Drivers of cards that reach 10 Gb/s at most.
const TEN_GIGABIT: &[&str] = &[
    "ixgbe",
    "ixgbevf",
    "bnx2x",
    "atlantic",
    "qlcnic",
    "netxen_nic",
    "myri10ge",
    "cxgb3",
];

/// The most that the card of a port can reach, in Mb/s; `None` where it may be more than 10 Gb/s or is not known.
pub(super) fn mbps(nic: &Nic) -> Option<u32> {
    let driver = nic.driver.as_deref().unwrap_or_default();
    let model = nic.model.as_deref().unwrap_or_default();
    if GIGABIT.contains(&driver) || is_gigabit_model(model) {
        Some(1_000)
    } else {
        TEN_GIGABIT.contains(&driver).then_some(10_000)
    }
}

/// `Gigabit` without a number before it, Intel's I2xx and I35x, Broadcom's BCM57xx with four digits.
fn is_gigabit_model(model: &str) -> bool {
    let mut before = "";
    for word in model.split([' ', ',', '(', ')']).filter(|word| !word.is_empty()) {
        let counted = before.starts_with(|c: char| c.is_ascii_digit());
        if word.eq_ignore_ascii_case("gigabit") && !counted && !before.eq_ignore_ascii_case("multi") {
            return true;
        }
        if is_intel_gigabit(word) || is_broadcom_gigabit(word) {
            return true;
        }
        before = word;
    }
    false
}

fn is_intel_gigabit(word: &str) -> bool {
    let number = word.split('-').next().unwrap_or_default();
    let digits = |rest: &str| rest.len() == 3 && rest.chars().all(|c| c.is_ascii_digit());
    let family = number.strip_prefix('I').filter(|rest| digits(rest));
    family.is_some_and(|rest| rest.starts_with('2') || rest.starts_with("35"))
}

fn is_broadcom_gigabit(word: &str) -> bool {
    let digits: String = word
        .strip_prefix("BCM57")
        .unwrap_or_default()
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    digits.len() == 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_card_tells_gigabit_from_more() {
        for model in [
            "Broadcom NetXtreme BCM5720 Gigabit Ethernet PCIe",
            "NetXtreme II BCM5716",
            "Ethernet Connection (3) I219-LM",
            "Intel I350 Gigabit Network Connection",
        ] {
            assert!(is_gigabit_model(model), "{model}");
        }
        for model in [
            "Broadcom Corporation NetXtreme II BCM57810 10 Gigabit Ethernet (rev 10)",
            "Intel Ethernet X710 for 10 Gigabit SFP+",
            "82599ES 10-Gigabit SFI/SFP+",
            "BCM57414 NetXtreme-E 10Gb/25Gb RDMA Ethernet",
            "Mellanox MT2910 Family [ConnectX-7]",
            "Marvell Multi Gigabit",
        ] {
            assert!(!is_gigabit_model(model), "{model}");
        }
    }
}
