//! Histories as pictures: lines on a calendar, drops marked, as SVG that needs nothing else.
//!
//! One product is drawn with all its histories, several products with one history each, below each other by what they
//! count. Invariants: everything from outside is escaped; a gap in a history is a gap in its line; whatever the numbers,
//! every coordinate is finite and inside the picture; a drop is marked only between values that followed one another.

mod draw;

use std::{collections::BTreeSet, fmt::Write as _};

use crate::{
    Error, KeepaMinute, Product,
    series::{Point, Series, Unit},
};
use draw::{Group, Line, picture};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 220.0;
/// A price that falls by at least this share is marked.
const DROP: f64 = 0.10;
/// More points than this are not told apart on a screen.
const POINTS: usize = 720;
/// More marks than this say nothing any more; the deepest drops stay.
const MARKS: usize = 40;
/// The same where several products share a picture.
const MARKS_COMPARED: usize = 12;
/// More lines than this are not told apart.
pub const MOST_COMPARED: usize = 8;
/// Products are named above their pictures, two to a line.
const NAMED_HIGH: f64 = 18.0;
const NAMED_WIDE: f64 = 350.0;
const NAMED_LETTERS: usize = 40;

/// A picture of one kind of history.
pub struct Panel {
    /// Its heading.
    pub title: &'static str,
    /// What is drawn in it.
    pub series: &'static [Series],
    /// Which of them stands for a product among others: the first that it has.
    pub compared: &'static [Series],
    /// Whether less is better, so that its axis points down.
    pub is_rank: bool,
}

impl Panel {
    /// Which histories may stand for a product among others: those that are asked for, else the usual ones.
    fn to_compare<'a>(&'a self, only: &'a [Series]) -> impl Iterator<Item = Series> + 'a {
        let from = if only.is_empty() {
            self.compared
        } else {
            self.series
        };
        let from = from.iter().copied();
        from.filter(|one| only.is_empty() || only.contains(one))
    }
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
        compared: &[Series::New, Series::Amazon, Series::NewFba],
        is_rank: false,
    },
    Panel {
        title: "Buy box",
        series: &[Series::BuyBoxShipping],
        compared: &[Series::BuyBoxShipping],
        is_rank: false,
    },
    Panel {
        title: "Sales rank",
        series: &[Series::SalesRank],
        compared: &[Series::SalesRank],
        is_rank: true,
    },
    Panel {
        title: "Offers",
        series: &[
            Series::NewOfferCount,
            Series::NewFbaOfferCount,
            Series::NewFbmOfferCount,
        ],
        compared: &[
            Series::NewOfferCount,
            Series::NewFbaOfferCount,
            Series::NewFbmOfferCount,
        ],
        is_rank: false,
    },
];
const COLOURS: [&str; MOST_COMPARED] = [
    "#c2410c", "#1d4ed8", "#15803d", "#7c3aed", "#be185d", "#0e7490", "#a16207", "#334155",
];

/// Every history that some picture shows.
pub fn drawn_series() -> impl Iterator<Item = Series> {
    PANELS.iter().flat_map(|panel| panel.series).copied()
}

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

impl Chart {
    /// How many drops are marked in it.
    pub fn drops(&self) -> usize {
        self.svg.matches("class=\"drop\"").count()
    }
}

/// All pictures of a product that have something to show, one below the other.
pub fn charts(product: &Product, only: &[Series]) -> Option<Chart> {
    let groups = PANELS.iter().map(|panel| {
        let wanted = panel.series.iter().copied();
        let wanted = wanted.filter(|one| only.is_empty() || only.contains(one));
        let drawn = wanted.map(|one| Drawn::of(product, one, MARKS));
        let lines = drawn.filter(Drawn::has_values).zip(COLOURS);
        let lines = lines.map(|(drawn, colour)| Line {
            name: Some(drawn.series.name().replace('_', " ")),
            domain: product.domain(),
            drawn,
            colour,
        });
        Group {
            title: panel.title.to_owned(),
            is_rank: panel.is_rank,
            lines: lines.collect(),
        }
    });
    framed(groups.collect(), String::new(), 0.0, product.asin())
}

