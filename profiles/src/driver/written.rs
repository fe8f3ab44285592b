//! The table as it stands in its file.

use super::{BadTable, Driver, Lro, Rings, Step};
use crate::knob::Disrupts;
use serde::Deserialize;

/// Form of the file.
const SCHEMA: u32 = 1;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TableFile {
    schema: u32,
    driver: Vec<DriverFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DriverFile {
    name: String,
    cards: String,
    #[serde(default)]
    ring: RingFile,
    ring_change: Option<Disrupts>,
    adaptive: Option<Vec<String>>,
    lro: Option<Lro>,
    mtu_most: Option<i64>,
    #[serde(default)]
    leave: Vec<LeaveFile>,
    note: Option<String>,
    source: String,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RingFile {
    rx: Option<i64>,
    tx: Option<i64>,
    rx_most: Option<i64>,
    tx_most: Option<i64>,
    step: Option<StepFile>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum StepFile {
    Multiple(u32),
    Named(StepName),
}

#[derive(Deserialize)]
enum StepName {
    #[serde(rename = "power-of-two")]
    PowerOfTwo,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LeaveFile {
    keys: Vec<String>,
    why: String,
}

pub(super) fn read(text: &str) -> Result<Vec<Driver>, BadTable> {
    let table: TableFile = toml::from_str(text).map_err(|error| BadTable(error.to_string()))?;
    if table.schema != SCHEMA {
        return Err(BadTable(format!("schema {}, expected {SCHEMA}", table.schema)));
    }
    Ok(table.driver.into_iter().map(DriverFile::checked).collect())
}

impl DriverFile {
    fn checked(self) -> Driver {
        let leave = self.leave.into_iter().flat_map(|leave| {
            let why = leave.why;
            leave.keys.into_iter().map(move |key| (key, why.clone()))
        });
        Driver {
            name: self.name,
            cards: self.cards,
            rings: Rings {
                rx: self.ring.rx,
                tx: self.ring.tx,
                rx_most: self.ring.rx_most,
                tx_most: self.ring.tx_most,
                step: match self.ring.step {
                    None => Step::Any,
                    Some(StepFile::Multiple(step)) => Step::MultipleOf(step),
                    Some(StepFile::Named(StepName::PowerOfTwo)) => Step::PowerOfTwo,
                },
            },
            ring_change: self.ring_change,
            adaptive: self.adaptive,
            lro: self.lro,
            mtu_most: self.mtu_most,
            leave: leave.collect(),
            note: self.note,
            source: self.source,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_key_or_form_is_refused() {
        let entry = "[[driver]]\nname = 'x'\ncards = 'X'\nsource = 's'\n";
        assert_eq!(read(&format!("schema = 1\n{entry}")).unwrap()[0].name, "x");
        for (text, expected) in [
            (format!("schema = 2\n{entry}"), "schema 2, expected 1"),
            (format!("schema = 1\n{entry}rings = 3\n"), "unknown field `rings`"),
            (
                format!("schema = 1\n{entry}ring = {{ step = 'odd' }}\n"),
                "data did not match",
            ),
        ] {
            let said = read(&text).unwrap_err().to_string();
            assert!(said.contains(expected), "{said}");
        }
    }
}
