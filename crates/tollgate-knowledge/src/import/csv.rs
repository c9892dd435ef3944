//! Cells of a spreadsheet, as programs write them out.

use super::fault;
use crate::read::Fault;

/// A row and the line it begins on.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) line: usize,
    pub(super) cells: Vec<String>,
}

/// The rows of a file that are not empty.
pub(super) fn rows(text: &str) -> Result<Vec<Row>, Fault> {
    let between = between(text);
    let mut rows = Vec::new();
    let mut line = 1;
    let mut row = Row {
        line,
        cells: vec![String::new()],
    };
    let mut characters = text.char_indices().peekable();
    let mut is_fresh = true;
    while let Some((at, c)) = characters.next() {
        let next = characters.peek().map(|(_, next)| *next);
        match c {
            '"' if is_fresh => {
                let cell = row.cells.last_mut();
                let inside = cell.map(|cell| quoted(cell, &mut characters, &mut line));
                if inside != Some(true) {
                    return Err(fault(text, at, "a quote is not closed"));
                }
                is_fresh = false;
            }
            '\r' if next == Some('\n') => {}
            '\n' | '\r' => {
                line += 1;
                let empty = Row {
                    line,
                    cells: vec![String::new()],
                };
                push(&mut rows, std::mem::replace(&mut row, empty));
                is_fresh = true;
            }
            c if c == between => {
                row.cells.push(String::new());
                is_fresh = true;
            }
            c => {
                is_fresh = is_fresh && c == ' ';
                if let Some(cell) = row.cells.last_mut() {
                    cell.push(c);
                }
            }
        }
    }
    push(&mut rows, row);
    Ok(rows)
}

fn push(rows: &mut Vec<Row>, mut row: Row) {
    for cell in &mut row.cells {
        *cell = cell.trim().to_owned();
    }
    if row.cells.iter().any(|cell| !cell.is_empty()) {
        rows.push(row);
    }
}

/// Reads to the closing quote; two of them stand for one. False if there is none.
fn quoted(
    cell: &mut String,
    characters: &mut std::iter::Peekable<std::str::CharIndices<'_>>,
    line: &mut usize,
) -> bool {
    cell.clear();
    while let Some((_, c)) = characters.next() {
        match c {
            '"' if characters.peek().is_some_and(|(_, next)| *next == '"') => {
                characters.next();
                cell.push('"');
            }
            '"' => return true,
            '\r' => {}
            c => {
                *line += usize::from(c == '\n');
                cell.push(c);
            }
        }
    }
    false
}

/// What stands between cells: what the first line has the most of.
fn between(text: &str) -> char {
    let first = text
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default();
    let count = |sign: char| first.matches(sign).count();
    [',', ';', '\t', '|']
        .into_iter()
        .rev()
        .max_by_key(|sign| count(*sign))
        .unwrap_or(',')
}
