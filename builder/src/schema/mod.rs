//! JSON Schema of the files that people write, for completion and checking in an editor, and of the answers of a node, for
//! those who read them with a program.
//!
//! Where it can, a schema follows from the type that reads the file, so a key that is added there is known here. What a
//! schema cannot say (a value that depends on another, a file that has to exist) the program checks when it reads the
//! file.

mod profile;

use crate::seed::SEED_SCHEMA;
use crate::seed::written::Written as Nodes;
use crate::spec::SPEC_SCHEMA;
use crate::spec::written::Written;
use dtnforge_profiles::facts::{FACTS_SCHEMA, Facts};
use dtnforge_profiles::report::{REPORT_SCHEMA, Report};
use dtnforge_profiles::site::{SITE_SCHEMA, SiteFile};
use dtnforge_profiles::status::{STATUS_SCHEMA, Status};
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema, json_schema};
use serde_json::{Value, json};

/// A kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// A profile, or a base of profiles
    Profile,
    /// A report of a host (`dtn-firstboot detect`)
    Facts,
    /// What a site decides: `/etc/dtnforge/site.toml`, `[site]` of a spec
    Site,
    /// An image spec
    Spec,
    /// A table of nodes (`dtnforge seed`)
    Seed,
    /// What a node tells of its trial (`dtn-firstboot report --json`, under `data`)
    Report,
    /// What a node answers to `dtn-firstboot status --json`
    Status,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 7] = [
        Kind::Profile,
        Kind::Facts,
        Kind::Site,
        Kind::Spec,
        Kind::Seed,
        Kind::Report,
        Kind::Status,
    ];

    /// The name used on the command line and for files.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Profile => "profile",
            Kind::Facts => "facts",
            Kind::Site => "site",
            Kind::Spec => "spec",
            Kind::Seed => "seed",
            Kind::Report => "report",
            Kind::Status => "status",
        }
    }

    /// The schema.
    pub fn schema(self) -> Schema {
        match self {
            Kind::Profile => profile::schema(),
            Kind::Facts => schema_of::<Facts>("Facts of a host, for dtnforge", FACTS_SCHEMA),
            Kind::Site => with_ranges(
                schema_of::<SiteFile>("Site decisions of dtnforge", SITE_SCHEMA),
                "",
            ),
            Kind::Spec => with_ranges(
                schema_of::<Written>("Image spec of dtnforge", SPEC_SCHEMA),
                "/$defs/SiteFile",
            ),
            Kind::Seed => with_ranges(
                schema_of::<Nodes>("Table of nodes of dtnforge", SEED_SCHEMA),
                "/$defs/SiteFile",
            ),
            Kind::Report => schema_of::<Report>("Report of a node of dtnforge", REPORT_SCHEMA),
            Kind::Status => answer_of::<Status>("Answer of `dtn-firstboot status --json`", STATUS_SCHEMA),
        }
    }
}

/// The schema of a type whose files say `schema = VERSION`.
fn schema_of<T: JsonSchema>(title: &str, version: u32) -> Schema {
    let settings = SchemaSettings::draft2020_12();
    let generator = settings.with_transform(ForToml).into_generator();
    let mut schema = generator.into_root_schema_for::<T>();
    schema.insert("title".to_owned(), title.into());
    if let Some(form) = schema.pointer_mut("/properties/schema") {
        *form = json!({ "description": "Form of the file.", "const": version });
    }
    schema
}

/// The schema of a `--json` answer with data of a type: the envelope around it. Fields are only ever added, so a reader
/// leaves out those that it does not know.
fn answer_of<T: JsonSchema>(title: &str, version: u32) -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let generator = settings.with_transform(ForReaders).into_generator();
    let mut data = generator.into_root_schema_for::<T>();
    let dialect = data.remove("$schema");
    let definitions = data.remove("$defs");
    let mut schema = json_schema!({
        "title": title,
        "type": "object",
        "properties": {
            "schema": { "description": "Form of `data`.", "const": version },
            "version": { "description": "Version of the program that answered.", "type": "string" },
            "data": data,
        },
        "required": ["schema", "version", "data"],
    });
    for (key, value) in [("$schema", dialect), ("$defs", definitions)] {
        if let Some(value) = value {
            schema.insert(key.to_owned(), value);
        }
    }
    schema
}

/// What the type of `site.toml` cannot say of its values; it is checked when the file is read, and a test holds both
/// against each other.
fn with_ranges(mut schema: Schema, place: &str) -> Schema {
    for (key, more) in [
        ("link_mbps", json!({ "minimum": 1, "maximum": 800_000 })),
        ("rtt_ms", json!({ "minimum": 1, "maximum": 1000 })),
        ("streams", json!({ "minimum": 1, "maximum": 256 })),
        ("mtu", json!({ "minimum": 1280, "maximum": 65_535 })),
        ("pacing_mbps", json!({ "minimum": 1, "maximum": 34_000 })),
        ("budget_s", json!({ "minimum": 30, "maximum": 900 })),
        ("throughput_limit", json!({ "minimum": 0.5, "maximum": 1.0 })),
        (
            "congestion_control",
            json!({ "enum": ["cubic", "bbr", "htcp", "reno"] }),
        ),
    ] {
        let value = schema.pointer_mut(&format!("{place}/properties/{key}"));
        if let (Some(Value::Object(value)), Value::Object(more)) = (value, more) {
            value.extend(more);
        }
    }
    schema
}

/// What a reader of TOML does not need: TOML has no null, and an editor does not follow links in Rust's documentation.
#[derive(Debug, Clone)]
struct ForToml;

impl Transform for ForToml {
    fn transform(&mut self, schema: &mut Schema) {
        without_null(schema);
        without_links(schema);
        transform_subschemas(self, schema);
    }
}

/// As [`ForToml`], for JSON, which has a null.
#[derive(Debug, Clone)]
struct ForReaders;

impl Transform for ForReaders {
    fn transform(&mut self, schema: &mut Schema) {
        without_links(schema);
        transform_subschemas(self, schema);
    }
}

fn without_links(schema: &mut Schema) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.replace("[`", "`").replace("`]", "`").replace('\n', " ");
    }
}

fn without_null(schema: &mut Schema) {
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    let Some(Value::Array(choices)) = schema.get_mut("anyOf") else {
        return;
    };
    choices.retain(|choice| choice["type"] != "null");
    if let [Value::Object(only)] = choices.as_slice() {
        let only = only.clone();
        schema.remove("anyOf");
        schema.ensure_object().extend(only);
    }
}
