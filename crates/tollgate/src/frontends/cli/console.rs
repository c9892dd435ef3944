//! What people and programs see of the command line.

use std::{
    io::{self, IsTerminal, Write},
    process::ExitCode,
};

use serde::Serialize;
use serde_json::Value;
use tollgate_core::{Payload, Spelled};

use super::{Exit, Stop};

/// Standard output and error, with colour only where a person looks.
pub(crate) struct Console {
    json: bool,
    colour: bool,
    error_colour: bool,
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

    /// Prints rows with aligned columns, the first cell of each painted.
    pub(crate) fn painted_table(
        &self,
        head: &[&str],
        rows: &[Vec<String>],
        paint: impl Fn(usize) -> Option<Paint>,
    ) -> io::Result<()> {
        let clean = |row: &Vec<String>| row.iter().map(|cell| visible(cell)).collect();
        let rows: Vec<Vec<String>> = rows.iter().map(clean).collect();
        let head: Vec<String> = head.iter().map(|cell| visible(cell)).collect();
        let count = head.len();
        let mut widths: Vec<usize> = head.iter().map(|cell| width(cell)).collect();
        for row in &rows {
            for (at, cell) in row.iter().enumerate().take(count) {
                widths[at] = widths[at].max(width(cell));
            }
        }
        let render = |cells: &[String]| {
            let mut text = String::new();
            for (at, cell) in cells.iter().enumerate() {
                text.push_str(cell);
                if at + 1 < cells.len() {
                    let gap = widths
                        .get(at)
                        .copied()
                        .unwrap_or(0)
                        .saturating_sub(width(cell))
                        + 2;
                    text.extend(std::iter::repeat_n(' ', gap));
                }
            }
            text
        };
        if head.iter().any(|cell| !cell.is_empty()) {
            self.line(&self.paint(Paint::Faint, &render(&head)))?;
        }
        for (at, row) in rows.iter().enumerate() {
            let mut line = render(row);
            if let (Some(paint), Some(first)) = (paint(at), row.first()) {
                line.replace_range(..first.len(), &self.paint(paint, first));
            }
            self.line(&line)?;
        }
        Ok(())
    }

    /// Prints a value indented, for people.
    pub(crate) fn pretty(&self, value: &Value) -> io::Result<()> {
        let text = serde_json::to_string_pretty(value).unwrap_or_default();
        self.line(&text)
    }

    /// The same of JSON whose numbers stay as they were written.
    pub(crate) fn pretty_text(&self, payload: &Payload) -> io::Result<()> {
        let spelled = Spelled::of(payload.raw());
        if spelled.is_usual() {
            return self.pretty(payload.value());
        }
        self.line(&indented(&spelled.print(payload.value())))
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

/// JSON without spaces as [`Console::pretty`] prints it.
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

/// Columns a text takes: wide characters take two.
fn width(text: &str) -> usize {
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

    #[test]
    fn columns_are_counted_as_seen() {
        assert_eq!(width("工具"), 4);
    }

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
