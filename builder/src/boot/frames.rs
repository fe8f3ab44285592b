//! Frames on the shell's serial line: how the output of a command in the guest reaches us whole.
//!
//! A frame is a line `RS KIND ID [WORD]`, where RS is the byte 0x1e. A shell's echo of what we typed cannot look like
//! one, because we write RS in octal. Output travels in base64, a few kilobytes a frame, written by one `write` each,
//! so that standard output and standard error never tear each other.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

/// The byte that begins a frame.
const RECORD_SEPARATOR: char = '\x1e';

/// One frame from the guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// The shell has done what was asked with this id; the word is its answer.
    Done {
        /// The request.
        id: u64,
        /// What the request printed: a digest, or nothing.
        word: String,
    },
    /// Standard output of a command.
    Out {
        /// The request.
        id: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// Standard error of a command.
    Err {
        /// The request.
        id: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// A command has ended.
    Exit {
        /// The request.
        id: u64,
        /// Its exit code; 128 + N for signal N.
        code: u8,
    },
}

/// Parses one line; `None` when it is no frame (an echo, a prompt, a message to all terminals).
pub fn parse(line: &str) -> Option<Frame> {
    // Something else may have written on the line before the frame.
    let (_, frame) = line.rsplit_once(RECORD_SEPARATOR)?;
    let mut words = frame.trim_end().split(' ');
    let kind = words.next()?;
    let id = words.next()?.parse().ok()?;
    let word = words.next().unwrap_or_default();
    match kind {
        "D" => Some(Frame::Done {
            id,
            word: word.to_owned(),
        }),
        "O" => Some(Frame::Out {
            id,
            bytes: BASE64.decode(word).ok()?,
        }),
        "E" => Some(Frame::Err {
            id,
            bytes: BASE64.decode(word).ok()?,
        }),
        "X" => Some(Frame::Exit {
            id,
            code: word.parse().ok()?,
        }),
        _ => None,
    }
}

/// Shell text that sends the `Done` frame of request `id`, with the output of `word` (shell text, may be empty).
pub fn done(id: u64, word: &str) -> String {
    format!(r#"printf '\036D %s %s\n' {id} "{word}""#)
}

/// Shell text that sends `file` (a path of ours) as the output of request `id`. Nothing else writes meanwhile, so one
/// pipeline does, which is many times faster than the runner's loop.
pub fn send_file(id: u64, file: &str) -> String {
    format!(r#"base64 -w3072 {file} | sed "s/^/$(printf '\036')O {id} /"; printf '\036X %s 0\n' {id}"#) + "\n"
}

/// Where the guest keeps our files; a tmpfs, gone at the next boot.
pub const GUEST_DIR: &str = "/run/dtnforge-boot";

/// The program that runs a command in the guest and frames its output: `sh runner ID PROGRAM [ARG...]`.
///
/// Standard output (3) and standard error each go through a loop that reads what is there, at most 3 KiB, and sends it
/// on to the terminal (4). The command sees neither descriptor, and nothing to read. Its exit code comes last.
pub const RUNNER: &str = r#"
id=$1
shift
code=$0.$id.code
frame() {
    while text=$(dd bs=3072 count=1 2>/dev/null | base64 -w0) && [ -n "$text" ]; do
        printf '\036%s %s %s\n' "$1" "$id" "$text" >&4
    done
}
exec 4>&1
{
    {
        "$@" 2>&1 >&3 3>&- 4>&- </dev/null
        echo $? >"$code"
    } | frame E
} 3>&1 | frame O
printf '\036X %s %s\n' "$id" "$(cat "$code")" >&4
rm -f "$code"
"#;

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the real runner with the host's shell and parses what it prints.
    fn run(args: &[&str]) -> Vec<Frame> {
        let dir = tempfile::tempdir().unwrap();
        let runner = dir.path().join("runner");
        std::fs::write(&runner, RUNNER).unwrap();
        let output = std::process::Command::new("sh")
            .arg(&runner)
            .arg("7")
            .args(args)
            .output()
            .unwrap();
        assert!(
            output.stderr.is_empty(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout)
            .unwrap()
            .lines()
            .map(|line| parse(line).unwrap())
            .collect()
    }

    fn joined(frames: &[Frame], errors: bool) -> Vec<u8> {
        let mut all = Vec::new();
        for frame in frames {
            match frame {
                Frame::Out { bytes, .. } if !errors => all.extend(bytes),
                Frame::Err { bytes, .. } if errors => all.extend(bytes),
                _ => {}
            }
        }
        all
    }

    #[test]
    fn output_errors_and_exit_code_come_back_apart() {
        let frames = run(&["sh", "-c", "echo to out; echo to err >&2; exit 3"]);
        assert_eq!(joined(&frames, false), b"to out\n");
        assert_eq!(joined(&frames, true), b"to err\n");
        assert_eq!(frames.last(), Some(&Frame::Exit { id: 7, code: 3 }));
    }

    #[test]
    fn large_binary_output_comes_back_bit_for_bit() {
        let frames = run(&[
            "sh",
            "-c",
            "head -c 40000 /dev/zero | tr '\\0' '\\377'; printf '\\n\\036D 7 x'",
        ]);
        let mut expected = vec![0xff_u8; 40000];
        expected.extend(b"\n\x1eD 7 x");
        assert_eq!(joined(&frames, false), expected);
    }

    #[test]
    fn a_command_that_reads_gets_nothing_and_a_missing_one_gets_127() {
        assert_eq!(run(&["cat"]), [Frame::Exit { id: 7, code: 0 }]);
        let frames = run(&["/no/such/program"]);
        assert_eq!(frames.last(), Some(&Frame::Exit { id: 7, code: 127 }));
        assert!(
            String::from_utf8(joined(&frames, true))
                .unwrap()
                .contains("not found")
        );
    }

    #[test]
    fn a_file_is_sent_bit_for_bit() {
        let content: Vec<u8> = (0..=255).cycle().take(10_000).collect();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &content).unwrap();
        let text = send_file(9, file.path().to_str().unwrap());
        assert_eq!(parse(&text), None, "its echo is no frame");
        let output = std::process::Command::new("sh")
            .args(["-c", &text])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let frames: Vec<Frame> = text.lines().map(|line| parse(line).unwrap()).collect();
        assert_eq!(joined(&frames, false), content);
        assert_eq!(frames.last(), Some(&Frame::Exit { id: 9, code: 0 }));
    }

    #[test]
    fn an_argument_with_quotes_and_spaces_arrives_as_it_is() {
        let frames = run(&["printf", "%s", "a 'b' \"c\" $d"]);
        assert_eq!(joined(&frames, false), b"a 'b' \"c\" $d");
    }

    #[test]
    fn an_echo_of_what_we_typed_is_no_frame() {
        assert_eq!(parse(&done(1, "")), None);
        assert_eq!(parse("root@dtn:/# "), None);
        assert_eq!(
            parse("noise\x1eD 1 abc\r"),
            Some(Frame::Done {
                id: 1,
                word: "abc".into()
            })
        );
    }
}
