//! Which cells there are, and what each asks for.

use serde_json::{Value, json};

use super::world::{ROOTS, World};

/// What a cell is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scenario {
    Success,
    Error,
    Refusal,
    Image,
    Large,
    Progress,
    Sampling,
    Elicitation,
    Roots,
    Cancel,
    /// The server breaks the schema that it lists.
    Violation,
}

impl Scenario {
    /// The columns of the table.
    pub(super) const ALL: [Self; 11] = [
        Self::Success,
        Self::Error,
        Self::Refusal,
        Self::Image,
        Self::Large,
        Self::Progress,
        Self::Sampling,
        Self::Elicitation,
        Self::Roots,
        Self::Cancel,
        Self::Violation,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::Refusal => "refusal",
            Self::Image => "image",
            Self::Large => "large",
            Self::Progress => "progress",
            Self::Sampling => "sampling",
            Self::Elicitation => "elicitation",
            Self::Roots => "roots",
            Self::Cancel => "cancel",
            Self::Violation => "violation",
        }
    }
}

/// One call by one of two ways.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    pub(super) server: &'static str,
    pub(super) scenario: Scenario,
    /// Through `tools.call`, instead of by the listed name.
    pub(super) through: bool,
    pub(super) tool: String,
    pub(super) arguments: Value,
    /// What stands in the text of the answer, or in what a client reports.
    pub(super) says: String,
}

/// The server that a client reaches without the gateway.
const CONTROL: &str = "breaks.py";

impl Cell {
    /// How its tool is reached.
    pub(super) fn way(&self) -> &'static str {
        if self.server == CONTROL {
            "direct"
        } else if self.through {
            "tools.call"
        } else {
            "listed"
        }
    }

    pub(super) fn id(&self) -> String {
        format!("{} {} {}", self.server, self.scenario.name(), self.way())
    }

    /// The cell as the scripts of the clients take it.
    pub(super) fn for_script(&self, world: &World) -> Value {
        let is_cancelled = self.scenario == Scenario::Cancel;
        json!({
            "id": self.id(), "tool": self.tool, "arguments": self.arguments,
            "through": self.through, "cancel": is_cancelled.then(|| world.copy()),
            "read": self.scenario == Scenario::Large,
        })
    }

    /// The name and the arguments that a client sends.
    pub(super) fn sent(&self) -> (&str, Value) {
        if self.through {
            let arguments = json!({"name": self.tool, "arguments": self.arguments});
            ("tools.call", arguments)
        } else {
            (&self.tool, self.arguments.clone())
        }
    }
}

/// What stands at the end of the large answer.
pub(super) const LAST_WORDS: &str = "these are its last words";

/// All cells, those that are cancelled at the end: their server goes on with them.
pub(super) fn plan(world: &World) -> Vec<Cell> {
    let mut rows = everything();
    rows.extend(files(world));
    rows.extend(others(world));
    let long = json!({"duration": 600, "steps": 6000});
    rows.push((
        "everything",
        Scenario::Cancel,
        "trigger-long-running-operation",
        long,
        "",
    ));
    let both = |(server, scenario, tool, arguments, says): Row| {
        [false, true].map(|through| {
            // It asks for the roots once and remembers them, so each way has a process of its own.
            let process = if scenario == Scenario::Roots {
                ROOTS[usize::from(through)]
            } else {
                server
            };
            Cell {
                server,
                scenario,
                through,
                tool: format!("mcp.{process}.{tool}"),
                arguments: arguments.clone(),
                says: says.to_owned(),
            }
        })
    };
    rows.into_iter().flat_map(both).collect()
}

/// Whether a client validates at all. One tool of a server without the gateway keeps to the
/// schema of its answers; of the other, a client has to say what breaks it.
pub(super) fn control() -> Vec<Cell> {
    let of = [
        (Scenario::Success, "keeps", "\"n\": 5"),
        (Scenario::Violation, "breaks", "integer"),
    ];
    let cell = |(scenario, tool, says): (Scenario, &str, &str)| Cell {
        server: CONTROL,
        scenario,
        through: false,
        tool: tool.to_owned(),
        arguments: json!({}),
        says: says.to_owned(),
    };
    of.into_iter().map(cell).collect()
}

