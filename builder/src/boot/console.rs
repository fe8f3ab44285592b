//! The guest's console while it runs: logged, shown, and searched for what is waited for.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use regex::Regex;

use super::error::BootError;
use super::serial::ConsoleText;

/// What is looked for on the console, and where it goes.
#[derive(Debug, Default)]
pub struct Console {
    log: Option<File>,
    show: Option<Stream>,
    until: Option<Regex>,
    kill_when: Option<Regex>,
    text: ConsoleText,
    bytes: u64,
}

/// What was seen in a piece of the console's output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seen {
    /// A line that is waited for.
    pub until: bool,
    /// A line at which the power is cut for good.
    pub kill_when: bool,
}

/// One of our own output streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

impl Stream {
    /// Writes and flushes. A reader that went away does not stop a guest, so its absence is no error.
    pub fn write(self, bytes: &[u8]) {
        let _ = match self {
            Stream::Out => write_all(&mut std::io::stdout().lock(), bytes),
            Stream::Err => write_all(&mut std::io::stderr().lock(), bytes),
        };
    }
}

fn write_all(stream: &mut impl Write, bytes: &[u8]) -> std::io::Result<()> {
    stream.write_all(bytes)?;
    stream.flush()
}

impl Console {
    /// A console that is searched for these two patterns.
    pub fn new(until: Option<Regex>, kill_when: Option<Regex>) -> Console {
        Console {
            until,
            kill_when,
            ..Console::default()
        }
    }

    /// Writes every byte also to the file `path`, which is emptied first.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn log_to(mut self, path: &Path) -> Result<Console, BootError> {
        self.log = Some(File::create(path).map_err(BootError::file("create", path))?);
        Ok(self)
    }

    /// Shows every byte on `stream`.
    #[must_use]
    pub fn show_on(mut self, stream: Stream) -> Console {
        self.show = Some(stream);
        self
    }

    /// Takes what the guest wrote; `on_line` gets each line that it touches.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn take(&mut self, bytes: &[u8], mut on_line: impl FnMut(&str)) -> Result<Seen, BootError> {
        if let Some(log) = &mut self.log {
            log.write_all(bytes)
                .map_err(BootError::file("write", "the serial log"))?;
        }
        if let Some(stream) = self.show {
            stream.write(bytes);
        }
        self.bytes += bytes.len() as u64;
        let matches = |pattern: &Option<Regex>, line: &str| {
            pattern.as_ref().is_some_and(|pattern| pattern.is_match(line))
        };
        let (until, kill_when, mut seen) = (&self.until, &self.kill_when, Seen::default());
        self.text.feed(bytes, |line| {
            seen.until |= matches(until, line);
            seen.kill_when |= matches(kill_when, line);
            on_line(line);
        });
        Ok(seen)
    }

    /// The guest fell silent in the middle of a line.
    pub fn cut(&mut self) {
        self.text.cut();
    }

    /// How much it wrote so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Its last lines.
    pub fn tail(&self) -> String {
        self.text.tail()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_whatever_pieces_it_comes_in_and_all_of_it_is_logged() {
        let log = tempfile::NamedTempFile::new().unwrap();
        let until = Some(Regex::new("login:").unwrap());
        let mut console = Console::new(until, None).log_to(log.path()).unwrap();
        let mut lines = Vec::new();
        let mut take = |bytes: &[u8]| console.take(bytes, |line| lines.push(line.to_owned())).unwrap();
        assert_eq!(take(b"\x1b[1mdtn log"), Seen::default());
        let found = Seen {
            until: true,
            kill_when: false,
        };
        assert_eq!(take(b"in: "), found);
        assert_eq!(lines, ["dtn log", "dtn login: "]);
        assert_eq!(std::fs::read(log.path()).unwrap(), b"\x1b[1mdtn login: ");
        assert_eq!(console.bytes(), 15);
    }
}
