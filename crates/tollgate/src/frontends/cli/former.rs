//! Former spellings of commands: accepted, in no help.
//!
//! Invariant: a former spelling is turned into the current command right after parsing, so that
//! nothing else knows of it.

use clap::{Args, Subcommand};

use super::{
    arguments::{
        Approvals, ApprovalsAction, Approve, Audit, AuditAction, Command, Deny, Explain,
        ListedApprovals, Mcp, Policy, PolicyAction, Replay, Servers, Session, SessionAction,
    },
    runs, templates,
};

#[derive(Debug, Subcommand)]
pub(crate) enum Former {
    /// The former spelling of `approvals approve` and `approvals deny`
    #[command(hide = true)]
    Approve(FormerApprove),
    /// The former spelling of `approvals grants` and `approvals revoke`
    #[command(hide = true)]
    Grants(FormerGrants),
    /// The former spelling of `policy explain`
    #[command(hide = true)]
    Explain(Explain),
    /// The former spelling of `audit replay`
    #[command(hide = true)]
    Replay(Replay),
    /// The former spelling of `runs templates`
    #[command(hide = true)]
    Templates(templates::Templates),
    /// The former spelling of `session ledger`
    #[command(hide = true)]
    Ledger,
}

#[derive(Debug, Args)]
pub(crate) struct FormerApprove {
    #[command(flatten)]
    approve: Approve,
    /// Refuse instead
    #[arg(long, conflicts_with = "for_session")]
    deny: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FormerGrants {
    /// Take back what was granted for this tool
    #[arg(long, value_name = "TOOL")]
    revoke: Option<String>,
}

impl Command {
    /// The command under its current name.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a new command has no former name"
    )]
    pub(crate) fn renamed(self) -> Self {
        match self {
            Self::Former(former) => former.into(),
            Self::Mcp(Mcp {
                action: Some(action),
                ..
            }) => Self::Servers(Servers { action }),
            Self::Session(Session { all: true, .. }) => session(SessionAction::List),
            current => current,
        }
    }
}

impl From<Former> for Command {
    fn from(former: Former) -> Self {
        match former {
            Former::Approve(FormerApprove {
                approve,
                deny: true,
            }) => approvals(ApprovalsAction::Deny(Deny {
                id: approve.id,
                token: approve.token,
            })),
            Former::Approve(FormerApprove { approve, .. }) => {
                approvals(ApprovalsAction::Approve(approve))
            }
            Former::Grants(FormerGrants { revoke: Some(tool) }) => {
                approvals(ApprovalsAction::Revoke { tool })
            }
            Former::Grants(_) => approvals(ApprovalsAction::Grants),
            Former::Explain(explain) => Self::Policy(Policy {
                action: PolicyAction::Explain(explain),
            }),
            Former::Replay(replay) => Self::Audit(Audit {
                action: AuditAction::Replay(replay),
            }),
            Former::Templates(templates) => Self::Runs(runs::Runs {
                action: runs::Action::Templates(templates),
            }),
            Former::Ledger => session(SessionAction::Ledger),
        }
    }
}

fn approvals(action: ApprovalsAction) -> Command {
    Command::Approvals(Approvals {
        listed: ListedApprovals { all: false },
        action: Some(action),
    })
}

fn session(action: SessionAction) -> Command {
    Command::Session(Session {
        all: false,
        action: Some(action),
    })
}
