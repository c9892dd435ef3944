//! Every address that a template promises: one of each is made and really read.

use std::{collections::BTreeMap, path::Path};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::peer::Stdio;
use crate::support::{TestEnv, approval_id, envelope, site};

const KEEPS: &str = "id: keeps\nversion: 1.0.0\nname: Keeps\nsteps:\n  - {id: count, tool: text.stats, args: {text: a}, artifacts: [{name: note, content: '{{ inputs.text }}'}]}\n";
const KETTLE: &str = "B0KETTLE01";

/// An address of a template, and what stands there.
struct Example {
    template: &'static str,
    uri: String,
    says: &'static str,
}

fn example(template: &'static str, uri: impl Into<String>, says: &'static str) -> Example {
    Example {
        template,
        uri: uri.into(),
        says,
    }
}

/// A user with something behind every template.
fn office(host: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write("config/tollgate/templates/keeps.yaml", KEEPS);
    env.write("shelf/note.txt", "a note on the shelf");
    env.write("samples/b0kettle01.json", "{}");
    env.write("evidence/tasks/kettle.md", "# Seen\n");
    env.write(
        "evidence/manifest.csv",
        "logical_path,title,status,updated_at,summary\ntasks/kettle.md,Kettle,done,2026-05-01,seen\n",
    );
    let bases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../knowledge/home-network");
    env.configure(&format!(
        "[knowledge]\npaths = [{bases:?}]\n[resources.roots]\nshelf = {:?}\n\
         [keepa]\nevidence_dir = {:?}\nfixture_dirs = [{:?}]\n[web]\nallow_hosts = [{host:?}]\n",
        env.path("shelf"),
        env.path("evidence"),
        env.path("samples"),
    ));
    env
}

#[track_caller]
fn done(client: &mut Stdio, tool: &str, arguments: Value) -> Value {
    let done = client.call(tool, arguments);
    assert_eq!(done["isError"], false, "{tool}: {done:#}");
    envelope(&done)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value}"))
}

fn encoded(text: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(text)
}

/// What the gate itself keeps.
fn of_the_gate(client: &mut Stdio) -> Vec<Example> {
    let counted = done(client, "text.stats", json!({"text": "hello"}));
    let long = json!({"text": "ab".repeat(90_000), "pattern": "a", "with": "long "});
    let long = client.call("text.replace", long);
    let kept = text(&long["content"][1]["uri"]).to_owned();
    let run = json!({"templateId": "keeps", "inputs": {"text": "left behind"},
        "options": {"mode": "sync"}});
    let run = done(client, "run_task_template", run);
    vec![
        example(
            "tollgate://tools/{name}",
            "tollgate://tools/text.stats",
            "\"name\":\"text.stats\"",
        ),
        example(
            "tollgate://toolsets/{toolset}",
            "tollgate://toolsets/gate",
            "\"toolset\":\"gate\"",
        ),
        example(
            "tollgate://prompts/{name}",
            "tollgate://prompts/start_task",
            "\"name\":\"start_task\"",
        ),
        example(
            "tollgate://cache/{cache_key}",
            format!("tollgate://cache/{}", text(&counted["cache_key"])),
            "\"characters\":5",
        ),
        example("tollgate://docs/{page}", "tollgate://docs/mcp", "# MCP\n"),
        example("tollgate://results/{id}", &kept, "long blong b"),
        example(
            "tollgate://results/{id}/{piece}",
            format!("{kept}/1"),
            "long blong b",
        ),
        example(
            "tollgate://artifacts/{artifactId}{?offset,limit}",
            format!(
                "{}?offset=5&limit=6",
                text(&run["data"]["artifacts"][0]["uri"])
            ),
            "behind",
        ),
        example(
            "skill://{skill}/SKILL.md",
            "skill://research_report/SKILL.md",
            "name: research_report",
        ),
    ]
}

/// What the folders, the knowledge base and the web hold.
fn of_others(client: &mut Stdio, host: &str) -> Vec<Example> {
    let page = json!({"url": format!("http://{host}/ferries.txt"), "max_chars": 500});
    let page = done(client, "web.fetch", page);
    let page = text(&page["data"]["artifact"]["uri"]).to_owned();
    vec![
        example(
            "files://{root}/{+path}",
            "files://shelf/note.txt",
            "a note on the shelf",
        ),
        example(
            "knowledge://{base}",
            "knowledge://home-network",
            "\"id\":\"home-network\"",
        ),
        example(
            "knowledge://{base}/nodes/{node}",
            "knowledge://home-network/nodes/wired",
            "\"wired\"",
        ),
        example(
            "knowledge://{base}/graph.{format}",
            "knowledge://home-network/graph.mmd",
            "flowchart",
        ),
        example("web://pages/{id}", &page, "The ferry leaves"),
        example(
            "web://pages/{id}/{piece}",
            format!("{page}/1"),
            "The ferry leaves",
        ),
    ]
}

