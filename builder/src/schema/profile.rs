//! The schema of a profile. Its file is read by a type that keeps the place of every value, which no schema can follow
//! from; so the keys stand here, and a test holds them against what the reader expects. Names and ranges come from the
//! registry of knobs and the enums.

use dtnforge_profiles::catalog::{Include, PROFILE_SCHEMA};
use dtnforge_profiles::conclude::{SpeedClass, StorageClass};
use dtnforge_profiles::knob::{KnobDef, REGISTRY};
use dtnforge_profiles::site::Role;
use schemars::{Schema, json_schema};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A profile, or a base that profiles extend.
pub(super) fn schema() -> Schema {
    json_schema!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Profile of dtnforge",
        "description": "The tuning for one class of hosts, or a base that such profiles extend.",
        "type": "object",
        "properties": {
            "schema": { "description": "Form of the file.", "const": PROFILE_SCHEMA },
            "name": {
                "description": "Catalog name. `{speed}` stands for each of `speeds`.",
                "type": "string",
                "pattern": r"^([a-z0-9]|\{speed\})([a-z0-9-]|\{speed\})*$",
                "maxLength": 51,
            },
            "title": text("One line for people. `{speed}` stands for each of `speeds`."),
            "base": { "description": "Whether it is only there to be extended.", "type": "boolean" },
            "extends": list("Bases whose values it has too; a value of its own replaces theirs.", string()),
            "speeds": list("One profile is made for each of these link speeds.", link()),
            "roles": list("Roles that it is for.", one_of(&Role::ALL.map(Role::name))),
            "match": table("Hosts that it is for; what is left out asks for nothing.", matching(), &[]),
            "buffer": buffer(),
            "tuned": tuned(),
            "knob": list("Values, each with its reason and source.", knob()),
            "advice": list("What no file can set, for the administrator.", advice()),
        },
        "required": ["schema", "name", "title"],
        "additionalProperties": false,
    })
}

fn matching() -> Value {
    json!({
        "speed_classes": list("Classes of the speed of one flow.", link()),
        "min_mbps": mbps("Slowest link, Mb/s."),
        "max_mbps": mbps("Fastest link, Mb/s."),
        "storage": list("Classes of the data store.", storage()),
        "virtualised": { "description": "Whether the host is a guest.", "enum": ["yes", "no", "any"] },
        "drivers": list("Kernel drivers of the data ports.", string()),
    })
}

fn buffer() -> Value {
    let bound = table(
        "An upper bound that holds from a speed on.",
        json!({ "from_mbps": mbps("Slowest link that it is for, Mb/s."), "mib": integer("The bound, MiB.", 1, 2048) }),
        &["from_mbps", "mib"],
    );
    table(
        "Inputs of the buffer formula, 2 x speed x RTT / 8 / streams.",
        json!({
            "speed_mbps": mbps("Speed in place of the link's own, Mb/s."),
            "streams": integer("Parallel streams that share the link.", 1, 256),
            "ram_divisor": integer("A buffer may be memory divided by this.", 2, 4096),
            "most": list("Upper bounds, in ascending order of speed.", bound),
        }),
        &["streams", "ram_divisor"],
    )
}

fn tuned() -> Value {
    let keys = json!({
        "include": {
            "description": "The profile of tuned that ours builds on.",
            "enum": Include::ALL.map(Include::name),
        },
        "repeat": list("Sysctls that it would reset; all of them where this is left out.", knob_name()),
    });
    table("Our tuned profile.", keys, &["include"])
}

fn knob() -> Value {
    let keys = json!({
        "id": knob_name(),
        "value": {
            "description": "The value; `{buffer}` is the result of the buffer formula, in byte.",
            "type": ["string", "integer"],
        },
        "unit": { "description": "Unit of the value, where it has one.", "enum": units() },
        "only_raise": { "description": "A host that has more keeps it.", "type": "boolean" },
        "ram_divisor": integer("The value may be memory divided by this.", 2, 4096),
        "min_mbps": mbps("Only for links at least this fast, Mb/s."),
        "max_mbps": mbps("Only for links at most this fast, Mb/s."),
        "why": text("Why the profile wants the value."),
        "source": text("Where the value comes from."),
        "inherited_from": {
            "description": "Only in the profile of a layer: the base that the entry was taken from.",
            "type": "string",
        },
    });
    table("One value.", keys, &["id", "value", "why", "source"])
}

fn advice() -> Value {
    let keys = json!({
        "set": text("What to set."),
        "where": text("Where an administrator sets it."),
        "storage": list("Only for these data stores.", storage()),
        "why": text("The reason."),
        "source": text("Where it was read."),
    });
    table("One piece of advice.", keys, &["set", "where", "why", "source"])
}

/// Knobs that a profile may name, each with what an editor shows beside it.
fn knob_name() -> Value {
    // The tuned profile follows from `[tuned]`.
    let settable = REGISTRY.iter().filter(|knob| knob.pattern != "tuned:profile");
    let choice = |knob: &KnobDef| json!({ "const": knob.pattern.replacen("<dev>", "<data>", 1), "description": knob.about });
    json!({ "description": "Name of the setting.", "oneOf": settable.map(choice).collect::<Vec<_>>() })
}

fn units() -> BTreeSet<&'static str> {
    REGISTRY
        .iter()
        .map(|knob| knob.unit)
        .filter(|unit| !unit.is_empty())
        .collect()
}

fn link() -> Value {
    one_of(&SpeedClass::ALL.map(SpeedClass::name))
}

fn storage() -> Value {
    one_of(&StorageClass::ALL.map(StorageClass::name))
}

fn one_of(names: &[&str]) -> Value {
    json!({ "enum": names })
}

fn string() -> Value {
    json!({ "type": "string" })
}

/// A text that ends up in comments of generated files.
fn text(description: &str) -> Value {
    json!({ "description": description, "type": "string", "minLength": 1, "maxLength": 400 })
}

fn list(description: &str, items: Value) -> Value {
    json!({ "description": description, "type": "array", "items": items })
}

fn mbps(description: &str) -> Value {
    integer(description, 1, 800_000)
}

fn integer(description: &str, minimum: u32, maximum: u32) -> Value {
    json!({ "description": description, "type": "integer", "minimum": minimum, "maximum": maximum })
}

fn table(description: &str, keys: Value, required: &[&str]) -> Value {
    json!({
        "description": description,
        "type": "object",
        "properties": keys,
        "required": required,
        "additionalProperties": false,
    })
}
