//! What was taken out of a published server's answer and is written back is what it was, byte by byte; and it goes
//! nowhere else unless a human has seen where.

use std::{fs, thread, time::Duration};

use serde_json::{Value, json};

use super::peer::Stdio;
use crate::{
    mcp::peers::Peers,
    support::{Ran, TestEnv, approval_id, envelope},
};

/// Tools that ask nobody, as far as the rules go.
const WRITES: [&str; 5] = [
    "files.write_file",
    "files.edit_file",
    "git.git_commit",
    "memory.create_entities",
    "memory.add_observations",
];

/// Ours, with personal data, a key, a signed address and what only looks like a placeholder.
const TEXT: &str = "# Contacts\r\n\r\nWrite to kim.example@example.org or call +49 30 901820.\r\n\
    key = AKIAQ7XW4TBNVHZ2RMLP\npassword: qT7xZx81qvBm\n\
    see [REDACTED:email] and [REDACTED\\:email#abcdefghij27] in \"quotes\"\n\
    https://files.example.org/a?token=Zk3vQ9wLr81xTn5Ym2Bc7Hd4\u{e9}\u{1f600}\nlast line, no end";

struct World {
    env: TestEnv,
    folder: String,
}

impl World {
    fn start() -> Self {
        Self::with("")
    }

    fn with(settings: &str) -> Self {
        let peers = Peers::installed();
        let env = TestEnv::new();
        let folder = env.path("project");
        fs::create_dir_all(&folder).unwrap();
        let folder = folder.canonicalize().unwrap().to_str().unwrap().to_owned();
        let git = |words: &[&str]| {
            let out = env
                .other("git", &[&["-C", &folder], words].concat())
                .output();
            Ran::from(out.unwrap()).exits(0);
        };
        git(&["init", "-q"]);
        git(&["config", "user.email", "kim.example@example.org"]);
        git(&["config", "user.name", "Kim"]);
        fs::write(format!("{folder}/contacts.md"), TEXT).unwrap();
        fs::write(format!("{folder}/empty.md"), "").unwrap();
        git(&["add", "-A"]);
        let node = peers.path("node_modules/node/bin/node");
        let package = |name: &str| {
            let below = format!("node_modules/@modelcontextprotocol/server-{name}/dist/index.js");
            peers.path(&below)
        };
        let config = format!(
            r#"
{settings}
[[mcp.servers]]
name = "files"
command = {node:?}
args = [{:?}, {folder:?}]
trust_annotations = true
tools.read_text_file = {{ object = "path" }}
tools.write_file = {{ object = "path" }}
tools.edit_file = {{ object = "path" }}

[[mcp.servers]]
name = "memory"
command = {node:?}
args = [{:?}]
plain_env = {{ MEMORY_FILE_PATH = "{folder}/memory.jsonl" }}
trust_annotations = true
tools.read_graph = {{ object = "*" }}
tools.add_observations = {{ object = "*" }}

[[mcp.servers]]
name = "git"
command = {:?}
args = ["--repository", {folder:?}]
trust_annotations = true
"#,
            package("filesystem"),
            package("memory"),
            peers.path("python/bin/mcp-server-git"),
        );
        env.configure(&config);
        let permits = WRITES.iter().enumerate().map(|(at, tool)| {
            format!(
                "@id(\"test.{at}\")\n@lifts(\"human\")\n\
                 permit (principal, action == Action::\"call\", resource == Tool::\"mcp.{tool}\");\n"
            )
        });
        let policy: String = permits.collect();
        env.write("config/tollgate/policies/test.cedar", policy);
        Self { env, folder }
    }

    /// A client of a gateway whose servers run.
    fn client(&self) -> Stdio {
        self.ready(Stdio::modern(&self.env, &[]))
    }

