//! Which tools a list shows, and who may say so.

use serde_json::{Value, json};

use super::{
    lists::pages,
    peer::{Ask, Gate, Stdio, code, error, names},
};
use crate::{support::TestEnv, upstream::section};

const DISCOVERY: [&str; 3] = ["tools.call", "tools.describe", "tools.search"];
const STUBS: &str = "[providers.stub]\ntools = [\"weather.today\", \"weather.later\"]\n";

/// The names on a list, sorted.
fn sorted(listed: &Value) -> Vec<&str> {
    let mut names = names(listed);
    names.sort_unstable();
    names
}

/// What a list holds that nobody asked for more: the three of every list, and those that lead to runs.
fn unasked(more: &[&'static str]) -> Vec<&'static str> {
    let mut all = and(&["list_task_templates", "run_task_template"]);
    all.extend(more);
    all.sort_unstable();
    all
}

/// The three tools of every list and these.
fn and(more: &[&'static str]) -> Vec<&'static str> {
    let mut all = DISCOVERY.to_vec();
    all.extend(more);
    all.sort_unstable();
    all
}

#[test]
fn a_list_is_five_tools_unless_somebody_says_more() {
    let env = TestEnv::with_config(STUBS);
    let gate = Gate::open(&env);
    let mut client = Stdio::modern(&env, &[]);
    let here = client.result("tools/list", json!({}));
    let there = gate.result(&Ask::modern("tools/list", json!({})));
    assert_eq!(sorted(&here), unasked(&[]));
    assert_eq!(sorted(&there), unasked(&[]));
    assert!(here.get("nextCursor").is_none());
    // At four bytes to a token and more, these are 2,000 of them; the bench counts them.
    assert!(
        here.to_string().len() <= 8_000,
        "{}",
        here.to_string().len()
    );
    assert_eq!(here["_meta"]["tollgate/list"]["toolsets"], json!([]));
    let mut old = Stdio::legacy(&env, json!({}));
    assert_eq!(sorted(&old.result("tools/list", json!({}))), unasked(&[]));
}

#[test]
fn a_request_says_which_toolsets_it_wants() {
    let env = TestEnv::with_config(STUBS);
    let mut client = Stdio::modern(&env, &[]);
    let both = and(&["weather.later", "weather.today"]);
    for params in [
        json!({"toolset": "stub"}),
        json!({"toolsets": "stub"}),
        json!({"toolsets": ["stub"]}),
    ] {
        let listed = client.result("tools/list", params);
        assert_eq!(sorted(&listed), both);
        assert_eq!(
            listed["_meta"]["tollgate/list"]["toolsets"],
            json!(["stub"])
        );
    }
    let several = client.result("tools/list", json!({"toolsets": "stub, results"}));
    let expected = and(&[
        "weather.later",
        "weather.today",
        "result.slice",
        "result.search",
    ]);
    assert_eq!(sorted(&several), expected);
    let all = client.result("tools/list", json!({"toolset": "all"}));
    let all = names(&all);
    assert!(all.contains(&"weather.today") && all.contains(&"text.stats"));
}

#[test]
fn the_command_line_the_address_and_the_file_say_so_too() {
    let env = TestEnv::with_config(STUBS);
    let both = and(&["weather.later", "weather.today"]);
    let mut client = Stdio::modern(&env, &["--toolsets", "stub"]);
    assert_eq!(sorted(&client.result("tools/list", json!({}))), both);
    let narrower = client.result("tools/list", json!({"toolsets": []}));
    assert_eq!(sorted(&narrower), DISCOVERY, "a request says it better");

    let gate = Gate::open(&env);
    let list = Ask::modern("tools/list", json!({}));
    let listed = gate.result(&list.clone().at("/mcp?toolsets=stub"));
    assert_eq!(sorted(&listed), both);
    let listed = gate.result(&list.at("/mcp?toolset=stub&exclude_tools=weather.l%2A"));
    assert_eq!(sorted(&listed), and(&["weather.today"]));
    let gate = Gate::open_with(&env, &["--toolsets", "stub"]);
    let listed = gate.result(&Ask::modern("tools/list", json!({})));
    assert_eq!(sorted(&listed), both);

    env.configure(&format!("{STUBS}[discovery]\ntoolsets = [\"stub\"]\n"));
    let mut client = Stdio::modern(&env, &[]);
    let both = unasked(&["weather.later", "weather.today"]);
    assert_eq!(sorted(&client.result("tools/list", json!({}))), both);
}

/// One server of the user's, all of whose tools the client waits for.
fn with_server(words: &str, discovery: &str) -> TestEnv {
    let server = section("own", words, "trust_annotations = true");
    TestEnv::with_config(&format!(
        "{server}[discovery]\nnames = \"canonical\"\n{discovery}"
    ))
}

/// What a client is listed once the user's server is there.
fn listed_with_server(env: &TestEnv) -> Value {
    let mut client = Stdio::modern(env, &[]);
    let all = json!({"toolsets": ["mcp"]});
    while !names(&client.result("tools/list", all.clone())).contains(&"mcp.own.echo") {
        std::thread::yield_now();
    }
    client.result("tools/list", json!({}))
}

#[test]
fn tools_of_the_users_servers_are_listed_while_they_fit() {
    let listed = listed_with_server(&with_server("modern", ""));
    assert!(names(&listed).contains(&"mcp.own.echo"), "{listed:#}");
    assert!(names(&listed).contains(&"tools.search"));
    assert!(
        !names(&listed).contains(&"text.stats"),
        "a pack is found by search"
    );
    let used = &listed["_meta"]["tollgate/list"];
    assert_eq!(
        (&used["mode"], &used["servers"]),
        (&json!("auto"), &json!(true))
    );
    assert_eq!(used["schemas"], json!(null));

    // Shorter descriptions and schemas first, then search alone.
    let brief = listed_with_server(&with_server("modern", "list_tokens = 900\n"));
    assert!(names(&brief).contains(&"mcp.own.echo"), "{brief:#}");
    assert_eq!(brief["_meta"]["tollgate/list"]["schemas"], "brief");
    for less in ["list_tokens = 300\n", "mode = \"search\"\n"] {
        let listed = listed_with_server(&with_server("modern", less));
        assert_eq!(sorted(&listed), unasked(&[]), "{less}");
        assert_eq!(listed["_meta"]["tollgate/list"]["servers"], false);
    }
    let env = with_server("modern", "mode = \"list\"\n");
    listed_with_server(&env);
    let mut client = Stdio::modern(&env, &[]);
    let every = pages(|mut params| {
        params.as_object_mut().unwrap().remove("toolsets");
        client.result("tools/list", params)
    });
    let every: Vec<&str> = every.iter().flat_map(names).collect();
    for name in ["mcp.own.echo", "text.stats", "keepa.products_get"] {
        assert!(every.contains(&name), "{name}");
    }
}

#[test]
fn a_toolset_of_the_configuration_stays_when_servers_no_longer_fit() {
    let env = with_server(
        "modern",
        "toolsets = [\"results\"]\nlist_tokens = 800\nschemas = \"brief\"\n",
    );
    let listed = listed_with_server(&env);
    assert_eq!(sorted(&listed), unasked(&["result.search", "result.slice"]));
}

#[test]
fn a_pack_that_is_off_is_not_there() {
    let env = TestEnv::with_config("[packs]\nkeepa = false\nbrowser = false\n");
    let mut client = Stdio::modern(&env, &[]);
    let all = client.result("tools/list", json!({"toolset": "all"}));
    let all = names(&all);
    assert!(all.contains(&"web.search"));
    let of_packs = |name: &&&str| name.starts_with("keepa.") || name.starts_with("browser.");
    assert_eq!(all.iter().filter(of_packs).count(), 0, "{all:?}");
    let templates = client.call("list_task_templates", json!({})).to_string();
    assert!(templates.contains("run_code_snippet"), "{templates}");
    assert!(!templates.contains("login_keep_session"), "{templates}");
    let call = json!({"name": "keepa.products_get", "arguments": {}});
    assert_eq!(client.error("tools/call", call)["code"], -32602);
    let found = client.call(
        "tools.search",
        json!({"query": "open a web page in the browser"}),
    );
    assert!(!found.to_string().contains("browser.navigate"), "{found:#}");
}

#[test]
fn a_search_finds_the_users_own_server_before_a_pack() {
    let env = with_server("modern browser", "");
    let mut client = Stdio::modern(&env, &[]);
    let all = json!({"toolsets": ["mcp"]});
    while !names(&client.result("tools/list", all.clone())).contains(&"mcp.own.browser_navigate") {
        std::thread::yield_now();
    }
    let mut search = |query: &str| {
        let found = client.call("tools.search", json!({"query": query, "limit": 10}));
        found["content"][0]["text"].as_str().unwrap().to_owned()
    };
    let place = |text: &str, name: &str| text.find(&format!("\"{name}\""));
    for query in ["open a web page in the browser", "navigate to a url"] {
        let text = search(query);
        let own = place(&text, "mcp.own.browser_navigate");
        let pack = place(&text, "browser.navigate");
        assert!(
            own.is_some() && own < pack.or(Some(usize::MAX)),
            "{query}: {text}"
        );
    }
    let text = search("open a web page in the browser");
    let first = text.split_once(r#""tools":[{"name":""#).unwrap().1;
    assert!(first.starts_with("mcp.own.browser_navigate\""), "{text}");
    let text = search("take a screenshot of the page");
    let first = text.split_once(r#""tools":[{"name":""#).unwrap().1;
    assert!(
        first.starts_with("mcp.own.browser_take_screenshot\""),
        "{text}"
    );
}

#[test]
fn a_description_says_the_same_hints_as_the_list() {
    let env = TestEnv::with_config(STUBS);
    let mut client = Stdio::modern(&env, &[]);
    let listed = client.result("tools/list", json!({"toolsets": ["gate"]}));
    let listed = listed["tools"].as_array().unwrap();
    assert!(listed.len() > 10, "{}", listed.len());
    for tool in listed {
        let about = json!({"name": tool["name"]});
        let described = client.call("tools.describe", about);
        let said = &described["structuredContent"]["annotations"];
        for (hint, name) in [
            ("readOnlyHint", "read_only"),
            ("destructiveHint", "destructive"),
            ("idempotentHint", "idempotent"),
            ("openWorldHint", "open_world"),
        ] {
            assert_eq!(
                tool["annotations"][hint], said[name],
                "{} {hint}",
                tool["name"]
            );
        }
    }
}

#[test]
fn tools_are_let_in_and_left_out_by_name() {
    let env = TestEnv::with_config(STUBS);
    let mut client = Stdio::modern(&env, &["--toolsets", "stub"]);
    for (params, expected) in [
        (
            json!({"allow_tools": ["weather.today"]}),
            vec!["weather.today"],
        ),
        (
            json!({"allow_tools": "weather_today"}),
            vec!["weather.today"],
        ),
        (json!({"exclude_tools": "weather.*"}), DISCOVERY.to_vec()),
        (
            json!({"allow_tools": "weather.*", "exclude_tools": "weather.later"}),
            vec!["weather.today"],
        ),
    ] {
        let listed = client.result("tools/list", params.clone());
        assert_eq!(sorted(&listed), expected, "{params}");
    }
    let flags = ["--toolsets", "stub", "--exclude-tools", "weather.later"];
    let mut client = Stdio::modern(&env, &flags);
    let listed = client.result("tools/list", json!({}));
    assert_eq!(sorted(&listed), and(&["weather.today"]));
    let flags = ["--toolsets", "stub", "--allow-tools", "weather.later"];
    let mut client = Stdio::modern(&env, &flags);
    let listed = client.result("tools/list", json!({}));
    assert_eq!(sorted(&listed), ["weather.later"]);
}

#[test]
fn names_in_answers_and_prompts_are_those_of_the_list() {
    let env = TestEnv::new();
    for names_are in ["canonical", "safe"] {
        env.configure(&format!(
            "[discovery]\nnames = \"{names_are}\"\ntoolsets = [\"research\"]\n"
        ));
        let mut client = Stdio::modern(&env, &[]);
        let listed = client.result("tools/list", json!({}));
        let listed = names(&listed);
        let find = listed
            .iter()
            .find(|name| name.ends_with("categories_search"));
        let arguments = json!({"term": "kettles", "fixture": "category_search.json"});
        let call = json!({"name": find.unwrap(), "arguments": arguments});
        let answer = client.result("tools/call", call);
        let actions = &answer["structuredContent"]["data"]["next_actions"];
        assert!(!actions.as_array().unwrap().is_empty(), "{answer}");
        for action in actions.as_array().unwrap() {
            assert!(
                listed.contains(&action["mcp_tool"].as_str().unwrap()),
                "{action}"
            );
        }
        let prompt = json!({"name": "keepa.product_research", "arguments": {"asin": "B0KETTLE01"}});
        let prompt = client.result("prompts/get", prompt);
        let text = prompt["messages"][0]["content"]["text"].as_str().unwrap();
        let plan = listed.iter().find(|name| name.ends_with("workflow_plan"));
        assert!(text.contains(plan.unwrap()), "{text}");
    }
}

#[test]
fn a_brief_list_shows_the_least_and_everybody_may_ask_for_it() {
    let env = TestEnv::new();
    let mut client = Stdio::modern(&env, &[]);
    let full = client.result("tools/list", json!({"toolset": "research"}));
    let asked = client.result(
        "tools/list",
        json!({"toolset": "research", "schemas": "brief"}),
    );
    assert_eq!(names(&full), names(&asked));
    assert_eq!(asked["_meta"]["tollgate/list"]["schemas"], "brief");
    // At a little more than four bytes to a token these are 9,000 and 6,000 of them.
    let size = |listed: &Value| listed["tools"].to_string().len();
    assert!(size(&full) <= 38_500, "{}", size(&full));
    assert!(size(&asked) <= 24_000, "{}", size(&asked));
    for (long, short) in full["tools"]
        .as_array()
        .unwrap()
        .iter()
        .zip(asked["tools"].as_array().unwrap())
    {
        let name = &short["name"];
        // What is called by name can answer anything.
        let promises = long["name"] != "tools.call";
        assert_eq!(long.get("outputSchema").is_some(), promises, "{long}");
        assert!(short.get("outputSchema").is_none(), "{short}");
        let whole = long["description"].as_str().unwrap();
        assert!(whole.starts_with(short["description"].as_str().unwrap()));
        let arguments = |tool: &Value| -> Vec<String> {
            let all = tool["inputSchema"]["properties"].as_object().unwrap();
            all.keys().cloned().collect()
        };
        assert_eq!(arguments(long), arguments(short), "{name}");
        assert_eq!(
            long["inputSchema"]["required"],
            short["inputSchema"]["required"]
        );
        let text = short["inputSchema"].to_string();
        assert!(!text.contains("\"description\":\""), "{name}: {text}");
    }
    let mut by_flag = Stdio::modern(&env, &["--toolsets", "research", "--schemas", "brief"]);
    assert_eq!(
        by_flag.result("tools/list", json!({}))["tools"],
        asked["tools"]
    );
    let again = by_flag.result("tools/list", json!({"schemas": "full"}));
    assert_eq!(again["tools"], full["tools"], "a request says it better");
    let gate = Gate::open(&env);
    let list = Ask::modern("tools/list", json!({}));
    let there = gate.result(&list.at("/mcp?toolsets=research&schemas=brief"));
    assert_eq!(names(&there), names(&asked));
    assert!(there["tools"][4].get("outputSchema").is_none());
    env.configure("[discovery]\ntoolsets = [\"research\"]\nschemas = \"brief\"\n");
    let mut by_file = Stdio::modern(&env, &[]);
    let there = by_file.result("tools/list", json!({}));
    for tool in asked["tools"].as_array().unwrap() {
        assert!(there["tools"].as_array().unwrap().contains(tool), "{tool}");
    }
}

#[test]
fn a_pinned_tool_is_on_every_list() {
    let config = format!("{STUBS}[discovery]\npinned = [\"text.stats\"]\n");
    let env = TestEnv::with_config(&config);
    let mut client = Stdio::modern(&env, &[]);
    let listed = client.result("tools/list", json!({}));
    assert_eq!(sorted(&listed), unasked(&["text.stats"]));
    let listed = client.result("tools/list", json!({"toolsets": "stub"}));
    assert!(names(&listed).contains(&"text.stats"));
}

#[test]
fn what_is_not_listed_can_still_be_found_described_and_called() {
    let env = TestEnv::with_config(STUBS);
    let mut client = Stdio::modern(&env, &[]);
    let found = client.call("tools.search", json!({"query": "weather today"}));
    assert!(found.to_string().contains("weather.today"), "{found}");
    let inner = json!({"name": "weather.today", "arguments": {"city": "Oslo"}});
    let by_name = client.call("tools.call", inner);
    assert_eq!(by_name["_meta"]["tollgate/result"]["tool"], "weather.today");
    let direct = client.call("weather.today", json!({"city": "Oslo"}));
    assert_eq!(direct["structuredContent"], by_name["structuredContent"]);
    assert_eq!(direct["_meta"]["tollgate/result"]["cache_hit"], true);
}

#[test]
fn an_unknown_toolset_or_profile_is_answered_with_the_known_ones() {
    let env = TestEnv::with_config("[profiles.calm]\ninactive = [\"text.*\"]\n");
    let gate = Gate::open(&env);
    let mut client = Stdio::modern(&env, &[]);
    let refused = client.error("tools/list", json!({"toolsets": ["moon"]}));
    assert_eq!(refused["code"], -32602);
    assert!(refused["message"].as_str().unwrap().contains("`moon`"));
    let known = refused["data"]["toolsets"].as_array().unwrap();
    for set in ["all", "discovery", "gate", "results"] {
        assert!(known.contains(&json!(set)), "{refused}");
    }
    let refused = client.error("tools/list", json!({"profile": "loud"}));
    assert_eq!(refused["code"], -32602);
    assert_eq!(
        refused["data"]["profiles"],
        json!([
            "calm",
            "dry_run_default",
            "fixture_curation",
            "live_read_allowed",
            "offline_fixture_only",
            "tracking_readonly",
        ])
    );

    let list = Ask::modern("tools/list", json!({}));
    let heard = gate.ask(&list.clone().at("/mcp?toolsets=moon"));
    assert_eq!(error(&heard.json())["data"]["toolsets"], json!(known));
    let heard = gate.ask(&list.at("/mcp?profile=loud"));
    assert_eq!(code(&heard.json()), -32602);

    for (flag, known) in [("--toolsets", "gate"), ("--profile", "calm")] {
        let (exit, said) = Stdio::modern(&env, &[flag, "moon"]).finish();
        assert_eq!(exit, Some(2));
        assert!(said.contains("`moon`") && said.contains(known), "{said}");
        env.run(&["serve", "--port", "0", flag, "moon"]).exits(2);
    }
}

#[test]
fn the_configuration_narrows_what_exists() {
    let narrow =
        "[discovery]\nallow_tools = [\"text.*\", \"tools.*\"]\nexclude_tools = [\"text.diff\"]\n";
    let env = TestEnv::with_config(narrow);
    let mut client = Stdio::modern(&env, &[]);
    let listed = client.result("tools/list", json!({"toolset": "gate"}));
    let names = sorted(&listed);
    assert!(names.contains(&"text.stats"), "{names:?}");
    let is_let_in = |name: &&str| name.starts_with("text.") || name.starts_with("tools.");
    assert!(names.iter().all(is_let_in), "{names:?}");
    assert!(!names.contains(&"text.diff"));
    let gone = client.ask("tools/call", json!({"name": "time.now", "arguments": {}}));
    assert_eq!(gone["error"]["code"], -32602, "{gone}");
}

#[test]
fn an_unknown_profile_is_refused_wherever_it_is_named() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let list = Ask::modern("tools/list", json!({})).at("/mcp?profile=nobody");
    let heard = gate.ask(&list).has(200).json();
    assert_eq!(heard["error"]["code"], -32602, "{heard}");
    assert!(heard["error"]["data"]["profiles"].is_array(), "{heard}");
}

#[test]
fn a_session_of_older_clients_means_nothing_to_newer_ones() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let list = Ask::modern("tools/list", json!({})).header("mcp-session-id", "none-of-ours");
    gate.ask(&list).has(200);
}
