//! Pictures of a small base, in every format.

use super::*;
use crate::{Format, load_text};

const BASE: &str = r#"{"title": "T \"&<x>", "slots": {"n": {"type": "number"}}, "nodes": {
    "root": {"response": "Say \"hi\" | <b>&</b>\nand more", "options": [
        {"id": "a", "description": "To #A", "next_node": "ask", "then": "end"},
        {"id": "b", "description": "Gone", "next_node": "nowhere"},
        {"id": "c", "description": "Stop", "next_node": null, "when": "n > 3 and not visited(ask)"}]},
    "ask": {"response": "How many?", "ask": "n", "next_node": [
        {"when": "n < 5 or n in [7, 8]", "next_node": "end"}, {"next_node": "root"}]},
    "end": {"response": "Done"},
    "island": {"response": "Alone"}}}"#;

fn drawn(format: GraphFormat, options: &GraphOptions<'_>) -> String {
    let base = load_text("k", BASE, Format::Json).unwrap();
    graph(&base, format, options).unwrap().text
}

#[test]
fn mermaid_and_dot_are_committed() {
    let walked = ["root".to_owned(), "ask".to_owned(), "root".to_owned()];
    let options = GraphOptions {
        walked: &walked,
        ..GraphOptions::default()
    };
    insta::assert_snapshot!("mermaid", drawn(GraphFormat::Mermaid, &options));
    insta::assert_snapshot!("dot", drawn(GraphFormat::Dot, &options));
}

#[test]
fn an_svg_is_well_formed_and_shows_the_path() {
    let walked = ["root".to_owned(), "end".to_owned()];
    let options = GraphOptions {
        walked: &walked,
        ..GraphOptions::default()
    };
    let svg = drawn(GraphFormat::Svg, &options);
    let mut reader = quick_xml::Reader::from_str(&svg);
    while reader.read_event().unwrap() != quick_xml::events::Event::Eof {}
    assert!(svg.contains("T &quot;&amp;&lt;x&gt;"), "{svg}");
    assert!(svg.contains("class=\"card been here\""), "{svg}");
    assert!(svg.contains("walked"), "{svg}");
    for what in ["<script", "href", "url("] {
        assert!(!svg.contains(what), "{what}");
    }
}

#[test]
fn a_part_is_drawn_and_the_rest_counted() {
    let base = load_text("k", BASE, Format::Json).unwrap();
    let part = |from, depth| {
        let options = GraphOptions {
            from,
            depth,
            ..GraphOptions::default()
        };
        graph(&base, GraphFormat::Dot, &options).map(|drawn| (drawn.shown, drawn.left_out))
    };
    assert_eq!(part(None, None), Some((4, 0)));
    assert_eq!(part(Some("ask"), Some(0)), Some((1, 3)));
    assert_eq!(part(Some("end"), None), Some((1, 3)));
    assert_eq!(part(Some("none"), None), None);
}

#[test]
fn a_large_base_is_drawn_in_part() {
    let mut text = String::from("{\"nodes\": {");
    for number in 0..3000 {
        let next = number + 1;
        text.push_str(&format!(
            "\"n{number}\": {{\"response\": \"x\", \"next_node\": \"n{next}\"}},"
        ));
    }
    text.push_str("\"n3000\": {}}}");
    let base = load_text("k", &text, Format::Json).unwrap();
    let drawn = graph(&base, GraphFormat::Svg, &GraphOptions::default()).unwrap();
    assert_eq!((drawn.shown, drawn.left_out), (MOST, 1001));
}
