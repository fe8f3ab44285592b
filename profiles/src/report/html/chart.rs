//! Charts as SVG: the raw points of each pair, and the interval of the ratio against its limit.
//!
//! Both arms differ in shape as well as in colour. A chart has a title and a description for screen readers; the
//! numbers stand in the table below it.

use super::super::MetricRow;
use super::text::{Text, figure};
use crate::measure::Better;
use std::fmt::{self, Write};

/// Size of a chart and the place of its plot, in units of the drawing.
const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 40.0;

/// Where values lie on an axis.
#[derive(Clone, Copy)]
struct Axis {
    from: f64,
    to: f64,
    begin: f64,
    end: f64,
}

impl Axis {
    fn at(self, value: f64) -> f64 {
        self.begin + (value - self.from) / (self.to - self.from) * (self.end - self.begin)
    }
}

/// The raw points: a circle as found and a square of ours for each pair, with a line between them.
pub(super) fn points(out: &mut String, metric: &MetricRow, index: usize) -> fmt::Result {
    let values: Vec<f64> = metric
        .points
        .iter()
        .flat_map(|point| [point.as_found, point.ours])
        .filter(|value| value.is_finite() && *value >= 0.0)
        .collect();
    let most = values.iter().copied().fold(0.0, f64::max);
    if most <= 0.0 || values.len() != 2 * metric.points.len() {
        return out.write_str("<p>No raw points were kept.</p>\n");
    }
    let step = step(most);
    let top = (most / step).ceil() * step;
    let up = Axis {
        from: 0.0,
        to: top,
        begin: HEIGHT - BOTTOM,
        end: TOP,
    };
    open(
        out,
        &format!("points-{index}"),
        &format!("{}: each pair, {}", metric.name, metric.unit),
        &format!(
            "{} pairs. As found {} {unit} on average, ours {} {unit}.",
            metric.pairs,
            figure(metric.as_found),
            figure(metric.ours),
            unit = metric.unit
        ),
    )?;
    let mut value = 0.0;
    while value <= top * 1.001 {
        let y = up.at(value);
        writeln!(
            out,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <text class=\"end\" x=\"{}\" y=\"{:.1}\">{}</text>",
            WIDTH - RIGHT,
            LEFT - 8.0,
            y + 4.0,
            tick(value, step)
        )?;
        value += step;
    }
    let count = f64::from(u32::try_from(metric.points.len()).unwrap_or(u32::MAX));
    let room = (WIDTH - LEFT - RIGHT) / count;
    let mut x = LEFT + room / 2.0;
    for (number, point) in metric.points.iter().enumerate() {
        let (found, ours) = (up.at(point.as_found), up.at(point.ours));
        write!(
            out,
            "<line class=\"pair\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{found:.1}\" y2=\"{ours:.1}\"/>\
             <rect class=\"ours\" x=\"{:.1}\" y=\"{:.1}\" width=\"10\" height=\"10\"/>\
             <circle class=\"found\" cx=\"{x:.1}\" cy=\"{found:.1}\" r=\"6\"/>",
            x - 5.0,
            ours - 5.0
        )?;
        if metric.points.len() <= 12 || number % 4 == 0 {
            write!(
                out,
                "<text class=\"middle\" x=\"{x:.1}\" y=\"{}\">{}</text>",
                HEIGHT - 20.0,
                number + 1
            )?;
        }
        out.push('\n');
        x += room;
    }
    writeln!(
        out,
        "<circle class=\"found\" cx=\"{LEFT}\" cy=\"14\" r=\"5\"/><text x=\"{}\" y=\"18\">as found</text>\
         <rect class=\"ours\" x=\"{}\" y=\"9\" width=\"10\" height=\"10\"/><text x=\"{}\" y=\"18\">ours, {}</text>\
         <text class=\"end\" x=\"{}\" y=\"{}\">pair</text></svg>",
        LEFT + 10.0,
        LEFT + 84.0,
        LEFT + 100.0,
        Text(&metric.unit),
        WIDTH - RIGHT,
        HEIGHT - 4.0
    )
}

