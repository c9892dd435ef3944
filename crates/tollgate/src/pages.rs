//! The documentation inside the program, so that an agent can read it where it works.

use tollgate_engine::Page;

macro_rules! pages {
    ($($name:literal: $about:literal,)*) => {
        &[$(Page {
            name: $name,
            about: $about,
            text: include_str!(concat!("../../../docs/", $name, ".md")),
        },)*]
    };
}

/// Every page for users.
pub(crate) const PAGES: &[Page] = pages! {
    "approvals": "How consent is asked for and given.",
    "browser": "Pages in a real browser.",
    "cli": "Every command.",
    "clients": "How agents' programs are set up.",
    "config": "Every key of the configuration.",
    "documents": "Editing documents in two phases.",
    "errors": "Every error code and what to do.",
    "keepa": "Amazon product research with Keepa.",
    "mcp": "Tollgate as an MCP server.",
    "operations": "Running Tollgate, its state and its faults.",
    "policy": "How rules decide.",
    "replay": "Looking at recorded calls again.",
    "runs": "Task templates, runs and artifacts.",
    "sandbox": "Code in a sandbox: tiers, limits, workspaces.",
    "sanitizing": "What is cleaned, and how.",
    "skills": "Tools that belong together, and guides for agents.",
    "tools": "Every builtin tool.",
    "upstream": "Other MCP servers behind the gate.",
    "web": "Searching and reading the web.",
};
