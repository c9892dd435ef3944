//! What the search promises: which tool a request finds, in which words and languages, and what it may cost at most.

use super::action::Action;
use super::argument::Argument;
use super::english::stem;
use super::question::tokens;
use super::*;
use serde_json::json;

fn tool(name: &str, description: &str) -> Document {
    Document {
        name: name.to_owned(),
        description: description.to_owned(),
        ..Document::default()
    }
}

fn catalogue() -> Vec<Document> {
    let mut tools = vec![
        tool("sendEmail", "Deliver a message to one or more recipients."),
        tool(
            "calendar_list_events",
            "Show what is planned between two dates.",
        ),
        tool(
            "image-resize",
            "Scale a picture to the given width and height.",
        ),
        tool(
            "db.runQuery",
            "Execute a read-only SQL statement and return the rows.",
        ),
        tool("query_invoice", "根据发票号码查询发票的金额和状态"),
        tool("delete_branch", "Remove a branch from the repository."),
        tool("mind_map", "Turn an outline into a tree of topics."),
        tool("get_forecast", "Weather for the coming days at a location."),
    ];
    for (at, provider) in [(0, "mailbox"), (1, "planner"), (5, "forge")] {
        provider.clone_into(&mut tools[at].provider);
    }
    "Issues, reviews and pull requests of GitHub projects."
        .clone_into(&mut tools[5].provider_description);
    tools[3].parameters.push((
        "statement".to_owned(),
        "The PostgreSQL text to run.".to_owned(),
    ));
    tools[2].groups.push("darkroom".to_owned());
    tools
}

/// The names found for `query`, best first.
fn found(query: &str) -> Vec<String> {
    let tools = catalogue();
    let hits = Index::build(&tools).search(query, 3);
    hits.iter()
        .map(|hit| tools[hit.document].name.clone())
        .collect()
}

fn best(query: &str) -> String {
    found(query).into_iter().next().unwrap_or_default()
}

#[test]
fn finds_by_words_of_name_and_description() {
    assert_eq!(best("remove a branch"), "delete_branch");
    assert_eq!(best("scale a picture"), "image-resize");
}

#[test]
fn finds_by_parameter_toolset_and_provider() {
    assert_eq!(best("postgresql"), "db.runQuery");
    assert_eq!(best("darkroom"), "image-resize");
    assert_eq!(best("github pull requests"), "delete_branch");
    assert_eq!(best("mailbox"), "sendEmail");
}

#[test]
fn takes_identifiers_apart() {
    assert_eq!(best("email"), "sendEmail");
    assert_eq!(best("run query"), "db.runQuery");
    assert_eq!(best("resizing images"), "image-resize");
    assert_eq!(best("mindmap"), "mind_map");
}

#[test]
fn understands_other_words_for_the_same_thing() {
    assert_eq!(best("erase a branch"), "delete_branch");
    assert_eq!(best("photo"), "image-resize");
}

#[test]
fn finds_chinese_tools_with_chinese_and_english() {
    assert_eq!(best("发票状态"), "query_invoice");
    assert_eq!(best("invoice"), "query_invoice");
    assert_eq!(best("how much is the 发票"), "query_invoice");
}

#[test]
fn finds_english_tools_with_chinese() {
    assert_eq!(best("明天的天气"), "get_forecast");
    assert_eq!(best("帮我发送邮件"), "sendEmail");
    assert_eq!(best("用 SQL 查询"), "db.runQuery");
    assert_eq!(best("外面下雨吗"), "get_forecast");
}

#[test]
fn forgives_typos_and_beginnings() {
    assert_eq!(best("recipeints"), "sendEmail");
    assert_eq!(best("repositry"), "delete_branch");
    assert_eq!(best("calend"), "calendar_list_events");
}

#[test]
fn serves_each_part_of_a_request() {
    let names = found("Remove the branch, then email the recipients");
    assert!(names.contains(&"delete_branch".to_owned()), "{names:?}");
    assert!(names.contains(&"sendEmail".to_owned()), "{names:?}");
}

#[test]
fn reads_paths_as_kinds_of_files() {
    let words = |query: &str| -> Vec<String> {
        tokens(query).into_iter().map(|token| token.text).collect()
    };
    assert_eq!(
        words("open /srv/invoices/email.PDF."),
        ["open", "file", "pdf", "srv", "invoices"]
    );
    assert_eq!(words("list ~/music"), ["list", "directory"]);
    assert_eq!(words("(see ./a.csv)"), ["see", "file", "csv"]);
    assert_eq!(words("and/or"), ["and", "or"]);
}

