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

/// Where moments and values lie in a picture.
struct Scale {
    from: i64,
    to: i64,
    low: f64,
    high: f64,
    top: f64,
    is_rank: bool,
    is_money: bool,
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

/// Lines of one kind on a common calendar, below `top`.
pub(super) fn picture(title: &str, is_rank: bool, lines: &[Line], top: f64) -> String {
    let moments = || {
        lines
            .iter()
            .flat_map(|one| one.drawn.points.iter().map(|point| point.at.0))
    };
    let values = lines.iter().flat_map(|one| {
        let all = one.drawn.points.iter();
        all.filter_map(|point| one.number(point.raw))
    });
    let (mut low, mut high) = values.fold((f64::MAX, f64::MIN), |(low, high), one| {
        (low.min(one), high.max(one))
    });
    if (high - low).abs() < f64::EPSILON {
        (low, high) = (low - 1.0, high + 1.0);
    }
    let scale = Scale {
        from: moments().min().unwrap_or(0),
        to: moments().max().unwrap_or(1),
        low: low.max(0.0),
        high,
        top,
        is_rank,
        is_money: lines
            .first()
            .is_some_and(|one| one.drawn.series.unit() == Unit::Currency),
    };
    let mut svg = String::new();
    frame(&mut svg, title, &scale);
    for (at, one) in lines.iter().enumerate() {
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

fn frame(svg: &mut String, title: &str, scale: &Scale) {
    let y = scale.top + 16.0;
    let _ = write!(
        svg,
        "<text x=\"8\" y=\"{y:.0}\" font-weight=\"bold\">{title}</text>"
    );
    for step in 0..=4 {
        let value = scale.low + (scale.high - scale.low) * f64::from(step) / 4.0;
        let y = scale.y(value);
        let label = label(value, scale);
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

/// A number beside an axis: prices with cents while they are small, large ones with commas.
fn label(value: f64, scale: &Scale) -> String {
    if scale.is_money && scale.high < 1000.0 {
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
        let scale = |high: f64, is_money: bool| Scale {
            from: 0,
            to: 1,
            low: 0.0,
            high,
            top: 0.0,
            is_rank: false,
            is_money,
        };
        assert_eq!(label(19.5, &scale(30.0, true)), "19.50");
        assert_eq!(label(435.75, &scale(700.0, false)), "436");
        assert_eq!(label(1_234_567.0, &scale(2e6, true)), "1,234,567");
        assert_eq!(label(0.0, &scale(5000.0, true)), "0");
    }
}