/// What the Keepa pack knows by name.
fn of_keepa() -> Vec<Example> {
    let params = |params: Value| encoded(params.to_string());
    vec![
        example(
            "keepa://schema/{name}",
            "keepa://schema/risk-taxonomy",
            "keepa://schema/risk-taxonomy",
        ),
        example(
            "keepa://fixtures/{name}",
            "keepa://fixtures/product_kettle.json",
            KETTLE,
        ),
        example(
            "keepa://cache-key/{command}/{encoded_params}",
            format!(
                "keepa://cache-key/products.get/{}",
                params(json!({"asins": [KETTLE]}))
            ),
            "\"cache_key\": \"products.get:",
        ),
        example(
            "keepa://workflow/{encoded_params}/policy",
            format!(
                "keepa://workflow/{}/policy",
                params(json!({"name": "product-research", "asin": KETTLE}))
            ),
            "product-research",
        ),
        example(
            "keepa://toolsets/{toolset}",
            "keepa://toolsets/research",
            "\"toolset\": \"research\"",
        ),
        example(
            "keepa://tools/{name}",
            "keepa://tools/keepa.products_get",
            "\"name\": \"keepa.products_get\"",
        ),
        example(
            "keepa://prompts/{name}",
            "keepa://prompts/keepa.product_research",
            "\"name\": \"keepa.product_research\"",
        ),
        example(
            "keepa://asin/{asin}/fixture",
            format!("keepa://asin/{KETTLE}/fixture"),
            "keepa://fixtures/b0kettle01.json",
        ),
        example(
            "keepa://evidence/{encoded_logical_path}",
            format!("keepa://evidence/{}", encoded("tasks/kettle.md")),
            "# Seen",
        ),
        example(
            "keepa://zread/wiki/page/{slug_or_file}",
            "keepa://zread/wiki/page/approvals",
            "# Approvals",
        ),
    ]
}

/// What the Keepa pack has found out and written in this session.
fn of_research(env: &TestEnv, client: &mut Stdio) -> Vec<Example> {
    let product = json!({"asins": [KETTLE], "fixture": "product_kettle.json"});
    let found = done(client, "keepa.products_get", product.clone());
    let key = text(&found["cache_key"]);
    let brief = json!({"payload": found["data"]});
    let brief = done(client, "keepa.research_brief_export", brief);
    let brief = text(&brief["cache_key"]);

    let mut written = product;
    written["chunks_dir"] = json!("chunks");
    let asked = client.call("keepa.products_get", written.clone());
    let id = approval_id(&envelope(&asked));
    env.run(&["approve", &id, "--token", &env.approver()])
        .exits(0);
    let written = done(client, "keepa.products_get", written);
    let chunks = written["data"]["chunks"].as_array().unwrap();
    let chunk = chunks.iter().find(|it| it["name"] == "identity").unwrap();
    let path = encoded(text(&chunk["path"]));
    vec![
        example(
            "keepa://research/{cache_key}",
            format!("keepa://research/{key}"),
            "\"found\": true",
        ),
        example(
            "keepa://research/{cache_key}/brief",
            format!("keepa://research/{brief}/brief"),
            "\"entity_graph_summary\"",
        ),
        example(
            "keepa://research/{cache_key}/graph",
            format!("keepa://research/{key}/graph"),
            "\"root\": \"product:B0KETTLE01\"",
        ),
        example(
            "keepa://graphs/{root}",
            format!("keepa://graphs/product:{KETTLE}"),
            "\"source\": \"session\"",
        ),
        example(
            "keepa://chunk/{encoded_path}",
            format!("keepa://chunk/{path}"),
            "\"section\":\"identity\"",
        ),
        example(
            "keepa://output/{encoded_path}",
            format!("keepa://output/{path}"),
            "\"section\":\"identity\"",
        ),
    ]
}

/// Every template that is listed, and the kind of its documents.
fn listed(client: &mut Stdio) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    let mut params = json!({});
    loop {
        let page = client.result("resources/templates/list", params);
        for one in page["resourceTemplates"].as_array().unwrap() {
            all.insert(text(&one["uriTemplate"]).to_owned(), one.clone());
        }
        match page.get("nextCursor") {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => return all,
        }
    }
}

/// Whether an address is one of a template's: what stands between its names comes in order.
fn is_of(template: &str, uri: &str) -> bool {
    let template = template.replace("{?offset,limit}", "?offset={offset}&limit={limit}");
    let mut rest = uri;
    template.split('{').enumerate().all(|(number, part)| {
        let between = match number {
            0 => part,
            _ => part.split_once('}').unwrap().1,
        };
        match rest.find(between) {
            Some(at) if number > 0 || at == 0 => {
                rest = &rest[at + between.len()..];
                true
            }
            Some(_) | None => false,
        }
    })
}

#[test]
fn every_template_leads_to_a_document() {
    let line = "The ferry leaves the old pier at noon, and it comes back before the sun is down.\n";
    let host = site("text/plain; charset=utf-8", line.repeat(5000));
    let env = office(&host);
    let mut client = Stdio::modern(&env, &[]);
    let mut examples = of_the_gate(&mut client);
    examples.extend(of_others(&mut client, &host));
    examples.extend(of_keepa());
    examples.extend(of_research(&env, &mut client));

    let templates = listed(&mut client);
    let mut shown: Vec<&str> = examples.iter().map(|it| it.template).collect();
    shown.sort_unstable();
    let promised: Vec<&str> = templates.keys().map(String::as_str).collect();
    assert_eq!(shown, promised, "each template has one example");
    for Example {
        template,
        uri,
        says,
    } in &examples
    {
        assert!(is_of(template, uri), "{template}: {uri}");
        let read = client.result("resources/read", json!({"uri": uri}));
        let document = &read["contents"][0];
        assert_eq!(document["uri"], *uri, "{template}");
        let found = text(&document["text"]);
        assert!(found.contains(says), "{template}: {found}");
    }
}