#[test]
fn tells_what_kind_of_argument_it_reads() {
    assert_eq!(Argument::read("10.0.0.1"), Some(Argument::Ip));
    assert_eq!(Argument::read("3*(4+5)"), Some(Argument::Sum));
    assert_eq!(Argument::read("ann@example.org"), Some(Argument::Email));
    assert_eq!(
        Argument::read("https://example.org/a"),
        Some(Argument::Url("example.org/a"))
    );
    assert_eq!(
        Argument::read("example.org"),
        Some(Argument::Host("example.org"))
    );
    assert_eq!(Argument::read("notes.md"), Some(Argument::File("notes.md")));
    for plain in [
        "word",
        "2024-05-01",
        "1.5",
        "node.js",
        "well-known",
        "C++",
        "",
    ] {
        assert_eq!(Argument::read(plain), None, "{plain}");
    }
}

#[test]
fn reads_arguments_as_what_they_are() {
    let mut tools = catalogue();
    tools.push(tool("whois_ip", "Who a network address belongs to."));
    tools.push(tool("compute", "Evaluates an arithmetic expression."));
    tools.push(tool("fetch_page", "Loads a web page from its url."));
    let index = Index::build(&tools);
    for (query, name) in [
        ("who has 10.0.0.1", "whois_ip"),
        ("what is 3*(4+5)", "compute"),
        ("open https://example.org/start", "fetch_page"),
    ] {
        let hits = index.search(query, 1);
        assert_eq!(tools[hits[0].document].name, name, "{query}");
    }
}

#[test]
fn understands_idioms_whose_words_mislead() {
    let tools = [
        tool("excel_read_sheet", "Reads the cells of a sheet."),
        tool("get_financial_statements", ""),
        tool("make_move", "Moves a piece."),
        tool("create_folder", "Creates a directory."),
    ];
    let index = Index::build(&tools);
    let first = |query: &str| tools[index.search(query, 1)[0].document].name.clone();
    assert_eq!(
        first("balance sheet of the company"),
        "get_financial_statements"
    );
    assert_eq!(first("make a directory"), "create_folder");
}

#[test]
fn who_wants_to_see_is_not_offered_to_delete() {
    let tools = [
        tool("delete_task", ""),
        tool("get_assigned_task", ""),
        tool("delete_branch", ""),
        tool("get_protected_branch", ""),
        tool("invoices1", "删除发票"),
        tool("invoices2", "获取一张发票的全部内容和开票日期"),
    ];
    let index = Index::build(&tools);
    let first = |query: &str| tools[index.search(query, 1)[0].document].name.clone();
    assert_eq!(first("view the task"), "get_assigned_task");
    assert_eq!(first("what is in the task"), "get_assigned_task");
    assert_eq!(first("I want to inspect a branch"), "get_protected_branch");
    assert_eq!(first("看看发票"), "invoices1");
    assert_eq!(first("查看发票"), "invoices2");
    // Nothing is held back where the wish is not clear: no verb, or one in each of several clauses.
    assert_eq!(first("task"), "delete_task");
    assert_eq!(first("view the list, drop the task"), "delete_task");
}

#[test]
fn verbs_tell_reading_from_acting() {
    let reads = |query: &str| Action::of_request(&tokens(query));
    let of_tool = |name: &str, description: &str| Action::of_tool(&tool(name, description));
    let reading = of_tool("playwright_get_text", "");
    assert_eq!(reads("Please show me the file"), reading);
    assert_eq!(reads("How many slides are there"), reading);
    assert_eq!(of_tool("npmVersions", "Get all versions."), reading);
    let acting = of_tool("add_slide", "Get a new slide.");
    assert_eq!(reads("I would like to rename the file"), acting);
    assert_eq!(of_tool("发票", "删除发票"), acting);
    assert!(reading.is_opposed_to(acting) && acting.is_opposed_to(reading));
    for unclear in ["the list of changes", "open it", "show it, then delete it"] {
        assert_eq!(reads(unclear), Action::default(), "{unclear}");
    }
    assert!(!Action::default().is_opposed_to(acting));
}

#[test]
fn repeats_of_a_name_do_not_crowd_out_the_rest() {
    let mut tools: Vec<Document> = (0..5).map(|_| tool("read_file", "Reads a file.")).collect();
    tools.push(tool("file_reader", "Opens a document and reads the file."));
    let hits = Index::build(&tools).search("read the file", 3);
    assert!(hits.iter().any(|hit| hit.document == 5), "{hits:?}");
    assert!(hits.windows(2).all(|pair| pair[0].score >= pair[1].score));
}

#[test]
fn words_that_share_letters_decide_who_comes_after_the_best() {
    let tools: Vec<Document> = ["alpha", "beta", "gamma", "delta", "deepwiki_fetch"]
        .map(|name| tool(name, "Reads about a repository."))
        .into();
    let names = |index: &Index, query: &str| -> Vec<String> {
        let hits = index.search(query, 4);
        let name = |hit: &Hit| tools[hit.document].name.clone();
        hits.iter().map(name).collect()
    };
    let index = Index::build(&tools);
    let asked = "the wiki of this repository";
    assert_eq!(
        names(&index, asked),
        ["alpha", "beta", "gamma", "deepwiki_fetch"]
    );
    let long = format!("{asked}, then something else");
    assert_eq!(names(&index, &long), ["alpha", "beta", "gamma", "delta"]);
    let weights = Weights {
        spelled: 0.0,
        ..Weights::default()
    };
    let index = Index::build_with(&tools, weights);
    assert_eq!(names(&index, asked), ["alpha", "beta", "gamma", "delta"]);
}

