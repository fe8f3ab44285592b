//! Reading a report that other people wrote: a value of another type than ours is noted and kept, and the rest is used.

use super::{Extra, Facts};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A text that is no report at all.
#[derive(Debug, thiserror::Error)]
pub enum BadFacts {
    /// No TOML.
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
    /// No JSON.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
}

impl Facts {
    /// Reads a report in TOML, or in JSON when it begins with a brace. A value that does not fit its field stays in
    /// `extra` under its key, with the reason in `errors` of its table. A null of JSON is a missing key.
    ///
    /// # Errors
    /// [`BadFacts`].
    pub fn read(text: &str) -> Result<Self, BadFacts> {
        let report: Value = if text.trim_start().starts_with('{') {
            serde_json::from_str(text)?
        } else {
            Value::Object(toml::from_str(text)?)
        };
        Ok(Self::from_value(report)?)
    }

    /// As [`Self::read`], from a tree.
    ///
    /// # Errors
    /// When the tree has not the form of a report, for instance no list of tables under `nic`.
    pub fn from_value(mut report: Value) -> Result<Self, serde_json::Error> {
        without_nulls(&mut report);
        let host = of_table::<super::Host>(report.get_mut("host"));
        let nics = of_list::<super::Nic>(report.get_mut("nic"));
        let blocks = of_list::<super::Block>(report.get_mut("block"));
        let mounts = of_list::<super::Mount>(report.get_mut("mount"));
        let mut facts: Self = serde_json::from_value(report)?;
        facts.host.extra.extend(host);
        put_back(facts.nics.iter_mut().map(|nic| &mut nic.extra), nics);
        put_back(facts.blocks.iter_mut().map(|block| &mut block.extra), blocks);
        put_back(facts.mounts.iter_mut().map(|mount| &mut mount.extra), mounts);
        Ok(facts)
    }
}

fn put_back<'a>(tables: impl Iterator<Item = &'a mut Extra>, misfits: Vec<Extra>) {
    tables
        .zip(misfits)
        .for_each(|(extra, misfits)| extra.extend(misfits));
}

fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(table) => {
            table.retain(|_, value| !value.is_null());
            table.values_mut().for_each(without_nulls);
        }
        Value::Array(list) => {
            list.retain(|value| !value.is_null());
            list.iter_mut().for_each(without_nulls);
        }
        _ => {}
    }
}

fn of_list<T: DeserializeOwned>(list: Option<&mut Value>) -> Vec<Extra> {
    let tables = list.and_then(Value::as_array_mut).into_iter().flatten();
    tables.map(|table| of_table::<T>(Some(table))).collect()
}

/// Takes out each value that a `T` cannot hold, and notes it in `errors`.
fn of_table<T: DeserializeOwned>(table: Option<&mut Value>) -> Extra {
    let mut misfits = Extra::new();
    let Some(table) = table.and_then(Value::as_object_mut) else {
        return misfits;
    };
    let mut errors = Map::new();
    table.retain(|key, value| {
        let alone = Value::Object([(key.clone(), value.clone())].into_iter().collect());
        let Err(error) = serde_json::from_value::<T>(alone) else {
            return true;
        };
        errors.insert(key.clone(), Value::String(error.to_string()));
        misfits.insert(key.clone(), value.take());
        false
    });
    // There is a place for ours only.
    misfits.remove("errors");
    if !errors.is_empty() {
        let all = table.entry("errors").or_insert_with(|| Value::Object(Map::new()));
        all.as_object_mut()
            .into_iter()
            .for_each(|all| all.extend(errors.clone()));
    }
    misfits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_another_type_is_noted_and_kept_and_the_rest_is_used() {
        let text = "[[nic]]\nname = 'eth0'\nspeed_mbps = 'fast'\ncarrier = true\n";
        let facts = Facts::read(text).unwrap();
        assert_eq!(
            (facts.nics[0].carrier, facts.nics[0].speed_mbps),
            (Some(true), None)
        );
        let why = &facts.nics[0].errors["speed_mbps"];
        assert!(
            why.contains("invalid type: string \"fast\", expected i64"),
            "{why}"
        );
        let written = toml::to_string(&facts).unwrap();
        assert!(written.contains("speed_mbps = \"fast\""), "{written}");
        assert_eq!(Facts::read(&written).unwrap(), facts);
    }

    #[test]
    fn an_errors_key_that_is_no_table_is_noted_in_ours() {
        let facts = Facts::read("[host]\nerrors = 'many'\nsmt = 'maybe'\n").unwrap();
        let keys: Vec<_> = facts.host.errors.keys().map(String::as_str).collect();
        assert_eq!(keys, ["errors", "smt"]);
        let written = toml::to_string(&facts).unwrap();
        assert_eq!(Facts::read(&written).unwrap(), facts);
    }

    #[test]
    fn toml_and_json_read_the_same_and_other_texts_are_refused() {
        let toml = Facts::read("[host]\nsockets = 2\n[[block]]\nname = 'sda'\n").unwrap();
        let json = Facts::read(
            "{\"host\": {\"sockets\": 2, \"odd\": null}, \"block\": [{\"name\": \"sda\", \"size\": null}]}",
        )
        .unwrap();
        assert_eq!(toml, json);
        for text in ["= nothing", "{", "nic = 'eth0'\n", "host = []\n"] {
            assert!(Facts::read(text).is_err(), "{text:?} was read");
        }
    }
}
