//! Times the views over answers of our own making, with growth: run it in release.

#![expect(clippy::print_stdout, reason = "it is a report for people")]

use std::time::{Duration, Instant};

use serde_json::json;
use tollgate_keepa::{
    Product, compare, compare_options,
    series::{Layout, Series},
    view::{self, Options, Profile},
};

const ROUNDS: u32 = 20;

/// An answer with 15 long histories; about 600 KB at 3000 points each.
fn body(points: i64) -> String {
    let csv: Vec<Vec<i64>> = (0..36).map(|index| history(index, points)).collect();
    let current: Vec<i64> = (0..36).map(|at| 100 + at).collect();
    let product = json!({
        "asin": "B0FIXTURE1", "title": "Loose leaf tea", "domainId": 1, "brand": "Hill",
        "stats": {"current": current, "avg30": current, "avg90": current}, "csv": csv,
    });
    json!({"tokensLeft": 100, "refillRate": 5, "products": [product]}).to_string()
}

fn history(index: usize, points: i64) -> Vec<i64> {
    let Some(series) =
        Series::at(index).filter(|one| one.index() < 19 && ![5, 6, 8, 14].contains(&one.index()))
    else {
        return Vec::new();
    };
    let point = |at: i64| {
        let shipping = (series.layout() == Layout::Triples).then_some(at % 5 * 100);
        [6_000_000 + at * 600, 1000 + (at * 7919) % 900]
            .into_iter()
            .chain(shipping)
    };
    (0..points).flat_map(point).collect()
}

fn best<T>(mut run: impl FnMut() -> T) -> Duration {
    let timed = |_| {
        let begun = Instant::now();
        std::hint::black_box(run());
        begun.elapsed()
    };
    (0..ROUNDS).map(timed).min().unwrap_or_default()
}

fn main() {
    for points in [750, 1500, 3000, 6000] {
        let body = body(points);
        for profile in [Profile::Research, Profile::Summary] {
            let options = Options {
                profile,
                ..Options::default()
            };
            let time = best(|| Product::read_all(&body).map(|all| view::products(&all, &options)));
            println!(
                "{} KB, {}: {:.2} ms",
                body.len() / 1000,
                profile.name(),
                time.as_secs_f64() * 1e3
            );
        }
    }
    let one = body(3000);
    for count in [25, 50, 100] {
        let time = best(|| {
            let all: Vec<Product> = (0..count)
                .flat_map(|_| Product::read_all(&one).unwrap_or_default())
                .collect();
            compare(&all, &compare_options())
        });
        println!("compare of {count}: {:.3} s", time.as_secs_f64());
    }
}
