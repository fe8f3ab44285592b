//! The guest's serial console as text: whole lines without terminal codes, to be searched and shown.
//!
//! The log file keeps every byte as the guest sent it. Patterns see one line at a time, also the last one while it is
//! still being written (a login prompt has no line end), with colours and cursor movements taken out.

use std::collections::VecDeque;

/// How many lines an error shows.
const KEPT_LINES: usize = 25;
/// A line is cut here; no pattern needs more, and a guest that never ends a line must not eat our memory.
const LONGEST_LINE: usize = 16 * 1024;

/// Console text so far: the open line and the last closed ones.
#[derive(Debug, Default)]
pub struct ConsoleText {
    open: String,
    kept: VecDeque<String>,
    escape: Escape,
    partial: Vec<u8>,
}

/// Where in a terminal escape sequence we are.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum Escape {
    #[default]
    None,
    /// After ESC.
    Start,
    /// In `ESC [ ...`, until a final byte.
    Control,
    /// In `ESC ] ...` or `ESC P ...`, until BEL or `ESC \`.
    Text,
    /// ESC inside a text sequence.
    TextEnd,
    /// `ESC ( X` and the like: one more byte.
    OneMore,
}

impl ConsoleText {
    /// Takes bytes from the guest and calls `seen` for each line they touch: each closed one, then the open one.
    pub fn feed(&mut self, bytes: &[u8], mut seen: impl FnMut(&str)) {
        self.partial.extend_from_slice(bytes);
        let whole = whole_letters(&self.partial);
        let text: Vec<u8> = self.partial.drain(..whole).collect();
        for letter in String::from_utf8_lossy(&text).chars() {
            let was = self.escape;
            if self.in_escape(letter) {
                // A menu paints by moving the cursor and never ends a line: each move ends one here.
                if was == Escape::Control && matches!(letter, 'H' | 'f') && !self.open.is_empty() {
                    self.close(&mut seen);
                }
                continue;
            }
            match letter {
                '\n' => self.close(&mut seen),
                letter if letter.is_control() && letter != '\t' => {}
                letter => self.open.push(letter),
            }
            if self.open.len() > LONGEST_LINE {
                self.close(&mut seen);
            }
        }
        if !self.open.is_empty() {
            seen(&self.open);
        }
    }

    /// The guest fell silent in the middle of what it wrote: what comes next is no part of it.
    pub fn cut(&mut self) {
        self.close(&mut |_| {});
        self.escape = Escape::None;
        self.partial.clear();
    }

    fn close(&mut self, seen: &mut impl FnMut(&str)) {
        let line = std::mem::take(&mut self.open);
        seen(&line);
        if !line.trim().is_empty() {
            self.kept.push_back(line);
        }
        while self.kept.len() > KEPT_LINES {
            self.kept.pop_front();
        }
    }

    /// The last lines, for an error message.
    pub fn tail(&self) -> String {
        let open = (!self.open.is_empty()).then_some(self.open.as_str());
        let lines: Vec<&str> = self.kept.iter().map(String::as_str).chain(open).collect();
        lines.join("\n")
    }

    /// Follows escape sequences; true when `letter` belongs to one.
    fn in_escape(&mut self, letter: char) -> bool {
        let (next, inside) = match (self.escape, letter) {
            (Escape::Text, '\x1b') => (Escape::TextEnd, true),
            (Escape::Text, '\x07') => (Escape::None, true),
            (Escape::Text, _) => (Escape::Text, true),
            (Escape::TextEnd, _) => (Escape::None, true),
            (_, '\x1b') => (Escape::Start, true),
            (Escape::Start, '[') => (Escape::Control, true),
            (Escape::Start, ']' | 'P' | 'X' | '^' | '_') => (Escape::Text, true),
            (Escape::Start, '(' | ')' | '#' | '%') => (Escape::OneMore, true),
            (Escape::Start | Escape::OneMore, _) => (Escape::None, true),
            (Escape::Control, '@'..='~') => (Escape::None, true),
            // A line end is never part of a sequence: a cut one must not swallow the rest of the log.
            (Escape::Control, '\n') => (Escape::None, false),
            (Escape::Control, _) => (Escape::Control, true),
            (Escape::None, _) => (Escape::None, false),
        };
        self.escape = next;
        inside
    }
}

/// How many of `bytes` are whole UTF-8 letters: a letter may be cut between two reads.
fn whole_letters(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Ok(_) => bytes.len(),
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        // Broken in the middle: an unfinished letter at the end is at most three bytes.
        Err(_) => {
            let tail = (1..=3.min(bytes.len())).find(|back| {
                std::str::from_utf8(&bytes[bytes.len() - back..])
                    .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
            });
            bytes.len() - tail.unwrap_or(0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(chunks: &[&[u8]]) -> Vec<String> {
        let mut text = ConsoleText::default();
        let mut seen = Vec::new();
        for chunk in chunks {
            text.feed(chunk, |line| seen.push(line.to_owned()));
        }
        seen
    }

    #[test]
    fn colours_and_carriage_returns_are_not_part_of_a_line() {
        assert_eq!(
            lines(&[b"[\x1b[0;32m  OK  \x1b[0m] Reached target \x1b[0;1;39mmulti-user.target\x1b[0m\r\n"]),
            ["[  OK  ] Reached target multi-user.target"]
        );
        assert_eq!(lines(&[b"\x1b]0;title\x07a\x1bP+q\x1b\\b\x1b(Bc\n"]), ["abc"]);
    }

    #[test]
    fn a_prompt_is_seen_before_its_line_ends() {
        assert_eq!(lines(&[b"\ndtn log", b"in: "]), ["", "dtn log", "dtn login: "]);
    }

    #[test]
    fn a_sequence_or_letter_cut_between_reads_is_put_together() {
        assert_eq!(
            lines(&[b"a\x1b[", b"1mb\xc3", b"\xa9\n"]),
            ["a", "ab", "ab\u{e9}"]
        );
        assert_eq!(
            lines(&[b"\xffa\xc3", b"\xa9\n"]),
            ["\u{fffd}a", "\u{fffd}a\u{e9}"]
        );
    }

    #[test]
    fn the_tail_holds_the_last_lines_and_the_open_one() {
        let mut text = ConsoleText::default();
        for number in 0..100 {
            text.feed(format!("line {number}\n\n").as_bytes(), |_| {});
        }
        text.feed(b"open", |_| {});
        let tail = text.tail();
        assert!(
            tail.starts_with("line 75\n") && tail.ends_with("line 99\nopen"),
            "{tail}"
        );
    }

    #[test]
    fn a_cursor_that_is_moved_ends_a_line() {
        assert_eq!(lines(&[b"\x1b[1;2HDevice\x1b[2;2HBoot"]), ["Device", "Boot"]);
    }

    #[test]
    fn what_comes_after_a_cut_is_a_new_line() {
        let (mut text, mut seen) = (ConsoleText::default(), Vec::new());
        text.feed(b"Started \x1b[", |_| {});
        text.cut();
        text.feed(b"BdsDxe\n", |line| seen.push(line.to_owned()));
        assert_eq!(seen, ["BdsDxe"]);
        assert_eq!(text.tail(), "Started \nBdsDxe");
    }

    #[test]
    fn a_line_without_an_end_is_cut() {
        let mut text = ConsoleText::default();
        text.feed(&vec![b'x'; 3 * LONGEST_LINE], |_| {});
        assert!(text.open.len() <= LONGEST_LINE);
    }
}
