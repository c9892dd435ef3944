//! Where words lead, written down: what makes searching quicker must not change it.

use std::{fmt::Write as _, path::Path, sync::Arc};

use tollgate_knowledge::{Base, Format, Library, Limits, Session, View, load, load_text};

const WORDS: &[&str] = &[
    "hello",
    "my internet is slow",
    "the wifi in the attic is bad, and the router is old",
    "cable",
    "no light at the box",
    "what about a repeater or a mesh",
    "how fast should fiber be",
    "restart the router please",
    "nothing works since the storm",
    "GPU",
    "which chips do data centers buy",
    "cloud computing margins",
    "valuation of software companies",
    "risk",
    "tea",
    "sencha, eighty degrees",
    "black tea with milk",
    "zzzz",
    "我家的网很慢",
    "请问路由器怎么重启",
    "人工智能硬件怎么选",
    "云计算与数据中心的风险",
    "英伟达",
    "半导体行业的估值",
    "绿茶用多少度的水",
    "第二个",
    "2",
];

fn shipped(name: &str) -> Base {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../knowledge");
    load(&folder.join(name), Limits::default()).0.unwrap()
}

/// A word of a small vocabulary, so that most of them stand in very many nodes.
fn word(number: usize) -> String {
    const PARTS: [&str; 12] = [
        "net", "cloud", "chip", "fiber", "power", "market", "risk", "model", "tax", "river",
        "stone", "light",
    ];
    let number = number.wrapping_mul(2_654_435_761) >> 7;
    format!("{}{}", PARTS[number % 12], PARTS[number / 12 % 12])
}

fn han(number: usize) -> String {
    let word = (number.wrapping_mul(2_654_435_761) >> 5) % 90;
    let character = |at: usize| {
        let offset = u32::try_from((word * 7 + at * 311) % 600).unwrap_or(0);
        char::from_u32(0x4e00 + offset).unwrap_or('中')
    };
    (0..2 + word % 2).map(character).collect()
}

/// A tree with some ways across it, words that all nodes have, hidden options, and nodes
/// that no question enters or that ask for something.
fn generated() -> Base {
    const SIZE: usize = 4000;
    let mut text = String::from(
        "{\"fallback\": \"?\", \"choose\": \"which\", \"synonyms\": [[\"netcloud\", \"power line\", \"电脑\"]], \"slots\": {\"n\": {\"type\": \"number\", \"max\": 9}}, \"nodes\": {\n",
    );
    for node in 0..SIZE {
        let ask = if node % 11 == 3 {
            "\"ask\": \"n\", "
        } else {
            ""
        };
        let entry = if node % 13 == 5 {
            "\"entry\": false, "
        } else {
            ""
        };
        let _ = write!(
            text,
            "\"n{node}\": {{{ask}{entry}\"title\": \"{} {}\", \"keywords\": [\"{}\"], \"response\": \"always {} {} {}，{}{}。\", \"options\": [",
            word(node),
            word(node / 7 + 3),
            word(node * 31 + 11),
            word(node + 1),
            word(node * 3),
            word(node * 5 + 1),
            han(node),
            han(node * 13 + 5),
        );
        for way in 1..=4 {
            let next = if node % 50 == 49 {
                way * 17
            } else {
                node * 4 + way
            };
            if next < SIZE {
                let when = if (node + way) % 9 == 0 {
                    "\"when\": \"n > 5\", "
                } else {
                    ""
                };
                let _ = write!(
                    text,
                    "{{{when}\"id\": \"o{way}\", \"description\": \"{} {}{way}\", \"next_node\": \"n{next}\"}},",
                    word(next * 17),
                    han(next)
                );
            }
        }
        text.push_str("{\"id\": \"end\", \"description\": \"done\", \"next_node\": null}]},\n");
    }
    text.push_str("}}");
    load_text("made", &text.replace("\"n0\"", "\"root\""), Format::Json).unwrap()
}

fn questions() -> Vec<String> {
    (0..40)
        .map(|at| match at % 5 {
            0 => format!("{} {}", word(at * 97), word(at * 31 + 11)),
            1 => format!(
                "do I handle {} and {} with {}",
                word(at),
                word(at * 3),
                word(at * 5)
            ),
            2 => format!("请问{}和{}怎么办", han(at * 7), han(at * 13 + 5)),
            3 => format!("always {} {}", word(at * 7), han(at)),
            _ => format!("power line {}", word(at * 11)),
        })
        .collect()
}

fn shown(session: &Session, view: &View) -> String {
    let candidates: Vec<&str> = session
        .candidates
        .iter()
        .map(|one| one.id.as_str())
        .collect();
    let matched = view.matched.map_or("-", |matched| matched.as_str());
    format!("{matched} {} {}", session.node, candidates.join(","))
}

/// Where the words lead as a first question, at the root, and one step further.
fn walked(library: &Library, words: &[String], out: &mut String) {
    for said in words {
        let (begun, view) = library.start(said).unwrap();
        let _ = writeln!(out, "{said} | {}", shown(&begun, &view).trim_end());
    }
    let (root, view) = library.start("qqqq").unwrap();
    let mut places = vec![root.clone()];
    for option in view.options {
        if let Ok((next, _)) = library.step(&root, &option.id, None)
            && !next.complete
        {
            places.push(next);
        }
    }
    for place in places {
        let _ = writeln!(out, "at {}:", place.node);
        for said in words {
            let (next, view) = library
                .step(&place, "provide_more_info", Some(said))
                .unwrap();
            let _ = writeln!(out, "  {said} | {}", shown(&next, &view).trim_end());
        }
    }
}

#[test]
fn words_lead_where_they_always_led() {
    let mut out = String::new();
    let words: Vec<String> = WORDS.iter().map(|said| (*said).to_owned()).collect();
    let names = ["home-network", "technology-investment", "tea"];
    for name in names {
        let _ = writeln!(out, "{name}");
        walked(
            &Library::new(vec![Arc::new(shipped(name))]),
            &words,
            &mut out,
        );
    }
    let _ = writeln!(out, "all three");
    let all = names.map(|name| Arc::new(shipped(name))).to_vec();
    walked(&Library::new(all), &words, &mut out);
    let _ = writeln!(out, "made");
    let library = Library::new(vec![Arc::new(generated())]);
    walked(&library, &questions(), &mut out);
    insta::assert_snapshot!("ranking", out);
}
