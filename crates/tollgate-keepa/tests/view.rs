//! Laws of the product view, over products of our own making that look like the real ones.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use serde_json::{Map, Value, json};
use tollgate_keepa::{
    Command, Params, Product,
    cost::estimate,
    request::build,
    series::{Layout, Series},
    view::{Options, Profile, RISK_CODES, product, products},
};

/// A history of a kind with so many points, the same every time.
fn history(series: Series, points: i64) -> Vec<i64> {
    let mut flat = Vec::new();
    for at in 0..points {
        let value = 1000 + (at * 37 + series.index() as i64 * 101) % 400;
        flat.extend([7_000_000 + at * 720, if at % 17 == 0 { -1 } else { value }]);
        if series.layout() == Layout::Triples {
            flat.push(at % 3 * 199);
        }
    }
    flat
}

fn body(points: i64, extra: Value) -> Product {
    let csv: Vec<Vec<i64>> = Series::ALL
        .into_iter()
        .map(|one| history(one, points))
        .collect();
    let current: Vec<i64> = (0..36)
        .map(|at| if at % 5 == 4 { -1 } else { 30 + at })
        .collect();
    let mut product = json!({
        "asin": "B0FIXTURE1", "title": "Loose leaf tea, 500 g", "domainId": 3, "brand": "Hill", "manufacturer": "Hill & Co",
        "rootCategory": 10, "categories": [10, 20],
        "categoryTree": [{"catId": 10, "name": "Grocery"}, {"catId": 20, "name": "Tea"}],
        "monthlySold": 400, "monthlySoldHistory": [7_000_000, 300, 7_100_000, 400],
        "couponHistory": [7_000_000, 100, -5, 7_100_000, 0, 0],
        "stats": {"current": current, "avg30": current, "buyBoxPrice": 1299, "buyBoxSellerId": "A1SELLER", "totalOfferCount": 4},
        "csv": csv,
    });
    for (name, value) in extra.as_object().unwrap() {
        product[name] = value.clone();
    }
    let text = json!({"products": [product]}).to_string();
    Product::read_all(&text).unwrap().remove(0)
}

fn options(profile: Profile) -> Options {
    Options {
        profile,
        ..Options::default()
    }
}

fn resolves(view: &Value, path: &str) -> bool {
    path.split('.')
        .try_fold(view, |value, name| value.get(name))
        .is_some()
}

const PROFILES: [Profile; 4] = [
    Profile::Research,
    Profile::Summary,
    Profile::Deal,
    Profile::Audit,
];

#[test]
fn every_path_of_the_index_resolves_in_every_profile() {
    for one in [
        body(300, json!({})),
        body(0, json!({})),
        body(1, json!({"stats": null})),
    ] {
        for profile in PROFILES {
            let view = product(&one, &options(profile));
            for (name, place) in view["evidence_index"].as_object().unwrap() {
                let path = place["path"].as_str().unwrap();
                assert!(resolves(&view, path), "{name}: {path} in {profile:?}");
            }
        }
    }
}

#[test]
fn every_next_action_can_be_sent_at_the_price_it_names() {
    let view = product(&body(0, json!({"stats": null})), &Options::default());
    let actions = view["next_actions"].as_array().unwrap();
    assert_eq!(actions.len(), 4);
    for action in actions {
        let command = Command::named(action["tool"].as_str().unwrap()).unwrap();
        let params = Params::of(&action["params"]);
        assert_eq!(build(command, &params).unwrap().query["domain"], "3");
        let budget = estimate(command, &params).unwrap();
        assert_eq!(action["estimated_tokens"], budget.estimated_tokens);
    }
}

#[test]
fn profiles_and_fields_choose_sections() {
    let one = body(50, json!({}));
    let sections = |options: &Options| -> Map<String, Value> {
        product(&one, options).as_object().unwrap().clone()
    };
    let summary = sections(&options(Profile::Summary));
    assert!(summary.contains_key("pricing") && !summary.contains_key("history_summary"));
    assert!(sections(&options(Profile::Deal)).contains_key("temporal_features"));
    assert!(!sections(&options(Profile::Audit)).contains_key("pricing"));
    let fields = vec!["rating".to_owned()];
    let chosen = sections(&Options {
        fields,
        ..Options::default()
    });
    assert_eq!(chosen.keys().collect::<Vec<_>>(), ["identity", "rating"]);
}

