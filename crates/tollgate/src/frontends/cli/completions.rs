//! `tollgate completions`.

use clap::CommandFactory;

use super::{Cli, Exit, Stop, arguments::Completions, console::Console};

pub(super) fn run(args: &Completions, console: &Console) -> Result<Exit, Stop> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "tollgate", &mut script);
    console.line(String::from_utf8_lossy(&script).trim_end())?;
    Ok(Exit::Ok)
}