type Row = (&'static str, Scenario, &'static str, Value, &'static str);

fn everything() -> Vec<Row> {
    let server = "everything";
    let long = format!(
        "{}{LAST_WORDS}",
        "one more line of a large answer\n".repeat(2400)
    );
    vec![
        (
            server,
            Scenario::Success,
            "get-structured-content",
            json!({"location": "Chicago"}),
            "Light rain",
        ),
        (
            server,
            Scenario::Error,
            "get-resource-reference",
            json!({"resourceType": "Text", "resourceId": 0}),
            "Must be a finite positive integer",
        ),
        (server, Scenario::Refusal, "get-env", json!({}), ""),
        (
            server,
            Scenario::Image,
            "get-tiny-image",
            json!({}),
            "the image you requested",
        ),
        (
            server,
            Scenario::Large,
            "echo",
            json!({"message": long}),
            "Echo: one more line of a large answer",
        ),
        (
            server,
            Scenario::Progress,
            "trigger-long-running-operation",
            json!({"duration": 0.5, "steps": 4}),
            "completed",
        ),
        (
            server,
            Scenario::Sampling,
            "trigger-sampling-request",
            json!({"prompt": "the tide"}),
            "sampled: Resource trigger-sampling-request context: the tide",
        ),
        (
            server,
            Scenario::Elicitation,
            "trigger-elicitation-request",
            json!({}),
            "Name: Ada",
        ),
        (
            server,
            Scenario::Roots,
            "get-roots-list",
            json!({}),
            "file:///matrix",
        ),
    ]
}

fn files(world: &World) -> Vec<Row> {
    let at = |name: &str| format!("{}/{name}", world.folder);
    vec![
        (
            "filesystem",
            Scenario::Success,
            "read_text_file",
            json!({"path": at("note.txt")}),
            "what is in the note",
        ),
        (
            "filesystem",
            Scenario::Error,
            "read_text_file",
            json!({"path": at("none.txt")}),
            "no such file",
        ),
        (
            "filesystem",
            Scenario::Refusal,
            "write_file",
            json!({"path": at("new.txt"), "content": "x"}),
            "",
        ),
        (
            "git",
            Scenario::Success,
            "git_status",
            json!({"repo_path": world.folder}),
            "note.txt",
        ),
        (
            "git",
            Scenario::Error,
            "git_show",
            json!({"repo_path": world.folder, "revision": "nothing"}),
            "did not resolve",
        ),
        (
            "git",
            Scenario::Refusal,
            "git_commit",
            json!({"repo_path": world.folder, "message": "m"}),
            "",
        ),
    ]
}

fn others(world: &World) -> Vec<Row> {
    let page = format!("http://{}/page", world.site);
    let private = format!("http://{}/private", world.site);
    let nobody = format!("http://{}/page", world.nobody);
    let zone = |name: &str| json!({"source_timezone": name, "target_timezone": "Asia/Tokyo", "time": "12:00"});
    let observation = json!({"observations": [{"entityName": "Nobody", "contents": ["x"]}]});
    vec![
        (
            "memory",
            Scenario::Success,
            "read_graph",
            json!({}),
            "\"Ada\"",
        ),
        (
            "memory",
            Scenario::Error,
            "add_observations",
            observation,
            "Entity with name Nobody not found",
        ),
        (
            "memory",
            Scenario::Refusal,
            "delete_entities",
            json!({"entityNames": ["Ada"]}),
            "",
        ),
        (
            "time",
            Scenario::Success,
            "convert_time",
            zone("UTC"),
            "T21:00:00+09:00",
        ),
        (
            "time",
            Scenario::Error,
            "convert_time",
            zone("Nowhere/At_All"),
            "Invalid timezone",
        ),
        (
            "time",
            Scenario::Refusal,
            "get_current_time",
            json!({"timezone": "UTC"}),
            "",
        ),
        (
            "fetch",
            Scenario::Success,
            "fetch",
            json!({"url": page}),
            "The page says hello",
        ),
        (
            "fetch",
            Scenario::Error,
            "fetch",
            json!({"url": nobody}),
            "Failed to fetch",
        ),
        (
            "fetch",
            Scenario::Refusal,
            "fetch",
            json!({"url": private}),
            "",
        ),
        (
            "playwright",
            Scenario::Success,
            "browser_navigate",
            json!({"url": page}),
            "Page URL",
        ),
        (
            "playwright",
            Scenario::Error,
            "browser_click",
            json!({"target": "e999", "element": "nothing"}),
            "not found",
        ),
        (
            "playwright",
            Scenario::Refusal,
            "browser_evaluate",
            json!({"function": "() => 1"}),
            "",
        ),
    ]
}
