//! Both ways to read an answer, which have to agree on everything.

use proptest::prelude::*;

use super::*;

#[test]
fn nulls_are_nothing_and_unknown_fields_survive() {
    let body = r#"{"products":[null,{"asin":"B0FIXTURE1","brand":null,"newField":[1],"csv":[null,[1,2],[]],"domainId":5}]}"#;
    let products = Product::read_all(body).unwrap();
    let [product] = products.as_slice() else {
        panic!("{products:?}")
    };
    assert_eq!(product.field("brand"), None);
    assert!(product.has("newField") && product.has("csv"));
    assert_eq!(
        product.histories().collect::<Vec<_>>(),
        [(1, Cow::from(vec![1, 2]))]
    );
    assert_eq!((product.history(2), product.history_count()), (None, 1));
    assert_eq!(product.domain(), Domain::Jp);
    let wide = r#"{"products":[{"csv":[[1,9223372036854775807,-2],null]},{"csv":null}]}"#;
    let wide = Product::read_all(wide).unwrap();
    assert_eq!(wide[0].history(0).unwrap(), [1, i64::MAX, -2].as_slice());
    assert!(wide[0].has_histories() && !wide[1].has_histories());
    assert!(Product::read_all("{}").unwrap().is_empty());
    assert!(Product::read_all(r#"{"products":5}"#).is_err());
}

/// What the quick way makes of an answer, which has to be what the plain way makes of it, in every detail.
fn agreed(body: &str) -> Option<usize> {
    let plain = plain::read(body);
    let quick = quick::read(body);
    match (&quick, &plain) {
        (Some(quick), Ok(plain)) => {
            assert_eq!(format!("{quick:?}"), format!("{plain:?}"), "{body}");
        }
        (Some(_), Err(error)) => panic!("{error}: {body}"),
        (None, _) => {}
    }
    let read = Product::read_all(body).map_err(|error| error.message);
    let expected = plain.map_err(|error| format!("the products cannot be read: {error}"));
    assert_eq!(format!("{read:?}"), format!("{expected:?}"), "{body}");
    quick.map(|all| all.len())
}

fn with_csv(csv: &str) -> String {
    format!(r#"{{"products":[{{"asin":"B0","csv":{csv}}}]}}"#)
}

#[test]
fn usual_answers_take_the_quick_way() {
    for (body, count) in [
        ("{}", 0),
        (" {\n} ", 0),
        (r#"{"products":[]}"#, 0),
        (
            r#"{"tokensLeft":5,"products":[null, {"asin":"B0"},{}],"error":null}"#,
            2,
        ),
        (
            "{\"products\" :\t[ { \"csv\" :\r[ [ 1 , -2,\n3 ] ,null, [ ] ] , \"t\" : {\"a\":[1]} } ] }",
            1,
        ),
        (r#"{"products":[{"csv":null,"csv":[[1]],"csv":[]}]}"#, 1),
        (
            r#"{"products":[{"title":"ü\"csv\":[[1]]","größe":1.50}]}"#,
            1,
        ),
    ] {
        assert_eq!(agreed(body), Some(count), "{body}");
    }
    let every_length = (0..=18).map(|length| 10_i64.pow(length) - 1);
    let numbers: Vec<i64> = every_length
        .flat_map(|one| [one, one + 1, -one - 1])
        .collect();
    let usual = numbers.iter().filter(|one| one.abs() < 10_i64.pow(18));
    let list: Vec<String> = usual.clone().map(i64::to_string).collect();
    let body = with_csv(&format!("[[{}]]", list.join(",")));
    assert_eq!(agreed(&body), Some(1));
    let read = Product::read_all(&body).unwrap();
    assert_eq!(
        read[0].history(0).unwrap(),
        usual.copied().collect::<Vec<_>>()
    );
}

#[test]
fn odd_answers_take_the_plain_way() {
    let csv = [
        "5",
        "[5]",
        "[[-0]]",
        "[[01]]",
        "[[-01]]",
        "[[1.0]]",
        "[[1e3]]",
        "[[\"1\"]]",
        "[[null]]",
        "[[+1]]",
        "[[-]]",
        "[[1,]]",
        "[[,1]]",
        "[[1]",
        "[[1 2]]",
        "[[1]],",
        "[[1],]",
        "[nul]",
        "[[true]]",
        "[[[1]]]",
        "[{}]",
        "\"\"",
        "[[1x]]",
        "[[12345678x]]",
        "[[1234567é]]",
        "[[9223372036854775808]]",
        "[[9223372036854775807]]",
        "[[-9223372036854775808]]",
        "[[-9223372036854775809]]",
        "[[100000000000000000000000]]",
        "[[0x1]]",
        "[[1\u{b}]]",
        "[[1\u{a0}]]",
        "nulls",
    ];
    let whole = [
        "",
        " ",
        "[]",
        "null",
        "5",
        "{",
        "{}}",
        "{} x",
        "{,}",
        r#"{"products":null}"#,
        r#"{"products":5}"#,
        "{\"a\u{1}\":1}",
        "{\"a\n\":1}",
        "{\"products\t\":[{}]}",
        "{\"products\":[{\"asin\r\n \":\"B0\"}]}",
        r#"{"products":[],"products":[]}"#,
        r#"{"products":null,"products":[]}"#,
        r#"{"products":[],}"#,
        r#"{"products":[{}],"x":}"#,
        r#"{"pro\u0064ucts":[{}]}"#,
        r#"{"products":[{"\u0063sv":[[1]]}]}"#,
        r#"{"products":[5]}"#,
        r#"{"products":[[]]}"#,
        r#"{"products":[{"a":1 "b":2}]}"#,
        r#"{"products":[{a:1}]}"#,
        r#"{"products":[{"a":01}]}"#,
        r#"{"products":[{"a":nul}]}"#,
        r#"{"products":[{"a":"\q"}]}"#,
        r#"{"products":[{"a":1]}]}"#,
        r#"[[{"asin":"B0"}]]"#,
        r#"{"products":[nullnull]}"#,
    ];
    let all = csv.iter().map(|csv| with_csv(csv));
    for body in all.chain(whole.map(str::to_owned)) {
        assert_eq!(agreed(&body), None, "{body}");
    }
}

#[test]
fn nesting_ends_where_it_does_on_the_plain_way() {
    for levels in 120..=130 {
        let lists = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let objects = format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels));
        for value in [lists, objects] {
            let body = format!(r#"{{"products":[{{"x":{value}}}]}}"#);
            assert_eq!(agreed(&body).is_some(), levels <= 124, "{levels}");
            assert_eq!(
                agreed(&format!(r#"{{"x":{value},"products":[]}}"#)),
                Some(0)
            );
        }
    }
}

/// One of the usual, or now and then something odd.
fn mostly(usual: BoxedStrategy<String>, odd: &'static [&'static str]) -> BoxedStrategy<String> {
    let odd = proptest::sample::select(odd).prop_map(str::to_owned);
    prop_oneof![60 => usual, 1 => odd].boxed()
}

/// A list of these, with spaces here and there.
fn list(item: BoxedStrategy<String>, most: usize) -> BoxedStrategy<String> {
    let gap = prop_oneof![6 => Just(","), 1 => Just(" ,"), 1 => Just(",\n\t")];
    let items = proptest::collection::vec((item, gap), 0..most);
    let joined = items.prop_map(|all| {
        let joined: String = all.iter().flat_map(|(item, gap)| [item, *gap]).collect();
        format!("[{}]", joined.trim_end_matches([',', ' ', '\n', '\t']))
    });
    joined.boxed()
}

fn answer() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        8 => (-2_i64..100_000_000).prop_map(|one| one.to_string()),
        2 => any::<i32>().prop_map(|one| one.to_string()),
        1 => (any::<i64>(), 0_u32..40).prop_map(|(one, by)| (one >> by).to_string()),
    ];
    let number = mostly(
        number.boxed(),
        &[
            "-0",
            "00",
            "1.5",
            "2e1",
            "\"3\"",
            "null",
            "9223372036854775808",
            "-",
            "",
            "[1]",
            "1 1",
        ],
    );
    let history = mostly(list(number, 12), &["null", "{}", "[", "]", "5", "[1,]"]);
    let csv = mostly(list(history, 6), &["null", "{}", "7", "[[1]"])
        .prop_map(|csv| format!("\"csv\":{csv}"));
    let other = mostly(
        "\"[a-c]\" ?: ?(1|-0.5|12345678901234567890123|\"[ü\\]]{0,3}\"|\\[1, ?null\\]|\\{\"csv\":\\[\\[1\\]\\]\\})".boxed(),
        &["\"a\"", "\"a\\n\":1", "\"\\u0063sv\":[[2]]", "\"b\":tru", "\"c\":\"\\ud800\"", "c:1"],
    );
    let fields = list(prop_oneof![csv, other].boxed(), 5);
    let product = fields.prop_map(|fields| format!("{{{}}}", &fields[1..fields.len() - 1]));
    let product = mostly(product.boxed(), &["null", "[]", "5", "{", "{}"]);
    let products = list(product, 4).prop_map(|all| format!("\"products\":{all}"));
    let around = mostly(
        "\"(tokensLeft|x)\":(1|\\[\\{\\}\\]|\"}\")".boxed(),
        &["\"products\":[]", "\"x\""],
    );
    (around.clone(), products, around).prop_map(|(a, b, c)| format!("{{{a}, {b},{c}}}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn both_ways_read_the_same(body in answer()) {
        agreed(&body);
    }

    #[test]
    fn both_ways_refuse_the_same(body in answer(), at in any::<proptest::sample::Index>(), other in "[\\[\\]{}\",:0-9. \\\\n-]") {
        let at = at.index(body.len());
        if let (Some(before), Some(after)) = (body.get(..at), body.get(at + 1..)) {
            agreed(before);
            agreed(&format!("{before}{other}{after}"));
            agreed(&format!("{before}{after}"));
        }
    }

    #[test]
    fn any_text_is_read_or_refused_alike(text in ".{0,60}") {
        agreed(&text);
        agreed(&with_csv(&text));
    }
}
