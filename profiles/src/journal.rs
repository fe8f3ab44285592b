//! The journal of a trial: one JSON line before each write and one after it, under `/run`.
//!
//! Each line carries a sequence number and a checksum. An intent without its `done` may or may not have happened and
//! is undone all the same, since undo is idempotent. A torn last line is what a crash leaves and is dropped; it can
//! only be an intent whose write had not begun, because the line is synced before the write.

use crate::knob::KnobId;
use crate::undo::Undo;
use crate::value::Value;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// One thing that happened or is about to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
pub enum Event {
    /// About to write `to`; `undo` takes it back.
    Intent {
        /// The knob.
        knob: KnobId,
        /// The value to be written.
        to: Value,
        /// The way back, complete.
        undo: Undo,
    },
    /// The write of the intent with number `of` was done and read back as `now`.
    Done {
        /// Sequence number of the intent.
        of: u64,
        /// What was read back.
        now: Value,
    },
    /// The intent with number `of` was taken back and read back as `now`.
    Undone {
        /// Sequence number of the intent.
        of: u64,
        /// What was read back.
        now: Value,
    },
}

/// A line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// From 0, without gaps.
    pub seq: u64,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// A journal that cannot be trusted: what is wrong, and where.
#[derive(Debug, thiserror::Error)]
#[error("trial journal, line {line}: {why}")]
pub struct BadJournal {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

fn checksum(body: &str) -> String {
    Sha256::digest(body.as_bytes())
        .iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

impl Record {
    /// The line, with its checksum in front and a line feed at its end.
    ///
    /// # Errors
    /// Never in practice: only when a value cannot be serialised.
    pub fn to_line(&self) -> Result<String, serde_json::Error> {
        let body = serde_json::to_string(self)?;
        Ok(format!("{} {body}\n", checksum(&body)))
    }

    fn parse(line: &str, number: usize, seq: u64) -> Result<Self, BadJournal> {
        let bad = |why: String| BadJournal { line: number, why };
        let (sum, body) = line.split_once(' ').ok_or_else(|| bad("no checksum".into()))?;
        if checksum(body) != sum {
            return Err(bad("checksum does not fit".into()));
        }
        let record: Record = serde_json::from_str(body).map_err(|error| bad(error.to_string()))?;
        if record.seq != seq {
            return Err(bad(format!(
                "sequence number {} where {seq} was expected",
                record.seq
            )));
        }
        Ok(record)
    }
}

/// Reads a journal. A damaged last line without a line feed is dropped: that is what a crash leaves.
///
/// # Errors
/// Any other damage: then the caller undoes what it can read and does not claim a verified rollback.
pub fn parse(text: &str) -> Result<Vec<Record>, BadJournal> {
    let mut records = Vec::new();
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let Some(line) = line.strip_suffix('\n') else {
            break;
        };
        records.push(Record::parse(line, index + 1, index as u64)?);
    }
    Ok(records)
}

/// The intents that are not undone yet, last first: the order in which they are to be taken back.
pub fn pending(records: &[Record]) -> Vec<(u64, &KnobId, &Undo)> {
    let undone = |seq: u64| {
        records
            .iter()
            .any(|r| matches!(r.event, Event::Undone { of, .. } if of == seq))
    };
    let mut list: Vec<_> = records
        .iter()
        .filter_map(|record| match &record.event {
            Event::Intent { knob, undo, .. } if !undone(record.seq) => Some((record.seq, knob, undo)),
            _ => None,
        })
        .collect();
    list.reverse();
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intent(seq: u64) -> Record {
        let knob: KnobId = "sysctl:net.ipv4.tcp_rmem".parse().unwrap();
        let undo = Undo::Write("4096 131072 6291456".into());
        Record {
            seq,
            event: Event::Intent {
                knob,
                to: "4096 131072 33554432".into(),
                undo,
            },
        }
    }

    fn text(records: &[Record]) -> String {
        records.iter().map(|record| record.to_line().unwrap()).collect()
    }

    #[test]
    fn a_torn_last_line_is_dropped_at_every_cut() {
        let whole = text(&[intent(0), intent(1)]);
        let first = intent(0).to_line().unwrap().len();
        for cut in first..whole.len() {
            assert_eq!(parse(&whole[..cut]).unwrap().len(), 1, "cut at {cut}");
        }
        assert_eq!(parse(&whole).unwrap().len(), 2);
    }

    #[test]
    fn damage_before_the_end_is_an_error_that_names_the_line() {
        let whole = text(&[intent(0), intent(1)]).replacen("tcp_rmem", "tcp_wmem", 1);
        assert_eq!(
            parse(&whole).unwrap_err().to_string(),
            "trial journal, line 1: checksum does not fit"
        );
    }

    #[test]
    fn an_undone_intent_is_not_pending() {
        let undone = Record {
            seq: 2,
            event: Event::Undone {
                of: 1,
                now: "1".into(),
            },
        };
        let records = [intent(0), intent(1), undone];
        assert_eq!(
            pending(&records).iter().map(|(seq, ..)| *seq).collect::<Vec<_>>(),
            [0]
        );
    }
}
