//! Tables as rows of cells, and as Markdown.

/// How many cells are kept of one table.
const MAX_CELLS: usize = 20_000;

/// A table being read.
#[derive(Default)]
pub(super) struct Table {
    rows: Vec<Vec<String>>,
    cell: Option<String>,
    cells: usize,
}

impl Table {
    pub(super) fn open_row(&mut self) {
        self.close_cell();
        self.rows.push(Vec::new());
    }

    pub(super) fn open_cell(&mut self) {
        self.close_cell();
        self.cell = Some(String::new());
    }

    pub(super) fn close_cell(&mut self) {
        let Some(cell) = self.cell.take() else { return };
        self.cells += 1;
        if self.cells > MAX_CELLS {
            return;
        }
        if self.rows.is_empty() {
            self.rows.push(Vec::new());
        }
        if let Some(row) = self.rows.last_mut() {
            row.push(cell.trim().to_owned());
        }
    }

    /// Text outside a cell belongs to the next one.
    pub(super) fn push(&mut self, word: &str) {
        self.cell.get_or_insert_default().push_str(word);
    }

    pub(super) fn space(&mut self) {
        if let Some(cell) = &mut self.cell
            && !cell.is_empty()
            && !cell.ends_with(' ')
        {
            cell.push(' ');
        }
    }

    /// The rows that say something.
    pub(super) fn rows(mut self) -> Vec<Vec<String>> {
        self.close_cell();
        let says = |row: &Vec<String>| row.iter().any(|cell| !cell.is_empty());
        self.rows.into_iter().filter(says).collect()
    }
}

/// A table in Markdown; its first row is the head.
pub(super) fn markdown(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let mut made = String::new();
    for (number, row) in rows.iter().enumerate() {
        made.push('|');
        for column in 0..columns {
            let cell = row.get(column).map_or("", String::as_str);
            made.push(' ');
            made.push_str(&cell.replace('\\', "\\\\").replace('|', "\\|"));
            made.push_str(" |");
        }
        made.push('\n');
        if number == 0 {
            made.push('|');
            made.push_str(&" --- |".repeat(columns));
            made.push('\n');
        }
    }
    made.truncate(made.trim_end().len());
    made
}
