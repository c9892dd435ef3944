//! Markup to Markdown, text, links and tables, in one pass over its tokens.
//!
//! It needs no tree, so its cost is linear and its memory is that of its output. Tags that do not match are taken as they
//! come: an end without a beginning is nothing.

mod inline;
mod lines;

use std::{cell::RefCell, collections::HashSet};

use html5ever::tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult};
use reqwest::Url;

use super::{
    Image, Link, Section,
    table::{self, Cell, Table},
    tokens::{attribute, reading, run},
};
use inline::{Anchor, CODE, Emphasis, STRESSED, STRONG};
use lines::{guarded, is_block};

/// How deep lists and quotations are shown.
const MAX_INDENT: usize = 12;
/// What was written.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub(super) title: Option<String>,
    pub(super) markdown: String,
    pub(super) text: String,
    pub(super) sections: Vec<Section>,
    pub(super) links: Vec<Link>,
    pub(super) images: Vec<Image>,
    pub(super) tables: Vec<Vec<Vec<String>>>,
}

/// Writes a piece of HTML as Markdown.
pub(super) fn write(html: &str, base: Option<&Url>, most_links: usize) -> Written {
    let sink = Sink(RefCell::new(Writer::new(base.cloned(), most_links)));
    let mut writer = run(html, sink).0.into_inner();
    writer.end_block();
    writer.done()
}

/// The text of a piece of HTML, on one line.
pub(crate) fn plain(html: &str) -> String {
    let written = write(html, None, 0);
    written
        .text
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

struct Sink(RefCell<Writer>);

impl TokenSink for Sink {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        let mut writer = self.0.borrow_mut();
        match token {
            Token::TagToken(tag) => {
                match tag.kind {
                    TagKind::StartTag => writer.open(&tag),
                    TagKind::EndTag => writer.close(&tag.name),
                }
                return reading(&tag);
            }
            Token::CharacterTokens(text) => writer.take(&text),
            Token::DoctypeToken(_)
            | Token::CommentToken(_)
            | Token::NullCharacterToken
            | Token::EOFToken
            | Token::ParseError(_) => {}
        }
        TokenSinkResult::Continue
    }
}

enum Bullet {
    Dash,
    Number(u64),
}

struct Writer {
    base: Option<Url>,
    most_links: usize,
    written: Written,
    seen: HashSet<String>,
    /// The last heading.
    heading: Option<String>,
    /// The block being written, as Markdown and as text.
    block: String,
    line: String,
    /// What stands before the block: a heading's marks or a bullet.
    mark: String,
    lists: Vec<Bullet>,
    quotes: usize,
    /// What is being skipped, and how often it was opened.
    skipping: Option<(String, usize)>,
    title: Option<String>,
    code: Option<String>,
    anchor: Option<Anchor>,
    table: Option<Table>,
    /// Tables within the table, which are read as text.
    inner_tables: usize,
    open: [Emphasis; 3],
}

impl Writer {
    fn new(base: Option<Url>, most_links: usize) -> Self {
        Self {
            base,
            most_links,
            written: Written::default(),
            seen: HashSet::new(),
            heading: None,
            block: String::new(),
            line: String::new(),
            mark: String::new(),
            lists: Vec::new(),
            quotes: 0,
            skipping: None,
            title: None,
            code: None,
            anchor: None,
            table: None,
            inner_tables: 0,
            open: Default::default(),
        }
    }

