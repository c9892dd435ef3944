//! The cells of a client as a table.

use super::cells::{Cell, Scenario};

/// What came of a cell.
pub(super) enum Verdict {
    Passed,
    Failed(String),
    /// The client has no means for it, and why.
    Lacking(&'static str),
}

impl From<Result<(), String>> for Verdict {
    fn from(judged: Result<(), String>) -> Self {
        match judged {
            Ok(()) => Self::Passed,
            Err(problem) => Self::Failed(problem),
        }
    }
}

impl Verdict {
    const fn word(&self) -> &'static str {
        match self {
            Self::Passed => "ok",
            Self::Failed(_) => "FAILED",
            Self::Lacking(_) => "n/a",
        }
    }
}

/// A row for each server and way, a column for each scenario.
pub(super) fn render(title: &str, cells: &[Cell], verdicts: &[Verdict]) -> String {
    let mut rows: Vec<(&str, &str)> = Vec::new();
    for cell in cells {
        let row = (cell.server, cell.way());
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    let mut text = format!("{title:<34}");
    for scenario in Scenario::ALL {
        text.push_str(&format!("{:<13}", scenario.name()));
    }
    for (server, way) in rows {
        text.push_str(&format!("\n  {server:<18}{way:<14}"));
        for scenario in Scenario::ALL {
            let word = cells.iter().zip(verdicts).find_map(|(cell, verdict)| {
                let is_this = (cell.server, cell.way(), cell.scenario);
                (is_this == (server, way, scenario)).then(|| verdict.word())
            });
            text.push_str(&format!("{:<13}", word.unwrap_or("")));
        }
    }
    let mut lacks: Vec<String> = cells
        .iter()
        .zip(verdicts)
        .filter_map(|(cell, verdict)| match verdict {
            Verdict::Lacking(reason) => Some(format!("{}: {reason}", cell.scenario.name())),
            Verdict::Passed | Verdict::Failed(_) => None,
        })
        .collect();
    lacks.dedup();
    for lack in lacks {
        text.push_str(&format!("\n  n/a  {lack}"));
    }
    text
}

/// Each failure in a line.
pub(super) fn failures(cells: &[Cell], verdicts: &[Verdict]) -> Vec<String> {
    let each = cells.iter().zip(verdicts);
    each.filter_map(|(cell, verdict)| match verdict {
        Verdict::Failed(problem) => Some(format!("{}: {problem}", cell.id())),
        Verdict::Passed | Verdict::Lacking(_) => None,
    })
    .collect()
}
