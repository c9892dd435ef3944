//! What requests look like, and that none shows the key.

use serde_json::{Value, json};

use super::*;
use crate::{Error, command::Command, params::Params};

fn built(command: &str, params: Value) -> Result<Request, Error> {
    build(Command::named(command).unwrap(), &Params::of(&params))
}

fn query(command: &str, params: Value) -> Value {
    json!(built(command, params).unwrap().query)
}

#[test]
fn products_have_the_options_that_were_given() {
    let params = json!({"asin": ["B001", "B002"], "full": true, "offers": "40", "stats": 90, "domain": "de"});
    let expected = json!({
        "aplus": "1", "asin": "B001,B002", "domain": "3", "history": "1", "offers": "40", "stats": "90", "videos": "1",
    });
    assert_eq!(query("products.get", params), expected);
    assert_eq!(
        query(
            "products.get",
            json!({"code": 4006381333931_i64, "code_limit": 2})
        ),
        json!({"code": "4006381333931", "code-limit": "2", "domain": "1"})
    );
}

#[test]
fn a_plain_request_changes_nothing() {
    let tracking = |params: Value| {
        built(
            "request.get",
            json!({"endpoint": "tracking", "params": params}),
        )
    };
    let read = json!({"type": "notification", "since": 0, "readonly": 0, "readOnly": "0"});
    let expected = json!({"type": "notification", "since": "0", "readOnly": "1"});
    assert_eq!(json!(tracking(read).unwrap().query), expected);
    for kind in ["get", "list", "listNames"] {
        let request = tracking(json!({"type": kind})).unwrap();
        assert!(request.is_read && !request.may_be_kept(), "{kind}");
    }
    for params in [
        json!({}),
        json!({"type": "add"}),
        json!({"type": "removeAll"}),
        json!({"type": "REMOVE"}),
        json!({"type": "webhook"}),
        json!({"type": "Notification"}),
        json!({"Type": "notification"}),
        json!({"type": "somethingElse"}),
    ] {
        assert!(tracking(params.clone()).is_err(), "{params}");
    }
    let upper = json!({"endpoint": "/Tracking", "params": {"type": "remove"}});
    assert!(built("request.get", upper).is_err());
    let search = json!({"endpoint": "search", "params": {"type": "category", "term": "tea"}});
    assert!(built("request.get", search).is_ok());
}

#[test]
fn products_are_named_one_way_and_not_too_many() {
    let many: Vec<String> = (0..101).map(|one| format!("B{one:09}")).collect();
    for params in [
        json!({}),
        json!({"asin": "A", "code": "1"}),
        json!({"asin": many}),
        json!({"asin": many[..21], "offers": 20}),
        json!({"asin": "A", "domain": "XX"}),
    ] {
        let error = built("products.get", params.clone()).unwrap_err();
        assert_eq!(error.kind.name(), "invalid_argument", "{params}");
    }
    assert!(built("products.get", json!({"asin": many[..100]})).is_ok());
}

