//! One picture: its frame, its axes, its lines and their marks.

use std::fmt::Write as _;

use super::{Drawn, HEIGHT, WIDTH};
use crate::{
    Domain, KeepaMinute,
    series::{Reading, Unit, reading},
};

const LEFT: f64 = 64.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 28.0;
const BOTTOM: f64 = 28.0;
/// Dates below a picture.
const DATES: i64 = 4;
/// About as many steps an axis has.
const STEPS: f64 = 4.0;

/// Where moments and values lie in a picture.
struct Scale {
    from: i64,
    to: i64,
    low: f64,
    high: f64,
    step: f64,
    top: f64,
    is_rank: bool,
}

impl Scale {
    fn x(&self, at: KeepaMinute) -> f64 {
        let span = (self.to as f64 - self.from as f64).max(1.0);
        LEFT + (at.0 as f64 - self.from as f64) / span * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        let span = (self.high - self.low).max(f64::MIN_POSITIVE);
        let share = ((value - self.low) / span).clamp(0.0, 1.0);
        let share = if self.is_rank { share } else { 1.0 - share };
        self.top + TOP + share * (HEIGHT - TOP - BOTTOM)
    }
}

/// A history in its colour.
pub(super) struct Line {
    /// What it is called in the picture, where the picture says so.
    pub(super) name: Option<String>,
    pub(super) domain: Domain,
    pub(super) drawn: Drawn,
    pub(super) colour: &'static str,
}

impl Line {
    fn number(&self, raw: i64) -> Option<f64> {
        let read = reading(Some(raw), self.drawn.series.unit(), self.domain);
        read.map(Reading::number)
    }
}

/// Lines of one kind.
pub(super) struct Group {
    pub(super) title: String,
    /// Whether less is better, so that its axis points down.
    pub(super) is_rank: bool,
    pub(super) lines: Vec<Line>,
}

impl Group {
    /// When something was recorded in it.
    pub(super) fn moments(&self) -> impl Iterator<Item = i64> + Clone {
        let points = self.lines.iter().flat_map(|one| &one.drawn.points);
        points.map(|point| point.at.0)
    }

    /// What it counts in, if that is money.
    fn currency(&self) -> Option<&'static str> {
        let first = self.lines.first()?;
        let is_money = first.drawn.series.unit() == Unit::Currency;
        is_money.then(|| first.domain.currency())
    }
}

/// Lines of one kind on a calendar, below `top`.
pub(super) fn picture(group: &Group, (from, to): (i64, i64), top: f64) -> String {
    let values = group.lines.iter().flat_map(|one| {
        let all = one.drawn.points.iter();
        all.filter_map(|point| one.number(point.raw))
    });
    let (low, high) = values.fold((f64::MAX, f64::MIN), |(low, high), one| {
        (low.min(one), high.max(one))
    });
    let (low, high, step) = round(low, high, group.currency().is_none());
    let scale = Scale {
        from,
        to,
        low,
        high,
        step,
        top,
        is_rank: group.is_rank,
    };
    let title = match group.currency() {
        Some(currency) => format!("{}, {currency}", group.title),
        None => group.title.clone(),
    };
    let mut svg = String::new();
    frame(&mut svg, &title, &scale);
    for (at, one) in group.lines.iter().enumerate() {
        line(&mut svg, one, &scale);
        let Some(name) = &one.name else {
            continue;
        };
        let x = LEFT + 90.0 + 150.0 * at as f64;
        let y = scale.top + 16.0;
        let colour = one.colour;
        // Writing to a string cannot fail.
        let _ = write!(
            svg,
            "<text x=\"{x:.0}\" y=\"{y:.0}\" fill=\"{colour}\">{name}</text>"
        );
    }
    svg
}

/// Ends of an axis around these values, and steps between them, that people can read. What is counted in whole pieces has
/// whole steps.
fn round(low: f64, high: f64, is_whole: bool) -> (f64, f64, f64) {
    let least = if is_whole { 1.0 } else { 0.01 };
    let wanted = ((high - low) / STEPS).max(least);
    let power = 10_f64.powf(wanted.log10().floor());
    let sizes = [1.0, 2.0, 2.5, 5.0, 10.0].map(|size| size * power);
    // No step is finer than what is counted: a piece, or a hundredth of a price.
    let is_even = |step: f64| (step / least - (step / least).round()).abs() < 1e-6;
    let fits = |step: &f64| *step >= wanted && is_even(*step);
    let step = sizes.into_iter().find(fits).unwrap_or(10.0 * power);
    let low = (low / step).floor().max(0.0) * step;
    let high = ((high / step).ceil() * step).max(low + step);
    (low, high, step)
}

