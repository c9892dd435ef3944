//! Other people's MCP servers: from the file, else from `MCP_SERVERS_JSON`, else from the
//! variables of a single one.
//!
//! A bad entry is left out with a notice; the others still count.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;
use tollgate_core::ToolName;
use tollgate_engine::Cleaner;

use super::{
    env::Environment,
    error::{Notice, Origin},
    keys::{
        mcp::{RawMcp, RawServer, RawServerOauth, RawServerTool},
        values::{Grade, McpConsent, McpEra, McpPin, McpResultFormat, McpResults},
    },
    load::Layers,
    secret::{EnvValue, SecretRef},
    suggest, words,
};

/// How much of a bad entry is shown.
const SHOWN: usize = 200;
const ALL: &str = "MCP_SERVERS_JSON";
const SINGLE: &str = "MCP_SERVER_CMD";

/// Other people's MCP servers.
#[derive(Debug, Clone, PartialEq)]
pub struct Mcp {
    /// The servers, in the order they were named.
    pub servers: Vec<McpServer>,
    /// How long a listing waits for a server of which nothing is known; no file can say so.
    pub patience: Duration,
    /// How long a call waits for a server of which nothing is known, if nobody else offers its
    /// tool; no file can say so.
    pub acquaint: Duration,
    /// Whether it waits for those that are known, too; no file can say so either.
    pub afresh: bool,
}

/// One server.
#[derive(Debug, Clone, PartialEq)]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// How it is reached.
    pub reach: Reach,
    /// Everything else, as it was written.
    pub raw: RawServer,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq)]
pub enum Reach {
    /// A program.
    Program {
        /// The program and its arguments.
        command: Vec<String>,
        /// Where it starts.
        cwd: Option<PathBuf>,
        /// Its environment, by reference.
        env: BTreeMap<String, SecretRef>,
        /// Its environment, as it is.
        plain_env: BTreeMap<String, String>,
    },
    /// An address.
    Address {
        /// The address.
        url: String,
        /// Headers, by reference.
        headers: BTreeMap<String, SecretRef>,
        /// How tokens are got.
        oauth: Option<RawServerOauth>,
    },
}

impl McpServer {
    /// What is said about a tool.
    pub fn tools(&self) -> impl Iterator<Item = (&String, &RawServerTool)> {
        self.raw.tools.iter()
    }

    /// A time that was set, else this many milliseconds.
    pub fn millis(set: Option<u64>, usual: u64) -> Duration {
        Duration::from_millis(set.unwrap_or(usual))
    }

    /// Whether both eras, or which one, are tried.
    pub fn era(&self) -> McpEra {
        self.raw.era.unwrap_or(McpEra::Auto)
    }

    /// What happens to tools never seen.
    pub fn pin(&self) -> McpPin {
        self.raw.pin.unwrap_or(McpPin::OnSight)
    }

    /// Whether results are wrapped.
    pub fn wraps(&self) -> bool {
        self.raw.results == Some(McpResults::Envelope)
    }

    /// How its results tell of success and failure.
    pub fn result_format(&self) -> McpResultFormat {
        self.raw.result_format.unwrap_or(McpResultFormat::Auto)
    }

    /// Whether a tool needs a human for each call.
    pub fn needs_human(tool: &RawServerTool) -> bool {
        tool.consent == Some(McpConsent::Human)
    }

    /// The grade that is assumed.
    pub fn default_grade(&self) -> Option<Grade> {
        self.raw.default_capability
    }
}

/// Puts the servers together, saying what was left out.
pub(super) fn servers(raw: RawMcp, layers: &mut Layers, environment: &Environment) -> Mcp {
    let mut notices = Vec::new();
    let origin = if raw.servers.is_empty() {
        Origin::Variable(ALL.to_owned())
    } else {
        layers.origin(&["mcp", "servers"])
    };
    let mut found = if raw.servers.is_empty() {
        from_variables(environment, &mut notices)
    } else {
        let set = [ALL, SINGLE].into_iter();
        for unused in set.filter(|name| environment.text(name).is_some()) {
            let unused = Origin::Variable(unused.to_owned());
            notices.push(notice(unused, "not used: the file names servers"));
        }
        let servers = raw.servers.into_iter().filter(|raw| !raw.disabled);
        servers
            .filter_map(|raw| {
                let name = raw.name.clone();
                let made = server(raw);
                made.map_err(|why| {
                    let message = format!("the server `{}` is left out: {why}", cut(&name));
                    notices.push(notice(origin.clone(), &message));
                })
                .ok()
            })
            .collect()
    };
    let mut seen = BTreeSet::new();
    found.retain(|server| {
        let fresh = seen.insert(server.name.clone());
        if !fresh {
            let message = format!(
                "there are two servers `{}`; the first one counts",
                server.name
            );
            notices.push(notice(origin.clone(), &message));
        }
        fresh
    });
    let mut bare = None;
    for server in &mut found {
        if !std::mem::take(&mut server.raw.unprefixed) {
            continue;
        }
        match &bare {
            None => {
                server.raw.unprefixed = true;
                bare = Some(server.name.clone());
            }
            Some(first) => {
                let message = format!(
                    "the server `{}` carries its prefix: only one may keep its own names, and that is `{first}`",
                    server.name
                );
                notices.push(notice(origin.clone(), &message));
            }
        }
    }
    layers.notices.extend(notices);
    Mcp {
        servers: found,
        patience: Duration::ZERO,
        acquaint: Duration::ZERO,
        afresh: false,
    }
}