/// Several products in one picture, each with a colour of its own; of each kind of history one line to a product.
/// Nothing if there is nothing to show; refused if there are too many, or if their prices cannot be compared.
pub fn compared(products: &[Product], only: &[Series]) -> Result<Option<Chart>, Error> {
    if products.len() > MOST_COMPARED {
        let message = format!(
            "a picture shows at most {MOST_COMPARED} products, not {}",
            products.len()
        );
        return Err(Error::argument(message));
    }
    let currencies: BTreeSet<&str> = products.iter().map(|one| one.domain().currency()).collect();
    if currencies.len() > 1 {
        let message = "prices in different currencies cannot share a picture";
        return Err(Error::argument(message));
    }
    let mut names = String::new();
    for (at, (product, colour)) in products.iter().zip(COLOURS).enumerate() {
        let x = 8.0 + NAMED_WIDE * (at % 2) as f64;
        let y = NAMED_HIGH * ((at / 2) as f64 + 1.0);
        let name = named(product);
        // Writing to a string cannot fail.
        let _ = write!(
            names,
            "<text class=\"product\" x=\"{x:.0}\" y=\"{y:.0}\" fill=\"{colour}\">{name}</text>"
        );
    }
    let above = NAMED_HIGH * products.len().div_ceil(2) as f64 + 8.0;
    let mut groups = Vec::new();
    for panel in &PANELS {
        let mut used: Vec<&str> = Vec::new();
        let mut lines = Vec::new();
        for (product, colour) in products.iter().zip(COLOURS) {
            let wanted = panel.to_compare(only);
            let mut drawn = wanted.map(|one| Drawn::of(product, one, MARKS_COMPARED));
            let Some(drawn) = drawn.find(Drawn::has_values) else {
                continue;
            };
            if !used.contains(&drawn.series.name()) {
                used.push(drawn.series.name());
            }
            lines.push(Line {
                name: None,
                domain: product.domain(),
                drawn,
                colour,
            });
        }
        groups.push(Group {
            title: match panel.series {
                [_] => panel.title.to_owned(),
                // Which of several stands there is not told by the heading alone.
                _ => format!("{} ({})", panel.title, used.join(", ").replace('_', " ")),
            },
            is_rank: panel.is_rank,
            lines,
        });
    }
    let asins: Vec<&str> = products.iter().map(Product::asin).collect();
    Ok(framed(groups, names, above, &asins.join(", ")))
}

/// A product's number and the beginning of its title.
fn named(product: &Product) -> String {
    let title = product.field("title").and_then(|title| title.as_str());
    let title = title.unwrap_or_default();
    let mut shown: String = title.chars().take(NAMED_LETTERS).collect();
    if shown.len() < title.len() {
        shown.push('…');
    }
    escaped(format!("{} {shown}", product.asin()).trim_end())
}

/// Pictures below each other on one calendar, so that what happened together stands together.
fn framed(mut groups: Vec<Group>, names: String, above: f64, whose: &str) -> Option<Chart> {
    groups.retain(|group| !group.lines.is_empty());
    let moments = groups.iter().flat_map(Group::moments);
    let (from, to) = (moments.clone().min()?, moments.max()?);
    let drawn = groups.iter().enumerate();
    let panels: Vec<String> = drawn
        .map(|(at, group)| picture(group, (from, to), above + HEIGHT * at as f64))
        .collect();
    let height = above + HEIGHT * panels.len() as f64;
    let title = escaped(whose);
    let svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"11\" role=\"img\" aria-label=\"Histories of {title}\">{names}{}</svg>",
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
    fn of(product: &Product, series: Series, marks: usize) -> Self {
        let flat = product.history(series.index());
        let all = flat.map_or_else(Vec::new, |flat| series.decode(&flat).points);
        // Looked for before points are left out: what remains stands side by side that never followed one another.
        let drops = match series.unit() {
            Unit::Currency => drops(&all, marks),
            Unit::Rank | Unit::Count | Unit::Rating => Vec::new(),
        };
        Self {
            series,
            drops,
            points: thinned(all),
        }
    }

    fn has_values(&self) -> bool {
        self.points.iter().any(|point| point.raw >= 0)
    }
}

/// The deepest drops from one value to the next, in the order of time.
fn drops(points: &[Point], most: usize) -> Vec<Drop> {
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
    found.truncate(most);
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

#[cfg(test)]
mod tests;
