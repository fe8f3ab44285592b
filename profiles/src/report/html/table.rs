//! Tables with a caption and column heads; the script makes the heads sort.

use super::text::Text;
use std::fmt::{self, Write};

/// A table.
pub(super) struct Table {
    caption: String,
    heads: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

/// A cell.
pub(super) struct Cell {
    class: &'static str,
    text: String,
}

impl Cell {
    pub(super) fn text(text: &str) -> Self {
        Self {
            class: "",
            text: text.to_owned(),
        }
    }

    /// A name or value of the system.
    pub(super) fn code(text: &str) -> Self {
        Self {
            class: "code",
            text: text.to_owned(),
        }
    }

    pub(super) fn number(text: String) -> Self {
        Self {
            class: "number",
            text,
        }
    }
}

impl Table {
    pub(super) fn new(caption: &str, heads: &[&str]) -> Self {
        Self {
            caption: caption.to_owned(),
            heads: heads.iter().map(|&head| head.to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    pub(super) fn row<const N: usize>(&mut self, cells: [Cell; N]) {
        self.rows.push(cells.into());
    }

    /// Writes the table. It scrolls by itself where it is wider than the page, also by keyboard.
    pub(super) fn write(&self, out: &mut String) -> fmt::Result {
        write!(
            out,
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\"><table class=\"sortable\">\
             <caption>{caption}</caption><thead><tr>",
            caption = Text(&self.caption)
        )?;
        for head in &self.heads {
            write!(out, "<th scope=\"col\">{}</th>", Text(head))?;
        }
        out.push_str("</tr></thead><tbody>\n");
        if self.rows.is_empty() {
            writeln!(out, "<tr><td colspan=\"{}\">none</td></tr>", self.heads.len())?;
        }
        for row in &self.rows {
            out.push_str("<tr>");
            for (index, cell) in row.iter().enumerate() {
                write_cell(out, cell, index == 0)?;
            }
            out.push_str("</tr>\n");
        }
        out.write_str("</tbody></table></div>\n")
    }
}

/// The first cell names its row.
fn write_cell(out: &mut String, cell: &Cell, is_name: bool) -> fmt::Result {
    let (tag, scope) = if is_name {
        ("th", " scope=\"row\"")
    } else {
        ("td", "")
    };
    let text = Text(&cell.text);
    match cell.class {
        "code" => write!(out, "<{tag}{scope}><code>{text}</code></{tag}>"),
        "" => write!(out, "<{tag}{scope}>{text}</{tag}>"),
        class => write!(out, "<{tag}{scope} class=\"{class}\">{text}</{tag}>"),
    }
}
