//! Simple commands of a shell script or a systemd unit.
//!
//! Nothing is run or expanded: a word with a variable stays as it is written, conditions and loops are passed over, and
//! the text of a here-document is no command. What a lint finds in such a word is what stands there literally.

use super::joined_lines;

/// One command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::lint) struct Command {
    /// From 1.
    pub(in crate::lint) line: usize,
    /// All words, without redirections.
    pub(in crate::lint) words: Vec<String>,
    /// The file that the output goes to.
    pub(in crate::lint) writes_to: Option<String>,
    /// Whether it is an `ExecStart=` of a unit, and stops the ones after it when it fails.
    pub(in crate::lint) stops_unit: bool,
}

/// Words before a command that do not change what it does to us.
const BEFORE: &[&str] = &[
    "if", "then", "else", "elif", "do", "while", "until", "!", "{", "}", "(", "fi", "done", "sudo", "exec",
    "nohup", "time", "env", "command",
];

/// All simple commands.
pub(in crate::lint) fn commands(text: &str) -> Vec<Command> {
    let lines = joined_lines(text);
    if text.lines().any(|line| line.trim() == "[Service]") {
        return lines
            .iter()
            .flat_map(|(line, content)| exec_start(*line, content))
            .collect();
    }
    let mut found = Vec::new();
    let mut document: Option<String> = None;
    let mut quoted: Option<(usize, String)> = None;
    for (line, content) in lines {
        if let Some(end) = &document {
            if content.trim() == end {
                document = None;
            }
            continue;
        }
        // A text in quotes may go on over many lines, none of which is a command.
        let (line, content) = match quoted.take() {
            Some((first, before)) => (first, format!("{before}\n{content}")),
            None => (line, content),
        };
        if ends_in_quotes(&content) {
            quoted = Some((line, content));
            continue;
        }
        document = here_document(&content);
        found.extend(simple_commands(line, &content));
    }
    found
}

/// Whether a quote that begins in this text does not end in it.
fn ends_in_quotes(text: &str) -> bool {
    let mut chars = text.chars().peekable();
    let mut before = ' ';
    while let Some(c) = chars.next() {
        let closed = match c {
            '\'' => chars.by_ref().any(|c| c == '\''),
            '"' => double_quoted(&mut chars, &mut String::new()),
            '\\' => {
                chars.next();
                true
            }
            '#' if before.is_whitespace() => {
                // A comment ends with its line.
                chars.by_ref().any(|c| c == '\n');
                true
            }
            _ => true,
        };
        if !closed {
            return true;
        }
        before = c;
    }
    false
}

/// The word that ends a here-document that begins in this line.
fn here_document(line: &str) -> Option<String> {
    let (_, after) = line.split_once("<<")?;
    // `<<<` is a word, not a document.
    if after.starts_with('<') {
        return None;
    }
    let word = after.trim_start_matches('-').trim_start();
    let word: String = word
        .chars()
        .take_while(|c| !c.is_whitespace() && !";|&>".contains(*c))
        .filter(|c| !"'\"\\".contains(*c))
        .collect();
    (!word.is_empty()).then_some(word)
}

/// `ExecStart=-/sbin/ip link ...`: the marks before the program are systemd's.
fn exec_start(line: usize, content: &str) -> Vec<Command> {
    let content = content.trim();
    let marks = ["ExecStartPre=", "ExecStartPost=", "ExecStart="];
    let Some(call) = marks.iter().find_map(|mark| content.strip_prefix(mark)) else {
        return Vec::new();
    };
    let program = call.trim_start_matches(['-', '@', '+', '!', ':']);
    let tolerant = call[..call.len() - program.len()].contains('-');
    let mut commands = simple_commands(line, program);
    commands.truncate(1);
    for command in &mut commands {
        command.stops_unit = !tolerant;
    }
    commands
}

/// The commands of one line, split at `;`, `|`, `&` and braces.
pub(super) fn simple_commands(line: usize, text: &str) -> Vec<Command> {
    let mut commands = Vec::new();
    let mut current = Command::default();
    let mut redirect = Redirect::None;
    for piece in pieces(text) {
        match piece {
            Piece::Break => {
                push(&mut commands, std::mem::take(&mut current), line);
                redirect = Redirect::None;
            }
            Piece::Into => redirect = Redirect::Output,
            Piece::From => redirect = Redirect::Other,
            Piece::Word(word) => match std::mem::replace(&mut redirect, Redirect::None) {
                Redirect::Output => current.writes_to = Some(word),
                Redirect::Other => {}
                Redirect::None => current.words.push(word),
            },
        }
    }
    push(&mut commands, current, line);
    commands
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Redirect {
    None,
    Output,
    Other,
}

fn push(commands: &mut Vec<Command>, mut command: Command, line: usize) {
    let is_assignment = |word: &String| {
        let name = word.split_once('=').map_or("", |(name, _)| name);
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let skip = command
        .words
        .iter()
        .take_while(|word| BEFORE.contains(&word.as_str()) || is_assignment(word))
        .count();
    command.words.drain(..skip);
    command.line = line;
    if !command.words.is_empty() {
        commands.push(command);
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Piece {
    Word(String),
    /// Ends a command.
    Break,
    /// `>` or `>>`.
    Into,
    /// `<`, or output of another number than 1.
    From,
}

/// Splits a line into words and signs; quotes are taken off, a comment ends the line.
fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' => {
                let word = word.get_or_insert_default();
                word.extend(chars.by_ref().take_while(|c| *c != '\''));
            }
            '"' => {
                double_quoted(&mut chars, word.get_or_insert_default());
            }
            '\\' => word.get_or_insert_default().extend(chars.next()),
            '$' if chars.peek() == Some(&'{') => {
                let word = word.get_or_insert_default();
                word.push('$');
                for inner in chars.by_ref() {
                    word.push(inner);
                    if inner == '}' {
                        break;
                    }
                }
            }
            '#' if word.is_none() => break,
            c if c.is_whitespace() => pieces.extend(word.take().map(Piece::Word)),
            '>' => {
                // `2>` names a stream, `>&` and `&>` copy one.
                let stream = word.take();
                while chars.next_if(|c| ">&".contains(*c)).is_some() {}
                let output = stream
                    .as_deref()
                    .is_none_or(|stream| stream == "1" || !is_number(stream));
                pieces.extend(stream.filter(|stream| !is_number(stream)).map(Piece::Word));
                pieces.push(if output { Piece::Into } else { Piece::From });
            }
            '<' => {
                pieces.extend(word.take().map(Piece::Word));
                while chars.next_if_eq(&'<').is_some() {}
                pieces.push(Piece::From);
            }
            '`' => {
                // Left in the word, which thereby has no value of its own.
                word.get_or_insert_default().push(c);
                pieces.extend(word.take().map(Piece::Word));
                pieces.push(Piece::Break);
            }
            ';' | '|' | '&' | '(' | ')' => {
                pieces.extend(word.take().map(Piece::Word));
                pieces.push(Piece::Break);
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    pieces.extend(word.map(Piece::Word));
    pieces
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}

/// The rest of a text in double quotes, and whether it ends.
fn double_quoted(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, word: &mut String) -> bool {
    while let Some(c) = chars.next() {
        match c {
            '"' => return true,
            '\\' => match chars.next() {
                Some(c @ ('"' | '\\' | '$' | '`')) => word.push(c),
                Some(other) => word.extend(['\\', other]),
                None => return false,
            },
            other => word.push(other),
        }
    }
    false
}
