//! What people and programs see of the command line.

mod readable;
mod table;

use std::{
    io::{self, IsTerminal, Write},
    process::ExitCode,
};

use serde::Serialize;
use serde_json::Value;
use tollgate_core::{Payload, Spelled};
use tollgate_sanitize::disarmed;

use super::{Exit, Stop};

/// Standard output and error, with colour only where a person looks.
pub(crate) struct Console {
    json: bool,
    colour: bool,
    error_colour: bool,
    /// The width that lines for people are fitted to; none where nobody looks.
    width: Option<usize>,
}

/// Where there may be colour at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colour {
    OnTerminals,
    Nowhere,
}

/// How a word is painted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Paint {
    Good,
    Bad,
    Warn,
    Faint,
    Strong,
}

impl Paint {
    const fn code(self) -> &'static str {
        match self {
            Self::Good => "32",
            Self::Bad => "31",
            Self::Warn => "33",
            Self::Faint => "2",
            Self::Strong => "1",
        }
    }
}

impl Console {
    /// `colour` says whether the user wants any where a person looks.
    pub(crate) fn new(json: bool, colour: Colour) -> Self {
        let wanted = colour == Colour::OnTerminals;
        let error_colour = wanted && io::stderr().is_terminal();
        Self {
            json,
            // Beside JSON, lines are notes.
            colour: if json {
                error_colour
            } else {
                wanted && io::stdout().is_terminal()
            },
            error_colour,
            width: terminal_width(),
        }
    }

    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Prints one JSON document, as `--json` promises.
    pub(crate) fn json<T: Serialize + ?Sized>(&self, value: &T) -> io::Result<()> {
        let mut out = io::stdout().lock();
        serde_json::to_writer(&mut out, value)?;
        out.write_all(b"\n")?;
        out.flush()
    }

    /// Prints one line for people; beside JSON it is a note.
    pub(crate) fn line(&self, text: &str) -> io::Result<()> {
        if self.json {
            self.note(text);
            return Ok(());
        }
        let mut out = io::stdout().lock();
        writeln!(out, "{text}")
    }

    /// Says something beside the answer.
    pub(crate) fn note(&self, text: &str) {
        drop(writeln!(io::stderr().lock(), "{text}"));
    }

    /// A word of a line, painted if a person looks.
    pub(crate) fn paint(&self, paint: Paint, text: &str) -> String {
        painted(self.colour, paint, text)
    }

    /// A word of a note, painted if a person looks.
    pub(crate) fn paint_note(&self, paint: Paint, text: &str) -> String {
        painted(self.error_colour, paint, text)
    }

    /// Prints rows with aligned columns; whatever a cell holds stays in it.
    pub(crate) fn table(&self, head: &[&str], rows: &[Vec<String>]) -> io::Result<()> {
        self.painted_table(head, rows, |_| None)
    }

    /// The same where some columns can be left out on a narrow terminal, the first one first.
    pub(crate) fn table_with_optional(
        &self,
        head: &[&str],
        rows: &[Vec<String>],
        optional: &[&str],
    ) -> io::Result<()> {
        self.fitted(head, rows, optional, |_| None)
    }

    /// Prints rows with aligned columns, the first cell of each painted.
    pub(crate) fn painted_table(
        &self,
        head: &[&str],
        rows: &[Vec<String>],
        paint: impl Fn(usize) -> Option<Paint>,
    ) -> io::Result<()> {
        self.fitted(head, rows, &[], paint)
    }

    fn fitted(
        &self,
        head: &[&str],
        rows: &[Vec<String>],
        optional: &[&str],
        paint: impl Fn(usize) -> Option<Paint>,
    ) -> io::Result<()> {
        let clean = |row: &Vec<String>| row.iter().map(|cell| visible(cell)).collect();
        let rows: Vec<Vec<String>> = rows.iter().map(clean).collect();
        let head: Vec<String> = head.iter().map(|cell| visible(cell)).collect();
        let table = table::render(&head, &rows, self.width, optional);
        if let Some(head) = &table.head {
            self.line(&self.paint(Paint::Faint, head))?;
        }
        for (at, lines) in table.rows.into_iter().enumerate() {
            for (row_line, mut line) in lines.into_iter().enumerate() {
                let first = rows.get(at).and_then(|row| row.first());
                if row_line == 0
                    && let (Some(paint), Some(first)) = (paint(at), first)
                    && line.starts_with(first.as_str())
                {
                    line.replace_range(..first.len(), &self.paint(paint, first));
                }
                self.line(&line)?;
            }
        }
        if !table.left_out.is_empty() {
            let names = table.left_out.join(", ");
            let line = format!("left out: {names} (a wider terminal or --json shows more)");
            self.note(&self.paint_note(Paint::Faint, &line));
        }
        Ok(())
    }

