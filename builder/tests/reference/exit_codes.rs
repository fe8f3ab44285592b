//! `exit-codes.md`.

use crate::markdown::{self, table};
use dtnforge_profiles::envelope::Exit;

pub(crate) fn page() -> String {
    let rows = Exit::ALL.map(|exit| {
        vec![
            exit.code().to_string(),
            exit.brief().to_owned(),
            exit.about().to_owned(),
        ]
    });
    let mut text = markdown::page("Exit codes");
    text += "Both `dtnforge` and `dtn-firstboot` end with one of these.\n\n";
    text += &table(&["code", "in short", "meaning"], rows);
    text.trim_end().to_owned() + "\n"
}
