//! The medium of a disk that has no rotational flag, by the model number: the makers' families are of one medium each.
//!
//! Only a likely answer: a model number is a name, and the flag of the kernel would be a fact.

use super::classes::StorageClass;
use crate::facts::Block;

/// Beginnings of model numbers of spinning disks, upper case; `#` stands for a digit.
const SPINNING: &[&str] = &[
    // Seagate, in all capacities: ST8000NM0055.
    "ST#", // Western Digital, HGST and Hitachi.
    "WD#", "WDC WD#", "WUH#", "WUS7", "HUS7", "HUS15", "HUH7", "HUA7", "HUC1", "HDS7", "HDT7",
    // Toshiba.
    "MG0#", "MG1#", "AL1#S", "DT01", "MBF2", "MK#",
];

/// Beginnings of model numbers of solid-state disks, upper case.
const SOLID: &[&str] = &[
    // Intel and Solidigm.
    "SSDSC",
    "SSDPE",
    "SSDPF",
    // Samsung.
    "MZ7",
    "MZIL",
    "MZ1L",
    "MZQL",
    "MZWL",
    "MZTL",
    // Micron and Crucial.
    "MTFD",
    "MICRON_5",
    "MICRON_M5",
    "CT#",
    // HGST solid-state drives, whose names are near to those of its disks.
    "HUSMM",
    "HUSMR",
    "HUSSL",
    "HUSML",
    // Toshiba and Kioxia.
    "THNS",
    "PX0#S",
    "KPM",
    "KRM",
    "KXG",
    "KCM",
    // SanDisk, SK hynix.
    "SDLF",
    "SDFA",
    "HFS#",
];

/// Makers whose names may stand before the number.
const MAKERS: &[&str] = &[
    "INTEL", "SAMSUNG", "SEAGATE", "TOSHIBA", "HGST", "ATA", "KIOXIA", "DELL", "HP",
];

/// The class that the model number makes likely.
pub(super) fn by_model(block: &Block) -> Option<StorageClass> {
    let model = block.model.as_deref()?.trim().to_ascii_uppercase();
    let words: Vec<&str> = model.split([' ', '_']).collect();
    let number = match words.split_first() {
        Some((first, rest)) if MAKERS.contains(first) && !rest.is_empty() => &model[first.len() + 1..],
        _ => model.as_str(),
    };
    if words.iter().any(|word| *word == "SSD" || *word == "NVME") || begins(number, SOLID) {
        return Some(StorageClass::Ssd);
    }
    begins(number, SPINNING).then_some(StorageClass::Hdd)
}

fn begins(number: &str, families: &[&str]) -> bool {
    families.iter().any(|family| {
        let fits = |(sign, wanted): (char, char)| match wanted {
            '#' => sign.is_ascii_digit(),
            wanted => sign == wanted,
        };
        number.len() >= family.len() && number.chars().zip(family.chars()).all(fits)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(model: &str) -> Option<StorageClass> {
        let block = Block {
            model: Some(model.to_owned()),
            ..Block::default()
        };
        by_model(&block)
    }

    #[test]
    fn the_families_of_the_makers_are_told_apart() {
        for model in [
            "ST16000NM001G",
            "HUS728T8TAL",
            "WDC WD4002FYYZ",
            "TOSHIBA MG08ACA16TE",
            "SEAGATE ST2000NM",
        ] {
            assert_eq!(class(model), Some(StorageClass::Hdd), "{model}");
        }
        for model in [
            "HUSMM3280ASS20",
            "INTEL_SSDSC2BB240G7",
            "Micron_5200_MTFD",
            "SSD 870 QVO 8TB",
            "MZ7LH960HAJR-00005",
            "PX02SSF020",
        ] {
            assert_eq!(class(model), Some(StorageClass::Ssd), "{model}");
        }
        for model in [
            "PERC_H710",
            "Linux",
            "MR416i-o Gen11",
            "QEMU HARDDISK",
            "STEC",
            "",
            "ATA",
        ] {
            assert_eq!(class(model), None, "{model}");
        }
    }
}
