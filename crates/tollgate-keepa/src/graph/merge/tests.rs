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

/// A text that is short and often the same, or now and then none at all.
fn name() -> impl Strategy<Value = Value> {
    prop_oneof![
        20 => "[a-cü]{1,2}".prop_map(Value::from),
        1 => Just(Value::from("merged_research_graph")),
        1 => Just(Value::from("includes_graph")),
        1 => proptest::sample::select(vec![Value::Null, json!(5), json!(""), json!([])]),
    ]
}

/// Nodes and edges as they may come, none of them promised to be whole.
fn anything() -> impl Strategy<Value = Value> {
    let node = (name(), name(), name(), proptest::bool::ANY).prop_map(|(id, kind, label, has)| {
        let attributes = if has { json!({"x": label}) } else { json!({}) };
        json!({"id": id, "type": kind, "label": label, "attributes": attributes})
    });
    let edge = (name(), name(), name(), 0..100).prop_map(|(source, kind, target, at)| {
        json!({"evidence_path": at, "source": source, "type": kind, "target": target})
    });
    let odd = || proptest::sample::select(vec![json!(null), json!([]), json!({}), json!("a")]);
    let nodes = proptest::collection::vec(prop_oneof![20 => node, 1 => odd()], 0..12);
    let edges = proptest::collection::vec(prop_oneof![20 => edge, 1 => odd()], 0..20);
    (name(), nodes, edges).prop_map(|(root, nodes, edges)| {
        json!({"root": root, "nodes": nodes, "edges": edges, "entity_counts": {}})
    })
}

fn list<'a>(graph: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    graph[name].as_array().into_iter().flatten()
}

proptest! {
    #[test]
    fn numbers_give_what_names_would(graphs in proptest::collection::vec(anything(), 1..5)) {
        let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let root = MergeOptions::default().root;
        let merged = merge(graphs.clone(), &MergeOptions::default()).unwrap();
        let mut edges = BTreeMap::new();
        for edge in graphs.iter().flat_map(|graph| list(graph, "edges")) {
            edges.insert(["source", "type", "target"].map(|part| text(edge, part)), edge.clone());
        }
        edges.retain(|[source, _, target], _| !source.is_empty() && !target.is_empty());
        let mut nodes: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
        for (at, graph) in graphs.iter().enumerate() {
            for node in list(graph, "nodes") {
                nodes.entry(text(node, "id")).or_default().push(node);
            }
            let target = text(graph, "root");
            let has_root = list(graph, "nodes").any(|node| text(node, "id") == target);
            if has_root && !target.is_empty() && target != root {
                let edge = json!({
                    "source": root, "target": target, "type": INCLUDES, "evidence_path": format!("graphs.{at}.root"),
                });
                edges.insert([root.clone(), INCLUDES.to_owned(), target], edge);
            }
        }
        nodes.remove("");
        prop_assert_eq!(list(&merged, "edges").collect::<Vec<_>>(), edges.values().collect::<Vec<_>>());
        let again = nodes.values().filter(|all| all.len() > 1).count();
        prop_assert_eq!(&merged["diagnostics"]["duplicate_node_count"], &json!(again));
        let disputed = |all: &Vec<&Value>| ["label", "type"].iter().any(|part| {
            all.iter().map(|node| text(node, part)).collect::<BTreeSet<_>>().len() > 1
        });
        let conflicts = nodes.values().filter(|all| disputed(all)).count();
        prop_assert_eq!(&merged["diagnostics"]["conflict_count"], &json!(conflicts));
        let ids: BTreeSet<String> = nodes.keys().cloned().chain([root.clone()]).collect();
        let shown: Vec<(String, String)> = list(&merged, "nodes").map(|node| (text(node, "type"), text(node, "id"))).collect();
        prop_assert!(shown.is_sorted());
        prop_assert_eq!(shown.into_iter().map(|(_, id)| id).collect::<BTreeSet<_>>(), ids);
        for node in list(&merged, "nodes").filter(|node| node["id"] != root.as_str()) {
            let all = &nodes[node["id"].as_str().unwrap()];
            let is_one_of = |part: &str| all.iter().any(|one| text(one, part) == text(node, part));
            prop_assert!(is_one_of("label") && is_one_of("type"));
            let last = all.last().unwrap();
            prop_assert_eq!(node["attributes"].get("x").filter(|x| !x.is_null()), last["attributes"].get("x").filter(|x| !x.is_null()));
            prop_assert_eq!(node["attributes"].get("source_weight").is_some(), last["attributes"].get("x").is_some());
        }
    }
}