    fn open(&mut self, tag: &Tag) {
        let name = &*tag.name;
        if let Some((skipped, times)) = &mut self.skipping {
            *times += usize::from(skipped == name && !tag.self_closing);
            return;
        }
        match name {
            "script" | "style" | "template" | "iframe" | "noscript" | "object" | "select"
            | "textarea" | "svg" | "noembed" | "noframes" | "head" | "nav"
                if !tag.self_closing && name != "head" =>
            {
                self.skipping = Some((name.to_owned(), 1));
            }
            _ if self.code.is_some() => self.code_line(name),
            "title" => self.title = Some(String::new()),
            "br" if self.table.is_some() => self.space(),
            "br" => self.line_break(),
            "hr" => {
                self.end_block();
                self.put_block("hr", "---", "");
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.end_block();
                let level = usize::from(name.as_bytes()[1] - b'0');
                self.mark = format!("{} ", "#".repeat(level));
            }
            "ul" | "menu" => self.open_list(Bullet::Dash),
            "ol" => {
                let start = attribute(tag, "start").and_then(|text| text.parse().ok());
                self.open_list(Bullet::Number(start.unwrap_or(1)));
            }
            "li" => self.open_item(),
            "blockquote" => {
                self.end_block();
                self.quotes += 1;
            }
            "pre" if self.table.is_none() => {
                self.end_block();
                self.code = Some(String::new());
            }
            "table" => self.open_table(),
            "tr" => self.open_row(),
            "td" | "th" => self.open_cell(tag),
            "a" => self.open_anchor(tag),
            "img" => self.image(tag),
            "b" | "strong" => self.begin(STRONG),
            "i" | "em" => self.begin(STRESSED),
            "code" => self.begin(CODE),
            "wbr" => {}
            _ if is_block(name) => self.end_block(),
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        if let Some((skipped, times)) = &mut self.skipping {
            if skipped == name {
                *times -= 1;
                if *times == 0 {
                    self.skipping = None;
                }
            }
            return;
        }
        match name {
            "pre" => self.close_code(),
            _ if self.code.is_some() => self.code_line(name),
            "title" => {
                let title = self.title.take().unwrap_or_default();
                let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
                if self.written.title.is_none() && !title.is_empty() {
                    self.written.title = Some(title);
                }
            }
            "ul" | "ol" | "menu" => {
                self.end_block();
                self.lists.pop();
            }
            "blockquote" => {
                self.end_block();
                self.quotes = self.quotes.saturating_sub(1);
            }
            "table" => self.close_table(),
            "a" => self.close_anchor(),
            "b" | "strong" => self.end(STRONG),
            "i" | "em" => self.end(STRESSED),
            "code" => self.end(CODE),
            "td" | "th" => self.close_cell(),
            _ if is_block(name) => self.end_block(),
            _ => {}
        }
    }

    fn take(&mut self, text: &str) {
        if self.skipping.is_some() {
            return;
        }
        if let Some(title) = &mut self.title {
            title.push_str(text);
            return;
        }
        if let Some(code) = &mut self.code {
            code.push_str(text);
            return;
        }
        for (number, word) in text.split([' ', '\n', '\t', '\r', '\u{c}']).enumerate() {
            if number > 0 {
                self.space();
            }
            self.word(word);
        }
    }

    fn word(&mut self, word: &str) {
        if word.is_empty() {
            return;
        }
        self.line.push_str(word);
        let is_code = self.open[CODE].times > 0;
        for c in word.chars() {
            if !is_code && matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>') {
                self.block.push('\\');
            }
            self.block.push(c);
        }
    }

    fn space(&mut self) {
        if let Some(kind) = self.fresh_emphasis() {
            // A space belongs before the mark.
            let from = self.open[kind].from;
            let is_in_anchor = self
                .anchor
                .as_ref()
                .is_some_and(|one| one.markdown_from > from);
            if from > 0 && !is_in_anchor && !self.block[..from].ends_with([' ', '\n']) {
                self.block.insert(from, ' ');
                self.open[kind].from += 1;
            }
        } else if !self.block.is_empty() && !self.block.ends_with([' ', '\n']) {
            self.block.push(' ');
        }
        if !self.line.is_empty() && !self.line.ends_with([' ', '\n']) {
            self.line.push(' ');
        }
    }

    fn line_break(&mut self) {
        if self.block.trim().is_empty() {
            return;
        }
        let kept = self.block.trim_end_matches(' ').len();
        self.block.truncate(kept);
        self.block.push('\n');
        let kept = self.line.trim_end_matches(' ').len();
        self.line.truncate(kept);
        self.line.push('\n');
    }

    fn open_list(&mut self, bullet: Bullet) {
        self.end_block();
        self.lists.push(bullet);
    }

    fn open_item(&mut self) {
        self.end_block();
        self.mark = match self.lists.last_mut() {
            Some(Bullet::Number(next)) => {
                let mark = format!("{next}. ");
                *next += 1;
                mark
            }
            Some(Bullet::Dash) | None => "- ".to_owned(),
        };
    }

    fn open_table(&mut self) {
        if self.table.is_some() {
            self.inner_tables += 1;
            self.space();
            return;
        }
        self.end_block();
        self.table = Some(Table::default());
    }

    fn close_table(&mut self) {
        if self.inner_tables > 0 {
            self.inner_tables -= 1;
            self.space();
            return;
        }
        self.close_cell();
        let Some(table) = self.table.take() else {
            return;
        };
        let is_layout = table.is_layout();
        let rows = table.rows();
        if is_layout {
            for cell in rows.into_iter().flatten() {
                self.put_block("p", &guarded(&cell.markdown), &cell.text);
            }
        } else if !rows.is_empty() {
            let texts: Vec<Vec<String>> = rows
                .iter()
                .map(|row| row.iter().map(|cell| cell.text.clone()).collect())
                .collect();
            let text: Vec<String> = texts.iter().map(|row| row.join("\t")).collect();
            self.put_block("table", &table::markdown(&rows), &text.join("\n"));
            self.written.tables.push(texts);
        }
    }

