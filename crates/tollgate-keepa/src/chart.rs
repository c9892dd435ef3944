//! Histories as pictures: lines on a calendar, drops marked, as SVG that needs nothing else.
//!
//! Invariants: everything from outside is escaped; a gap in a history is a gap in its line; whatever the numbers, every
//! coordinate is finite and inside the picture.

use std::fmt::Write as _;

use crate::{
    Domain, KeepaMinute, Product,
    series::{Point, Series, Unit, reading},
};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 28.0;
const BOTTOM: f64 = 28.0;
/// A price that falls by at least this share is marked.
const DROP: f64 = 0.10;
/// More points than this are not told apart on a screen.
const POINTS: usize = 720;
/// More marks than this say nothing any more; the deepest drops stay.
const MARKS: usize = 40;
/// Dates below a picture.
const DATES: i64 = 4;

/// A picture of one kind of history.
pub struct Panel {
    /// Its heading.
    pub title: &'static str,
    /// What is drawn in it.
    pub series: &'static [Series],
    /// Whether less is better, so that its axis points down.
    pub is_rank: bool,
}

/// The pictures of a product.
pub const PANELS: [Panel; 4] = [
    Panel {
        title: "Price",
        series: &[
            Series::Amazon,
            Series::New,
            Series::NewFba,
            Series::ListPrice,
        ],
        is_rank: false,
    },
    Panel {
        title: "Buy box",
        series: &[Series::BuyBoxShipping],
        is_rank: false,
    },
    Panel {
        title: "Sales rank",
        series: &[Series::SalesRank],
        is_rank: true,
    },
    Panel {
        title: "Offers",
        series: &[
            Series::NewOfferCount,
            Series::NewFbaOfferCount,
            Series::NewFbmOfferCount,
        ],
        is_rank: false,
    },
];
const COLOURS: [&str; 4] = ["#c2410c", "#1d4ed8", "#15803d", "#7c3aed"];

/// Letters that mean something in a page, and how they are written there.
const ENTITIES: [(char, &str); 5] = [
    ('&', "&amp;"),
    ('<', "&lt;"),
    ('>', "&gt;"),
    ('"', "&quot;"),
    ('\'', "&#39;"),
];

/// A text that may stand in a page.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match ENTITIES.iter().find(|(one, _)| *one == letter) {
            Some((_, entity)) => safe.push_str(entity),
            None if letter.is_control() && letter != '\n' => safe.push(' '),
            None => safe.push(letter),
        }
    }
    safe
}

/// A picture that can be drawn at any size.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// The picture.
    pub svg: String,
    /// How wide it is meant to be.
    pub width: f64,
    /// How high.
    pub height: f64,
}

/// All pictures of a product that have something to show, one below the other.
pub fn charts(product: &Product, only: &[Series]) -> Option<Chart> {
    let mut panels = Vec::new();
    for panel in &PANELS {
        let drawn: Vec<Drawn> = panel
            .series
            .iter()
            .filter(|one| only.is_empty() || only.contains(one))
            .map(|one| Drawn::of(product, *one))
            .filter(|one| one.points.iter().any(|point| point.raw >= 0))
            .collect();
        if !drawn.is_empty() {
            panels.push(picture(panel, &drawn, product.domain(), panels.len()));
        }
    }
    if panels.is_empty() {
        return None;
    }
    let height = HEIGHT * panels.len() as f64;
    let title = escaped(product.asin());
    let svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"11\" role=\"img\" aria-label=\"Histories of {title}\">{}</svg>",
        panels.concat()
    );
    Some(Chart {
        svg,
        width: WIDTH,
        height,
    })
}

/// A history as it is drawn: as many points as can be seen, and every drop worth marking.
struct Drawn {
    series: Series,
    points: Vec<Point>,
    drops: Vec<Drop>,
}

/// A price that fell.
struct Drop {
    at: KeepaMinute,
    raw: i64,
    percent: f64,
}

impl Drawn {
    fn of(product: &Product, series: Series) -> Self {
        let flat = product.history(series.index());
        let all = flat.map_or_else(Vec::new, |flat| series.decode(&flat).points);
        // Looked for before points are left out: what remains stands side by side that never followed one another.
        let drops = match series.unit() {
            Unit::Currency => drops(&all),
            Unit::Rank | Unit::Count | Unit::Rating => Vec::new(),
        };
        Self {
            series,
            drops,
            points: thinned(all),
        }
    }
}

/// The deepest drops from one value to the next, in the order of time.
fn drops(points: &[Point]) -> Vec<Drop> {
    let mut found = Vec::new();
    for two in points.windows(2) {
        let (last, now) = (two[0].raw as f64, two[1].raw as f64);
        let share = (last - now) / last;
        if last > 0.0 && now >= 0.0 && share >= DROP {
            found.push(Drop {
                at: two[1].at,
                raw: two[1].raw,
                percent: share * 100.0,
            });
        }
    }
    found.sort_by(|a, b| b.percent.total_cmp(&a.percent));
    found.truncate(MARKS);
    found.sort_by_key(|drop| drop.at);
    found
}

/// Few enough points to draw: of each stretch the lowest and the highest stay.
fn thinned(all: Vec<Point>) -> Vec<Point> {
    if all.len() <= POINTS {
        return all;
    }
    let stretch = all.len().div_ceil(POINTS / 2);
    let mut kept = Vec::with_capacity(POINTS + 2);
    for part in all.chunks(stretch) {
        let low = part.iter().enumerate().min_by_key(|(_, point)| point.raw);
        let high = part.iter().enumerate().max_by_key(|(_, point)| point.raw);
        let mut pair: Vec<(usize, &Point)> = low.into_iter().chain(high).collect();
        pair.sort_by_key(|(at, _)| *at);
        pair.dedup_by_key(|(at, _)| *at);
        kept.extend(pair.into_iter().map(|(_, point)| *point));
    }
    kept
}

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