#[test]
fn no_points_means_no_points() {
    let none = Options {
        history_limit: 0,
        ..Options::default()
    };
    let view = product(&body(50, json!({})), &none);
    let new = &view["history_summary"]["series"]["new"];
    assert_eq!(new.get("last_points"), None);
    assert_eq!(
        (&new["point_count"], &new["omitted_points"]),
        (&json!(50), &json!(50))
    );
}

#[test]
fn yen_are_whole_in_every_section() {
    let view = product(&body(20, json!({"domainId": 5})), &Options::default());
    assert_eq!(view["pricing"]["buy_box"]["price"]["amount"], 1299);
    assert_eq!(view["pricing"]["current"]["new"]["value"], 31);
    let latest = &view["history_summary"]["series"]["new"]["latest"];
    assert_eq!(latest["value"], latest["raw_value"]);
}

#[test]
fn absent_is_never_zero() {
    let bare = json!({"stats": null, "monthlySold": -1, "monthlySoldHistory": null, "couponHistory": null});
    let view = product(&body(0, bare), &Options::default());
    assert_eq!(view.get("pricing"), None);
    assert_eq!(view.get("demand"), None);
    assert_eq!(view["data_quality"]["confidence"], "low");
    assert_eq!(view["risk_taxonomy"]["highest_severity"], "high");
    let codes = view["risk_taxonomy"]["codes"].as_array().unwrap();
    assert!(codes.contains(&json!("data_missing")) && codes.contains(&json!("buybox_missing")));
}

#[test]
fn risks_are_known_codes_by_stated_rules() {
    let risky = json!({"rootCategory": 99, "stats": {"totalOfferCount": 41, "current": []}});
    let taxonomy = product(&body(80, risky), &Options::default())["risk_taxonomy"].clone();
    let severity = |code: &str| {
        let items = taxonomy["items"].as_array().unwrap();
        let item = items.iter().find(|item| item["code"] == code);
        item.map(|item| item["severity"].as_str().unwrap().to_owned())
    };
    assert_eq!(severity("category_mismatch").as_deref(), Some("medium"));
    assert_eq!(severity("offer_competition_high").as_deref(), Some("high"));
    assert_eq!(severity("low_review_count"), None);
    for code in taxonomy["codes"].as_array().unwrap() {
        assert!(RISK_CODES.contains(&code.as_str().unwrap()));
    }
}

#[test]
fn nothing_empty_is_shown_and_the_view_is_the_same_every_time() {
    let one = body(300, json!({}));
    let view = products(std::slice::from_ref(&one), &Options::default());
    assert_eq!(view, products(&[one], &Options::default()));
    for (section, value) in view["products"][0].as_object().unwrap() {
        for (name, value) in value.as_object().into_iter().flatten() {
            let is_list = [
                "risk_flags",
                "codes",
                "items",
                "risk_codes",
                "missing",
                "present",
                "notes",
            ]
            .contains(&name.as_str());
            assert!(
                is_list || (!value.is_null() && value != &json!({}) && value != &json!([])),
                "{section}.{name}"
            );
        }
    }
}

#[test]
fn of_two_points_in_one_minute_the_later_holds_whatever_the_order() {
    let mixed = json!({"csv": [null, [300, 30, 100, 10, 200, 20, 200, 25]]});
    let view = product(&body(0, mixed), &Options::default());
    let new = &view["temporal_features"]["series"]["new"];
    assert_eq!(
        (&new["point_count"], &new["previous_value"]),
        (&json!(3), &json!(0.25))
    );
    assert_eq!(
        (&new["first_value"], &new["latest_value"]),
        (&json!(0.1), &json!(0.3))
    );
}

/// How grave a risk is in the view of a product, if it is one at all.
fn severity(code: &str, extra: Value) -> Option<String> {
    let view = product(&body(0, extra), &Options::default());
    let items = view["risk_taxonomy"]["items"].as_array().unwrap();
    let item = items.iter().find(|item| item["code"] == code)?;
    Some(item["severity"].as_str().unwrap().to_owned())
}