fn server(raw: RawServer) -> Result<McpServer, String> {
    check_name(&raw.name)?;
    let reach = match (&raw.command, &raw.url) {
        (Some(_), Some(_)) => return Err("it has a `command` and a `url`".to_owned()),
        (None, None) => return Err("it has neither a `command` nor a `url`".to_owned()),
        (Some(command), None) if command.trim().is_empty() => {
            return Err("its `command` is empty".to_owned());
        }
        (Some(command), None) => {
            check_command(command, &raw)?;
            let (env, mut plain_env) = apart(&raw.env);
            plain_env.extend(raw.plain_env.clone());
            Reach::Program {
                command: std::iter::once(command.clone())
                    .chain(raw.args.iter().cloned())
                    .collect(),
                cwd: raw.cwd.clone(),
                env,
                plain_env,
            }
        }
        (None, Some(url)) => Reach::Address {
            url: url.clone(),
            headers: raw.headers.clone(),
            oauth: raw.oauth.clone(),
        },
    };
    check_kind(&raw)?;
    check_aliases(&raw)?;
    check_forwarded(&raw.forward_meta)?;
    if let Some(oauth) = &raw.oauth {
        let has_header = |name: &String| name.eq_ignore_ascii_case("authorization");
        if raw.url.is_none() {
            return Err("`oauth` is for servers with a `url`".to_owned());
        }
        if oauth.token_url.is_none() && oauth.issuer.is_none() {
            return Err("its `oauth` needs a `token_url` or an `issuer`".to_owned());
        }
        if raw.headers.keys().any(has_header) {
            return Err("it has `oauth` and a header `Authorization`".to_owned());
        }
    }
    Ok(McpServer {
        name: raw.name.clone(),
        reach,
        raw,
    })
}

/// Keys of `_meta` that the gate writes itself, or that nobody is forwarded.
fn check_forwarded(keys: &[String]) -> Result<(), String> {
    const OURS: [&str; 4] = ["progressToken", "traceparent", "tracestate", "baggage"];
    const PREFIXES: [&str; 3] = [
        "io.modelcontextprotocol/",
        "modelcontextprotocol.io/",
        "tollgate/",
    ];
    let is_ours = |key: &String| {
        OURS.contains(&key.as_str()) || PREFIXES.iter().any(|prefix| key.starts_with(prefix))
    };
    match keys.iter().find(|key| key.is_empty() || is_ours(key)) {
        Some(key) => Err(clean(&format!("`forward_meta` cannot name `{key}`"))),
        None => Ok(()),
    }
}

/// Refuses a whole command line in the place of a program: nobody would split it.
fn check_command(command: &str, raw: &RawServer) -> Result<(), String> {
    one_program(command, &raw.args).map_err(|problem| clean(&problem))
}

/// Refuses a command line where a program is wanted, and says how to write it.
pub(crate) fn one_program(command: &str, args: &[String]) -> Result<(), String> {
    let own = args;
    let words = words::split(command).unwrap_or_default();
    let [program, args @ ..] = words.as_slice() else {
        return Ok(());
    };
    if args.is_empty() || Path::new(command).is_file() {
        return Ok(());
    }
    let args: Vec<String> = args.iter().chain(own).cloned().collect();
    let (program, args) = (Value::from(program.as_str()), Value::from(args));
    Err(format!(
        "its `command` holds arguments; write `command = {program}` and `args = {args}`"
    ))
}

