//! What can be typed by a human who decides: approvals, reviews and tokens.

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Approvals {
    #[command(flatten)]
    pub(crate) listed: ListedApprovals,
    #[command(subcommand)]
    pub(crate) action: Option<ApprovalsAction>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsAction {
    /// List calls that wait for consent; the same as `approvals` alone
    List(ListedApprovals),
    /// Consent to a call, at a terminal or with an approver token
    Approve(Approve),
    /// Refuse consent to a call, at a terminal or with an approver token
    Deny(Deny),
    /// List what was granted for the session
    Grants,
    /// Revoke what was granted for a tool in the session
    Revoke {
        /// The tool
        tool: String,
    },
}

#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct ListedApprovals {
    /// Also show decided and used ones
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Approve {
    /// The approval's id
    pub(crate) id: String,
    /// Grant the tool for the rest of the session
    #[arg(long)]
    pub(crate) for_session: bool,
    /// With --for-session: only for calls to this site
    #[arg(long, value_name = "HOST", requires = "for_session")]
    pub(crate) site: Option<String>,
    /// An approver token, or - to read it from standard input
    #[arg(long, value_name = "TOKEN")]
    pub(crate) token: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Deny {
    /// The approval's id
    pub(crate) id: String,
    /// An approver token, or - to read it from standard input
    #[arg(long, value_name = "TOKEN")]
    pub(crate) token: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Review {
    #[command(subcommand)]
    pub(crate) action: ReviewAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ReviewAction {
    /// List items, open ones unless told otherwise
    List {
        /// Also resolved ones
        #[arg(long)]
        all: bool,
        /// How many at most
        #[arg(long, default_value_t = 50)]
        limit: u32,
    },
    /// Show one item
    Show {
        /// The item's id
        id: String,
    },
    /// Resolve one item, or all open ones that fit, at a terminal or with an approver token
    #[command(allow_missing_positional = true)]
    Resolve {
        /// The item's id; leave it out to resolve the open items that fit all of the filters
        #[arg(
            required_unless_present_any = ["all", "rule", "tool", "before", "older_than"],
            conflicts_with_all = ["all", "rule", "tool", "before", "older_than"]
        )]
        id: Option<String>,
        /// What you decide
        #[arg(value_enum)]
        resolution: Resolution,
        #[command(flatten)]
        filter: super::super::review::Filter,
        /// What you want to say about it
        #[arg(long)]
        note: Option<String>,
        /// An approver token, or - to read it from standard input
        #[arg(long, value_name = "TOKEN")]
        token: Option<String>,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Resolution {
    Approve,
    Reject,
    Note,
}

impl Resolution {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Reject => "reject",
            Self::Note => "note",
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Token {
    #[command(subcommand)]
    pub(crate) action: TokenAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenAction {
    /// Make a token for calling over HTTP; it is shown once
    Create(NewToken),
    /// List tokens
    List,
    /// End a token
    Revoke {
        /// Its id
        id: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct NewToken {
    /// For approving and reviewing instead; keep it away from agents
    #[arg(long, conflicts_with_all = ["toolset", "trust", "session_limit"])]
    pub(crate) approver: bool,
    /// A toolset the bearer may use, and no others; may be given more than once
    #[arg(long, value_name = "NAME")]
    pub(crate) toolset: Vec<String>,
    /// How far the bearer is trusted
    #[arg(long, value_enum, value_name = "LEVEL", default_value = "remote")]
    pub(crate) trust: Trusted,
    /// What each session of the bearer may consume
    #[arg(long, value_name = "N")]
    pub(crate) session_limit: Option<u64>,
    /// What you call it
    #[arg(long)]
    pub(crate) label: Option<String>,
    /// Days until it ends
    #[arg(long, value_name = "DAYS")]
    pub(crate) expires: Option<u64>,
    /// Print the token and nothing else
    #[arg(long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Trusted {
    /// As somebody reached over HTTP
    Remote,
    /// As a process of yours on this machine
    Local,
}
