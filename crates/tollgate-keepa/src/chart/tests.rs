//! What is drawn, and that no history can break a picture.

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
    let drawn = Drawn::of(&product, Series::Amazon, MARKS);
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
    let drawn = Drawn::of(&product, Series::Amazon, MARKS);
    assert_eq!(drawn.drops.len(), MARKS);
    assert!(drawn.drops.iter().any(|drop| drop.raw == 10));
    assert!(drawn.drops.is_sorted_by_key(|drop| drop.at));
}

/// Coordinates that are not in the picture.
fn outside(chart: &Chart) -> Vec<String> {
    let is_in = |number: &str, most: f64| {
        let number: f64 = number.parse().unwrap();
        (0.0..=most).contains(&number)
    };
    let mut wrong = Vec::new();
    let sides = [
        ("x", chart.width),
        ("cx", chart.width),
        ("y", chart.height),
        ("cy", chart.height),
    ];
    for (name, most) in sides {
        let start = format!(" {name}=\"");
        for rest in chart.svg.split(&start).skip(1) {
            let number = rest.split('"').next().unwrap();
            if !is_in(number, most) {
                wrong.push(format!("{name}={number}"));
            }
        }
    }
    for rest in chart.svg.split(" d=\"").skip(1) {
        let path = rest.split('"').next().unwrap();
        for (at, letter) in path.match_indices(['M', 'H', 'V']) {
            let own = &path[at + 1..];
            let end = own.find(['M', 'H', 'V']).unwrap_or(own.len());
            let numbers: Vec<&str> = own[..end].split(' ').collect();
            let fits = match (letter, numbers.as_slice()) {
                ("M", [x, y]) => is_in(x, chart.width) && is_in(y, chart.height),
                ("H", [x]) => is_in(x, chart.width),
                ("V", [y]) => is_in(y, chart.height),
                _ => false,
            };
            if !fits {
                wrong.push(format!("{letter}{}", &own[..end]));
            }
        }
    }
    wrong
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
        if let Some(chart) = charts(&product(&format!("[{}]", csv.join(","))), &[]) {
            prop_assert!(!chart.svg.contains("NaN") && !chart.svg.contains("inf"));
            prop_assert_eq!(outside(&chart), Vec::<String>::new());
        }
    }
}

fn several(csvs: &[(&str, &str, u8)]) -> Vec<Product> {
    let all: Vec<String> = csvs
        .iter()
        .map(|(asin, csv, domain)| {
            format!(
                r#"{{"asin":"{asin}","title":"<Tea> for {asin} and everybody who happens to drop by on a Sunday","domainId":{domain},"csv":[{csv}]}}"#
            )
        })
        .collect();
    Product::read_all(&format!(r#"{{"products":[{}]}}"#, all.join(","))).unwrap()
}

#[test]
fn products_side_by_side_have_a_colour_each_and_one_line_of_a_kind() {
    // The second has no new price, so Amazon's stands for it; the third has only a rank.
    let products = several(&[
        (
            "B0TEA00001",
            "null,[1000,1000,2000,800],null,[1000,5,2000,9]",
            1,
        ),
        ("B0TEA00002", "[1000,700,2500,300],null,null,[1000,7]", 1),
        ("B0TEA00003", "null,null,null,[1500,70]", 1),
    ]);
    let chart = compared(&products, &[]).unwrap().unwrap();
    assert_eq!(chart.svg.matches("<path").count(), 2 + 3);
    assert_eq!(chart.drops(), 2);
    assert!(chart.svg.contains(">Price (new, amazon), USD</text>"));
    assert!(chart.svg.contains(">Sales rank</text>"));
    assert_eq!(chart.svg.matches("class=\"product\"").count(), 3);
    assert!(chart.svg.contains("&lt;Tea&gt;") && !chart.svg.contains("<Tea>"));
    for colour in &COLOURS[..3] {
        let uses = format!("stroke=\"{colour}\"");
        assert!(chart.svg.contains(&uses), "{colour}");
    }
    let only = compared(&products, &[Series::SalesRank]).unwrap().unwrap();
    assert_eq!(only.svg.matches("<path").count(), 3);
    assert_eq!(compared(&products, &[Series::ListPrice]), Ok(None));
    assert_eq!(outside(&chart), Vec::<String>::new());
    // What happened on one day stands below one another, whatever it is: the picture of prices and that of ranks begin and
    // end together.
    let days = |day: &str| chart.svg.matches(&format!(">{day}</text>")).count();
    assert_eq!([days("2011-01-01"), days("2011-01-02")], [4, 6]);
}

#[test]
fn what_cannot_share_a_picture_is_refused() {
    let csv = "[1000,1000,2000,800]";
    let mixed = several(&[("B0TEA00001", csv, 1), ("B0TEA00002", csv, 5)]);
    assert!(compared(&mixed, &[]).is_err());
    let asins: Vec<String> = (0..9).map(|at| format!("B0TEA0000{at}")).collect();
    let many: Vec<(&str, &str, u8)> = asins.iter().map(|asin| (asin.as_str(), csv, 1)).collect();
    assert!(compared(&several(&many), &[]).is_err());
    assert!(compared(&several(&many[1..]), &[]).unwrap().is_some());
    let empty = several(&[("B0TEA00001", "null", 1), ("B0TEA00002", "[5,-1]", 1)]);
    assert_eq!(compared(&empty, &[]), Ok(None));
}
