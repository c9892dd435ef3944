//! Spreadsheets of questions: one row for an option, one row for a node with its options
//! side by side, or just questions and answers.

use std::collections::HashSet;

use super::{
    MOST,
    csv::Row,
    flow::{Flow, Said, To, Way},
    too_large,
};
use crate::{Place, problem::ProblemCode, read::Fault};

/// What a column holds, and the names it goes by.
const COLUMNS: &[(Column, &[&str])] = &[
    (
        Column::Id,
        &[
            "id", "node", "node id", "step", "no", "number", "编号", "节点", "步骤", "题号", "序号",
        ],
    ),
    (Column::Title, &["title", "name", "heading", "标题", "名称"]),
    (
        Column::Text,
        &[
            "question", "response", "text", "prompt", "message", "content", "问题", "内容", "回复",
            "话术", "题目",
        ],
    ),
    (
        Column::Option,
        &[
            "option", "answer", "choice", "label", "选项", "答案", "选择", "回答",
        ],
    ),
    (Column::OptionId, &["option id", "answer id", "选项编号"]),
    (
        Column::Next,
        &[
            "next",
            "next node",
            "goto",
            "go to",
            "leads to",
            "target",
            "下一步",
            "跳转",
            "下一题",
            "下一节点",
            "去向",
        ],
    ),
    (
        Column::Keywords,
        &["keywords", "keyword", "tags", "关键词", "关键字"],
    ),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Id,
    Title,
    Text,
    Option,
    OptionId,
    Next,
    Keywords,
}

/// A column with its language and, where options stand side by side, their number.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Head {
    column: Column,
    language: String,
    number: u32,
}

pub(super) fn read(rows: Vec<Row>) -> Result<Flow, Fault> {
    let mut rows = rows.into_iter();
    let head = rows.next().unwrap_or(Row {
        line: 1,
        cells: Vec::new(),
    });
    let heads: Vec<Option<Head>> = head.cells.iter().map(|cell| named(cell)).collect();
    let has = |column| heads.iter().flatten().any(|head| head.column == column);
    if !has(Column::Text) && !has(Column::Title) {
        let names: Vec<&str> = COLUMNS.iter().map(|(_, names)| names[0]).collect();
        let message = format!(
            "the first row must name the columns, one of them `question`; there are: {}",
            names.join(", ")
        );
        return Err(Fault::new(ProblemCode::Field, place(head.line), message));
    }
    let sheet = Sheet {
        heads,
        rows: rows.collect(),
    };
    sheet.check_columns()?;
    if sheet.has(Column::Next) {
        sheet.flow()
    } else {
        sheet.answers()
    }
}

fn bounded(flow: &Flow, row: &Row) -> Result<(), Fault> {
    match flow.len() > MOST {
        true => Err(too_large(place(row.line))),
        false => Ok(()),
    }
}

fn twice(row: &Row, name: &str) -> Fault {
    let message = format!("the node `{}` stands twice", crate::short(name));
    Fault::new(ProblemCode::Duplicate, place(row.line), message)
}

fn place(line: usize) -> Place {
    Place {
        line: u32::try_from(line).unwrap_or(u32::MAX),
        column: 1,
    }
}

/// What a column's name means: `question`, `option 2`, `next_2`, `question (en)`.
fn named(cell: &str) -> Option<Head> {
    let plain = cell.trim().to_lowercase().replace(['_', '-'], " ");
    let (plain, language) = match plain
        .trim_end_matches([')', '）'])
        .rsplit_once(['(', '（', ' ', ':'])
    {
        Some((name, end)) if is_language(end) => (name.trim().to_owned(), end.trim().to_owned()),
        _ => (plain, String::new()),
    };
    let name = plain.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = plain[name.len()..].parse().unwrap_or(0);
    let known = |(_, names): &&(Column, &[&str])| names.contains(&name.trim());
    let (column, _) = COLUMNS.iter().find(known)?;
    Some(Head {
        column: *column,
        language,
        number,
    })
}

fn is_language(text: &str) -> bool {
    let text = text.trim();
    text.len() == 2
        && text != "id"
        && text != "no"
        && text != "to"
        && text.bytes().all(|byte| byte.is_ascii_lowercase())
}

struct Sheet {
    heads: Vec<Option<Head>>,
    rows: Vec<Row>,
}

impl Sheet {
    fn has(&self, column: Column) -> bool {
        self.heads
            .iter()
            .flatten()
            .any(|head| head.column == column)
    }

    /// Refuses a row with two texts for one place in one language.
    fn check_columns(&self) -> Result<(), Fault> {
        for row in &self.rows {
            let mut known: Vec<&Head> = Vec::new();
            let cells = self.heads.iter().zip(&row.cells);
            let filled = cells.filter(|(_, cell)| !cell.is_empty());
            for head in filled.filter_map(|(head, _)| head.as_ref()) {
                let is_text = matches!(head.column, Column::Title | Column::Text | Column::Option);
                if is_text && known.contains(&head) {
                    let names = COLUMNS.iter().find(|(column, _)| *column == head.column);
                    let name = names.map_or("", |(_, names)| names[0]);
                    let message = format!("two columns of this row are a `{name}` in one language");
                    return Err(Fault::new(ProblemCode::Duplicate, place(row.line), message));
                }
                known.push(head);
            }
        }
        Ok(())
    }

