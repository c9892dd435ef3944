//! Prices, case by case and as laws.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn tokens(command: &str, params: Value) -> (u64, u64, bool) {
    let command = Command::named(command).unwrap();
    let budget = estimate(command, &Params::of(&params)).unwrap();
    let sum: u64 = budget
        .components
        .iter()
        .map(|one| one.estimated_tokens)
        .sum();
    assert_eq!(sum, budget.estimated_tokens);
    (
        budget.estimated_tokens,
        budget.worst_case_tokens,
        budget.requires_confirmation,
    )
}

#[test]
fn a_plain_request_costs_what_its_path_does() {
    let finder = json!({"selection": r#"{"perPage":1000}"#, "stats": 1});
    let cases = [
        (
            "product",
            json!({"asin": "A,B", "offers": 20, "buybox": 1}),
            (30, 30),
        ),
        ("/product", json!({"code": "1", "code-limit": 5}), (1, 5)),
        (
            "search",
            json!({"type": "product", "term": "tea"}),
            (40, 40),
        ),
        ("search", json!({"type": "category", "term": "tea"}), (1, 1)),
        ("category", json!({"category": 1, "parents": 1}), (1, 2)),
        ("bestsellers", json!({"category": 1}), (50, 50)),
        ("Topseller", json!({}), (50, 50)),
        ("query", finder, (50, 50)),
        ("deal", json!({}), (5, 5)),
        (
            "seller",
            json!({"seller": "A", "storefront": 1, "update": 1}),
            (10, 50),
        ),
        ("lightningdeal", json!({}), (500, 500)),
        ("graphimage", json!({"asin": "A"}), (1, 1)),
        ("token", json!({}), (0, 0)),
        ("tracking", json!({"type": "list"}), (0, 0)),
        ("somethingnew", json!({}), (1, 500)),
    ];
    for (endpoint, params, (usual, most)) in cases {
        let told = tokens(
            "request.get",
            json!({"endpoint": endpoint, "params": params}),
        );
        assert_eq!(told, (usual, most, true), "{endpoint}");
    }
}

#[test]
fn published_prices() {
    let two = json!(["A", "B"]);
    let cases = [
        ("products.get", json!({"asin": "A"}), (1, 1, false)),
        (
            "products.get",
            json!({"asin": "A", "offers": 20}),
            (13, 13, true),
        ),
        (
            "products.get",
            json!({"asin": two, "offers": "40"}),
            (50, 50, true),
        ),
        (
            "products.get",
            json!({"asin": two, "buybox": 1}),
            (6, 6, false),
        ),
        (
            "products.get",
            json!({"asin": "A", "update": "0"}),
            (1, 2, true),
        ),
        (
            "products.get",
            json!({"asin": "A", "full": true}),
            (1, 1, false),
        ),
        (
            "products.get",
            json!({"code": "1", "code-limit": 5}),
            (1, 5, false),
        ),
        (
            "products.compare",
            json!({"asin": two, "stock": "1"}),
            (6, 6, false),
        ),
        ("products.search", json!({"term": "tea"}), (40, 40, false)),
        (
            "products.search",
            json!({"term": "tea", "page": 0}),
            (10, 10, false),
        ),
        ("categories.search", json!({"term": "tea"}), (1, 1, false)),
        (
            "categories.get",
            json!({"category": 1, "parents": 1}),
            (1, 2, true),
        ),
        (
            "categories.products",
            json!({"hydrate_top": 3}),
            (53, 53, true),
        ),
        ("bestsellers.get", json!({}), (50, 50, true)),
        ("topsellers.list", json!({}), (50, 50, true)),
        ("finder.query", json!({}), (11, 11, true)),
        ("finder.query", json!({"max_tokens": 25}), (11, 25, true)),
        (
            "finder.query",
            json!({"selection": {"perPage": 1000}}),
            (20, 20, true),
        ),
        ("deals.query", json!({}), (5, 5, false)),
        ("sellers.get", json!({"seller": two}), (2, 2, false)),
        (
            "sellers.get",
            json!({"seller": "A", "storefront": true}),
            (10, 10, false),
        ),
        ("lightningdeals.list", json!({"asin": "A"}), (1, 1, false)),
        ("lightningdeals.list", json!({}), (500, 500, true)),
        ("tracking.list", json!({}), (0, 0, false)),
        ("tracking.notifications", json!({}), (0, 0, false)),
        ("tracking.remove", json!({"asin": "A"}), (0, 0, true)),
        ("tokens.status", json!({}), (0, 0, false)),
        ("history.trend", json!({"asin": "A"}), (1, 1, false)),
        ("workflow.plan", json!({}), (0, 0, false)),
    ];
    for (command, params, expected) in cases {
        assert_eq!(
            tokens(command, params.clone()),
            expected,
            "{command} {params}"
        );
    }
}

#[test]
fn a_yes_a_dry_run_and_a_fixture_lift_the_question() {
    let asks = |command: Command, extra: Value| {
        let params = Params::of(&extra);
        let budget = estimate(command, &params).unwrap();
        needs_confirmation(command, &budget, &params, Consent::AsSaid)
    };
    assert!(asks(Command::BestsellersGet, json!({})));
    assert!(asks(Command::BestsellersGet, json!({"fixture": ""})));
    for lifted in [
        json!({"yes": true}),
        json!({"dry-run": "1"}),
        json!({"fixture": "a.json"}),
    ] {
        assert!(!asks(Command::BestsellersGet, lifted));
    }
    // What changes something takes more than an argument.
    assert!(asks(Command::TrackingRemoveAll, json!({"yes": true})));
    for command in [Command::TrackingRemoveAll, Command::BestsellersGet] {
        let params = Params::default();
        let budget = estimate(command, &params).unwrap();
        assert!(!needs_confirmation(
            command,
            &budget,
            &params,
            Consent::Given
        ));
    }
}

proptest! {
    #[test]
    fn the_worst_case_is_never_below_the_estimate(
        at in 0..Command::ALL.len(),
        asins in 0_usize..120,
        offers in 0_i64..200,
        on in any::<[bool; 6]>(),
    ) {
        let asins: Vec<String> = (0..asins).map(|one| format!("B{one:09}")).collect();
        let params = Params::of(&json!({
            "asin": asins, "seller": asins, "offers": offers, "buybox": on[0], "rating": on[1],
            "stock": on[2], "storefront": on[3], "parents": on[4], "update": i64::from(on[5]),
        }));
        let command = Command::ALL[at];
        let budget = estimate(command, &params).unwrap();
        prop_assert!(budget.worst_case_tokens >= budget.estimated_tokens);
        if command.effect() == Effect::Local {
            prop_assert_eq!(budget, Budget::default());
        }
    }
}
