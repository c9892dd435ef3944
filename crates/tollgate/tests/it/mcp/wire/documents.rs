//! Resources, prompts and completions.

use serde_json::{Value, json};

use super::peer::{Ask, Gate, Stdio, error};
use crate::support::{TestEnv, envelope};

#[test]
fn every_listed_resource_can_be_read() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let mut client = Stdio::modern(&env, &[]);
    let listed = client.result("resources/list", json!({}));
    let resources = listed["resources"].as_array().unwrap();
    for wanted in [
        "tollgate://tools",
        "tollgate://toolsets",
        "tollgate://prompts",
        "tollgate://session/ledger",
        "tollgate://policy",
        "tollgate://audit/recent",
    ] {
        assert!(resources.iter().any(|it| it["uri"] == wanted), "{wanted}");
    }
    let is_page = |it: &Value| it["uri"].as_str().unwrap().starts_with("tollgate://docs/");
    assert!(resources.iter().any(is_page), "{resources:?}");
    for resource in resources {
        let params = json!({"uri": resource["uri"]});
        let there = Ask::modern("resources/read", params.clone());
        for read in [
            client.result("resources/read", params.clone()),
            gate.result(&there),
        ] {
            let document = &read["contents"][0];
            assert_eq!(document["uri"], resource["uri"]);
            assert_eq!(document["mimeType"], resource["mimeType"]);
            let text = document["text"].as_str().unwrap();
            assert!(!text.is_empty(), "{resource}");
            if document["mimeType"] == "application/json" {
                serde_json::from_str::<Value>(text).unwrap();
            }
        }
    }
}

#[test]
fn one_read_gives_at_most_a_megabyte() {
    const MEGABYTE: usize = 1 << 20;
    let env = TestEnv::new();
    let mut client = Stdio::modern(&env, &[]);
    let arguments = json!({"text": "ab".repeat(100_000), "pattern": "a", "with": "€€€€"});
    let done = client.call("text.replace", arguments);
    let envelope = envelope(&done);
    let key = envelope["cache_key"].as_str().unwrap();
    let links = done["content"].as_array().unwrap();
    let link = links.iter().find_map(|it| it["uri"].as_str()).unwrap();
    for uri in [format!("tollgate://cache/{key}"), link.to_owned()] {
        let read = client.result("resources/read", json!({"uri": uri}));
        let document = &read["contents"][0];
        let text = document["text"].as_str().unwrap();
        // A character that does not fit is left out whole.
        let cut = MEGABYTE - text.len();
        assert!(cut < '€'.len_utf8(), "{uri}: {} bytes", text.len());
        assert_eq!(document["_meta"]["tollgate/truncated"], true, "{uri}");
        let total = document["_meta"]["tollgate/total_bytes"].as_u64().unwrap();
        assert!(total > 1_300_000, "{uri}: {total}");
    }
}

#[test]
fn an_unknown_resource_is_refused_as_its_era_does() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let uri = "tollgate://moon";
    let params = json!({"uri": uri});
    let mut modern = Stdio::modern(&env, &[]);
    let mut old = Stdio::legacy(&env, json!({}));
    let refused = modern.error("resources/read", params.clone());
    assert_eq!(refused["code"], -32602);
    assert_eq!(refused["data"]["uri"], uri);
    let refused = old.error("resources/read", params.clone());
    assert_eq!(refused["code"], -32002);
    assert_eq!(refused["data"]["uri"], uri);
    let heard = gate.ask(&Ask::modern("resources/read", params.clone()));
    assert_eq!(error(&heard.json())["code"], -32602);
    let session = gate.session(|ask| ask);
    let heard = gate.ask(&Ask::legacy(&session, "resources/read", params));
    assert_eq!(error(&heard.json())["code"], -32002);
    assert_eq!(modern.error("resources/read", json!({}))["code"], -32602);
}