/// References, and what is written out.
fn apart(
    all: &BTreeMap<String, EnvValue>,
) -> (BTreeMap<String, SecretRef>, BTreeMap<String, String>) {
    let mut references = BTreeMap::new();
    let mut plain = BTreeMap::new();
    for (name, value) in all {
        match value {
            EnvValue::Reference(reference) => {
                references.insert(name.clone(), reference.clone());
            }
            EnvValue::Plain(value) => {
                plain.insert(name.clone(), value.clone());
            }
        }
    }
    (references, plain)
}

/// Refuses what would have no effect on this kind of server.
fn check_kind(raw: &RawServer) -> Result<(), String> {
    let of_address = [("headers", !raw.headers.is_empty())];
    let of_program = [
        ("args", !raw.args.is_empty()),
        ("cwd", raw.cwd.is_some()),
        ("env", !raw.env.is_empty()),
        ("plain_env", !raw.plain_env.is_empty()),
    ];
    let (set, kind): (&[(&str, bool)], _) = if raw.url.is_some() {
        (&of_program, "command")
    } else {
        (&of_address, "url")
    };
    match set.iter().find(|(_, is_set)| *is_set) {
        Some((key, _)) => Err(format!("`{key}` is for servers with a `{kind}`")),
        None => Ok(()),
    }
}

/// Refuses other names of its tools that are none, or that two of them have.
fn check_aliases(raw: &RawServer) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for (tool, own) in &raw.tools {
        let Some(alias) = &own.alias else { continue };
        let (tool, shown) = (cut(tool), cut(alias));
        if ToolName::new(alias.clone()).is_err() {
            return Err(format!(
                "the alias `{shown}` of its tool `{tool}` is no name"
            ));
        }
        if !seen.insert(alias) {
            return Err(format!("two of its tools have the alias `{shown}`"));
        }
    }
    Ok(())
}

fn check_name(name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !name.is_empty() && name.len() <= 64 && name.chars().all(plain) {
        return Ok(());
    }
    Err("its name must be lower-case letters, digits and `_`".to_owned())
}

fn from_variables(environment: &Environment, notices: &mut Vec<Notice>) -> Vec<McpServer> {
    if let Some(text) = environment.text(ALL).filter(|text| !text.trim().is_empty()) {
        match serde_json::from_str::<Vec<Value>>(text) {
            Ok(items) => {
                return items
                    .iter()
                    .filter_map(|item| listed(item, notices))
                    .collect();
            }
            Err(error) => {
                let hint = if text.contains("\"mcpServers\"") {
                    "; this is what other programs have in their files: put it into a file and \
                     run `tollgate servers import FILE --write`"
                } else {
                    ""
                };
                let message = format!("not a JSON list ({error}): {}{hint}", shown_text(text));
                notices.push(notice(Origin::Variable(ALL.to_owned()), &message));
            }
        }
    }
    single(environment, notices).into_iter().collect()
}

/// One entry of the JSON list.
#[derive(Deserialize)]
struct Item {
    name: String,
    #[serde(default)]
    cmd: Option<Command>,
    #[serde(default)]
    command: Option<Command>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    cwd: Option<PathBuf>,
    #[serde(default)]
    env: Option<BTreeMap<String, EnvValue>>,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    headers: Option<BTreeMap<String, EnvValue>>,
    #[serde(default)]
    timeout_ms: Option<u64>,
    #[serde(default)]
    default_capability: Option<Grade>,
    #[serde(default)]
    trust_annotations: bool,
    #[serde(default)]
    disabled: bool,
    /// How other programs tell a program from an address; either tells that by itself.
    #[serde(default, rename = "type")]
    _kind: IgnoredAny,
    #[serde(flatten)]
    unknown: BTreeMap<String, IgnoredAny>,
}

/// The keys of an entry of the JSON list.
const ITEM_KEYS: [&str; 12] = [
    "name",
    "cmd",
    "command",
    "args",
    "cwd",
    "env",
    "url",
    "headers",
    "timeout_ms",
    "default_capability",
    "trust_annotations",
    "disabled",
];

#[derive(Deserialize)]
#[serde(untagged)]
enum Command {
    List(Vec<String>),
    Text(String),
}

fn listed(item: &Value, notices: &mut Vec<Notice>) -> Option<McpServer> {
    let mut warn = |message: &str| notices.push(notice(Origin::Variable(ALL.to_owned()), message));
    let read = Item::deserialize(item).map_err(|error| error.to_string());
    if let Ok(read) = &read {
        for unknown in read.unknown.keys() {
            let meant = suggest::nearest(unknown, ITEM_KEYS.iter().copied());
            let hint = match meant {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!(
                    "there are {}; everything else can be said in `[[mcp.servers]]`",
                    ITEM_KEYS.join(", ")
                ),
            };
            let (unknown, name) = (cut(unknown), cut(&read.name));
            warn(&format!(
                "unknown key `{unknown}` of the server `{name}` does nothing ({hint})"
            ));
        }
        if read.disabled {
            return None;
        }
    }
    let made = read.and_then(made);
    made.map_err(|why| warn(&format!("a server is left out, {why}: {}", shown(item))))
        .ok()
}