fn frame(svg: &mut String, title: &str, scale: &Scale) {
    let y = scale.top + 16.0;
    let _ = write!(
        svg,
        "<text x=\"8\" y=\"{y:.0}\" font-weight=\"bold\">{title}</text>"
    );
    let steps = ((scale.high - scale.low) / scale.step).round();
    for step in 0..=steps.clamp(1.0, 2.0 * STEPS) as u32 {
        let value = scale.low + scale.step * f64::from(step);
        let y = scale.y(value);
        let label = label(value, scale.step);
        let right = WIDTH - RIGHT;
        let _ = write!(
            svg,
            "<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#666\">{label}</text>",
            LEFT - 6.0,
            y + 4.0
        );
    }
    for step in 0..=DATES {
        let anchor = match step {
            0 => "start",
            DATES => "end",
            _ => "middle",
        };
        let share = step as f64 / DATES as f64;
        let at = scale.from as f64 + (scale.to as f64 - scale.from as f64) * share;
        let at = KeepaMinute(at as i64);
        let (x, y) = (
            LEFT + share * (WIDTH - LEFT - RIGHT),
            scale.top + HEIGHT - 10.0,
        );
        let day = at.to_string();
        let day = day.get(..10).unwrap_or_default();
        let _ = write!(
            svg,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"#666\">{day}</text>"
        );
    }
}

/// A number beside an axis: with cents where steps have some, large ones with commas.
fn label(value: f64, step: f64) -> String {
    if step.fract() > 0.0 {
        return format!("{value:.2}");
    }
    let digits = format!("{value:.0}");
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A value holds until the next one, so the line goes in steps; where there is none, it is interrupted.
fn line(svg: &mut String, of: &Line, scale: &Scale) {
    let colour = of.colour;
    let mut path = String::new();
    let mut is_drawing = false;
    for point in &of.drawn.points {
        let x = scale.x(point.at);
        // Writing to a string cannot fail.
        let _ = match (of.number(point.raw), is_drawing) {
            (None, true) => write!(path, "H{x:.1}"),
            (None, false) => Ok(()),
            (Some(value), true) => write!(path, "H{x:.1}V{:.1}", scale.y(value)),
            (Some(value), false) => write!(path, "M{x:.1} {:.1}", scale.y(value)),
        };
        is_drawing = point.raw >= 0;
    }
    if is_drawing {
        let _ = write!(path, "H{:.1}", WIDTH - RIGHT);
    }
    let _ = write!(
        svg,
        "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/>"
    );
    for drop in &of.drawn.drops {
        let (x, y) = (
            scale.x(drop.at),
            scale.y(of.number(drop.raw).unwrap_or_default()),
        );
        let day = drop.at.to_string();
        let _ = write!(
            svg,
            "<circle class=\"drop\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\" fill=\"{colour}\"><title>{} -{:.0} %</title></circle>",
            day.get(..10).unwrap_or_default(),
            drop.percent
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_beside_the_axis_can_be_read() {
        assert_eq!(label(19.5, 0.5), "19.50");
        assert_eq!(label(435.0, 5.0), "435");
        assert_eq!(label(1_234_567.0, 1.0), "1,234,567");
        assert_eq!(label(0.0, 1000.0), "0");
    }

    #[test]
    fn an_axis_begins_ends_and_steps_at_round_numbers() {
        assert_eq!(round(12.16, 74.16, false), (0.0, 80.0, 20.0));
        assert_eq!(round(24.51, 51.83, false), (20.0, 60.0, 10.0));
        assert_eq!(round(9.0, 10.0, false), (9.0, 10.0, 0.25));
        assert_eq!(round(349.0, 9910.0, true), (0.0, 10_000.0, 2500.0));
        // There is no half of an offer.
        assert_eq!(round(2.0, 9.0, true), (2.0, 10.0, 2.0));
        assert_eq!(round(0.0, 1.0, true), (0.0, 1.0, 1.0));
        // One value alone has room around it.
        assert_eq!(round(5.0, 5.0, true), (5.0, 6.0, 1.0));
        assert_eq!(round(0.0, 0.0, false), (0.0, 0.01, 0.01));
    }
}
