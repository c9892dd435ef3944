//! Two promises about Keepa's answers, held with samples of our own: a question has the key
//! that the origin gives it, and identifiers pass the cleaning as they are.

use serde_json::{Value, json};
use tollgate_core::canonical::hex_digest;
use tollgate_sanitize::placeholder::without_ids;

use crate::support::TestEnv;

/// A command, its parameters as they are sent, and the text whose digest is the key.
const KEYS: &[(&str, &str, &str)] = &[
    (
        "categories.products",
        r#"{"limit":5,"fixture":"bestsellers_home.json","domain":"US","category":"1055398","yes":true}"#,
        r#"{"category":"1055398","domain":"US","fixture":"bestsellers_home.json","limit":5}"#,
    ),
    // Nothing is filled in, though the schema knows a domain and a view.
    (
        "products.get",
        r#"{"asin":"B0KETTLE01","fixture":"product_kettle.json"}"#,
        r#"{"asin":"B0KETTLE01","fixture":"product_kettle.json"}"#,
    ),
    (
        "products.get",
        r#"{"view":"summary","domain":"US","asin":"B0KETTLE01","fixture":"product_kettle.json"}"#,
        r#"{"asin":"B0KETTLE01","domain":"US","fixture":"product_kettle.json","view":"summary"}"#,
    ),
    // Names are of one spelling, arrays keep their order.
    (
        "products.get",
        r#"{"dry-run":true,"history-limit":2,"asin":["B0TEAPOT01","B0KETTLE01"]}"#,
        r#"{"asin":["B0TEAPOT01","B0KETTLE01"],"dry_run":true,"history_limit":2}"#,
    ),
    (
        "products.search",
        "{ \"term\": \"Teekessel f\\u00fcr 茶\", \"dry_run\": true }",
        r#"{"dry_run":true,"term":"Teekessel für 茶"}"#,
    ),
    (
        "finder.query",
        r#"{"selection":{"title":"kettle","page":0},"max_tokens":5,"dry_run":true}"#,
        r#"{"dry_run":true,"max_tokens":"[REDACTED]","selection":{"page":0,"title":"kettle"}}"#,
    ),
    // Errors carry their key too: of the schema, of consent, and of the cache alone.
    (
        "products.get",
        r#"{"no_such":1,"asin":"B0KETTLE01"}"#,
        r#"{"asin":"B0KETTLE01","no_such":1}"#,
    ),
    (
        "bestsellers.get",
        r#"{"category":"289754"}"#,
        r#"{"category":"289754"}"#,
    ),
    (
        "products.get",
        r#"{"asin":"B0KETTLE01","from_cache":true}"#,
        r#"{"asin":"B0KETTLE01"}"#,
    ),
];

#[test]
fn a_question_has_the_key_the_origin_gives_it() {
    let env = TestEnv::new();
    let lines = KEYS.iter().enumerate().map(|(id, (method, params, _))| {
        format!("{{\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}\n")
    });
    let ran = env.feed(&["jsonl"], lines.collect::<String>()).exits(0);
    let told = ran
        .out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let answers: Vec<Value> = told.filter(|one| one["event"] == "response").collect();
    assert_eq!(answers.len(), KEYS.len(), "{}", ran.out);
    for (id, (method, params, text)) in KEYS.iter().enumerate() {
        let answer = answers.iter().find(|one| one["id"] == id).unwrap();
        let wanted = format!("{method}:{}", &hex_digest(text.as_bytes())[..24]);
        assert_eq!(answer["payload"]["cache_key"], wanted, "{params}");
    }
    let published = &answers.iter().find(|one| one["id"] == 0).unwrap()["payload"];
    assert_eq!(
        published["cache_key"],
        "categories.products:6f25fe463674001668f4a5df"
    );
}

#[test]
fn outside_keepa_a_secret_argument_has_no_part_in_the_key_and_is_not_kept() {
    let env = TestEnv::with_config("[providers.stub]\ntools = [\"shop.login\"]\n");
    let keys = ["first", "second"].map(|secret| {
        let arguments = json!({"user": "ann", "api_key": secret, "max_tokens": 5});
        let answer = env.ok("shop.login", &arguments.to_string());
        assert_eq!(answer["cache_hit"], false);
        let again = env.ok("shop.login", &arguments.to_string());
        assert_eq!(again["cache_hit"], false, "{again}");
        answer["cache_key"].clone()
    });
    let text = r#"{"api_key":"[REDACTED]","max_tokens":5,"user":"ann"}"#;
    let wanted = format!("shop.login:{}", &hex_digest(text.as_bytes())[..24]);
    assert_eq!(keys, [wanted.as_str(), wanted.as_str()]);
}

