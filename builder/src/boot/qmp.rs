//! QEMU's control protocol (QMP): one JSON object a line, commands with an id, answers and events mixed.
//!
//! We need a handful of commands, so this is the protocol and not a model of every type in it.

use serde_json::{Value, json};

use super::error::BootError;

/// One line from QEMU.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// The first line.
    Greeting,
    /// The answer to the command with this id.
    Answer {
        /// The command's id.
        id: u64,
        /// What it returned, or QEMU's description of the error.
        result: Result<Value, String>,
    },
    /// Something happened in the machine.
    Event {
        /// Its name, such as `RESET`.
        name: String,
        /// Its details.
        data: Value,
    },
}

/// Parses one line of QEMU.
pub fn parse(line: &str) -> Result<Message, BootError> {
    let refuse = || BootError::QmpLine {
        line: line.chars().take(200).collect(),
    };
    let mut value: Value = serde_json::from_str(line).map_err(|_| refuse())?;
    if value.get("QMP").is_some() {
        return Ok(Message::Greeting);
    }
    if let Some(name) = value["event"].as_str().map(str::to_owned) {
        return Ok(Message::Event {
            name,
            data: value["data"].take(),
        });
    }
    let id = value["id"].as_u64().ok_or_else(refuse)?;
    let result = match value.get("error") {
        Some(error) => Err(error["desc"].as_str().unwrap_or("no description").to_owned()),
        None => Ok(value["return"].take()),
    };
    Ok(Message::Answer { id, result })
}

/// The line that asks for `command`.
pub fn command(id: u64, command: &str, arguments: &Value) -> String {
    let mut object = json!({ "execute": command, "id": id });
    if !arguments.is_null() {
        object["arguments"] = arguments.clone();
    }
    format!("{object}\n")
}

/// Bytes in, whole lines out.
#[derive(Debug, Default)]
pub struct Lines(Vec<u8>);

impl Lines {
    /// Takes bytes; returns the lines that they complete.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<String> {
        self.0.extend_from_slice(bytes);
        let Some(end) = self.0.iter().rposition(|byte| *byte == b'\n') else {
            return Vec::new();
        };
        let whole: Vec<u8> = self.0.drain(..=end).collect();
        String::from_utf8_lossy(&whole)
            .lines()
            .filter(|line| !line.trim().is_empty())
            .map(str::to_owned)
            .collect()
    }
}

/// The port of a forward that was asked for with port 0, out of the text of `info usernet`.
pub fn forwarded_port(usernet: &str) -> Option<u16> {
    let line = usernet.lines().find(|line| line.contains("HOST_FORWARD"))?;
    // Protocol[State], descriptor, source address, source port, ...
    line.split_whitespace().nth(3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_errors_and_events_are_told_apart() {
        assert_eq!(parse(r#"{"QMP": {"version": {}}}"#).unwrap(), Message::Greeting);
        assert_eq!(
            parse(r#"{"return": {"a": 1}, "id": 7}"#).unwrap(),
            Message::Answer {
                id: 7,
                result: Ok(json!({ "a": 1 }))
            }
        );
        assert_eq!(
            parse(r#"{"error": {"class": "GenericError", "desc": "no slot"}, "id": 8}"#).unwrap(),
            Message::Answer {
                id: 8,
                result: Err("no slot".into())
            }
        );
        assert_eq!(
            parse(r#"{"event": "RESET", "data": {"guest": true}, "timestamp": {}}"#).unwrap(),
            Message::Event {
                name: "RESET".into(),
                data: json!({ "guest": true })
            }
        );
    }

    #[test]
    fn what_is_not_the_protocol_is_quoted() {
        let error = parse("Segmentation fault").unwrap_err().to_string();
        assert!(
            error.contains("\"Segmentation fault\", expected a JSON object"),
            "{error}"
        );
        assert!(parse(r#"{"return": {}}"#).is_err(), "an answer to nobody");
    }

    #[test]
    fn a_command_is_one_line_with_its_arguments_if_any() {
        let without: Value = serde_json::from_str(&command(1, "cont", &Value::Null)).unwrap();
        assert_eq!(without, json!({ "execute": "cont", "id": 1 }));
        let line = command(2, "set_link", &json!({ "name": "nic1", "up": false }));
        assert_eq!(line.matches('\n').count(), 1);
        assert!(
            line.contains(r#""arguments":{"name":"nic1","up":false}"#),
            "{line}"
        );
    }

    #[test]
    fn lines_come_out_whole_however_the_bytes_are_cut() {
        let mut lines = Lines::default();
        assert!(lines.feed(b"{\"a\":").is_empty());
        assert_eq!(lines.feed(b"1}\r\n{\"b\":2}\n{"), ["{\"a\":1}", "{\"b\":2}"]);
        assert_eq!(lines.feed(b"}\n"), ["{}"]);
    }

    #[test]
    fn the_forwarded_port_is_read_from_qemus_own_table() {
        let table = "Hub -1 (net0):\r\n  Protocol[State]    FD  Source Address  Port   Dest. Address  Port RecvQ SendQ\r\n  TCP[HOST_FORWARD]  11       127.0.0.1 43559       10.0.2.15    22     0     0\r\n";
        assert_eq!(forwarded_port(table), Some(43559));
        assert_eq!(forwarded_port("nothing"), None);
    }
}
