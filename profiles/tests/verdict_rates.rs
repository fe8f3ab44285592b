//! How often the verdict is right, on a smaller draw of the sites than `make bench` uses.

mod simulator;

use dtnforge_profiles::decide::MAX_PAIRS;
use simulator::{Archetype, Case, NOISE, share_right, tally};

/// Sites of each case; `make bench` draws 2,000.
const SITES: u32 = 600;

#[test]
fn at_5_percent_pair_noise_harm_is_reverted_and_harmlessness_is_kept() {
    for noise in [0.02, 0.05] {
        for harm in [0.90, 0.85, 0.70] {
            let reverted = tally(Case::Throughput(harm), noise, SITES).reverted();
            assert!(reverted >= 0.99, "{harm}x at {noise}: reverted {reverted}");
        }
        let kept = tally(Case::Harmless, noise, SITES).kept();
        assert!(kept >= 0.95, "harmless at {noise}: kept {kept}");
        for gain in [1.2, 4.5] {
            let recognised = tally(Case::Throughput(gain), noise, SITES).gains_recognised();
            assert!(recognised >= 0.99, "{gain}x at {noise}: recognised {recognised}");
        }
    }
}

#[test]
fn whatever_the_noise_harm_is_hardly_ever_kept_and_harmlessness_hardly_ever_reverted() {
    for noise in NOISE {
        for harm in [0.90, 0.85, 0.70] {
            let kept = tally(Case::Throughput(harm), noise, SITES).kept();
            assert!(kept <= 0.01, "{harm}x at {noise}: kept {kept}");
        }
        let reverted = tally(Case::Harmless, noise, SITES).reverted();
        assert!(reverted <= 0.05, "harmless at {noise}: reverted {reverted}");
    }
}

#[test]
fn a_quiet_site_decides_at_the_first_look_and_a_noisy_one_takes_its_time() {
    let quiet = tally(Case::Harmless, 0.02, SITES);
    assert!(quiet.mean_pairs() <= 7.0, "{} pairs", quiet.mean_pairs());
    assert!(quiet.mean_seconds() <= 105.0, "{} s", quiet.mean_seconds());
    let noisy = tally(Case::Harmless, 0.20, SITES);
    assert_eq!(noisy.pairs_of_95(), MAX_PAIRS);
    assert!(noisy.inconclusive() > 0.3, "{}", noisy.inconclusive());
}

#[test]
fn the_three_outcomes_of_the_challenge_come_out_right() {
    for noise in [0.02, 0.05] {
        for archetype in Archetype::ALL {
            let right = share_right(archetype, noise, SITES);
            assert!(right >= 0.99, "{} at {noise}: right {right}", archetype.name());
        }
    }
}
