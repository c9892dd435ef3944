//! What merging promises.

use proptest::prelude::*;

use super::*;

fn graph(root: &str, nodes: &[(&str, &str, &str)], edges: &[(&str, &str)]) -> Value {
    let nodes: Vec<Value> = nodes
        .iter()
        .map(|(id, kind, label)| json!({"id": id, "type": kind, "label": label, "attributes": {"of": root}}))
        .collect();
    let edges: Vec<Value> = edges
        .iter()
        .map(|(from, to)| json!({"source": from, "target": to, "type": "knows", "evidence_path": "p"}))
        .collect();
    json!({"root": root, "nodes": nodes, "edges": edges, "entity_counts": {"product": 1}})
}

fn two() -> Vec<Value> {
    let first = graph(
        "a",
        &[("a", "product", "A"), ("b", "product", "B")],
        &[("a", "b")],
    );
    let second = graph("b", &[("b", "seller", "Bee"), ("c", "product", "C")], &[]);
    vec![
        json!({"data": {"rows": [{"research_graph": first}]}}),
        second,
    ]
}

fn node<'a>(graph: &'a Value, id: &str) -> &'a Value {
    graph["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .find(|node| node["id"] == id)
        .unwrap()
}

#[test]
fn the_heaviest_source_wins_unless_another_is_preferred() {
    let heaviest = merge(two(), &MergeOptions::default()).unwrap();
    assert_eq!(node(&heaviest, "b")["label"], "B");
    assert_eq!(
        heaviest["diff"]["resolutions"][0]["strategy"],
        "highest_source_weight"
    );
    assert_eq!(heaviest["diagnostics"]["orphan_nodes"], json!(["c"]));
    assert_eq!(
        heaviest["diagnostics"]["duplicate_nodes"],
        json!([{"id": "b", "seen": 2}])
    );
    for wanted in ["1", "b"] {
        let prefer_source = Some(wanted.to_owned());
        let options = MergeOptions {
            prefer_source,
            ..MergeOptions::default()
        };
        let merged = merge(two(), &options).unwrap();
        assert_eq!(node(&merged, "b")["type"], "seller");
        assert_eq!(merged["diff"]["preferred_source"]["matched"], true);
        assert_eq!(
            merged["entity_counts"],
            json!({"product": 2, "research_graph": 1, "seller": 1})
        );
    }
    let prefer_source = Some("nobody".to_owned());
    let unknown = merge(
        two(),
        &MergeOptions {
            prefer_source,
            ..MergeOptions::default()
        },
    )
    .unwrap();
    assert_eq!(
        unknown["diff"]["preferred_source"],
        json!({"requested": "nobody", "matched": false})
    );
}

#[test]
fn roots_are_included_and_weights_are_shown() {
    let merged = merge(two(), &MergeOptions::default()).unwrap();
    let edges = merged["edges"].as_array().unwrap();
    let included: Vec<&str> = edges
        .iter()
        .filter(|edge| edge["type"] == "includes_graph")
        .map(|edge| text(edge, "evidence_path"))
        .collect();
    assert_eq!(included, ["graphs.0.root", "graphs.1.root"]);
    assert_eq!(node(&merged, "a")["attributes"]["source_weight"], 4);
    assert_eq!(merged["sources"][1]["confidence"], "low");
}

#[test]
fn a_merged_graph_can_be_merged_again() {
    let once = merge(two(), &MergeOptions::default()).unwrap();
    let third = graph("d", &[("d", "product", "D")], &[]);
    let twice = merge(vec![once.clone(), third], &MergeOptions::default()).unwrap();
    let ids: Vec<&str> = twice["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| text(node, "id"))
        .collect();
    let distinct: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), distinct.len(), "{ids:?}");
    assert_eq!(ids.len(), 5);
    let edges = twice["edges"].as_array().unwrap();
    assert!(edges.iter().all(|edge| edge["source"] != edge["target"]));
    let keys: Vec<_> = edges.iter().map(edge_key).collect();
    assert!(keys.is_sorted_by(|a, b| a < b), "{keys:?}");
    assert_eq!(
        merge(vec![once], &MergeOptions::default()).unwrap()["node_count"],
        4
    );
}

#[test]
fn what_is_no_node_and_no_edge_is_left_out() {
    let odd = json!({
        "root": 5, "entity_counts": 7,
        "nodes": [5, null, {"id": ""}, {"id": ["a"]}, {"id": "a", "attributes": [1], "label": {}}],
        "edges": [5, {"source": "a"}, {"source": "a", "target": "gone", "type": null}],
    });
    let merged = merge(vec![odd], &MergeOptions::default()).unwrap();
    assert_eq!(merged["node_count"], 2);
    assert_eq!(merged["edge_count"], 1);
}

#[test]
fn nothing_to_merge_is_an_error() {
    let error = merge(vec![json!({"nodes": []})], &MergeOptions::default()).unwrap_err();
    assert_eq!(error.kind.name(), "invalid_argument");
}

proptest! {
    #[test]
    fn counts_are_true_and_nothing_is_lost(
        graphs in proptest::collection::vec(proptest::collection::vec((0_u8..12, 0_u8..3, 0_u8..12), 0..15), 1..5),
    ) {
        let all: Vec<Value> = graphs
            .iter()
            .map(|links| {
                let nodes: Vec<(String, String)> = links.iter().map(|(a, kind, _)| (format!("n{a}"), format!("t{kind}"))).collect();
                let nodes: Vec<(&str, &str, &str)> = nodes.iter().map(|(id, kind)| (id.as_str(), kind.as_str(), "x")).collect();
                let edges: Vec<(String, String)> = links.iter().map(|(a, _, b)| (format!("n{a}"), format!("n{b}"))).collect();
                let edges: Vec<(&str, &str)> = edges.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
                graph("n0", &nodes, &edges)
            })
            .collect();
        let merged = merge(all.clone(), &MergeOptions::default()).unwrap();
        let ids: BTreeSet<String> = graphs.iter().flatten().map(|(a, _, _)| format!("n{a}")).collect();
        prop_assert_eq!(&merged["node_count"], &json!(ids.len() + 1));
        let counted: u64 = merged["entity_counts"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
        prop_assert_eq!(&merged["node_count"], &json!(counted));
        let edges = merged["edges"].as_array().unwrap();
        prop_assert_eq!(&merged["edge_count"], &json!(edges.len()));
        prop_assert!(edges.iter().map(edge_key).is_sorted_by(|a, b| a < b));
        prop_assert_eq!(merge(all, &MergeOptions::default()).unwrap(), merged);
    }
}
