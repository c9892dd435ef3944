//! Rows with aligned columns, fitted to the width of a terminal.
//!
//! Invariant: no text of a cell is lost. Where a table is too wide, its cells are broken into
//! lines at spaces; then columns that a command names as optional are left out; then names are
//! broken too, and long words anywhere. Where not even that is enough, each row is printed as a
//! block with a line for each cell.

/// Between two columns.
const GAP: usize = 2;

/// The rendered lines of a table.
pub(super) struct Table {
    pub(super) head: Option<String>,
    /// The lines of each row.
    pub(super) rows: Vec<Vec<String>>,
    /// Optional columns for which there was no room.
    pub(super) left_out: Vec<String>,
}

/// Where a cell may be broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Breaks {
    /// At spaces and after commas.
    Words,
    /// Inside of names as well.
    Names,
    /// Anywhere in what is longer than [`LONG`].
    Anywhere,
}

/// Words up to here stay whole in a table.
const LONG: usize = 24;

impl Breaks {
    fn allows_after(self, c: char) -> bool {
        matches!(c, ' ' | ',')
            || (self != Self::Words && matches!(c, '.' | '_' | '-' | '/' | ':' | '=' | '&' | '?'))
    }

    /// The pieces of a text that stay in one line.
    fn pieces(self, text: &str) -> impl Iterator<Item = &str> {
        text.split_inclusive(move |c| self.allows_after(c))
    }

    /// The least width for a cell.
    fn least(self, cell: &str) -> usize {
        let pieces = self.pieces(cell).map(|piece| width(piece.trim_end()));
        let longest = pieces.max().unwrap_or(0);
        match self {
            Self::Words | Self::Names => longest,
            Self::Anywhere => longest.min(LONG),
        }
    }
}

/// Lays rows out; without a limit every row is one line.
pub(super) fn render(
    head: &[String],
    rows: &[Vec<String>],
    limit: Option<usize>,
    optional: &[&str],
) -> Table {
    let mut shown = Shown {
        head: head.to_vec(),
        rows: rows.to_vec(),
    };
    let mut left_out = Vec::new();
    let mut fits = shown.fitting(limit, Breaks::Words);
    for name in optional {
        if fits.is_some() {
            break;
        }
        if shown.without(name) {
            left_out.push((*name).to_owned());
            fits = shown.fitting(limit, Breaks::Words);
        }
    }
    let fits = fits
        .or_else(|| shown.fitting(limit, Breaks::Names))
        .or_else(|| shown.fitting(limit, Breaks::Anywhere));
    let Some((widths, breaks)) = fits else {
        return Table {
            head: None,
            rows: blocks(&shown, limit.unwrap_or(usize::MAX)),
            left_out,
        };
    };
    let is_named = shown.head.iter().any(|cell| !cell.is_empty());
    let lines = |row: &Vec<String>| columns(row, &widths, breaks);
    Table {
        head: is_named.then(|| lines(&shown.head).join("\n")),
        rows: shown.rows.iter().map(lines).collect(),
        left_out,
    }
}

/// Names and values: names stay whole, values are broken where they have to be.
pub(super) fn pairs(rows: &[(String, String)], limit: Option<usize>) -> Vec<String> {
    let label = rows.iter().map(|(name, _)| width(name)).max().unwrap_or(0) + GAP;
    let room = limit.map_or(usize::MAX, |limit| limit.saturating_sub(label).max(1));
    let mut lines = Vec::new();
    for (name, value) in rows {
        for (at, part) in wrapped(value, room, Breaks::Words).into_iter().enumerate() {
            let name = if at == 0 { name.as_str() } else { "" };
            let gap = " ".repeat(label - width(name));
            lines.push(format!("{name}{gap}{part}").trim_end().to_owned());
        }
    }
    lines
}

/// The cells that are printed.
struct Shown {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Shown {
    /// Leaves a column out, if it is there.
    fn without(&mut self, name: &str) -> bool {
        let Some(at) = self.head.iter().position(|cell| cell == name) else {
            return false;
        };
        self.head.remove(at);
        for row in &mut self.rows {
            if at < row.len() {
                row.remove(at);
            }
        }
        true
    }

    /// For each column, the most that a cell of it measures.
    fn most(&self, measure: impl Fn(&str) -> usize) -> Vec<usize> {
        let column = |at: usize| {
            let own = self.rows.iter().filter_map(|row| row.get(at));
            let cells = own.chain(self.head.get(at));
            cells.map(|cell| measure(cell)).max().unwrap_or(0)
        };
        (0..self.head.len()).map(column).collect()
    }