#[test]
fn answers_nothing_to_nothing() {
    assert!(found("").is_empty());
    assert!(found("  ?! ,,, ").is_empty());
    assert!(found("zzzzqqqq").is_empty());
    assert!(Index::build(&catalogue()).search("email", 0).is_empty());
    assert!(Index::build(&[]).search("email", 5).is_empty());
}

#[test]
fn scores_fall_and_respect_the_limit() {
    let hits = Index::build(&catalogue()).search("query the events of a branch", 2);
    assert_eq!(hits.len(), 2);
    assert!(hits.windows(2).all(|pair| pair[0].score >= pair[1].score));
}

#[test]
fn bounds_what_a_huge_query_or_description_costs() {
    let mut tools = catalogue();
    tools.push(tool("huge", &"lorem-ipsum 占位 ".repeat(200_000)));
    let index = Index::build(&tools);
    let hits = index.search(&"email 发票 unknwonword ".repeat(100_000), 5);
    assert_eq!(tools[hits[0].document].name, "query_invoice");
    assert!(index.nearest_names(&"x".repeat(1_000_000), 5).is_empty());
}

#[test]
fn names_the_tool_probably_meant() {
    let tools = catalogue();
    let index = Index::build(&tools);
    let nearest = |name: &str| {
        index
            .nearest_names(name, 3)
            .first()
            .map(|at| tools[*at].name.clone())
    };
    assert_eq!(nearest("send_email").as_deref(), Some("sendEmail"));
    assert_eq!(nearest("delete_brnach").as_deref(), Some("delete_branch"));
    assert_eq!(
        nearest("calendar.events.list").as_deref(),
        Some("calendar_list_events")
    );
    assert_eq!(nearest("totally different"), None);
    assert!(index.nearest_names("", 3).is_empty());
}

#[test]
fn stems_inflections_alike_and_keeps_words_apart() {
    for group in [
        &["create", "creates", "created", "creating", "creation"][..],
        &["query", "queries", "querying"],
        &["filter", "filters", "filtering"],
        &["generate", "generator", "generation"],
        &["plan", "plans", "planning"],
        &["search", "searches", "searcher"],
    ] {
        assert!(
            group.windows(2).all(|pair| stem(pair[0]) == stem(pair[1])),
            "{group:?}"
        );
    }
    for (left, right) in [
        ("news", "new"),
        ("movie", "move"),
        ("date", "data"),
        ("user", "use"),
    ] {
        assert_ne!(stem(left), stem(right));
    }
}

#[test]
fn reads_the_shapes_tools_travel_in() {
    let tools = json!([{
        "name": "put",
        "annotations": {"title": "Store"},
        "description": "Keeps a value.",
        "server": "vault",
        "inputSchema": {"properties": {
            "key": {"description": "Under which."},
            "entries": {"type": "array", "items": {"properties": {"value": {"type": "string"}}}},
        }},
    }, {"no": "name"}]);
    let documents = documents_from_corpus(&tools).unwrap();
    let [document] = &documents[..] else {
        panic!("one tool, got {documents:?}")
    };
    assert_eq!(
        (document.title.as_str(), document.provider.as_str()),
        ("Store", "vault")
    );
    let names: Vec<&str> = document
        .parameters
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(names, ["key", "entries", "value"]);
    assert_eq!(
        documents_from_corpus(&json!({"tools": tools})),
        Some(documents.clone())
    );
    assert_eq!(
        documents_from_corpus(&json!({"result": {"tools": tools}})),
        Some(documents)
    );
    assert_eq!(documents_from_corpus(&json!("no")), None);
}

#[test]
fn a_server_of_the_users_comes_before_a_pack_that_does_the_same() {
    let of_user = |name: &str, description: &str| Document {
        is_users: true,
        ..tool(name, description)
    };
    let index = Index::build(&[
        tool(
            "browser.navigate",
            "Navigate to a URL and wait until it rests.",
        ),
        of_user("mcp.own.browser_navigate", "Navigate to a URL"),
        tool("web.fetch", "Gets the text of a web page at a URL."),
        of_user(
            "mcp.mail.archive",
            "Move a message to the page of old mail.",
        ),
    ]);
    let first = |query: &str| index.search(query, 4)[0].document;
    assert_eq!(first("go to a url"), 1);
    assert_eq!(first("wait in the browser"), 1, "it is called like ours");
    assert_eq!(
        first("get the text of a web page"),
        2,
        "what fits better stays first"
    );
}
