//! Reading a report that other people wrote: a key of another type than ours is noted, and the rest is used.

use super::Facts;
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
    /// Reads a report in TOML, or in JSON when it begins with a brace. A key whose value is of another type than ours
    /// goes to `errors` of its table, with the reason.
    ///
    /// # Errors
    /// [`BadFacts`].
    pub fn read(text: &str) -> Result<Self, BadFacts> {
        let mut report: Map<String, Value> = if text.trim_start().starts_with('{') {
            serde_json::from_str(text)?
        } else {
            toml::from_str(text)?
        };
        if let Some(host) = report.get_mut("host") {
            keep_what_fits::<super::Host>(host);
        }
        each(&mut report, "nic", keep_what_fits::<super::Nic>);
        each(&mut report, "block", keep_what_fits::<super::Block>);
        each(&mut report, "mount", keep_what_fits::<super::Mount>);
        Ok(serde_json::from_value(Value::Object(report))?)
    }
}

fn each(report: &mut Map<String, Value>, key: &str, keep: fn(&mut Value)) {
    report
        .get_mut(key)
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
        .for_each(keep);
}

/// Moves each key that a `T` cannot hold to `errors`.
fn keep_what_fits<T: DeserializeOwned>(table: &mut Value) {
    let Some(table) = table.as_object_mut() else {
        return;
    };
    let mut errors = Map::new();
    table.retain(|key, value| {
        let alone = Value::Object([(key.clone(), value.clone())].into_iter().collect());
        let misfit = serde_json::from_value::<T>(alone).err();
        errors.extend(
            misfit
                .iter()
                .map(|error| (key.clone(), Value::String(error.to_string()))),
        );
        misfit.is_none()
    });
    if errors.is_empty() {
        return;
    }
    let all = table.entry("errors").or_insert_with(|| Value::Object(Map::new()));
    if let Some(all) = all.as_object_mut() {
        all.extend(errors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_another_type_is_noted_and_the_rest_is_used() {
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
    }

    #[test]
    fn toml_and_json_read_the_same_and_other_texts_are_refused() {
        let toml = Facts::read("[host]\nsockets = 2\n[[block]]\nname = 'sda'\n").unwrap();
        let json = Facts::read("{\"host\": {\"sockets\": 2}, \"block\": [{\"name\": \"sda\"}]}").unwrap();
        assert_eq!(toml, json);
        assert!(Facts::read("= nothing").is_err() && Facts::read("{").is_err());
    }
}