    /// The widths with which the table fits if its cells are broken so.
    fn fitting(&self, limit: Option<usize>, breaks: Breaks) -> Option<(Vec<usize>, Breaks)> {
        let natural = self.most(width);
        let gaps = GAP * self.head.len().saturating_sub(1);
        let room = limit.unwrap_or(usize::MAX).checked_sub(gaps)?;
        if natural.iter().sum::<usize>() <= room {
            return Some((natural, breaks));
        }
        let least = self.most(|cell| breaks.least(cell));
        let spare = room.checked_sub(least.iter().sum())?;
        Some((shared(least, &natural, spare), breaks))
    }
}

/// Gives columns the room they lack, those first that lack little.
fn shared(mut widths: Vec<usize>, natural: &[usize], mut spare: usize) -> Vec<usize> {
    let mut lacking: Vec<(usize, usize)> = widths
        .iter()
        .zip(natural)
        .map(|(least, natural)| natural.saturating_sub(*least))
        .enumerate()
        .collect();
    lacking.sort_by_key(|(_, lacks)| *lacks);
    let mut left = lacking.len();
    for (at, lacks) in lacking {
        let given = lacks.min(spare / left.max(1));
        if let Some(width) = widths.get_mut(at) {
            *width += given;
        }
        spare -= given;
        left -= 1;
    }
    widths
}

/// A row as lines of columns.
fn columns(row: &[String], widths: &[usize], breaks: Breaks) -> Vec<String> {
    let cells: Vec<Vec<String>> = row
        .iter()
        .zip(widths)
        .map(|(cell, width)| wrapped(cell, *width, breaks))
        .collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    let line = |at: usize| {
        let mut text = String::new();
        for (cell, column) in cells.iter().zip(widths) {
            let part = cell.get(at).map_or("", String::as_str);
            text.push_str(part);
            let gap = column.saturating_sub(width(part)) + GAP;
            text.extend(std::iter::repeat_n(' ', gap));
        }
        text.truncate(text.trim_end().len());
        text
    };
    (0..height).map(line).collect()
}

/// Each row as a block with a line for each cell, and an empty line between two.
fn blocks(shown: &Shown, limit: usize) -> Vec<Vec<String>> {
    let block = |(at, row): (usize, &Vec<String>)| {
        let named: Vec<(String, String)> = shown
            .head
            .iter()
            .cloned()
            .zip(row.iter().cloned())
            .collect();
        let mut lines = pairs(&named, Some(limit));
        if at + 1 < shown.rows.len() {
            lines.push(String::new());
        }
        lines
    };
    shown.rows.iter().enumerate().map(block).collect()
}

/// A text in lines of at most so many columns.
fn wrapped(text: &str, limit: usize, breaks: Breaks) -> Vec<String> {
    if width(text) <= limit {
        return vec![text.to_owned()];
    }
    let mut lines = vec![String::new()];
    for piece in breaks.pieces(text) {
        let line = lines.last_mut().map_or(0, |line| width(line));
        if line > 0 && line + width(piece.trim_end()) > limit {
            lines.push(String::new());
        }
        for c in piece.chars() {
            let full = lines
                .last()
                .is_some_and(|line| width(line) + width(c.encode_utf8(&mut [0; 4])) > limit);
            if full && c != ' ' {
                lines.push(String::new());
            }
            if let Some(line) = lines.last_mut() {
                line.push(c);
            }
        }
    }
    for line in &mut lines {
        line.truncate(line.trim_end().len());
    }
    lines
}

/// A text of several words in lines of at most so many columns.
pub(super) fn paragraph(text: &str, limit: Option<usize>) -> Vec<String> {
    wrapped(text, limit.unwrap_or(usize::MAX).max(1), Breaks::Words)
}

/// The lines of a shell command: broken between its words, never inside of quotes, each line but
/// the last with the backslash that continues it.
pub(super) fn command(text: &str, limit: Option<usize>) -> Vec<String> {
    const INDENT: &str = "  ";
    let limit = limit
        .unwrap_or(usize::MAX)
        .saturating_sub(2 * INDENT.len() + 2);
    let mut lines: Vec<String> = Vec::new();
    for word in shell_words(text) {
        match lines.last_mut() {
            Some(line) if width(line).saturating_add(1 + width(word)) <= limit => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    let last = lines.len().saturating_sub(1);
    let shown = lines.into_iter().enumerate().map(|(at, line)| {
        let (indent, end) = (
            if at == 0 { "" } else { INDENT },
            if at < last { " \\" } else { "" },
        );
        format!("{INDENT}{indent}{line}{end}")
    });
    shown.collect()
}

/// The words of a shell command with their quotes.
fn shell_words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut start, mut quote) = (0, None);
    for (at, c) in text.char_indices() {
        match (c, quote) {
            ('\'' | '"', None) => quote = Some(c),
            (_, Some(open)) if c == open => quote = None,
            (' ', None) => {
                words.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    words.push(&text[start..]);
    words.retain(|word| !word.is_empty());
    words
}

/// Columns a text takes: wide characters take two.
pub(super) fn width(text: &str) -> usize {
    text.chars()
        .map(|c| match c {
            '\u{1100}'..='\u{115f}'
            | '\u{2e80}'..='\u{a4cf}'
            | '\u{ac00}'..='\u{d7a3}'
            | '\u{f900}'..='\u{faff}'
            | '\u{ff00}'..='\u{ff60}'
            | '\u{1f300}'..='\u{1faff}' => 2,
            _ => 1,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(table: &Table) -> Vec<String> {
        let head = table.head.iter().cloned();
        head.chain(table.rows.iter().flatten().cloned()).collect()
    }

    fn rows(rows: &[&[&str]]) -> Vec<Vec<String>> {
        let own = |row: &&[&str]| row.iter().map(|cell| (*cell).to_owned()).collect();
        rows.iter().map(own).collect()
    }

    fn head(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|cell| (*cell).to_owned()).collect()
    }

    #[test]
    fn columns_are_counted_as_seen() {
        assert_eq!(width("工具"), 4);
    }

    #[test]
    fn a_table_without_a_limit_has_a_line_for_each_row() {
        let long = "word ".repeat(100);
        let rows = rows(&[&["a", &long], &["bcd", "short"]]);
        let table = render(&head(&["N", "TEXT"]), &rows, None, &[]);
        assert!(table.rows.iter().all(|lines| lines.len() == 1));
        assert!(table.rows[0][0].ends_with("word word"));
    }

    #[test]
    fn cells_are_broken_between_words() {
        let rows = rows(&[&["text.stats", "counts the characters of a text"]]);
        let table = render(&head(&["TOOL", "WHAT"]), &rows, Some(30), &[]);
        assert_eq!(
            text(&table),
            [
                "TOOL        WHAT",
                "text.stats  counts the",
                "            characters of a",
                "            text"
            ]
        );
    }

    #[test]
    fn names_are_broken_only_if_words_are_not_enough() {
        let rows = rows(&[&["mcp.all.trigger-long-running-operation", "works"]]);
        let table = render(&head(&["TOOL", "WHAT"]), &rows, Some(26), &[]);
        assert_eq!(
            text(&table),
            [
                "TOOL                 WHAT",
                "mcp.all.trigger-     works",
                "long-running-",
                "operation"
            ]
        );
    }

    #[test]
    fn short_cells_stay_whole_before_long_ones() {
        let rows = rows(&[&[
            "audit.verify",
            "L0 (reads)",
            "verify the whole of the audit log",
        ]]);
        let table = render(&head(&["TOOL", "CAN", "WHAT"]), &rows, Some(42), &[]);
        assert_eq!(
            text(&table),
            [
                "TOOL          CAN         WHAT",
                "audit.verify  L0 (reads)  verify the whole",
                "                          of the audit log"
            ]
        );
    }

    #[test]
    fn optional_columns_go_before_names_are_broken() {
        let rows = rows(&[&["1", "abcdefghijkl", "tool.name"]]);
        let names = head(&["N", "CALL", "TOOL"]);
        let table = render(&names, &rows, Some(14), &["CALL"]);
        assert_eq!(text(&table), ["N  TOOL", "1  tool.name"]);
        assert_eq!(table.left_out, ["CALL"]);
    }

    #[test]
    fn rows_are_blocks_where_nothing_else_fits() {
        let rows = rows(&[&["1", "abcdefghijkl"], &["2", "m"]]);
        let table = render(&head(&["N", "CALL"]), &rows, Some(12), &[]);
        assert_eq!(
            text(&table),
            [
                "N     1",
                "CALL  abcdef",
                "      ghijkl",
                "",
                "N     2",
                "CALL  m"
            ]
        );
    }

    #[test]
    fn no_line_is_wider_than_the_limit_and_nothing_is_lost() {
        let cells = [
            "mcp.server.tool_name",
            "工具 tools, and more,than 12",
            "abcdef0123456789abcdef0123456789",
        ];
        let rows = rows(&[&cells, &["", "x", ""]]);
        for limit in 9..=100 {
            let table = render(&head(&["A", "B", "C"]), &rows, Some(limit), &[]);
            let lines = text(&table);
            assert!(
                lines.iter().all(|line| width(line) <= limit),
                "{limit}: {lines:#?}"
            );
            let letters = |text: &str| {
                let mut all: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
                all.sort_unstable();
                all
            };
            let mut wanted = letters(&cells.concat());
            wanted.extend(letters("x"));
            wanted.sort_unstable();
            let printed = letters(&table.rows.concat().concat());
            if table.head.is_some() {
                assert_eq!(printed, wanted, "{limit}");
            }
        }
    }

    #[test]
    fn a_command_is_broken_between_words_and_can_be_pasted() {
        let text = "tollgate keepa products get 'B0 A' --view deal";
        assert_eq!(command(text, None), [format!("  {text}")]);
        assert_eq!(
            command(text, Some(32)),
            ["  tollgate keepa products \\", "    get 'B0 A' --view deal"]
        );
    }
}