fn picture(panel: &Panel, drawn: &[Drawn], domain: Domain, place: usize) -> String {
    let number = |series: Series, raw: i64| {
        reading(Some(raw), series.unit(), domain).map(crate::series::Reading::number)
    };
    let moments = || {
        drawn
            .iter()
            .flat_map(|one| one.points.iter().map(|point| point.at.0))
    };
    let values = drawn.iter().flat_map(|one| {
        let all = one.points.iter();
        all.filter_map(|point| number(one.series, point.raw))
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
        top: HEIGHT * place as f64,
        is_rank: panel.is_rank,
        is_money: drawn
            .first()
            .is_some_and(|one| one.series.unit() == Unit::Currency),
    };
    let mut svg = String::new();
    frame(&mut svg, panel, &scale);
    for (at, one) in drawn.iter().enumerate() {
        let colour = COLOURS[at % COLOURS.len()];
        line(&mut svg, one, &scale, domain, colour);
        let x = LEFT + 90.0 + 150.0 * at as f64;
        let y = scale.top + 16.0;
        let name = one.series.name().replace('_', " ");
        // Writing to a string cannot fail.
        let _ = write!(
            svg,
            "<text x=\"{x:.0}\" y=\"{y:.0}\" fill=\"{colour}\">{name}</text>"
        );
    }
    svg
}

fn frame(svg: &mut String, panel: &Panel, scale: &Scale) {
    let y = scale.top + 16.0;
    let _ = write!(
        svg,
        "<text x=\"8\" y=\"{y:.0}\" font-weight=\"bold\">{}</text>",
        panel.title
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
fn line(svg: &mut String, drawn: &Drawn, scale: &Scale, domain: Domain, colour: &str) {
    let number = |raw: i64| {
        let read = reading(Some(raw), drawn.series.unit(), domain);
        read.map(crate::series::Reading::number)
    };
    let mut path = String::new();
    let mut is_drawing = false;
    for point in &drawn.points {
        let x = scale.x(point.at);
        // Writing to a string cannot fail.
        let _ = match (number(point.raw), is_drawing) {
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
    for drop in &drawn.drops {
        let (x, y) = (
            scale.x(drop.at),
            scale.y(number(drop.raw).unwrap_or_default()),
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
    use proptest::prelude::*;

    use super::*;

    fn product(csv: &str) -> Product {
        let body = format!(r#"{{"products":[{{"asin":"B0<CHART>1","csv":[{csv}]}}]}}"#);
        Product::read_all(&body).unwrap().remove(0)
    }

    #[test]
    fn drops_are_marked_and_gaps_are_gaps() {
        let svg = charts(&product("[1000,1000,2000,800,3000,-1,4000,790]"), &[])
            .unwrap()
            .svg;
        assert_eq!(svg.matches("class=\"drop\"").count(), 1);
        let path = svg.split("d=\"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!(path.matches('M').count(), 2, "{path}");
        assert!(!svg.contains("<CHART>") && svg.contains("&lt;CHART&gt;"));
    }

    #[test]
    fn nothing_to_show_is_no_picture() {
        assert_eq!(charts(&product("[1000,-1],null"), &[]), None);
        assert_eq!(charts(&product("[1000,5]"), &[Series::SalesRank]), None);
    }

    #[test]
    fn long_histories_keep_their_extremes() {
        let flat: Vec<String> = (0..5000)
            .map(|at| format!("{at},{}", if at == 2501 { 1 } else { 1000 + at % 7 }))
            .collect();
        let product = product(&format!("[{}]", flat.join(",")));
        let drawn = Drawn::of(&product, Series::Amazon);
        assert!(drawn.points.len() <= POINTS + 2);
        assert!(drawn.points.iter().any(|point| point.raw == 1));
        // Thinning makes neighbours of values that never followed one another; only the one real drop is marked.
        assert_eq!(drawn.drops.len(), 1);
        assert_eq!(drawn.drops[0].raw, 1);
    }

    #[test]
    fn only_so_many_drops_are_marked_and_the_deepest_stay() {
        let flat: Vec<String> = (0..400)
            .map(|at| {
                let fallen = if at == 201 { 10 } else { 800 };
                format!("{at},{}", if at % 2 == 0 { 1000 } else { fallen })
            })
            .collect();
        let product = product(&format!("[{}]", flat.join(",")));
        let drawn = Drawn::of(&product, Series::Amazon);
        assert_eq!(drawn.drops.len(), MARKS);
        assert!(drawn.drops.iter().any(|drop| drop.raw == 10));
        assert!(drawn.drops.is_sorted_by_key(|drop| drop.at));
    }

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

    proptest! {
        #[test]
        fn every_coordinate_is_inside(
            flat in proptest::collection::vec(
                prop_oneof![-3_i64..1_000_000_000, Just(i64::MAX), Just(i64::MIN)],
                2..80,
            ),
        ) {
            let csv: Vec<String> = flat.iter().map(ToString::to_string).collect();
            if let Some(Chart { svg, .. }) = charts(&product(&format!("[{}]", csv.join(","))), &[]) {
                prop_assert!(!svg.contains("NaN") && !svg.contains("inf"));
            }
        }
    }
}