    /// Prints a text of several words, broken into lines that fit.
    pub(crate) fn paragraph(&self, text: &str) -> io::Result<()> {
        for line in table::paragraph(&visible(text), self.width) {
            self.line(&line)?;
        }
        Ok(())
    }

    /// Prints a shell command, indented, broken into lines that fit and can be pasted.
    pub(crate) fn command(&self, text: &str) -> io::Result<()> {
        for line in table::command(&visible(text), self.width) {
            self.line(&line)?;
        }
        Ok(())
    }

    /// Prints a value as names and values, lists as tables, and texts as they are, except that
    /// what would run or load something where it is rendered does not.
    pub(crate) fn readable(&self, value: &Value) -> io::Result<()> {
        for line in readable::lines(&harmless(value), self.width) {
            self.line(&line)?;
        }
        Ok(())
    }

    /// The same of JSON; where numbers would not stay as they were written, it is indented instead.
    pub(crate) fn readable_text(&self, payload: &Payload) -> io::Result<()> {
        let spelled = Spelled::of(payload.raw());
        if spelled.is_usual() {
            return self.readable(payload.value());
        }
        self.line(&disarmed(&indented(&spelled.print(payload.value()))))
    }

    pub(crate) fn fail(&self, exit: Exit, message: &str) -> ExitCode {
        self.stop(&Stop {
            exit,
            lines: vec![message.to_owned()],
        })
    }

    pub(crate) fn stop(&self, stop: &Stop) -> ExitCode {
        let word = self.paint_note(Paint::Bad, "error:");
        for (at, line) in stop.lines.iter().enumerate() {
            let line = visible_lines(line);
            if at == 0 {
                self.note(&format!("{word} {line}"));
            } else {
                self.note(&line);
            }
        }
        stop.exit.into()
    }
}

/// JSON without spaces as `serde_json` indents it.
pub(crate) fn indented(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let mut depth = 0_usize;
    let (mut quoted, mut escaped) = (false, false);
    let mut rest = text.chars().peekable();
    let turn = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    };
    while let Some(c) = rest.next() {
        if quoted {
            quoted = escaped || c != '"';
            escaped = !escaped && c == '\\';
            out.push(c);
            continue;
        }
        match c {
            '{' | '[' => {
                out.push(c);
                if let Some(end) = rest.next_if(|next| matches!(next, '}' | ']')) {
                    out.push(end);
                } else {
                    depth += 1;
                    turn(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                turn(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                turn(&mut out, depth);
            }
            ':' => out.push_str(": "),
            _ => {
                quoted = c == '"';
                out.push(c);
            }
        }
    }
    out
}

/// A value whose texts run and load nothing wherever they are rendered.
fn harmless(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(disarmed(text).into_owned()),
        Value::Array(items) => items.iter().map(harmless).collect(),
        Value::Object(fields) => {
            let safe =
                |(name, value): (&String, &Value)| (disarmed(name).into_owned(), harmless(value));
            Value::Object(fields.iter().map(safe).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Like [`visible`], but messages of several lines stay so.
pub(crate) fn visible_lines(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(visible).collect();
    lines.join("\n")
}

fn painted(colour: bool, paint: Paint, text: &str) -> String {
    if colour {
        format!("\u{1b}[{}m{text}\u{1b}[0m", paint.code())
    } else {
        text.to_owned()
    }
}

/// A text on one line, with everything spelled out that would move or hide text on a
/// terminal: names come from agents, and people decide by what they see.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\u{61c}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{e0000}'..='\u{e007f}' => shown.extend(c.escape_unicode()),
            _ if c.is_control() => shown.extend(c.escape_default()),
            _ => shown.push(c),
        }
    }
    shown
}

/// How many columns the terminal at stdout has; nothing is fitted where output goes elsewhere.
fn terminal_width() -> Option<usize> {
    let out = io::stdout();
    let columns = rustix::termios::tcgetwinsize(&out).ok()?.ws_col;
    (columns > 0).then(|| usize::from(columns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_indented_as_usual_whatever_is_in_it() {
        for value in [
            serde_json::json!({"a": [], "b": {}, "c": [1, {"d": "x\\"}, "\"[,:{"], "e:": null}),
            serde_json::json!([[[1, 2], [{}]], ""]),
            serde_json::json!(5),
        ] {
            let wanted = serde_json::to_string_pretty(&value).unwrap();
            assert_eq!(indented(&value.to_string()), wanted);
        }
    }

    #[test]
    fn nothing_moves_or_hides_on_the_terminal() {
        assert_eq!(visible("工具 ok"), "工具 ok");
        assert_eq!(visible("a\u{1b}[2J\r\nb"), r"a\u{1b}[2J\r\nb");
        assert_eq!(visible("a\u{202e}b\u{200b}"), r"a\u{202e}b\u{200b}");
    }
}