fn made(item: Item) -> Result<McpServer, String> {
    let mut command = match item.cmd.or(item.command) {
        Some(Command::List(list)) => list,
        Some(Command::Text(text)) => words::split(&text).ok_or("its command is not closed")?,
        None => Vec::new(),
    };
    command.extend(item.args);
    if item.url.is_none() && command.first().is_none_or(|first| first.trim().is_empty()) {
        return Err("its command is empty".to_owned());
    }
    let (headers, plain) = apart(&item.headers.unwrap_or_default());
    if let Some(name) = plain.keys().next() {
        return Err(format!(
            "the header `{name}` must be a reference, `env:NAME` or `file:PATH`"
        ));
    }
    let raw = RawServer {
        name: item.name,
        command: (!command.is_empty()).then(|| command.remove(0)),
        args: command,
        cwd: item.cwd,
        env: item.env.unwrap_or_default(),
        url: item.url,
        headers,
        timeout_ms: item.timeout_ms,
        default_capability: item.default_capability,
        trust_annotations: item.trust_annotations,
        ..RawServer::default()
    };
    server(raw)
}

/// The server of the variables for a single one.
fn single(environment: &Environment, notices: &mut Vec<Notice>) -> Option<McpServer> {
    let set = |name: &str| {
        environment
            .text(name)
            .filter(|text| !text.trim().is_empty())
    };
    let command = set(SINGLE)?;
    let mut warn = |variable: &str, message: String| {
        notices.push(notice(Origin::Variable(variable.to_owned()), &message));
    };
    let listed = set("MCP_SERVER_ARGS_JSON").and_then(|json| {
        let args = serde_json::from_str::<Vec<String>>(json).ok();
        if args.is_none() {
            let message = format!("not a JSON list of texts: {}", clean(json));
            warn("MCP_SERVER_ARGS_JSON", message);
        }
        args
    });
    let args = match (listed, set("MCP_SERVER_ARGS")) {
        (Some(args), _) => args,
        (None, None) => Vec::new(),
        (None, Some(plain)) => match words::split(plain) {
            Some(args) => args,
            // A program with half of its arguments could do anything.
            None => {
                let message = format!("the server is left out, a quote is open: {}", clean(plain));
                warn("MCP_SERVER_ARGS", message);
                return None;
            }
        },
    };
    let timeout = set("MCP_SERVER_TIMEOUT_MS").or_else(|| set("MCP_TIMEOUT_MS"));
    let timeout_ms = timeout.and_then(|text| {
        let number = text.trim().parse().ok();
        if number.is_none() {
            warn(
                "MCP_SERVER_TIMEOUT_MS",
                format!("not a number: {}", cut(text)),
            );
        }
        number
    });
    let raw = RawServer {
        name: set("MCP_SERVER_NAME").unwrap_or("srv").trim().to_owned(),
        command: Some(command.trim().to_owned()),
        args,
        cwd: set("MCP_SERVER_CWD").map(PathBuf::from),
        timeout_ms,
        ..RawServer::default()
    };
    let name = raw.name.clone();
    server(raw)
        .map_err(|why| {
            let message = format!("the server `{}` is left out: {why}", cut(&name));
            warn("MCP_SERVER_NAME", message);
        })
        .ok()
}

fn notice(origin: Origin, message: &str) -> Notice {
    Notice {
        origin,
        key: None,
        message: message.to_owned(),
    }
}

/// What is no list as its author may see it again.
fn shown_text(text: &str) -> String {
    match serde_json::from_str::<Value>(text) {
        // What it gives to servers may be secret, wherever that stands.
        Ok(value) if value.is_object() => "an object".to_owned(),
        Ok(_) | Err(_) => clean(text),
    }
}

/// An entry as its author may see it again: what it gives to a server may be secret.
fn shown(item: &Value) -> String {
    let mut item = item.clone();
    for given in ["env", "headers"] {
        let values = item.get_mut(given).and_then(Value::as_object_mut);
        for value in values.into_iter().flat_map(serde_json::Map::values_mut) {
            *value = Value::from("***");
        }
    }
    clean(&item.to_string())
}

/// The beginning of a text without what looks like a secret.
fn clean(text: &str) -> String {
    cut(&Cleaner::shipped().line(text))
}

fn cut(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