#[test]
fn selections_are_compact_sorted_and_bring_their_domain() {
    let selection = json!({"perPage": 50, "categories_include": [1]});
    let expected =
        json!({"domain": "1", "selection": r#"{"categories_include":[1],"perPage":50}"#});
    let as_text = json!({"selection": selection.to_string(), "max_tokens": 25});
    assert_eq!(
        query("finder.query", json!({"selection": selection})),
        expected
    );
    assert_eq!(query("finder.query", as_text), expected);
    let deals = query(
        "deals.query",
        json!({"selection": {"priceTypes": [0]}, "domain": "JP"}),
    );
    assert_eq!(deals["selection"], r#"{"domainId":5,"priceTypes":[0]}"#);
    assert!(built("deals.query", json!({})).is_err());
    assert!(built("finder.query", json!({"selection": "[1]"})).is_err());
}

#[test]
fn a_long_selection_is_sent_as_a_body() {
    let many: Vec<u64> = (1_000_000..1_000_400).collect();
    for (command, selection) in [
        ("finder.query", json!({"categories_include": many})),
        (
            "deals.query",
            json!({"priceTypes": [0], "includeCategories": many}),
        ),
    ] {
        let long = built(command, json!({ "selection": selection })).unwrap();
        assert_eq!((long.method, long.is_read), (Method::Post, true));
        assert!(!long.query.contains_key("selection") && long.may_be_kept());
        let body = long.body.clone().unwrap();
        for (name, value) in selection.as_object().unwrap() {
            assert_eq!(&body[name], value);
        }
        let mut fewer = selection;
        fewer["page"] = json!(1);
        let other = built(command, json!({ "selection": fewer })).unwrap();
        assert_ne!(other.params_hash(), long.params_hash());
    }
}

#[test]
fn what_keepa_knows_can_be_said_everywhere() {
    let cases = [
        (
            "products.get",
            json!({"code": "1", "code_limit": 2, "only_live_offers": 1, "historical_variations": true, "rental": 1}),
            json!({"domain": "1", "code": "1", "code-limit": "2", "only-live-offers": "1", "historical-variations": "1", "rental": "1"}),
        ),
        (
            "products.compare",
            json!({"asin": ["A", "B"], "rating": 1, "buybox": 1, "stock": true}),
            json!({"domain": "1", "asin": "A,B", "rating": "1", "buybox": "1", "stock": "1"}),
        ),
        (
            "bestsellers.get",
            json!({"category": 1, "month": 5, "year": 2025, "variations": 1, "sublist": 1}),
            json!({"domain": "1", "category": "1", "month": "5", "year": "2025", "variations": "1", "sublist": "1"}),
        ),
        (
            "tracking.list",
            json!({"list": "mine", "page": 2, "per_page": 50}),
            json!({"type": "list", "list": "mine", "page": "2", "perPage": "50"}),
        ),
        (
            "tracking.notifications",
            json!({"list": "mine", "all": true}),
            json!({"type": "notification", "list": "mine", "all": "1", "readOnly": "1", "since": "0", "revise": "0"}),
        ),
        (
            "graphs.image",
            json!({"asin": "A", "fba": 1, "cFBA": "ff0000", "title": 0}),
            json!({"domain": "1", "asin": "A", "fba": "1", "cFBA": "ff0000", "title": "0"}),
        ),
    ];
    for (command, params, sent) in cases {
        assert_eq!(query(command, params.clone()), sent, "{command}");
        // What can be sent can be typed.
        let command = Command::named(command).unwrap();
        let takes: Vec<&str> = crate::tool::arguments(command)
            .split_whitespace()
            .map(|word| word.trim_end_matches('*'))
            .collect();
        for name in params.as_object().unwrap().keys() {
            assert!(takes.contains(&name.as_str()), "{} {name}", command.name());
        }
    }
}

#[test]
fn a_graph_is_asked_for_in_keepas_own_words() {
    let all = json!({
        "asin": "A", "range": 365, "width": "800", "height": 400, "title": "off", "yzoom": true,
        "amazon": 1, "new": "yes", "used": false, "salesrank": "1", "bb": 1, "bbu": 0, "fba": 1, "fbm": 1, "ld": 1, "wd": 1,
        "cBackground": "ffffff", "cFont": "000000", "cAmazon": "#FFA500", "cNew": "8888dd", "cUsed": "444444",
        "cSales": "3a883a", "cBB": "ff00b4", "cBBU": "da66ff", "cFBA": "ff5722", "cFBM": "039be5", "cLD": "ff0000", "cWD": "9c27b0",
    });
    let sent = json!({
        "domain": "1", "asin": "A", "range": "365", "width": "800", "height": "400", "title": "0", "yzoom": "1",
        "amazon": "1", "new": "1", "used": "0", "salesrank": "1", "bb": "1", "bbu": "0", "fba": "1", "fbm": "1", "ld": "1", "wd": "1",
        "cBackground": "ffffff", "cFont": "000000", "cAmazon": "FFA500", "cNew": "8888dd", "cUsed": "444444",
        "cSales": "3a883a", "cBB": "ff00b4", "cBBU": "da66ff", "cFBA": "ff5722", "cFBM": "039be5", "cLD": "ff0000", "cWD": "9c27b0",
    });
    assert_eq!(query("graphs.image", all.clone()), sent);
    let takes: Vec<&str> = crate::tool::arguments(Command::GraphsImage)
        .split_whitespace()
        .map(|word| word.trim_end_matches('*'))
        .collect();
    // What can be sent can be typed, and what can be typed is sent.
    for name in all.as_object().unwrap().keys() {
        assert!(takes.contains(&name.as_str()), "{name}");
    }
    let not_sent = ["domain", "out", "dry_run", "yes", "from_cache"];
    for name in takes {
        assert!(
            not_sent.contains(&name) || all[name] != json!(null),
            "{name}"
        );
    }
    for (name, wrong) in [
        ("range", json!("month")),
        ("width", json!(0)),
        ("height", json!(-5)),
        ("fba", json!(2)),
        ("title", json!("A title")),
        ("cNew", json!("red")),
        ("cNew", json!("#12345")),
        ("cNew", json!("12345é")),
    ] {
        let refused = built("graphs.image", json!({"asin": "A", name: wrong}));
        assert!(refused.is_err(), "{name} {wrong}");
    }
}

#[test]
fn a_chart_asks_for_as_many_products_as_it_can_show() {
    let asins: Vec<String> = (0..9).map(|at| format!("B00000000{at}")).collect();
    let few = query("charts.render", json!({"asin": asins[..2]}));
    assert_eq!(
        few,
        json!({"domain": "1", "asin": "B000000000,B000000001", "history": "1"})
    );
    assert!(built("charts.render", json!({"asin": asins[..8]})).is_ok());
    assert!(built("charts.render", json!({ "asin": asins })).is_err());
}

#[test]
fn reading_notifications_does_not_mark_them() {
    let expected = json!({"readOnly": "1", "revise": "0", "since": "0", "type": "notification"});
    assert_eq!(query("tracking.notifications", json!({})), expected);
    assert_eq!(
        query("tracking.list-names", json!({"asins_only": true})),
        json!({"type": "listNames"})
    );
    assert_eq!(
        query("tracking.list", json!({"asins_only": true})),
        json!({"asins-only": "1", "type": "list"})
    );
}

#[test]
fn only_reads_may_be_repeated() {
    let add = built("tracking.add", json!({"trackings": {"asin": "B001"}})).unwrap();
    assert_eq!((add.method, add.is_read), (Method::Post, false));
    assert_eq!(add.body, Some(json!([{"asin": "B001"}])));
    assert!(!built("tracking.remove-all", json!({})).unwrap().is_read);
    assert!(built("tokens.status", json!({})).unwrap().is_read);
}

#[test]
fn top_sellers_take_no_category() {
    let request = built("topsellers.list", json!({"category": 5})).unwrap();
    assert!(!request.query.contains_key("category"));
    assert_eq!(request.warnings.len(), 1);
}

#[test]
fn nothing_shows_the_key() {
    let key = ApiKey::new("s3cret/key+of=ours");
    let request = built("products.search", json!({"term": "tea & cups"})).unwrap();
    let url = request.url("https://api.example.org/", &key);
    let whole = "https://api.example.org/search?key=s3cret%2Fkey%2Bof%3Dours&domain=1&term=tea%20%26%20cups&type=product";
    assert_eq!(url.expose(), whole);
    for shown in [
        format!("{key:?} {url:?} {request:?}"),
        json!(request).to_string(),
        request.params_hash(),
        key.scrub(&format!("got {} for s3cret/key+of=ours", url.expose())),
    ] {
        assert!(!shown.contains("s3cret"), "{shown}");
    }
    assert_eq!(ApiKey::new(" ").scrub("text"), "text");
}

#[test]
fn a_fingerprint_is_of_sorted_compact_json() {
    let empty = built("tokens.status", json!({})).unwrap();
    let known = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
    assert_eq!(empty.params_hash(), known);
}

#[test]
fn every_endpoint_of_keepas_has_a_command() {
    let params = json!({
        "asin": "B001GZ6QEC", "term": "kettle", "category": 1, "seller": "A1", "url": "https://example.org/hook",
        "trackings": [{"asin": "B001GZ6QEC"}],
    });
    let published = [
        ("tokens.status", "GET /token"),
        ("products.get", "GET /product"),
        ("products.compare", "GET /product"),
        ("history.export", "GET /product"),
        ("history.trend", "GET /product"),
        ("charts.render", "GET /product"),
        ("products.search", "GET /search product"),
        ("categories.search", "GET /search category"),
        ("categories.get", "GET /category"),
        ("bestsellers.get", "GET /bestsellers"),
        ("categories.products", "GET /bestsellers"),
        ("finder.query", "GET /query"),
        ("deals.query", "GET /deal"),
        ("sellers.get", "GET /seller"),
        ("topsellers.list", "GET /topseller"),
        ("lightningdeals.list", "GET /lightningdeal"),
        ("graphs.image", "GET /graphimage"),
        ("tracking.list", "GET /tracking list"),
        ("tracking.list-names", "GET /tracking listNames"),
        ("tracking.get", "GET /tracking get"),
        ("tracking.notifications", "GET /tracking notification"),
        ("tracking.add", "POST /tracking add"),
        ("tracking.remove", "GET /tracking remove"),
        ("tracking.remove-all", "GET /tracking removeAll"),
        ("tracking.webhook", "GET /tracking webhook"),
    ];
    for (command, expected) in published {
        let mut params = params.clone();
        params["selection"] = match command {
            "deals.query" => json!({"priceTypes": [0]}),
            _ => json!({"perPage": 50}),
        };
        let request = built(command, params).unwrap();
        let method = json!(request.method);
        let kind = request.query.get("type").map_or("", String::as_str);
        let sent = format!("{} {} {kind}", method.as_str().unwrap(), request.endpoint);
        assert_eq!(sent.trim_end(), expected, "{command}");
    }
}
