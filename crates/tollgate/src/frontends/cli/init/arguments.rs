//! What `tollgate init` is told on the command line.

use clap::Args;

use super::{Client, LOCAL_URL, Scope, server_name, server_url};

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The program to set up
    #[arg(long, value_enum)]
    pub(crate) client: Client,
    /// Set it up for you everywhere, or for the current folder only
    #[arg(long, value_enum, default_value = "user")]
    pub(crate) scope: Scope,
    /// What the program calls this server
    #[arg(long, value_name = "NAME", default_value = "tollgate", value_parser = server_name)]
    pub(crate) name: String,
    /// Let it connect to a running server instead of starting one [default URL: http://127.0.0.1:7420/mcp]
    #[arg(
        long,
        value_name = "URL",
        num_args = 0..=1,
        default_missing_value = LOCAL_URL,
        value_parser = server_url,
        conflicts_with = "toolsets"
    )]
    pub(crate) http: Option<String>,
    /// Offer only these toolsets
    #[arg(
        long,
        value_name = "NAME,…",
        value_delimiter = ',',
        value_parser = clap::builder::NonEmptyStringValueParser::new()
    )]
    pub(crate) toolsets: Vec<String>,
    /// Let the dialogs of this client count as a human's consent; asks at a terminal
    #[arg(long, conflicts_with_all = ["http", "print"])]
    pub(crate) trust_dialogs: bool,
    /// Replace an entry of this name that says something else
    #[arg(long)]
    pub(crate) force: bool,
    /// Show the difference, write nothing
    #[arg(long)]
    pub(crate) print: bool,
}
