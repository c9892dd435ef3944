//! Figures as people and programs read them: a median, and how far rounds lay apart.

use std::fmt;

use serde::Serialize;

/// Rows of figures under one title.
#[derive(Debug, Clone, Serialize)]
pub struct Section {
    title: String,
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Section {
    pub(super) fn new(title: impl Into<String>, head: &[&str]) -> Self {
        Self {
            title: title.into(),
            head: head.iter().map(|&cell| cell.to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = || std::iter::once(&self.head).chain(&self.rows);
        let width = |column: usize| {
            let cells = lines().filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        write!(f, "{}", self.title)?;
        for line in lines() {
            writeln!(f)?;
            for (column, cell) in line.iter().enumerate() {
                let width = width(column);
                if column == 0 {
                    write!(f, "  {cell:<width$}")?;
                } else {
                    write!(f, "  {cell:>width$}")?;
                }
            }
        }
        Ok(())
    }
}

/// The same figure of several rounds.
#[derive(Debug, Clone, Default)]
pub(super) struct Series(Vec<f64>);

impl Series {
    pub(super) fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    pub(super) fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
    }

    /// The median, and the least and the greatest beside it.
    pub(super) fn spread(&self, digits: usize) -> String {
        let least = self.0.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = self.0.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let median = self.median();
        format!("{median:.digits$} ({least:.digits$} to {greatest:.digits$})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_says_its_middle_and_its_ends() {
        let series = Series(vec![3.0, 1.0, 2.0]);
        assert_eq!(series.spread(1), "2.0 (1.0 to 3.0)");
    }

    #[test]
    fn columns_are_aligned() {
        let mut section = Section::new("title", &["what", "µs"]);
        section.row(["a call".to_owned(), "41".to_owned()]);
        assert_eq!(section.to_string(), "title\n  what    µs\n  a call  41");
    }
}
