//! How often the verdict is right: 2,000 synthetic sites for each case and each pair noise. Fixed seeds: the same numbers
//! on every machine. `make bench` prints them.

#[path = "../tests/simulator/mod.rs"]
mod simulator;

use simulator::{Archetype, Case, NOISE, SECONDS, share_right, tally};

const SITES: u32 = 2000;

const CASES: [(&str, Case); 8] = [
    ("harm 30 %", Case::Throughput(0.70)),
    ("harm 15 %", Case::Throughput(0.85)),
    ("harm 10 %", Case::Throughput(0.90)),
    ("harm 5 %, the limit", Case::Throughput(0.95)),
    ("harmless", Case::Harmless),
    ("gain 5 %", Case::Throughput(1.05)),
    ("gain 20 %", Case::Throughput(1.20)),
    ("gain 4.5x", Case::Throughput(4.5)),
];

fn main() {
    println!(
        "verdict: {SITES} synthetic sites for each line, half of them with a second metric that does not change"
    );
    let (prepare, round) = SECONDS;
    println!(
        "seconds: {prepare} s to prepare and {round} s a round
"
    );
    println!(
        "{:>10}  {:<20} {:>8} {:>8} {:>12} {:>10} {:>11} {:>8} {:>8}",
        "pair noise",
        "true effect",
        "kept",
        "reverted",
        "inconclusive",
        "gain seen",
        "mean pairs",
        "95 %",
        "seconds"
    );
    for noise in NOISE {
        for (name, case) in CASES {
            let tally = tally(case, noise, SITES);
            println!(
                "{:>8} %  {:<20} {:>7.2}% {:>7.2}% {:>11.2}% {:>9.2}% {:>11.1} {:>8} {:>8.0}",
                noise * 100.0,
                name,
                tally.kept() * 100.0,
                tally.reverted() * 100.0,
                tally.inconclusive().abs() * 100.0,
                tally.gains_recognised() * 100.0,
                tally.mean_pairs(),
                tally.pairs_of_95(),
                tally.mean_seconds()
            );
        }
    }
    println!(
        "\n{:<44} {:>8} {:>8} {:>8} {:>8}",
        "archetype: right at pair noise", "2 %", "5 %", "10 %", "20 %"
    );
    for archetype in Archetype::ALL {
        let shares = NOISE.map(|noise| format!("{:>7.2}%", share_right(archetype, noise, SITES) * 100.0));
        println!("{:<44} {}", archetype.name(), shares.join(" "));
    }
}