    fn ready(&self, mut client: Stdio) -> Stdio {
        until_it_runs(
            &mut client,
            "mcp.files.list_allowed_directories",
            &json!({}),
        );
        until_it_runs(&mut client, "mcp.memory.read_graph", &json!({}));
        client
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.folder)
    }

    fn bytes(&self, name: &str) -> String {
        String::from_utf8(fs::read(self.path(name)).unwrap()).unwrap()
    }
}

fn text(result: &Value) -> &str {
    assert_ne!(result["isError"], true, "{result}");
    result["content"][0]["text"].as_str().unwrap()
}

/// Servers start on their own; until then their tools are unknown or not available.
fn until_it_runs(client: &mut Stdio, tool: &str, arguments: &Value) {
    loop {
        let call = json!({"name": tool, "arguments": arguments});
        let answer = client.ask("tools/call", call);
        if answer["result"]["content"].is_array() && kind(&answer["result"]) != "unavailable" {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
}

fn kind(result: &Value) -> Value {
    envelope(result)["error"]["kind"].clone()
}

#[test]
fn a_file_that_is_read_changed_and_written_back_is_unharmed() {
    let world = World::start();
    let mut client = world.client();
    let path = world.path("contacts.md");
    let read = client.call("mcp.files.read_text_file", json!({"path": path}));
    let seen = text(&read).to_owned();
    for secret in ["kim.example@", "AKIAQ7", "qT7xZx", "Zk3vQ9w"] {
        assert!(!seen.contains(secret), "{seen}");
    }
    assert!(seen.contains("[REDACTED:email#"), "{seen}");
    let changed = seen.replace("last line, no end", "last line, changed");
    let arguments = json!({"path": path, "content": changed});
    text(&client.call("mcp.files.write_file", arguments));
    let wanted = TEXT.replace("last line, no end", "last line, changed");
    assert_eq!(world.bytes("contacts.md"), wanted);

    let line = seen.lines().find(|line| line.contains("Write to")).unwrap();
    let edit =
        json!({"oldText": line.trim_end(), "newText": line.trim_end().replace("call", "ring")});
    text(&client.call(
        "mcp.files.edit_file",
        json!({"path": path, "edits": [edit]}),
    ));
    let edited = world.bytes("contacts.md").replace("\r\n", "\n");
    assert_eq!(
        edited,
        wanted.replace("or call", "or ring").replace("\r\n", "\n")
    );
}

#[test]
fn a_value_goes_elsewhere_only_when_a_human_saw_where() {
    let world = World::start();
    let mut client = world.client();
    let path = world.path("contacts.md");
    let read = client.call("mcp.files.read_text_file", json!({"path": path}));
    let seen = text(&read).to_owned();
    let elsewhere = json!({"path": world.path("empty.md"), "content": seen});
    let refused = client.call("mcp.files.write_file", elsewhere.clone());
    assert_eq!(kind(&refused), "confirmation_required", "{refused}");
    assert_eq!(world.bytes("empty.md"), "");
    let preview = &envelope(&refused)["error"]["details"]["preview"];
    let uses = preview["placeholders"].as_array().unwrap();
    assert!(uses.len() >= 4, "{preview}");
    assert_eq!(uses[0]["read_by"], "mcp.files.read_text_file");
    assert_eq!(uses[0]["read_from"], json!([path]));
    assert_eq!(uses[0]["goes_to"], "mcp.files.write_file");
    assert!(!refused.to_string().contains("kim.example@"), "{refused}");
    let token = world.env.approver();
    let id = approval_id(&envelope(&refused));
    let shown = world.env.run(&["approve", &id, "--token", &token]).exits(0);
    assert!(!shown.out.contains("kim.example@"), "{}", shown.out);
    text(&client.call("mcp.files.write_file", elsewhere));
    assert_eq!(world.bytes("empty.md"), TEXT);

    // A session grant for the tool does not stand for it, and an unknown id is refused before anybody is asked.
    let message = seen.lines().find(|line| line.contains("Write to")).unwrap();
    let commit = json!({"repo_path": world.folder, "message": message});
    until_it_runs(
        &mut client,
        "mcp.git.git_status",
        &json!({"repo_path": world.folder}),
    );
    let refused = client.call("mcp.git.git_commit", commit.clone());
    assert_eq!(kind(&refused), "confirmation_required", "{refused}");
    let id = approval_id(&envelope(&refused));
    world.env.run(&["approve", &id, "--token", &token]).exits(0);
    text(&client.call("mcp.git.git_commit", commit));
    let log = world
        .env
        .other("git", &["-C", &world.folder, "log", "--format=%B"]);
    let log = Ran::from({
        let mut log = log;
        log.output().unwrap()
    })
    .exits(0)
    .out;
    assert!(
        log.contains("Write to kim.example@example.org or call +49 30 901820."),
        "{log}"
    );
    let forged = seen.replacen(
        "[REDACTED:email#",
        "[REDACTED:email#zzzzzzzzzzzz] [REDACTED:email#",
        1,
    );
    let refused = client.call(
        "mcp.files.write_file",
        json!({"path": path, "content": forged}),
    );
    assert_eq!(kind(&refused), "placeholder_in_argument", "{refused}");
    let mut other = world.client();
    let refused = other.call(
        "mcp.files.write_file",
        json!({"path": path, "content": seen}),
    );
    assert_eq!(kind(&refused), "placeholder_in_argument", "{refused}");
    assert_eq!(world.bytes("contacts.md"), TEXT);
}

#[test]
fn a_dialog_says_where_a_value_goes_and_lets_it_go_there() {
    let world = World::with("[consent]\ndialogs = \"stdio\"");
    let mut client = world.ready(Stdio::with_dialogs(&world.env));
    let path = world.path("contacts.md");
    let read = client.call("mcp.files.read_text_file", json!({"path": path}));
    let seen = text(&read).to_owned();
    let arguments = json!({"path": world.path("empty.md"), "content": seen});
    let mut call = json!({"name": "mcp.files.write_file", "arguments": arguments});
    let asked = client.result("tools/call", call.clone());
    let question = &asked["inputRequests"]["tollgate_consent"]["params"];
    let message = question["message"].as_str().unwrap();
    let wanted = format!(
        "(23 characters, read by mcp.files.read_text_file from {path}) to mcp.files.write_file"
    );
    assert!(message.contains(&wanted), "{message}");
    assert!(!message.contains("kim.example@"), "{message}");
    let choices = &question["requestedSchema"]["properties"]["decision"]["enum"];
    assert_eq!(*choices, json!(["once", "no"]), "{question}");
    let accepted = json!({"action": "accept", "content": {"decision": "once"}});
    call["requestState"] = asked["requestState"].clone();
    call["inputResponses"] = json!({"tollgate_consent": accepted});
    text(&client.result("tools/call", call));
    assert_eq!(world.bytes("empty.md"), TEXT);
}

#[test]
fn a_memory_is_one_object_and_another_process_of_a_stored_session_knows_its_values() {
    let world = World::start();
    let mut client = world.client();
    let entity =
        json!({"name": "Kim", "entityType": "person", "observations": ["kim.example@example.org"]});
    text(&client.call("mcp.memory.create_entities", json!({"entities": [entity]})));
    let graph = client.call("mcp.memory.read_graph", json!({}));
    let seen: Value = serde_json::from_str(text(&graph)).unwrap();
    let email = seen["entities"][0]["observations"][0].as_str().unwrap();
    assert!(email.starts_with("[REDACTED:email#"), "{email}");
    let added =
        json!({"observations": [{"entityName": "Kim", "contents": [format!("mail {email}")]}]});
    let answer = client.call("mcp.memory.add_observations", added);
    assert!(!answer.to_string().contains("kim.example@"), "{answer}");
    text(&answer);
    assert!(
        world
            .bytes("memory.jsonl")
            .contains("mail kim.example@example.org")
    );

    let path = world.path("contacts.md");
    let read = world.env.ok(
        "mcp.files.read_text_file",
        &json!({"path": path}).to_string(),
    );
    let seen = read["data"]["content"][0]["text"].as_str().unwrap();
    assert!(seen.contains("[REDACTED:email#"), "{seen}");
    let arguments = json!({"path": path, "content": format!("{seen}\n")});
    world.env.ok("mcp.files.write_file", &arguments.to_string());
    assert_eq!(world.bytes("contacts.md"), format!("{TEXT}\n"));
    let kept = fs::read(world.env.state_dir().join("tollgate.db")).unwrap();
    let clear = |text: &str| kept.windows(text.len()).any(|it| it == text.as_bytes());
    assert!(!clear("qT7xZx81qvBm") && !clear("AKIAQ7XW4TBNVHZ2RMLP"));
}

#[test]
fn nothing_tells_a_value_before_it_may_go_somewhere_or_after_it_went() {
    let world = World::start();
    let mut client = world.client();
    let path = world.path("contacts.md");
    let read = client.call("mcp.files.read_text_file", json!({"path": path}));
    let seen = text(&read).to_owned();
    let named = |rule: &str| {
        let start = seen.find(&format!("[REDACTED:{rule}#")).unwrap();
        seen[start..=start + seen[start..].find(']').unwrap()].to_owned()
    };
    let (key, email) = (named("aws-access-key"), named("email"));

    // As the name of an argument it would stand in the error about that name.
    let mut arguments = json!({"query": "x"});
    arguments[format!("{email}1")] = json!(1);
    let refused = client.call("web.search", arguments);
    assert_eq!(kind(&refused), "placeholder_in_argument", "{refused}");
    assert!(!refused.to_string().contains("kim.example@"), "{refused}");

    // Written into its own file beside other letters, no rule finds it any more.
    let content = format!("x{key}y and x{email}y");
    text(&client.call(
        "mcp.files.write_file",
        json!({"path": path, "content": content}),
    ));
    assert!(
        world
            .bytes("contacts.md")
            .contains("xAKIAQ7XW4TBNVHZ2RMLPy")
    );
    for tool in ["mcp.files.read_text_file", "mcp.files.read_file"] {
        let again = client.call(tool, json!({"path": path}));
        for secret in ["AKIAQ7XW4TBNVHZ2RMLP", "kim.example@example.org"] {
            assert!(!again.to_string().contains(secret), "{again}");
        }
    }

    // Equal values of two answers have two ids, so that none is found by guessing.
    let guessed = client.call("text.lines", json!({"text": "kim.example@example.org"}));
    assert!(!guessed.to_string().contains(&email), "{guessed}");

    // A copy of a long value for each placeholder is refused before it is made.
    let long = format!("password={}", "aB3dE5gH7jK9".repeat(400));
    fs::write(world.path("long.md"), long).unwrap();
    let read = client.call(
        "mcp.files.read_text_file",
        json!({"path": world.path("long.md")}),
    );
    let long = text(&read).trim_start_matches("password=").to_owned();
    assert!(long.starts_with("[REDACTED:"), "{long}");
    let many = json!({"path": world.path("empty.md"), "content": long.repeat(5_000)});
    let refused = client.call("mcp.files.write_file", many);
    assert_eq!(kind(&refused), "request_too_large", "{refused}");
}

#[test]
fn a_redacted_answer_is_played_back_as_it_was_given() {
    let world = World::start();
    let arguments = json!({"path": world.path("contacts.md")});
    let read = world
        .env
        .ok("mcp.files.read_text_file", &arguments.to_string());
    let call = read["meta"]["call_id"].as_str().unwrap();
    let steps = world.env.run(&["replay", call, "--json"]).exits(0).json();
    assert_eq!(steps["steps"][0]["altered"], false, "{steps:#}");
    assert_eq!(steps["steps"][0]["data"], read["data"], "{steps:#}");
}
