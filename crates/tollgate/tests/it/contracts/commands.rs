//! Commands that pages tell people to type exist, with the options they are shown with.

use clap::{CommandFactory, Parser, error::ErrorKind};
use tollgate::frontends::cli::Cli;

use super::{documents, fenced};

#[test]
fn every_command_in_an_example_can_be_typed() {
    let mut count = 0;
    for (page, text) in documents() {
        for (line, block) in fenced(&text, &["sh", "console", "bash"]) {
            let block = block.replace("\\\n", " ");
            for command in block.lines().filter_map(typed) {
                count += 1;
                if let Err(error) = Cli::try_parse_from(command.iter()) {
                    let fine = [ErrorKind::DisplayHelp, ErrorKind::DisplayVersion];
                    assert!(
                        fine.contains(&error.kind()),
                        "{page}:{line}: {command:?}: {error}"
                    );
                }
            }
        }
    }
    assert!(count > 10, "{count} commands were found");
}

/// The words of the first `tollgate` on a line of a shell, if there is one.
fn typed(line: &str) -> Option<Vec<String>> {
    let line = line.trim_start_matches("$ ");
    let start = line.find("tollgate ")?;
    let before = line[..start].trim_end_matches("./");
    if !before.is_empty() && !before.ends_with("| ") && !before.ends_with("$(") {
        return None;
    }
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in line[start..].chars() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (None, '|' | '>' | '<' | '#' | ';' | ')' | '&') => break,
            (None, ' ') => words.push(String::new()),
            (None | Some(_), _) => words.last_mut()?.push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    Some(words)
}

#[test]
fn every_command_named_in_a_sentence_exists() {
    let root = Cli::command();
    let known: Vec<&str> = root
        .get_subcommands()
        .map(clap::Command::get_name)
        .collect();
    for (page, text) in documents() {
        for (at, _) in text.match_indices("`tollgate ") {
            let rest = &text[at + "`tollgate ".len()..];
            let word = rest.split([' ', '`']).next().unwrap();
            let a_name = word.chars().all(|c| c.is_ascii_lowercase());
            assert!(
                !a_name || known.contains(&word),
                "{page}: `tollgate {word}`"
            );
        }
    }
}
