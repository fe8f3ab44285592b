//! Text on its way into a page.

use std::fmt::{self, Display, Formatter, Write};

/// Text in which nothing is taken for markup, in an element or in an attribute.
pub(super) struct Text<T>(pub(super) T);

impl<T: Display> Display for Text<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(Escape(f), "{}", self.0)
    }
}

struct Escape<'a, 'b>(&'a mut Formatter<'b>);

impl Write for Escape<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            match c {
                '&' => self.0.write_str("&amp;")?,
                '<' => self.0.write_str("&lt;")?,
                '>' => self.0.write_str("&gt;")?,
                '"' => self.0.write_str("&quot;")?,
                '\'' => self.0.write_str("&#39;")?,
                // What a page may not hold, and what turns the direction of the text around it.
                c if c.is_control() && !matches!(c, '\n' | '\t') => self.0.write_char('\u{fffd}')?,
                '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => self.0.write_char('\u{fffd}')?,
                c => self.0.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// Three digits that count.
pub(super) fn figure(number: f64) -> String {
    match number.abs() {
        size if !size.is_finite() => "unknown".to_owned(),
        0.0 => "0".to_owned(),
        size if !(0.001..1e9).contains(&size) => format!("{number:.2e}"),
        size if size >= 99.95 => format!("{number:.0}"),
        size if size >= 9.995 => format!("{number:.1}"),
        size if size >= 0.0995 => format!("{number:.2}"),
        _ => format!("{number:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_is_markup() {
        assert_eq!(
            Text("<script>\"a\" & 'b'\u{202e}\u{1b}").to_string(),
            "&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39;\u{fffd}\u{fffd}"
        );
    }
}