/// What a shop calls its things: codes that pass for card numbers, runs of letters that pass
/// for keys, times and addresses.
fn product() -> Value {
    json!({
        "asin": "B0KETTLE01", "domainId": 1, "title": "Steel kettle, 1.7 litres",
        "parentAsin": "B0FAMILY99", "model": "4111111111111111", "partNumber": "5500005555555559",
        "eanList": ["4589693504928", "4307986830789", "4017494109887"],
        "upcList": ["036000291452", "378282246310005"],
        "gtinList": ["04323796459651", "30569309025904"],
        "rootCategory": 4_111_111_111_111_111_u64, "categories": [7_939_892_011_u64, 16_225_007_011_u64],
        "categoryTree": [{"catId": 7_939_892_011_u64, "name": "Kettles & Tea Machines"}],
        "imagesCSV": "71q8Zt4Lw0XkL.jpg,61Nv7Bs9Rm3JL.jpg,81d6FkQ2pYwTL._AC_SL1500_.jpg",
        "images": [{"l": "71q8Zt4Lw0XkL.jpg", "m": "41Nv7Bs9Rm3JL.jpg"}],
        "buyBoxSellerIdHistory": ["7935600", "ATVPDKIKX0DER", "7965600", "A2L77EE7U53NWQ"],
        "sellerIds": ["A2L77EE7U53NWQ", "A1SAMPLE0SHOP2"],
        "listedSince": "2026-03-01T14:40:00Z", "lastUpdate": "2026-03-18 09:00:00",
        "releaseDate": 20_260_318, "url": "https://www.amazon.com/dp/B0KETTLE01?th=1&psc=1",
        "image": "https://m.media-amazon.com/images/I/71q8Zt4Lw0XkL._AC_SL1500_.jpg",
        "csv": [[7_995_599, 1997, 7_995_600, 2056]], "hazardousMaterials": null,
    })
}

#[test]
fn identifiers_of_products_pass_the_cleaning_as_they_are() {
    let sample = json!({
        "timestamp": 1_773_838_800_000_u64, "tokensLeft": 280, "refillIn": 24_000, "refillRate": 5,
        "tokensConsumed": 1, "products": [product()],
    });
    let env = TestEnv::new();
    env.write("project/samples/shop.json", sample.to_string());
    let folder = env.path("project/samples").display().to_string();
    env.configure(&format!("[keepa]\nfixture_dirs = [{folder:?}]\n"));
    let question = |view: &str| {
        let arguments = json!({"asin": "B0KETTLE01", "fixture": "shop.json", "view": view});
        env.ok("keepa.products_get", &arguments.to_string())
    };
    let raw = question("raw");
    assert_eq!(raw["data"]["body"]["products"][0], product(), "{raw:#}");
    for view in ["raw", "summary", "research", "audit"] {
        let answer = question(view);
        assert_eq!(answer["meta"]["redaction_applied"], false, "{view}");
        assert!(!answer.to_string().contains("REDACTED"), "{answer:#}");
    }
    // In a text the same digits are a card, and a person's number is one.
    let mut told = product();
    told["description"] = json!("pay with 4111111111111111 or call +44 20 7946 0958");
    let sample = json!({"tokensLeft": 280, "tokensConsumed": 1, "products": [told]});
    env.write("project/samples/shop.json", sample.to_string());
    let answer = env.run(&[
        "call",
        "keepa.products_get",
        "--session",
        "other",
        "--json",
        "--args",
        r#"{"asin":"B0KETTLE01","fixture":"shop.json","view":"raw"}"#,
    ]);
    let answer = answer.exits(0).json();
    let text = &answer["data"]["body"]["products"][0]["description"];
    assert_eq!(
        without_ids(text.as_str().unwrap()),
        "pay with [REDACTED:payment-card] or call [REDACTED:phone]"
    );
}