    fn open_row(&mut self) {
        if self.inner_tables > 0 {
            self.space();
            return;
        }
        self.close_cell();
        match &mut self.table {
            Some(table) => table.open_row(),
            None => self.end_block(),
        }
    }

    fn open_cell(&mut self, tag: &Tag) {
        if self.inner_tables > 0 {
            self.space();
            return;
        }
        self.close_cell();
        let span = |name| attribute(tag, name).and_then(|text| text.trim().parse().ok());
        match &mut self.table {
            Some(table) => table.open_cell(span("colspan"), span("rowspan")),
            None => self.end_block(),
        }
    }

    /// Ends a cell. Text that stands in a table outside of one is a cell, too.
    fn close_cell(&mut self) {
        if self.inner_tables > 0 {
            self.space();
            return;
        }
        if self.table.is_none() {
            self.end_block();
            return;
        }
        self.close_inline();
        let cell = Cell {
            markdown: std::mem::take(&mut self.block).trim().to_owned(),
            text: std::mem::take(&mut self.line).trim().to_owned(),
        };
        if let Some(table) = &mut self.table {
            table.close_cell(cell);
        }
    }

    /// What a tag does to lines that are kept as they are.
    fn code_line(&mut self, name: &str) {
        let Some(code) = &mut self.code else { return };
        let is_between = !code.is_empty() && !code.ends_with('\n');
        if name == "br" || (is_block(name) && is_between) {
            code.push('\n');
        }
    }

    fn close_code(&mut self) {
        let Some(code) = self.code.take() else { return };
        let code = code.trim_matches('\n').trim_end();
        if code.is_empty() {
            return;
        }
        let longest = code.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat((longest + 1).max(3));
        self.put_block("pre", &format!("{fence}\n{code}\n{fence}"), code);
    }

    fn end_block(&mut self) {
        if self.table.is_some() {
            self.space();
            return;
        }
        self.close_inline();
        let block = std::mem::take(&mut self.block);
        let line = std::mem::take(&mut self.line);
        let block = guarded(block.trim());
        if line.trim().is_empty() && !block.contains("](") {
            return;
        }
        self.put_block(self.kind(), &block, line.trim());
    }

    /// The element that the block is in, as its mark and its surroundings tell.
    fn kind(&self) -> &'static str {
        match self.mark.trim_end() {
            "#" => "h1",
            "##" => "h2",
            "###" => "h3",
            "####" => "h4",
            "#####" => "h5",
            "######" => "h6",
            "" if self.quotes > 0 => "blockquote",
            "" => "p",
            _ => "li",
        }
    }

    /// Adds a finished block, within the lists and quotations it stands in.
    fn put_block(&mut self, tag: &'static str, markdown: &str, text: &str) {
        if !text.is_empty() {
            self.written.sections.push(Section {
                tag,
                text: text.to_owned(),
                heading: self.heading.clone(),
            });
        }
        if tag.len() == 2 && tag.starts_with('h') && tag != "hr" {
            self.heading = Some(text.to_owned()).filter(|text| !text.is_empty());
        }
        let mark = std::mem::take(&mut self.mark);
        let is_item = !mark.is_empty() && !mark.starts_with('#');
        let depth = self.lists.len().saturating_sub(1).min(MAX_INDENT);
        let quote = "> ".repeat(self.quotes.min(MAX_INDENT));
        let indent = "   ".repeat(depth);
        let hang = if is_item || self.lists.is_empty() {
            ""
        } else {
            "  "
        };
        let written = &mut self.written;
        if !written.markdown.is_empty() {
            written.markdown.push('\n');
            if !is_item || !self.lists.is_empty() && depth == 0 && markdown.contains('\n') {
                written.markdown.push_str(quote.trim_end());
                written.markdown.push('\n');
            }
        }
        for (number, line) in markdown.lines().enumerate() {
            if number > 0 {
                written.markdown.push('\n');
            }
            written.markdown.push_str(&quote);
            written.markdown.push_str(&indent);
            written.markdown.push_str(hang);
            if number == 0 {
                written.markdown.push_str(&mark);
            } else if is_item {
                written.markdown.push_str("  ");
            }
            written.markdown.push_str(line);
        }
        if !text.is_empty() {
            if !written.text.is_empty() {
                written.text.push_str(if is_item { "\n" } else { "\n\n" });
            }
            written.text.push_str(text);
        }
    }

    fn done(mut self) -> Written {
        self.close_code();
        self.inner_tables = 0;
        self.close_table();
        self.written
    }
}