    /// The cells of a column in a row, by language.
    fn cells(&self, row: &Row, column: Column, number: u32) -> Said {
        let cells = self.heads.iter().zip(&row.cells);
        cells
            .filter_map(|(head, cell)| Some((head.as_ref()?, cell)))
            .filter(|(head, cell)| {
                head.column == column && head.number == number && !cell.is_empty()
            })
            .map(|(head, cell)| (head.language.clone(), cell.clone()))
            .collect()
    }

    fn cell(&self, row: &Row, column: Column, number: u32) -> String {
        let cells = self.cells(row, column, number).into_iter().next();
        cells.map(|(_, text)| text).unwrap_or_default()
    }

    /// The numbers under which options stand side by side; one that has none is 0.
    fn numbers(&self) -> Vec<u32> {
        let options = self.heads.iter().flatten();
        let options = options.filter(|head| matches!(head.column, Column::Option | Column::Next));
        let mut numbers: Vec<u32> = options.map(|head| head.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// Nodes with options that lead on; a row without an id goes on with the node before it.
    fn flow(&self) -> Result<Flow, Fault> {
        let mut flow = Flow::default();
        let mut owners = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            owners.push(self.owner(row, &mut flow, owners.last().copied())?);
            bounded(&flow, row)?;
        }
        // Only now every name is known that an option can lead to.
        let numbers = self.numbers();
        for (row, from) in self.rows.iter().zip(owners) {
            for &number in &numbers {
                let label = self.cells(row, Column::Option, number);
                let next = self.cell(row, Column::Next, number);
                if !label.is_empty() || !next.is_empty() {
                    let to = target(&flow, &next);
                    let id = self.cell(row, Column::OptionId, number);
                    flow.add(from, Way { id, label, to });
                }
            }
        }
        Ok(flow)
    }

    /// The step that a row belongs to, made if the row begins one.
    fn owner(&self, row: &Row, flow: &mut Flow, before: Option<usize>) -> Result<usize, Fault> {
        let id = self.cell(row, Column::Id, 0);
        let text = self.cells(row, Column::Text, 0);
        let title = self.cells(row, Column::Title, 0);
        if id.is_empty() && text.is_empty() && title.is_empty() {
            return before.ok_or_else(|| {
                let message = "this row belongs to no question";
                Fault::new(ProblemCode::Field, place(row.line), message)
            });
        }
        let name = if id.is_empty() {
            (flow.len() + 1).to_string()
        } else {
            id
        };
        match flow.find(&name) {
            Some(step) if Some(step) == before => return Ok(step),
            Some(_) => return Err(twice(row, &name)),
            None => {}
        }
        let number = flow.step(&name);
        let step = flow.at(number);
        step.text = text;
        step.title = title;
        step.keywords = self.cell(row, Column::Keywords, 0);
        Ok(number)
    }

    /// Questions and answers: the questions to choose from, each leading to its answer.
    fn answers(&self) -> Result<Flow, Fault> {
        let mut flow = Flow::default();
        let ids = self.rows.iter().map(|row| self.cell(row, Column::Id, 0));
        let ids: HashSet<String> = ids.collect();
        let mut free = (2..).map(|number| format!("root_{number}"));
        let name = match ids.contains("root") {
            true => free.find(|name| !ids.contains(name)).unwrap_or_default(),
            false => "root".to_owned(),
        };
        let root = flow.step(&name);
        flow.first = Some(root);
        let mut count = 0;
        for row in &self.rows {
            let question = self.cells(row, Column::Text, 0);
            let title = self.cells(row, Column::Title, 0);
            let answer = self.cells(row, Column::Option, 0);
            let label = if question.is_empty() {
                title.clone()
            } else {
                question
            };
            if label.is_empty() {
                continue;
            }
            let id = match self.cell(row, Column::Id, 0) {
                id if id.is_empty() => loop {
                    count += 1;
                    let id = format!("answer_{count}");
                    if !ids.contains(&id) {
                        break id;
                    }
                },
                id if flow.find(&id).is_some() => return Err(twice(row, &id)),
                id => id,
            };
            let node = flow.step(&id);
            let step = flow.at(node);
            step.title = label.clone();
            step.text = answer;
            step.keywords = self.cell(row, Column::Keywords, 0);
            flow.add(
                root,
                Way {
                    id,
                    label,
                    to: To::Step(node),
                },
            );
            bounded(&flow, row)?;
        }
        Ok(flow)
    }
}

/// The step a cell names; words for an end, and nothing at all, end the session.
fn target(flow: &Flow, next: &str) -> To {
    let ends = ["", "-", "end", "null", "none", "stop", "结束", "无"];
    if let Some(step) = flow.find(next) {
        return To::Step(step);
    }
    if ends.contains(&next.to_lowercase().as_str()) {
        return To::End;
    }
    To::Name(next.to_owned())
}
