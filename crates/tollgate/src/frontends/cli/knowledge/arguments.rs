//! What can be typed behind `tollgate knowledge`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct Knowledge {
    #[command(subcommand)]
    pub(crate) action: KnowledgeAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KnowledgeAction {
    /// Write a knowledge base to begin with into a new folder
    New(New),
    /// Check knowledge bases and say what their author should look at
    Lint(Lint),
    /// Draw a knowledge base, with a session's path if you like
    Graph(Graph),
    /// Walk a knowledge base here, as a user would
    Try(Try),
    /// Have the golden conversations beside a base and say which go otherwise
    Test(Test),
    /// Turn a flowchart or a spreadsheet into a first draft of a base
    Import(Import),
    /// Say where recorded sessions end and where they give up
    Stats(Stats),
    /// Print the JSON Schema of knowledge files, for editors
    Schema,
}

#[derive(Debug, Args)]
pub(crate) struct New {
    /// The folder to make
    pub(crate) folder: PathBuf,
    /// What to begin with
    #[arg(long, value_enum, default_value_t)]
    pub(crate) from: Example,
}

/// A base that comes with the program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Example {
    /// Two steps, to see how it is written
    #[default]
    Tea,
    /// Trouble with a home network: typed answers and conditions
    HomeNetwork,
    /// Thinking about technology companies, in Chinese and English
    TechnologyInvestment,
}

#[derive(Debug, Args)]
pub(crate) struct Lint {
    /// Files or folders; else those of the configuration
    #[arg(value_name = "BASE")]
    pub(crate) bases: Vec<PathBuf>,
    /// Fail on warnings too
    #[arg(long)]
    pub(crate) strict: bool,
}

/// How a picture is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Picture {
    Mermaid,
    Dot,
    Svg,
}

#[derive(Debug, Args)]
pub(crate) struct Graph {
    /// A file or folder; else the one of the configuration
    #[arg(value_name = "BASE")]
    pub(crate) base: Option<PathBuf>,
    /// How to write it; else as the name of the file says [default: mermaid]
    #[arg(long, value_enum)]
    pub(crate) format: Option<Picture>,
    /// Write to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Draw what this node leads to
    #[arg(long, value_name = "NODE")]
    pub(crate) from: Option<String>,
    /// At most so many steps from there
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<usize>,
    /// The language of the texts
    #[arg(long, value_name = "LANGUAGE")]
    pub(crate) language: Option<String>,
    /// Draw the path of this recorded session in
    #[arg(long, value_name = "SESSION_ID")]
    pub(crate) walked: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Try {
    /// Files or folders; else those of the configuration
    #[arg(value_name = "BASE")]
    pub(crate) bases: Vec<PathBuf>,
    /// The question to begin with; else it is asked for
    #[arg(long, value_name = "TEXT")]
    pub(crate) query: Option<String>,
    /// Add what was walked to this file as a golden conversation
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Test {
    /// Files or folders; else those of the configuration
    #[arg(value_name = "BASE")]
    pub(crate) bases: Vec<PathBuf>,
    /// Have the conversations of this file instead of those beside the base
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Vec<PathBuf>,
}

/// What can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Chart {
    /// A Graphviz graph
    Dot,
    /// A Mermaid flowchart, alone or in Markdown
    Mermaid,
    /// A spreadsheet saved as CSV
    Csv,
    /// The first sheet of a workbook, .xlsx or .ods
    Workbook,
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The flowchart or spreadsheet
    pub(crate) file: PathBuf,
    /// What it is; else as its name says
    #[arg(long, value_enum)]
    pub(crate) format: Option<Chart>,
    /// Write the draft to this file (.yaml)
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Write over a file that is there
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Stats {
    /// Only this knowledge base, by its id
    #[arg(value_name = "ID")]
    pub(crate) base: Option<String>,
    /// A session nobody has gone on with for so long has given up
    #[arg(long, value_name = "MINUTES", default_value_t = 60)]
    pub(crate) idle: u64,
    /// Show so many nodes of each base
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) nodes: usize,
}
