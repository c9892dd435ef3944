//! What can be typed.

mod consent;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub(crate) use consent::{
    Approvals, ApprovalsAction, Approve, Deny, ListedApprovals, NewToken, Review, ReviewAction,
    Token, TokenAction, Trusted,
};

use super::{
    former::Former,
    init::{Client, Init},
    keepa::Keepa,
    setup::Setup,
    state::State,
    trust::Trust,
};

/// The heading of the options that every command takes.
const GLOBAL: &str = "Global options";

/// The gateway between AI agents and tools.
#[derive(Debug, Parser)]
#[command(
    name = "tollgate",
    version = VERSION,
    about,
    after_help = "Exit codes: 0 ok, 1 tool error, 2 usage, 3 consent needed, 4 denied."
)]
pub struct Cli {
    /// Use this configuration file instead of the user's and the project's
    #[arg(long, global = true, value_name = "FILE", help_heading = GLOBAL)]
    pub(crate) config: Option<PathBuf>,
    /// Print exactly one JSON document to standard output
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) json: bool,
    /// The stored session to work in [default: $TOLLGATE_SESSION, else default]
    #[arg(long, global = true, value_name = "NAME", help_heading = GLOBAL)]
    pub(crate) session: Option<String>,
    /// The profile to work under
    #[arg(long, global = true, value_name = "NAME", help_heading = GLOBAL)]
    pub(crate) profile: Option<String>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The version, with the commit and the kind of build.
const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (commit ",
    env!("TOLLGATE_COMMIT"),
    ", ",
    env!("TOLLGATE_BUILD"),
    ")"
);

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Call a tool
    Call(Call),
    /// List, show or search tools
    Tools(Tools),
    /// List, approve and deny calls that wait for consent; list and revoke grants
    Approvals(Approvals),
    /// Review results that a rule marked for a human
    Review(Review),
    /// List, verify, export and replay the audit log
    Audit(Audit),
    /// Show a session, list all of yours, or show a session's ledger
    Session(Session),
    /// List, show, watch, cancel and replay runs; list and check their templates
    Runs(super::runs::Runs),
    /// Check, test and explain policies
    Policy(Policy),
    /// List, check, restart and import the MCP servers behind the gateway
    Servers(Servers),
    /// Check, draw, walk, test and import knowledge bases
    Knowledge(super::knowledge::arguments::Knowledge),
    /// List, export, import and delete logins that browsers keep
    Browser(super::browser::BrowserCommand),
    /// List, check and turn skills on and off
    Skills(super::skills::SkillCommand),
    /// Make, list and revoke tokens
    Token(Token),
    /// Check that the state is the one that was acknowledged, or accept it as it is
    State(State),
    /// Let a project's tollgate.toml do more than narrow
    Trust(Trust),
    /// Set up an agent's program so that it starts Tollgate as its MCP server
    Init(Init),
    /// Print how to run the gateway under a user of its own
    Setup(Setup),
    /// Serve an MCP client on standard input and output
    Mcp(Mcp),
    /// Serve MCP clients over HTTP
    Serve(Serve),
    /// Serve JSON lines on standard input and output
    Jsonl(Jsonl),
    /// Say what works, what does not and what to do
    Doctor(Nothing),
    /// Show a governed session from end to end, offline
    Demo(Nothing),
    /// Research Amazon products with Keepa, offline first
    Keepa(Keepa),
    /// Measure this machine: calls, cache hits, sanitising, start-up
    Bench(Bench),
    /// Print completions for a shell
    Completions(Completions),
    #[command(flatten)]
    Former(Former),
}

#[derive(Debug, Args)]
pub(crate) struct Nothing {}