#[test]
fn risks_begin_and_become_high_where_their_rules_say() {
    let price = |a: i64, b: i64| json!({"csv": [null, [7_000_000, a, 7_100_000, b]]});
    let rank = |a: i64, b: i64| json!({"csv": [null, null, null, [7_000_000, a, 7_100_000, b]]});
    let reviews = |count: i64| {
        let mut current = vec![-1; 36];
        current[17] = count;
        json!({"stats": {"current": current}})
    };
    let offers = |count: i64| json!({"stats": {"current": [], "totalOfferCount": count}});
    let cases = [
        ("price_unstable", price(826, 1175), None),
        ("price_unstable", price(825, 1175), Some("medium")),
        ("price_unstable", price(651, 1350), Some("medium")),
        ("price_unstable", price(650, 1350), Some("high")),
        ("rank_declining", rank(100, 124), None),
        ("rank_declining", rank(100, 125), Some("medium")),
        ("rank_declining", rank(100, 149), Some("medium")),
        ("rank_declining", rank(100, 150), Some("high")),
        ("rank_declining", rank(150, 100), None),
        ("low_review_count", reviews(50), None),
        ("low_review_count", reviews(49), Some("medium")),
        ("low_review_count", reviews(25), Some("medium")),
        ("low_review_count", reviews(24), Some("high")),
        ("low_review_count", reviews(-1), None),
        ("offer_competition_high", offers(20), None),
        ("offer_competition_high", offers(21), Some("medium")),
        ("offer_competition_high", offers(40), Some("medium")),
        ("offer_competition_high", offers(41), Some("high")),
    ];
    for (code, extra, expected) in cases {
        assert_eq!(
            severity(code, extra.clone()).as_deref(),
            expected,
            "{code} {extra}"
        );
    }
}

#[test]
fn who_held_the_buy_box_is_told() {
    let one = body(
        0,
        json!({
            "buyBoxSellerIdHistory": ["7000000", "A1SELLER", "7100000", "-1", "7200000", "-2", "7300000", "A2SELLER"],
            "buyBoxUsedHistory": ["7000000", "A3SELLER", "3", "1"],
        }),
    );
    let view = product(
        &one,
        &Options {
            history_limit: 3,
            ..Options::default()
        },
    );
    let turns = &view["pricing"]["buy_box"]["seller_history"];
    assert_eq!(turns["point_count"], 4);
    assert_eq!(turns["omitted_points"], 1);
    assert_eq!(turns["latest"]["seller_id"], "A2SELLER");
    let owners: Vec<&Value> = turns["last_points"]
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| &turn["owner"])
        .collect();
    assert_eq!(owners, ["nobody", "unknown", "seller"]);
    let used = &view["pricing"]["buy_box"]["used_seller_history"]["latest"];
    assert_eq!(
        (&used["seller_id"], &used["condition"], &used["is_fba"]),
        (&json!("A3SELLER"), &json!(3), &json!(true))
    );
    assert_eq!(used["keepa_minute"], 7_000_000);
}

#[test]
fn the_research_view_of_a_sample_is_the_one_we_agreed_on() {
    let text = tollgate_keepa::fixtures::find("product_kettle.json").unwrap();
    let kettle = Product::read_all(text).unwrap().remove(0);
    let view = product(
        &kettle,
        &Options {
            history_limit: 2,
            ..options(Profile::Research)
        },
    );
    let agreed: Value = serde_json::from_str(include_str!("kettle_research.json")).unwrap();
    assert_eq!(
        view,
        agreed,
        "{}",
        serde_json::to_string_pretty(&view).unwrap()
    );
}

