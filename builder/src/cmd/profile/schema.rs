//! `dtnforge profile schema`: JSON Schema for an editor.

use super::{Failure, print};
use crate::schema::Kind;

/// Arguments of `dtnforge profile schema`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: dtnforge profile schema profile > profile.schema.json
In a file, for editors with a TOML language server: #:schema ./profile.schema.json")]
pub(super) struct SchemaArgs {
    /// The kind of file
    #[arg(default_value = "profile")]
    kind: Kind,
}

pub(super) fn run(args: &SchemaArgs) -> Result<(), Failure> {
    let schema = args.kind.schema();
    print(&(serde_json::to_string_pretty(&schema)? + "\n"))
}
