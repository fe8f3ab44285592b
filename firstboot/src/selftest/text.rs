//! The answer for people: what is missing first.

use dtnforge_profiles::selftest::{Answer, Item, Selftest};
use std::fmt::Write;

/// The text.
pub fn render(selftest: &Selftest) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_all(&mut out, selftest);
    out
}

fn write_all(out: &mut String, selftest: &Selftest) -> std::fmt::Result {
    writeln!(out, "{}", selftest.sentence)?;
    for answer in [Answer::No, Answer::CannotTell, Answer::Yes] {
        for item in selftest.items.iter().filter(|item| item.there == answer) {
            write_item(out, item)?;
        }
    }
    Ok(())
}

fn write_item(out: &mut String, item: &Item) -> std::fmt::Result {
    let word = match item.there {
        Answer::Yes => "ok",
        Answer::No => "missing",
        Answer::CannotTell => "unknown",
    };
    writeln!(out, "  {word:<8} {:<24} {}", item.name, item.found)?;
    if item.there == Answer::Yes {
        return Ok(());
    }
    writeln!(
        out,
        "  {:<8} {:<24} for {}: {}",
        "",
        "",
        item.need.name(),
        item.without
    )
}
