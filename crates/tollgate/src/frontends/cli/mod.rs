//! The command line.
//!
//! Invariant: with `--json`, standard output holds exactly one JSON document;
//! everything for people goes to standard error or to a terminal.

mod approve;
pub(crate) mod arguments;
mod audit;
mod browser;
mod call;
mod completions;
mod console;
mod demo;
mod doctor;
mod explain;
mod former;
mod grants;
mod init;
mod keepa;
mod knowledge;
mod policy;
mod replay;
mod reply;
mod review;
mod runs;
mod save;
mod servers;
mod session;
mod setup;
mod skills;
mod state;
mod templates;
mod terminal;
mod token;
mod tools;
mod trust;

use std::{ffi::OsStr, io::Write as _, process::ExitCode};

use clap::Parser;
use tollgate_core::{Principal, Surface};
use tollgate_engine::{Caller, session::Lifetime};

use crate::{
    config::{Config, Environment, Flags},
    frontends::{
        mcp::{
            self,
            select::{Selection, schemas_named, split},
        },
        rest::Rest,
    },
    wire::{self, WireError, Wired},
};

pub use arguments::Cli;
use arguments::{
    Command, Listed, Mcp, Policy, PolicyAction, Servers, ServersAction, Tools, ToolsAction,
};
pub(crate) use arguments::{Jsonl, Serve};
use console::{Colour, Console};
pub(crate) use init::typed;
pub(crate) use reply::Exit;

/// Runs the program and says how it ended.
pub fn main() -> ExitCode {
    let mut cli = Cli::parse();
    cli.command = cli.command.renamed();
    let environment = Environment::from_process();
    let console = Console::new(cli.json, colour(environment.as_ref().ok()));
    let runtime = match runtime(&cli.command, environment.as_ref().ok()) {
        Ok(runtime) => runtime,
        Err(error) => return console.fail(Exit::ToolError, &format!("cannot start: {error}")),
    };
    let ended = runtime.block_on(run(cli, environment, &console));
    // A read of standard input cannot be called off; nobody waits for it.
    runtime.shutdown_background();
    match ended {
        Ok(exit) => leave(exit),
        Err(stop) => console.stop(&stop),
    }
}

/// Colour, unless the user wants none (<https://no-color.org>) or the terminal has none.
fn colour(environment: Option<&Environment>) -> Colour {
    let set = |name: &str| environment.and_then(|known| known.variables.get(OsStr::new(name)));
    let refused = set("NO_COLOR").is_some_and(|value| !value.is_empty());
    if refused || set("TERM").is_some_and(|value| value == "dumb") {
        Colour::Nowhere
    } else {
        Colour::OnTerminals
    }
}

/// Ends a command that is done: everything is closed in order by now.
fn leave(exit: Exit) -> ExitCode {
    #[cfg(target_os = "linux")]
    if std::io::stdout().flush().is_ok() {
        tollgate_providers::sandbox::end(exit.code());
    }
    exit.into()
}

/// One thread serves one caller; many callers get half of the machine, since the servers
/// they reach are often on it too, and threads that share a call cost more than they give.
fn runtime(
    command: &Command,
    environment: Option<&Environment>,
) -> std::io::Result<tokio::runtime::Runtime> {
    if !matches!(command, Command::Serve(_)) {
        return tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
    }
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    // Whoever sets the runtime's own variable knows better.
    let set = environment.map(|known| &known.variables);
    let is_set = set.is_some_and(|set| set.contains_key(OsStr::new("TOKIO_WORKER_THREADS")));
    if !is_set {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        builder.worker_threads(cores.div_ceil(2));
    }
    builder.enable_all().build()
}

/// How long a command waits to hear what an MCP server offers.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(9);

/// How long a command that shows all tools waits for servers of which nothing is known yet.
const LIST_PATIENCE: std::time::Duration = std::time::Duration::from_secs(3);

/// Why a command went no further.
#[derive(Debug)]
pub(crate) struct Stop {
    pub(crate) exit: Exit,
    pub(crate) lines: Vec<String>,
}

impl Stop {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Usage,
            lines: vec![message.into()],
        }
    }

    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::ToolError,
            lines: vec![message.into()],
        }
    }
}

impl From<WireError> for Stop {
    fn from(error: WireError) -> Self {
        let mut lines = vec![error.to_string()];
        if let WireError::Policy(problems) = &error {
            lines.extend(problems.iter().map(|problem| format!("  {problem}")));
        }
        lines.push("`tollgate doctor` says more".to_owned());
        Self {
            exit: Exit::Usage,
            lines,
        }
    }
}