/// Seven days of a price, and what a pocket calculator makes of them.
#[test]
fn figures_of_a_history_are_right() {
    let prices = [2000, 2100, 1900, 2000, 2000, 4000, 1800];
    let flat: Vec<i64> = (0..)
        .zip(prices)
        .flat_map(|(day, price)| [7_000_000 + day * 1440, price])
        .collect();
    let one = body(0, json!({"domainId": 1, "csv": [null, flat]}));
    let view = product(&one, &options(Profile::Research));
    let new = &view["temporal_features"]["series"]["new"];
    let expected = [
        ("point_count", 7.0),
        ("duration_days", 6.0),
        ("sampling/avg_interval_days", 1.0),
        ("sampling/max_gap_days", 1.0),
        ("sampling/points_per_30d", 35.0),
        ("first_value", 20.0),
        ("latest_value", 18.0),
        ("previous_value", 40.0),
        ("change_abs", -2.0),
        ("change_pct", -10.0),
        ("previous_change_pct", -55.0),
        ("range_abs", 22.0),
        ("range_pct_of_mean", 97.4684),
        ("mean_value", 22.5714),
        ("median_value", 20.0),
        ("latest_percentile", 0.1429),
        ("latest_zscore", -0.6377),
        ("volatility_cv", 0.3176),
        ("dispersion/q1", 19.5),
        ("dispersion/q3", 20.5),
        ("dispersion/iqr", 1.0),
        ("dispersion/mad", 1.0),
        ("change_profile/up_steps", 3.0),
        ("change_profile/down_steps", 2.0),
        ("change_profile/flat_steps", 1.0),
        ("change_profile/direction_change_count", 3.0),
        ("change_profile/avg_abs_step", 7.6667),
        ("change_profile/max_abs_step", 22.0),
        ("change_profile/last_step", -22.0),
        ("outliers/threshold", 4.4478),
        ("outliers/count", 1.0),
        ("outliers/ratio", 0.1429),
        ("shape/latest_vs_min_pct", 0.0),
        ("shape/latest_vs_max_pct", -55.0),
        ("shape/max_drawdown_abs", -22.0),
        ("shape/max_runup_abs", 21.0),
        ("shape/longest_up_streak", 1.0),
        ("shape/longest_down_streak", 1.0),
        ("slope_per_day", -0.3333),
    ];
    for (path, figure) in expected {
        let found = new.pointer(&format!("/{path}")).and_then(Value::as_f64);
        let is_right = found.is_some_and(|found| (found - figure).abs() < 1e-9);
        assert!(is_right, "{path}: {found:?} is not {figure}");
    }
    assert_eq!(new["trend_direction"], "down");
}

#[test]
fn long_texts_and_lists_are_cut_where_it_was_agreed() {
    let features: Vec<String> = (0..20).map(|at| format!("Feature {at}")).collect();
    let images: Vec<Value> = (0..9)
        .map(|at| json!({"l": format!("{at}.jpg"), "m": format!("{at}s.jpg")}))
        .collect();
    let text = |letters: usize| "x".repeat(letters);
    let one = body(
        3,
        json!({
            "features": features, "images": images, "description": text(1500), "ingredients": text(1000),
            "safetyWarning": text(501), "productBenefit": text(500), "title": text(400),
        }),
    );
    let view = product(&one, &options(Profile::Research));
    let length = |path: &str| view.pointer(path).and_then(Value::as_str).map(str::len);
    assert_eq!(
        view["content"]["features"].as_array().map(Vec::len),
        Some(12)
    );
    assert_eq!(length("/content/description"), Some(1000));
    assert!(
        view["content"]["description"]
            .as_str()
            .unwrap()
            .ends_with("x...")
    );
    assert_eq!(length("/content/ingredients"), Some(1000));
    assert!(
        view["content"]["ingredients"]
            .as_str()
            .unwrap()
            .ends_with('x')
    );
    assert_eq!(length("/content/safety_warning"), Some(500));
    assert_eq!(length("/content/product_benefit"), Some(500));
    assert_eq!(length("/agent_brief/key_facts/title"), Some(120));
    let media = &view["media"];
    assert_eq!(media["image_count"], 9);
    assert_eq!(media["images"].as_array().map(Vec::len), Some(5));
    assert_eq!(
        media["images"][0]["large"],
        "https://m.media-amazon.com/images/I/0.jpg"
    );
}

#[test]
fn a_history_that_ends_in_the_middle_of_a_point_is_told() {
    let flat = [7_000_000, 2000, 7_001_440, 2100, 7_002_880];
    let one = body(0, json!({"csv": [null, flat]}));
    let view = product(&one, &options(Profile::Research));
    let told = json!(["new: 1 numbers at the end make no point"]);
    assert_eq!(view["temporal_features"]["warnings"], told);
    assert_eq!(view["history_summary"]["warnings"], told);
    let whole = product(&body(30, json!({})), &options(Profile::Research));
    assert!(whole["temporal_features"].get("warnings").is_none());
}
