//! Measured pairs, and the table that they are printed in.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// One comparison.
pub(crate) struct Line {
    pub(crate) what: String,
    pub(crate) ours: Amount,
    /// Name of the peer and what it needs; `None` where this machine has it not.
    pub(crate) peer: Option<(String, Amount)>,
    /// What we promised, when we did.
    pub(crate) limit: Option<Amount>,
}

/// A time or a size.
#[derive(Clone, Copy)]
pub(crate) enum Amount {
    Time(Duration),
    Bytes(u64),
}

impl Amount {
    fn number(self) -> f64 {
        match self {
            Amount::Time(time) => time.as_secs_f64(),
            #[expect(clippy::cast_precision_loss, reason = "a size for people")]
            Amount::Bytes(bytes) => bytes as f64,
        }
    }

    fn text(self) -> String {
        match self {
            Amount::Time(time) if time < Duration::from_millis(1) => {
                format!("{:.1} us", time.as_secs_f64() * 1e6)
            }
            Amount::Time(time) => format!("{:.2} ms", time.as_secs_f64() * 1e3),
            Amount::Bytes(_) => format!("{:.2} MB", self.number() / 1e6),
        }
    }
}

/// Medians of two pieces of work, taken in turns so that both see the same machine.
pub(crate) fn pair<A, B>(rounds: usize, ours: impl Fn() -> A, peer: impl Fn() -> B) -> (Amount, Amount) {
    let (mut our_times, mut peer_times) = (Vec::new(), Vec::new());
    // The first rounds warm caches and are not counted.
    for round in 0..rounds + rounds / 10 {
        let (ours, peer) = (time(&ours), time(&peer));
        if round >= rounds / 10 {
            our_times.push(ours);
            peer_times.push(peer);
        }
    }
    (median(our_times), median(peer_times))
}

fn time<T>(work: impl Fn() -> T) -> Duration {
    let started = Instant::now();
    black_box(work());
    started.elapsed()
}

/// The middle one.
pub(crate) fn median(mut times: Vec<Duration>) -> Amount {
    times.sort_unstable();
    Amount::Time(times[times.len() / 2])
}

pub(crate) fn print(lines: &[Line]) {
    println!("{:<58} {:>10} {:>10} {:>10}", "", "ours", "peer", "ours/peer");
    for line in lines {
        let (peer, ratio) = match &line.peer {
            Some((_, amount)) => (
                amount.text(),
                format!("{:.2}", line.ours.number() / amount.number()),
            ),
            None => ("none".to_owned(), "-".to_owned()),
        };
        println!(
            "{:<58} {:>10} {peer:>10} {ratio:>10}",
            line.what,
            line.ours.text()
        );
        if let Some((name, _)) = &line.peer {
            println!("  peer: {name}");
        }
        if let Some(limit) = line.limit {
            let word = if line.ours.number() < limit.number() {
                "kept"
            } else {
                "NOT KEPT"
            };
            println!("  promised: under {}, {word}", limit.text());
        }
    }
}
