//! `schema/*.json`: what `dtnforge profile schema` prints, for editors that read it out of the repository.

use dtnforge::schema::Kind;

pub(crate) fn files() -> Vec<(String, String)> {
    let file = |kind: Kind| {
        let text = serde_json::to_string_pretty(&kind.schema()).unwrap() + "\n";
        (format!("schema/{}.json", kind.name()), text)
    };
    Kind::ALL.map(file).to_vec()
}