impl From<tollgate_core::StoreError> for Stop {
    fn from(error: tollgate_core::StoreError) -> Self {
        Self::failed(error.to_string())
    }
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        // Nobody is left to be told that the reader is gone.
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Self {
                exit: Exit::ToolError,
                lines: Vec::new(),
            };
        }
        Self::failed(error.to_string())
    }
}

/// What every command may use.
pub(crate) struct Scene<'a> {
    pub(crate) console: &'a Console,
    pub(crate) environment: Environment,
    pub(crate) config: Config,
    pub(crate) session: String,
    /// The same, if somebody named one.
    pub(crate) named: Option<String>,
    pub(crate) profile: Option<String>,
}

impl Scene<'_> {
    pub(crate) async fn wire(&self) -> Result<Wired, Stop> {
        let wired = wire::wire(&self.config, &self.environment).await?;
        let recovered = wired.gateway.recover().await?;
        if recovered > 0 {
            self.console.note(&format!(
                "{recovered} call(s) of a process that died were ended as interrupted"
            ));
        }
        Ok(wired)
    }

    /// The person at this shell, in the stored session they named.
    pub(crate) fn caller(&self) -> Caller {
        Caller {
            lifetime: Lifetime::Stored,
            profile: self.profile.clone(),
            ..Caller::local(principal(), &self.session, Surface::Cli)
        }
    }
}

/// The person whose user id runs this process.
pub(crate) fn principal() -> Principal {
    #[cfg(unix)]
    let uid = rustix::process::getuid().as_raw();
    #[cfg(not(unix))]
    let uid = 0;
    Principal::user(uid)
}

async fn run(
    cli: Cli,
    environment: std::io::Result<Environment>,
    console: &Console,
) -> Result<Exit, Stop> {
    let environment = environment?;
    let flags = Flags {
        config: cli.config.clone(),
        ..Flags::default()
    };
    match &cli.command {
        Command::Completions(it) => return completions::run(it, console),
        Command::Trust(it) => return trust::run(it, &environment, console),
        Command::Init(it) if it.trust_dialogs => {
            return init::with_dialogs(it, &cli, (environment, flags), console).await;
        }
        Command::Init(it) => return init::run(it, &cli, &environment, console),
        Command::Demo(_) => return demo::run(&environment, console).await,
        Command::Doctor(_) => return doctor::run(&environment, &flags, console).await,
        Command::Tools(it) if it.needs_no_state() => return tools::search_file(it, console),
        Command::Call(_)
        | Command::Tools(_)
        | Command::Session(_)
        | Command::Approvals(_)
        | Command::Servers(_)
        | Command::Former(_)
        | Command::Review(_)
        | Command::Audit(_)
        | Command::Runs(_)
        | Command::Policy(_)
        | Command::Knowledge(_)
        | Command::Browser(_)
        | Command::Skills(_)
        | Command::Token(_)
        | Command::State(_)
        | Command::Mcp(_)
        | Command::Serve(_)
        | Command::Jsonl(_)
        | Command::Setup(_)
        | Command::Keepa(_)
        | Command::Bench(_) => {}
    }
    let mut config = Config::load(&environment, &flags).map_err(|errors| Stop {
        exit: Exit::Usage,
        lines: errors.iter().map(ToString::to_string).collect(),
    })?;
    if wants_every_tool(&cli.command) {
        config.mcp.patience = LIST_PATIENCE;
    }
    if is_about_servers(&cli.command) {
        config.mcp.patience = PATIENCE;
    }
    // What a command does not need is not waited for.
    config.mcp.acquaint = PATIENCE;
    if hears_of_tools(&cli.command) {
        config.mcp.acquaint = std::time::Duration::ZERO;
    }
    config.providers.conformance = wants_fixtures(&cli.command);
    for notice in &config.notices {
        console.note(&notice.to_string());
    }
    let named = session(&cli, &environment, &config)?;
    let scene = Scene {
        console,
        config,
        session: named.clone().unwrap_or_else(|| "default".to_owned()),
        named,
        environment,
        profile: cli.profile.clone(),
    };
    dispatch(cli.command, &scene).await
}

