//! What disturbs the rounds of a site.

use super::random::Random;
use dtnforge_profiles::decide::MAX_PAIRS;
use std::sync::OnceLock;

/// The shape of the disturbance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Every round alike.
    Plain,
    /// The machine gets slower or faster over the run.
    Drift,
    /// A neighbour takes a share for some rounds in a row.
    Bursts,
    /// Now and then a round that is far off.
    Outliers,
    /// Rounds fall into one of two modes.
    Bimodal,
}

const SHAPES: [Shape; 5] = [
    Shape::Plain,
    Shape::Drift,
    Shape::Bursts,
    Shape::Outliers,
    Shape::Bimodal,
];

/// The disturbance of one metric of one site, round by round.
pub(super) struct Noise {
    shape: Shape,
    /// Brings the pair noise to what was asked for.
    scale: f64,
    /// Direction of the drift; the burst goes down.
    direction: f64,
    /// Rounds of a burst that are left.
    burst: u32,
    round: u32,
}

impl Noise {
    /// A disturbance of a shape by chance, with this pair noise.
    pub(super) fn drawn(random: &mut Random, pair_noise: f64) -> Self {
        let which = (random.uniform() * 5.0).floor();
        let shape = SHAPES
            .into_iter()
            .zip([0.0, 1.0, 2.0, 3.0])
            .find(|&(_, number)| which <= number)
            .map_or(Shape::Bimodal, |(shape, _)| shape);
        let direction = if random.happens(0.5) { 1.0 } else { -1.0 };
        Self::new(shape, pair_noise / unscaled_pair_noise(shape), direction)
    }

    fn new(shape: Shape, scale: f64, direction: f64) -> Self {
        Self {
            shape,
            scale,
            direction,
            burst: 0,
            round: 0,
        }
    }

    /// The logarithm of what the next round is off by.
    pub(super) fn next(&mut self, random: &mut Random) -> f64 {
        self.round += 1;
        let off = match self.shape {
            Shape::Plain => random.normal(),
            // Over a whole run some ten times the noise of a round.
            Shape::Drift => random.normal() + self.direction * f64::from(self.round) * 10.0 / 64.0,
            Shape::Bursts => {
                if self.burst == 0 && random.happens(0.06) {
                    self.burst = 3;
                }
                let taken = if self.burst > 0 { 3.0 } else { 0.0 };
                self.burst = self.burst.saturating_sub(1);
                random.normal() - taken
            }
            Shape::Outliers => {
                let far = if random.happens(0.03) { 6.0 } else { 0.0 };
                random.normal() - far
            }
            Shape::Bimodal => {
                let slow = if random.happens(0.3) { 3.0 } else { 0.0 };
                random.normal() - slow
            }
        };
        off * self.scale
    }
}

/// The pair noise of a shape whose scale is 1, counted once.
fn unscaled_pair_noise(shape: Shape) -> f64 {
    static COUNTED: OnceLock<[f64; 5]> = OnceLock::new();
    let counted = COUNTED.get_or_init(|| SHAPES.map(count));
    SHAPES
        .into_iter()
        .zip(counted)
        .find(|(other, _)| *other == shape)
        .map_or(1.0, |(_, &noise)| noise)
}

fn count(shape: Shape) -> f64 {
    const RUNS: u32 = 1000;
    let mut random = Random::new(4711);
    let (mut sum, mut squares, mut pairs) = (0.0, 0.0, 0.0);
    for run in 0..RUNS {
        let direction = if run % 2 == 0 { 1.0 } else { -1.0 };
        let mut noise = Noise::new(shape, 1.0, direction);
        for pair in 0..MAX_PAIRS {
            let (first, second) = (noise.next(&mut random), noise.next(&mut random));
            // As in a run, the arms take turns.
            let log = if pair % 2 == 0 {
                second - first
            } else {
                first - second
            };
            sum += log;
            squares += log * log;
            pairs += 1.0;
        }
    }
    let mean: f64 = sum / pairs;
    (squares / pairs - mean * mean).sqrt()
}
