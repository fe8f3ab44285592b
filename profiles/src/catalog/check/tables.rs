//! The tables `[match]`, `[buffer]` and `[tuned]`.

use super::text::{mbps, mbps_range, named, number};
use crate::catalog::buffer::{Bound, Buffer};
use crate::catalog::draft::DraftTuned;
use crate::catalog::problem::Collector;
use crate::catalog::profile::{Match, Wanted};
use crate::catalog::template::KnobTemplate;
use crate::catalog::tuned_stock::Include;
use crate::catalog::written::{BufferFile, MatchFile, TunedFile};
use crate::conclude::{SpeedClass, StorageClass};
use toml::Spanned;

pub(super) fn matching(file: &MatchFile, found: &mut Collector<'_>) -> Match {
    let (min_mbps, max_mbps) = mbps_range(&file.min_mbps, &file.max_mbps, found);
    let (classes, stores) = (&SpeedClass::ALL, &StorageClass::ALL);
    Match {
        speed_classes: named(
            &file.speed_classes,
            "speed_classes",
            SpeedClass::from_name,
            classes,
            found,
        ),
        min_mbps,
        max_mbps,
        storage: named(&file.storage, "storage", StorageClass::from_name, stores, found),
        virtualised: virtualised(file.virtualised.as_ref(), found),
        drivers: file
            .drivers
            .iter()
            .filter_map(|name| driver(name, found))
            .collect(),
    }
}

fn virtualised(text: Option<&Spanned<String>>, found: &mut Collector<'_>) -> Wanted {
    match text.map(|text| (text.get_ref().as_str(), text.span())) {
        None | Some(("any", _)) => Wanted::Any,
        Some(("yes", _)) => Wanted::Yes,
        Some(("no", _)) => Wanted::No,
        Some((other, at)) => {
            let what = format!("{other:?} is unknown, expected yes, no or any");
            found.add(at, "virtualised", what, None);
            Wanted::Any
        }
    }
}

/// The name of a kernel driver.
fn driver(name: &Spanned<String>, found: &mut Collector<'_>) -> Option<String> {
    let text = name.get_ref();
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    if text.is_empty() || text.len() > 64 || !text.chars().all(plain) {
        let what = format!("{text:?} is no driver, expected letters, digits, `_` and `-`");
        found.add(name.span(), "drivers", what, None);
        return None;
    }
    Some(text.clone())
}

pub(super) fn buffer(file: &BufferFile, found: &mut Collector<'_>) -> Buffer {
    let mut most: Vec<Bound> = Vec::new();
    for bound in &file.most {
        let from_mbps = number(&bound.from_mbps, "from_mbps", 1..=800_000, " Mb/s", found);
        if most.last().is_some_and(|before| before.from_mbps >= from_mbps) {
            let what = format!("{from_mbps} is not above the speed of the entry before");
            found.add(bound.from_mbps.span(), "from_mbps", what, None);
        }
        let mib = number(&bound.mib, "mib", 1..=2048, " MiB", found);
        most.push(Bound { from_mbps, mib });
    }
    Buffer {
        speed_mbps: mbps(&file.speed_mbps, "speed_mbps", found),
        streams: number(&file.streams, "streams", 1..=256, "", found),
        ram_divisor: number(&file.ram_divisor, "ram_divisor", 2..=4096, "", found),
        most,
    }
}

pub(super) fn tuned(file: &TunedFile, found: &mut Collector<'_>) -> Option<DraftTuned> {
    let name = file.include.get_ref();
    let include = Include::from_name(name);
    if include.is_none() {
        let known: Vec<_> = Include::ALL.map(Include::name).to_vec();
        let what = format!("{name:?} is unknown, expected one of {}", known.join(", "));
        let hint = "network-throughput puts tcp_rmem back to 16 MiB, so it cannot be included".to_owned();
        found.add(file.include.span(), "include", what, Some(hint));
    }
    let repeat = file.repeat.as_ref().map(|ids| {
        let mut repeat = Vec::new();
        for id in ids {
            match KnobTemplate::parse(id.get_ref()) {
                Ok(template) => repeat.push(found.placed(id.span(), template)),
                Err(error) => found.add(id.span(), "repeat", error.to_string(), None),
            }
        }
        repeat
    });
    let include = found.placed(file.include.span(), include?);
    Some(DraftTuned { include, repeat })
}