#[test]
fn no_address_climbs_out_of_its_place() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let mut client = Stdio::modern(&env, &[]);
    let addresses = [
        "tollgate://docs/../../etc/passwd",
        "tollgate://docs/%2e%2e/%2e%2e/etc/passwd",
        "tollgate://docs/%252e%252e/etc/passwd",
        "tollgate://docs/..%2f..%2fetc%2fpasswd",
        "tollgate://docs//etc/passwd",
        "tollgate://docs/%2fetc%2fpasswd",
        "tollgate://docs/..\\..\\etc\\passwd",
        "tollgate://docs/%00",
        "tollgate://results/../gate.results/x",
        "tollgate:///etc/passwd",
        "file:///etc/passwd",
        "/etc/passwd",
        "../../etc/passwd",
    ];
    for uri in addresses {
        let refused = client.error("resources/read", json!({"uri": uri}));
        assert_eq!(refused["code"], -32602, "{uri}");
        assert!(!refused.to_string().contains("root:"), "{uri}");
        let heard = gate.ask(&Ask::modern("resources/read", json!({"uri": uri})));
        assert_eq!(error(&heard.json())["code"], -32602, "{uri}");
    }
    let rows = env.recorded();
    let twice = addresses.iter().flat_map(|uri| [uri, uri]);
    for (row, uri) in rows.iter().zip(twice) {
        assert_eq!(row["tool"], "resources/read", "{uri}: {row:#}");
        assert_eq!(row["status"], "error", "{uri}: {row:#}");
        let said = row["result_preview"].as_str().unwrap();
        assert!(said.contains(uri), "{uri}: {row:#}");
    }
    assert_eq!(rows.len(), 2 * addresses.len(), "each is written down once");
}

#[test]
fn prompts_say_how_to_begin_and_do_nothing() {
    let env = TestEnv::new();
    let mut client = Stdio::modern(&env, &[]);
    let listed = client.result("prompts/list", json!({}));
    let prompts = listed["prompts"].as_array().unwrap();
    assert!(prompts.len() >= 3);
    for prompt in prompts {
        let arguments = prompt["arguments"].as_array().into_iter().flatten();
        let filled: Value = arguments
            .map(|it| {
                (
                    it["name"].as_str().unwrap().to_owned(),
                    json!("water plants"),
                )
            })
            .collect::<serde_json::Map<_, _>>()
            .into();
        let params = json!({"name": prompt["name"], "arguments": filled});
        let said = client.result("prompts/get", params);
        let message = &said["messages"][0];
        assert_eq!(message["role"], "user");
        assert!(!message["content"]["text"].as_str().unwrap().is_empty());
    }
    let rows = env.recorded();
    let ran = rows.iter().filter(|row| row["kind"] == "intent");
    assert_eq!(ran.count(), 0);
    let tools = rows.iter().filter(|row| row["kind"] == "ending");
    let mut tools = tools.map(|row| row["tool"].as_str().unwrap_or_default());
    assert!(tools.all(|tool| !tool.contains("tools.call")));

    let missing = client.error("prompts/get", json!({"name": "start_task"}));
    assert_eq!(missing["code"], -32602);
    let unknown = client.error("prompts/get", json!({"name": "moon"}));
    assert_eq!(unknown["code"], -32602);
    let odd = json!({"name": "start_task", "arguments": {"task": 5}});
    assert_eq!(client.error("prompts/get", odd)["code"], -32602);
}

#[test]
fn known_values_are_completed() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let mut client = Stdio::modern(&env, &[]);
    for (uri, name, value, expected) in [
        (
            "tollgate://tools/{name}",
            "name",
            "text.s",
            json!(["text.stats"]),
        ),
        (
            "tollgate://toolsets/{toolset}",
            "toolset",
            "dis",
            json!(["discovery"]),
        ),
        (
            "tollgate://prompts/{name}",
            "name",
            "start",
            json!(["start_task"]),
        ),
        ("tollgate://tools/{name}", "name", "moon", json!([])),
        ("tollgate://tools/{name}", "other", "text", json!([])),
    ] {
        let params = json!({
            "ref": {"type": "ref/resource", "uri": uri},
            "argument": {"name": name, "value": value},
        });
        let here = client.result("completion/complete", params.clone());
        assert_eq!(here["completion"]["values"], expected, "{uri} {value}");
        assert_eq!(here["completion"]["hasMore"], false);
        let there = gate.result(&Ask::modern("completion/complete", params));
        assert_eq!(there["completion"]["values"], expected);
    }
    let refused = client.error("completion/complete", json!({"argument": {}}));
    assert_eq!(refused["code"], -32602);
}