/// Which tools a client is listed; the rest can still be found and called.
#[derive(Debug, Args)]
pub(crate) struct Listed {
    /// Toolsets to list, between commas; `all` is everything
    #[arg(long, value_name = "NAMES")]
    pub(crate) toolsets: Option<String>,
    /// List only these tools, between commas; a name may end in *
    #[arg(long, value_name = "NAMES")]
    pub(crate) allow_tools: Option<String>,
    /// Do not list these tools, between commas; a name may end in *
    #[arg(long, value_name = "NAMES")]
    pub(crate) exclude_tools: Option<String>,
    /// How much of each tool to list: `full`, `brief` (names, first sentences, bare schemas) or `auto`
    #[arg(long, value_name = "HOW", value_parser = ["auto", "full", "brief"])]
    pub(crate) schemas: Option<String>,
    /// Offer what the MCP conformance suite looks for
    #[arg(long, hide = true)]
    pub(crate) conformance_fixtures: bool,
}

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    mut_subcommands(|it| it.hide(true))
)]
pub(crate) struct Mcp {
    /// The former spelling of `tollgate servers`
    #[command(subcommand)]
    pub(crate) action: Option<ServersAction>,
    #[command(flatten)]
    pub(crate) listed: Listed,
    /// Which installed client starts this, as `tollgate init --trust-dialogs` wrote it
    #[arg(long, value_name = "KEY")]
    pub(crate) installation: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Servers {
    #[command(subcommand)]
    pub(crate) action: ServersAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServersAction {
    /// List the MCP servers behind the gateway
    List,
    /// Start each of them and report its state
    Status,
    /// Show changed tool definitions that wait to be accepted
    Diff {
        /// Only those of this server
        server: Option<String>,
    },
    /// Accept changed tool definitions after showing them
    Accept {
        /// The server
        server: String,
        /// Only this tool, by the server's own name
        tool: Option<String>,
        /// An approver token instead of a terminal; `-` reads it from standard input
        #[arg(long, value_name = "TOKEN")]
        token: Option<String>,
    },
    /// Show what servers wrote to stderr, and when they started and ended
    Logs {
        /// Only this server
        server: Option<String>,
        /// How many lines of each server
        #[arg(long, short = 'n', value_name = "N", default_value_t = 100)]
        lines: usize,
        /// Follow the log until interrupted
        #[arg(long, short = 'f')]
        follow: bool,
    },
    /// Start a server again in every process that runs it
    Restart {
        /// The server
        server: String,
    },
    /// Import servers from the files of other programs; shows what it would write
    Import(Import),
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The file to read; without it, those of every program that is known
    pub(crate) file: Option<PathBuf>,
    /// Only the files of this program
    #[arg(long, value_name = "PROGRAM", conflicts_with = "file")]
    pub(crate) from: Option<Client>,
    /// Only the server of this name, as it is called there
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Vec<String>,
    /// Write it, and keep the file as it was beside it
    #[arg(long)]
    pub(crate) write: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) listed: Listed,
    /// The address to listen on; anywhere but this machine needs authentication
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) host: Option<String>,
    /// The port to listen on; 0 takes any free one
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
}

