//! The programs that can be set up, as data: which file, which key, which words.
//!
//! Invariant: nothing outside this table knows a client by name.

use std::path::PathBuf;

use clap::{ValueEnum, builder::PossibleValue};

use crate::config::Environment;

/// A program that talks MCP.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Client {
    pub(in super::super) id: &'static str,
    pub(in super::super) title: &'static str,
    pub(super) format: Format,
    /// The key that holds the servers by name.
    pub(in super::super) key: &'static str,
    pub(in super::super) places: &'static [Place],
    /// What an entry says beside the command and its arguments.
    pub(super) stdio: Fields,
    /// What an entry for a URL looks like, if the program takes one.
    pub(super) http: Option<Http>,
    pub(super) lookup: Lookup,
    /// What to do to see it work.
    pub(super) next: &'static str,
}

type Fields = &'static [(&'static str, &'static str)];

/// How a client's file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    /// JSON with comments and trailing commas.
    JsonWithComments,
    Toml,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Http {
    pub(super) fields: Fields,
    pub(super) url: &'static str,
}

/// Whether a client finds a program by its name alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lookup {
    /// It sees the folders that a shell searches.
    ByName,
    /// It is started by the desktop and may not see them.
    ByPath,
}

/// For whom a server is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    /// For you, everywhere
    User,
    /// For everybody who works in the current folder
    Project,
}

#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Place {
    pub(super) scope: Scope,
    base: Base,
    path: &'static str,
}

/// Where a path begins.
#[derive(Debug, Clone, Copy)]
enum Base {
    /// The folder this variable names, else this one below the home folder.
    Home(&'static str, &'static str),
    /// Where the desktop keeps settings.
    Applications,
    /// The current folder.
    Project,
}

impl Client {
    /// The file to change, if the client has one for this scope.
    pub(super) fn place(&self, scope: Scope) -> Option<&'static Place> {
        self.places.iter().find(|place| place.scope == scope)
    }
}

impl Place {
    /// The path on this machine; there is none for a user without a home.
    pub(in super::super) fn path(&self, environment: &Environment) -> Option<PathBuf> {
        let base = match self.base {
            Base::Home(variable, below) => environment.folder(variable, below)?,
            Base::Applications => environment.applications_dir()?,
            Base::Project => environment.current_dir.clone(),
        };
        Some(base.join(self.path))
    }
}

impl ValueEnum for Client {
    fn value_variants<'a>() -> &'a [Self] {
        CLIENTS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.id).help(self.title))
    }
}

const fn user(base: Base, path: &'static str) -> Place {
    Place {
        scope: Scope::User,
        base,
        path,
    }
}

const fn project(path: &'static str) -> Place {
    Place {
        scope: Scope::Project,
        base: Base::Project,
        path,
    }
}

const fn http(fields: Fields, url: &'static str) -> Option<Http> {
    Some(Http { fields, url })
}

/// Zed keeps to `.config` on a Mac too; only Windows has a place of its own.
const ZED: Base = if cfg!(windows) {
    Base::Applications
} else {
    Base::Home("XDG_CONFIG_HOME", ".config")
};

pub(in super::super) const CLIENTS: &[Client] = &[
    Client {
        id: "claude-code",
        title: "Claude Code",
        format: Format::Json,
        key: "mcpServers",
        places: &[
            user(Base::Home("CLAUDE_CONFIG_DIR", ""), ".claude.json"),
            project(".mcp.json"),
        ],
        stdio: &[("type", "stdio")],
        http: http(&[("type", "http")], "url"),
        lookup: Lookup::ByName,
        next: "run `claude mcp list`, then start a new session",
    },
    Client {
        id: "claude-desktop",
        title: "Claude Desktop",
        format: Format::Json,
        key: "mcpServers",
        places: &[user(
            Base::Applications,
            "Claude/claude_desktop_config.json",
        )],
        stdio: &[],
        http: None,
        lookup: Lookup::ByPath,
        next: "quit and restart Claude Desktop, then look under Settings > Developer",
    },
    Client {
        id: "codex",
        title: "Codex",
        format: Format::Toml,
        key: "mcp_servers",
        places: &[
            user(Base::Home("CODEX_HOME", ".codex"), "config.toml"),
            project(".codex/config.toml"),
        ],
        stdio: &[],
        http: http(&[], "url"),
        lookup: Lookup::ByName,
        next: "run `codex mcp list`, then start a new session",
    },
    Client {
        id: "cursor",
        title: "Cursor",
        format: Format::JsonWithComments,
        key: "mcpServers",
        places: &[
            user(Base::Home("", ".cursor"), "mcp.json"),
            project(".cursor/mcp.json"),
        ],
        stdio: &[],
        http: http(&[], "url"),
        lookup: Lookup::ByName,
        next: "open Cursor Settings > MCP and switch the server on",
    },
    Client {
        id: "vscode",
        title: "VS Code",
        format: Format::JsonWithComments,
        key: "servers",
        places: &[
            user(Base::Applications, "Code/User/mcp.json"),
            project(".vscode/mcp.json"),
        ],
        stdio: &[("type", "stdio")],
        http: http(&[("type", "http")], "url"),
        lookup: Lookup::ByName,
        next: "run the command `MCP: List Servers`, start the server, and open chat in agent mode",
    },
    Client {
        id: "windsurf",
        title: "Windsurf",
        format: Format::JsonWithComments,
        key: "mcpServers",
        places: &[user(Base::Home("", ".codeium/windsurf"), "mcp_config.json")],
        stdio: &[],
        http: http(&[], "serverUrl"),
        lookup: Lookup::ByName,
        next: "open the MCP servers of Cascade and press refresh",
    },
    Client {
        id: "zed",
        title: "Zed",
        format: Format::JsonWithComments,
        key: "context_servers",
        places: &[user(
            ZED,
            if cfg!(windows) {
                "Zed/settings.json"
            } else {
                "zed/settings.json"
            },
        )],
        stdio: &[],
        http: http(&[], "url"),
        lookup: Lookup::ByName,
        next: "open the settings of the agent panel; the server's dot turns green",
    },
];
