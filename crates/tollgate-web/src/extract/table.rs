//! Tables as rows of cells, and as Markdown.
//!
//! A cell that spans columns or rows leaves empty ones behind, so that what stands below a head stays below it.

/// How many cells are kept of one table, and how many one cell spans.
const MAX_CELLS: usize = 20_000;
const MAX_SPAN: usize = 100;

/// What a cell says, as Markdown and as text.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Cell {
    pub(super) markdown: String,
    pub(super) text: String,
}

/// A table being read.
#[derive(Default)]
pub(super) struct Table {
    rows: Vec<Vec<Cell>>,
    /// The columns and rows of the cell that is open.
    open: Option<(usize, usize)>,
    /// For how many more rows each column is taken by a cell above.
    taken: Vec<usize>,
    cells: usize,
    /// How many cells the row has of its own, and the most a row has.
    own: usize,
    most_own: usize,
}

impl Table {
    pub(super) fn open_row(&mut self) {
        self.end_row();
        self.rows.push(Vec::new());
    }

    fn end_row(&mut self) {
        let reached = self.rows.last().map_or(0, Vec::len);
        for left in self.taken.iter_mut().skip(reached) {
            *left = left.saturating_sub(1);
        }
        self.own = 0;
    }

    pub(super) fn open_cell(&mut self, columns: Option<usize>, rows: Option<usize>) {
        let span = |count: Option<usize>| count.unwrap_or(1).clamp(1, MAX_SPAN);
        self.open = Some((span(columns), span(rows)));
    }

    /// Ends the cell that is open; words without one make one.
    pub(super) fn close_cell(&mut self, cell: Cell) {
        let is_open = self.open.is_some();
        let (columns, rows) = self.open.take().unwrap_or((1, 1));
        if !is_open && cell.text.is_empty() || self.cells >= MAX_CELLS {
            return;
        }
        if self.rows.is_empty() {
            self.rows.push(Vec::new());
        }
        let Some(row) = self.rows.last_mut() else {
            return;
        };
        let before = row.len();
        while self.taken.get(row.len()).is_some_and(|left| *left > 0) {
            self.taken[row.len()] -= 1;
            row.push(Cell::default());
        }
        let first = row.len();
        row.push(cell);
        row.resize(first + columns, Cell::default());
        self.taken.resize(self.taken.len().max(row.len()), 0);
        self.taken[first..row.len()].fill(rows - 1);
        self.cells += row.len() - before;
        self.own += 1;
        self.most_own = self.most_own.max(self.own);
    }

    /// Whether no row has two cells: that is layout, not a table.
    pub(super) fn is_layout(&self) -> bool {
        self.most_own < 2
    }

    /// The rows that say something.
    pub(super) fn rows(self) -> Vec<Vec<Cell>> {
        let says = |row: &Vec<Cell>| row.iter().any(|cell| !cell.text.is_empty());
        let is_layout = self.is_layout();
        let mut rows: Vec<_> = self.rows.into_iter().filter(says).collect();
        if is_layout {
            rows.iter_mut()
                .for_each(|row| row.retain(|cell| !cell.text.is_empty()));
        }
        rows
    }
}

/// A table in Markdown; its first row is the head.
pub(super) fn markdown(rows: &[Vec<Cell>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    // Rows are filled up for those who read the source, unless that would be most of it.
    let is_even = rows.len().saturating_mul(columns) <= MAX_CELLS;
    let mut made = String::new();
    for (number, row) in rows.iter().enumerate() {
        made.push('|');
        let shown = if is_even || number == 0 {
            columns
        } else {
            row.len()
        };
        for column in 0..shown {
            let cell = row.get(column).map_or("", |cell| cell.markdown.as_str());
            made.push(' ');
            made.push_str(&cell.replace('|', "\\|").replace('\n', " "));
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