#[derive(Debug, Args)]
pub(crate) struct Jsonl {
    /// Requests that may run at once; with 1 they are answered in order
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u16).range(1..=4096)
    )]
    pub(crate) concurrent: u16,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Example: tollgate call text.stats '{\"text\":\"hello\"}'\n\
                        Exit codes: 0 ok, 1 tool error, 2 usage, 3 consent needed, 4 denied."
)]
pub(crate) struct Call {
    /// The tool's name
    pub(crate) tool: String,
    /// Its arguments: JSON, @FILE, or - for standard input
    #[arg(value_name = "JSON|@FILE|-", default_value = "{}")]
    pub(crate) arguments: String,
    /// The same as a flag
    #[arg(long, value_name = "JSON|@FILE|-", conflicts_with = "arguments")]
    pub(crate) args: Option<String>,
    /// Accept the cost; never enough for a side effect
    #[arg(long)]
    pub(crate) yes: bool,
    /// The approval this call belongs to (found by itself otherwise)
    #[arg(long, value_name = "ID")]
    pub(crate) approval: Option<String>,
    /// Say the verdict and the estimate; call nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Answer from the session's cache or not at all; with KEY, with exactly that entry of it
    #[arg(long, value_name = "KEY", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) from_cache: Option<String>,
    /// Answer from a prepared sample
    #[arg(long, value_name = "NAME")]
    pub(crate) fixture: Option<String>,
    /// Name the intended effect, so that repeating the command runs it once
    #[arg(long, value_name = "KEY")]
    pub(crate) idempotency_key: Option<String>,
    /// Write the answer's picture or file here
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

impl Call {
    /// The arguments, wherever they were given.
    pub(crate) fn arguments(&self) -> &str {
        self.args.as_deref().unwrap_or(&self.arguments)
    }
}

#[derive(Debug, Args)]
pub(crate) struct Tools {
    #[command(subcommand)]
    pub(crate) action: ToolsAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsAction {
    /// List every tool
    List {
        /// Only this toolset
        #[arg(long, value_name = "NAME")]
        toolset: Option<String>,
    },
    /// Show everything one tool declares
    Show {
        /// The tool's name
        name: String,
    },
    /// Find tools by words, English or Chinese
    Search {
        /// What you want to do
        query: String,
        /// Search the tools in this JSON file instead
        #[arg(long, value_name = "FILE")]
        corpus: Option<PathBuf>,
        /// How many hits at most
        #[arg(long, default_value_t = 10)]
        limit: usize,
    },
}

impl Tools {
    pub(crate) fn needs_no_state(&self) -> bool {
        matches!(
            &self.action,
            ToolsAction::Search {
                corpus: Some(_),
                ..
            }
        )
    }
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Session {
    /// The former spelling of `session list`
    #[arg(long, hide = true)]
    pub(crate) all: bool,
    #[command(subcommand)]
    pub(crate) action: Option<SessionAction>,
}

#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum SessionAction {
    /// Show the session in use; the same as `session` alone
    Show,
    /// List all your sessions
    List,
    /// Show what the session has estimated, consumed and has left
    Ledger,
}

#[derive(Debug, Args)]
pub(crate) struct Audit {
    #[command(subcommand)]
    pub(crate) action: AuditAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditAction {
    /// List entries, the newest first
    List {
        /// How many at most
        #[arg(long, default_value_t = 20)]
        limit: u32,
        /// Only this tool
        #[arg(long)]
        tool: Option<String>,
        /// Only this trace
        #[arg(long)]
        trace: Option<String>,
    },
    /// Show every entry of a call, or the entry at a place
    Show {
        /// A call id, a place, or a receipt
        id: String,
    },
    /// Check every hash, signature and the anchor
    Verify,
    /// Print all entries as JSON lines, with what is needed to check them elsewhere
    Export {
        /// Write here instead of standard output
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Print the proof that a recorded call happened
    Receipt {
        /// The receipt of a result (`meta.receipt`)
        receipt: String,
    },
    /// Play recorded calls back, under another policy, or for real
    Replay(Replay),
}

#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// A trace id or a call id
    pub(crate) trace: String,
    /// Show what the policies would decide with this file added or changed
    #[arg(long, value_name = "FILE", conflicts_with = "live")]
    pub(crate) policy: Option<PathBuf>,
    /// Really call again and print the difference
    #[arg(long)]
    pub(crate) live: bool,
    /// Accept the cost of the calls that are made again
    #[arg(long, requires = "live")]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Policy {
    #[command(subcommand)]
    pub(crate) action: PolicyAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyAction {
    /// Run a table of cases against the policies in force
    Test {
        /// The table (TOML)
        table: PathBuf,
    },
    /// Print the shipped policy
    Show,
    /// Compile the policies in force and say what is wrong
    Check,
    /// Say which rule decides a call, and what consent it would need
    Explain(Explain),
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The tool's name
    pub(crate) tool: String,
    /// Its arguments: JSON, @FILE, or - for standard input
    #[arg(value_name = "ARGS", default_value = "{}")]
    pub(crate) args: String,
}

#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// Seconds to spend on each figure, 1 to 600
    #[arg(long, default_value_t = 1, value_name = "N",
          value_parser = clap::value_parser!(u64).range(1..=600))]
    pub(crate) seconds: u64,
    /// Only a rough look, in a few seconds: one round, few tools, a short log
    #[arg(long, conflicts_with = "seconds")]
    pub(crate) quick: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}