/// The interval of the ratio, with no change and the limit.
pub(super) fn interval(out: &mut String, metric: &MetricRow, index: usize) -> fmt::Result {
    let marks = [
        metric.ratio_low,
        metric.ratio_high,
        metric.ratio,
        metric.limit,
        1.0,
    ];
    if !marks.iter().all(|mark| mark.is_finite() && *mark > 0.0) {
        return Ok(());
    }
    let (least, most) = marks.iter().fold((f64::MAX, 0.0_f64), |(least, most), &mark| {
        (least.min(mark), most.max(mark))
    });
    // Twice as much and half as much are equally far from no change.
    let (least, most) = (least.ln(), most.ln());
    let room = ((most - least) * 0.08).max(0.01);
    let along = Axis {
        from: least - room,
        to: most + room,
        begin: 24.0,
        end: WIDTH - 24.0,
    };
    let at = |ratio: f64| along.at(ratio.ln());
    let side = match metric.better() {
        Better::Higher => "left",
        Better::Lower => "right",
    };
    open(
        out,
        &format!("interval-{index}"),
        &format!("{}: ours / as found", metric.name),
        &format!(
            "Ratio {}, 95 % interval {} to {}. The limit is {}: harm lies to the {side} of it.",
            figure(metric.ratio),
            figure(metric.ratio_low),
            figure(metric.ratio_high),
            figure(metric.limit)
        ),
    )?;
    let (limit, harm) = (
        at(metric.limit),
        match metric.better() {
            Better::Higher => (0.0, at(metric.limit)),
            Better::Lower => (at(metric.limit), WIDTH - at(metric.limit)),
        },
    );
    writeln!(
        out,
        "<rect class=\"harm\" x=\"{:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{}\"/>\
         <line class=\"limit\" x1=\"{limit:.1}\" x2=\"{limit:.1}\" y1=\"{TOP}\" y2=\"{bottom}\"/>\
         <line class=\"none\" x1=\"{one:.1}\" x2=\"{one:.1}\" y1=\"{TOP}\" y2=\"{bottom}\"/>",
        harm.0,
        harm.1.max(0.0),
        HEIGHT - TOP - BOTTOM,
        bottom = HEIGHT - BOTTOM,
        one = at(1.0),
    )?;
    let middle = (TOP + HEIGHT - BOTTOM) / 2.0;
    writeln!(
        out,
        "<line class=\"range\" x1=\"{low:.1}\" x2=\"{high:.1}\" y1=\"{middle}\" y2=\"{middle}\"/>\
         <line class=\"range\" x1=\"{low:.1}\" x2=\"{low:.1}\" y1=\"{}\" y2=\"{}\"/>\
         <line class=\"range\" x1=\"{high:.1}\" x2=\"{high:.1}\" y1=\"{0}\" y2=\"{1}\"/>\
         <rect class=\"ours\" x=\"{:.1}\" y=\"{}\" width=\"12\" height=\"12\"/>",
        middle - 9.0,
        middle + 9.0,
        at(metric.ratio) - 6.0,
        middle - 6.0,
        low = at(metric.ratio_low),
        high = at(metric.ratio_high),
    )?;
    writeln!(
        out,
        "<text class=\"middle\" x=\"{:.1}\" y=\"{}\">{}\u{d7}, {} to {}</text>\
         <text class=\"middle\" x=\"{:.1}\" y=\"24\">limit {}</text>\
         <text class=\"middle\" x=\"{:.1}\" y=\"{}\">no change</text></svg>",
        at(metric.ratio).clamp(90.0, WIDTH - 90.0),
        middle - 18.0,
        figure(metric.ratio),
        figure(metric.ratio_low),
        figure(metric.ratio_high),
        limit.clamp(40.0, WIDTH - 40.0),
        figure(metric.limit),
        at(1.0).clamp(40.0, WIDTH - 40.0),
        HEIGHT - 18.0,
    )
}

fn open(out: &mut String, id: &str, title: &str, description: &str) -> fmt::Result {
    writeln!(
        out,
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\">\
         <title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}</desc>",
        Text(title),
        Text(description)
    )
}

/// The label of a grid line, with as many decimals as the distance of the lines needs.
fn tick(value: f64, step: f64) -> String {
    let mut decimals = 0;
    let mut left = step;
    while left < 0.999 && decimals < 9 {
        left *= 10.0;
        decimals += 1;
    }
    format!("{value:.decimals$}")
}

/// The distance of grid lines: 1, 2 or 5 times a power of ten, for 3 to 6 lines up to `most`.
fn step(most: f64) -> f64 {
    let power = 10_f64.powf((most / 4.0).log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|times| times * power)
        .find(|step| most / step <= 5.0)
        .unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grid_lines_are_few_and_round() {
        for (most, expected) in [(957.0, 200.0), (10.0, 2.0), (0.4, 0.1), (23_500.0, 5000.0)] {
            assert!(
                (step(most) / expected - 1.0).abs() < 1e-9,
                "{most}: {}",
                step(most)
            );
        }
    }
}