/// The session that the flag names, else the variable. Its name is written down with every
/// call, so it can carry nothing that must not be.
fn session(cli: &Cli, environment: &Environment, config: &Config) -> Result<Option<String>, Stop> {
    let variable = || {
        environment
            .text("TOLLGATE_SESSION")
            .filter(|it| !it.is_empty())
    };
    let Some(named) = cli.session.as_deref().or_else(variable) else {
        return Ok(None);
    };
    if !(1..=128).contains(&named.len()) || !wire::cleaner(config)?.is_plain(named) {
        return Err(Stop::usage(
            "the name of a session (`--session`, TOLLGATE_SESSION) is 1 to 128 bytes of plain text \
             without anything secret in it",
        ));
    }
    Ok(Some(named.to_owned()))
}

/// Whether clients of a command hear of tools that come later.
fn hears_of_tools(command: &Command) -> bool {
    matches!(command, Command::Serve(_) | Command::Mcp(_))
}

/// Whether a command shows or judges all tools, and so waits for servers of which nothing is
/// known yet; others wait for the servers whose tools they need.
fn wants_every_tool(command: &Command) -> bool {
    matches!(
        command,
        Command::Tools(Tools {
            action: ToolsAction::List { .. } | ToolsAction::Search { .. }
        }) | Command::Policy(Policy {
            action: PolicyAction::Test { .. } | PolicyAction::Show | PolicyAction::Check
        }) | Command::Skills(_)
            | Command::Runs(runs::Runs {
                action: runs::Action::Templates(_)
            })
    )
}

/// Whether a command asks how servers are, and waits for each as long as a call of its tools.
fn is_about_servers(command: &Command) -> bool {
    matches!(
        command,
        Command::Servers(Servers {
            action: ServersAction::Status
        })
    )
}

fn wants_fixtures(command: &Command) -> bool {
    if let Command::Mcp(Mcp { listed, .. }) | Command::Serve(Serve { listed, .. }) = command {
        return listed.conformance_fixtures;
    }
    false
}

/// What the command line wants listed.
fn selected(listed: &Listed, scene: &Scene<'_>) -> Selection {
    let names = |names: &Option<String>| names.as_deref().map(split);
    let mut toolsets = names(&listed.toolsets);
    if listed.conformance_fixtures {
        let sets = toolsets.get_or_insert_default();
        sets.push("conformance".to_owned());
    }
    Selection {
        toolsets,
        configured: Vec::new(),
        allow_tools: names(&listed.allow_tools),
        exclude_tools: names(&listed.exclude_tools),
        profile: scene.profile.clone(),
        pinned: Vec::new(),
        schemas: listed.schemas.as_deref().and_then(schemas_named),
    }
}

async fn dispatch(command: Command, scene: &Scene<'_>) -> Result<Exit, Stop> {
    match command {
        Command::Call(it) => call::run(&it, scene).await,
        Command::Tools(it) => tools::run(&it, scene).await,
        Command::Session(it) => session::run(&it, scene).await,
        Command::Approvals(it) => approve::run(&it, scene).await,
        Command::Review(it) => review::run(&it, scene).await,
        Command::Audit(it) => audit::run(&it, scene).await,
        Command::Runs(it) => runs::run(&it, scene).await,
        Command::Policy(it) => policy::run(&it, scene).await,
        Command::Servers(it) => servers::run(&it.action, scene).await,
        Command::Knowledge(it) => knowledge::run(&it, scene).await,
        Command::Browser(it) => browser::run(&it, scene),
        Command::Skills(it) => skills::run(&it, scene).await,
        Command::Token(it) => token::run(&it, scene).await,
        Command::State(it) => state::run(&it, scene).await,
        Command::Mcp(it) => {
            let _rest = Rest::begin();
            mcp::stdio(selected(&it.listed, scene), it.installation, scene).await
        }
        Command::Serve(it) => {
            let _rest = Rest::begin();
            mcp::serve(&it, selected(&it.listed, scene), scene).await
        }
        Command::Jsonl(it) => {
            let _rest = Rest::begin();
            crate::frontends::jsonl::run(&it, scene).await
        }
        Command::Setup(it) => setup::run(&it, scene),
        Command::Keepa(it) => keepa::run(&it, scene).await,
        Command::Bench(it) => crate::bench::run(&it, scene).await,
        // These were answered before the configuration was loaded, or renamed after parsing.
        Command::Completions(_)
        | Command::Trust(_)
        | Command::Init(_)
        | Command::Demo(_)
        | Command::Doctor(_)
        | Command::Former(_) => Ok(Exit::Ok),
    }
}
