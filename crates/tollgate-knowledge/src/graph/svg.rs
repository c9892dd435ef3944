//! SVG: cards whose lines are the options, with a curve from each line to where it leads.
//!
//! Every text is the author's and is escaped; nothing in the drawing runs or is fetched.

use std::fmt::Write as _;

use super::{Card, Line, Picture, To, layout};

const CARD: f64 = 260.0;
const BETWEEN: f64 = 110.0;
const MARGIN: f64 = 32.0;
const HEADER: f64 = 44.0;
const PADDING: f64 = 12.0;
/// From one line of text to the next.
const STEP: f64 = 17.0;
/// The most lines of what a node says.
const SAID: usize = 4;
/// The most lines of an option.
const LABEL: usize = 2;
/// Room for text on a line, in halves of a wide character.
const ROOM: usize = 35;

/// A card with its text broken into lines.
struct Laid {
    head: Vec<String>,
    says: Vec<String>,
    labels: Vec<Vec<String>>,
    height: f64,
}

pub(super) fn print(picture: &Picture<'_>) -> String {
    let laid: Vec<Laid> = picture.cards.iter().map(lay).collect();
    let heights: Vec<f64> = laid.iter().map(|card| card.height).collect();
    let layout = layout::place(picture, &heights);
    let at = |card: usize| -> (f64, f64) {
        let x = MARGIN + number(layout.column[card]) * (CARD + BETWEEN);
        (x, MARGIN + HEADER + layout.top[card])
    };
    let columns = number(layout.columns.max(1));
    let width = 2.0 * MARGIN + columns * CARD + (columns - 1.0) * BETWEEN + 20.0;
    let height = 2.0 * MARGIN + HEADER + layout.bottom;
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\">"
    );
    let _ = writeln!(out, "<title>{}</title>", escaped(picture.title));
    out.push_str(STYLE);
    let _ = writeln!(out, "<rect class=\"page\" width=\"100%\" height=\"100%\"/>");
    let more = match picture.left_out {
        0 => picture.version.to_owned(),
        count => format!("{} (+{count})", picture.version),
    };
    let _ = writeln!(
        out,
        "<text x=\"{MARGIN}\" y=\"38\" class=\"name\">{}<tspan class=\"faint\" dx=\"10\">{}</tspan></text>",
        escaped(picture.title),
        escaped(&more)
    );
    for is_walked in [false, true] {
        for (card, lines) in picture.cards.iter().map(|card| &card.lines).enumerate() {
            for (number, line) in lines.iter().enumerate() {
                if line.is_walked == is_walked {
                    let (x, y) = at(card);
                    let from = (x + CARD, y + line_at(&laid[card], number));
                    way(&mut out, from, x, line, &at, &laid);
                }
            }
        }
    }
    for &(from, to) in &picture.jumps {
        let (x, y) = at(from);
        let start = (x + CARD, y + PADDING + 10.0);
        curve(&mut out, start, x, at(to), &laid[to], "way walked jump");
    }
    for (number, card) in picture.cards.iter().enumerate() {
        show(&mut out, card, &laid[number], at(number));
    }
    out.push_str("</svg>\n");
    out
}

fn lay(card: &Card<'_>) -> Laid {
    let head = if card.title.is_empty() {
        card.id
    } else {
        card.title
    };
    let head = wrapped(head, ROOM - 4, 2);
    let says = wrapped(card.says, ROOM, SAID);
    let labels: Vec<Vec<String>> = card
        .lines
        .iter()
        .map(|line| match line.label.as_str() {
            "" => vec![String::new()],
            label => wrapped(label, ROOM - 3, LABEL),
        })
        .collect();
    let rows: usize = labels.iter().map(Vec::len).sum();
    let text = number(head.len() + says.len() + rows) * STEP;
    let rules = number(labels.len()) * 8.0;
    Laid {
        head,
        says,
        labels,
        height: text + rules + 2.0 * PADDING + 4.0,
    }
}

/// How far below a card's upper edge one of its lines leaves it.
fn line_at(laid: &Laid, line: usize) -> f64 {
    let text = PADDING + number(laid.head.len() + laid.says.len()) * STEP + 4.0;
    let before: usize = laid.labels.iter().take(line).map(Vec::len).sum();
    let own = laid.labels.get(line).map_or(1, Vec::len);
    text + number(before) * STEP + number(line) * 8.0 + 4.0 + number(own) * STEP / 2.0
}

fn way(
    out: &mut String,
    from: (f64, f64),
    left: f64,
    line: &Line,
    at: &impl Fn(usize) -> (f64, f64),
    laid: &[Laid],
) {
    let walked = if line.is_walked { " walked" } else { "" };
    let (x, y) = from;
    match line.to {
        To::Card(to) => curve(out, from, left, at(to), &laid[to], &format!("way{walked}")),
        To::Return(to) => curve(
            out,
            from,
            left,
            at(to),
            &laid[to],
            &format!("way jump{walked}"),
        ),
        To::End => {
            let _ = writeln!(
                out,
                "<path class=\"way{walked}\" d=\"M{x:.0} {y:.0}h12\"/>\
                 <circle class=\"end{walked}\" cx=\"{:.0}\" cy=\"{y:.0}\" r=\"5\"/>",
                x + 17.0
            );
        }
        To::Nowhere | To::Outside => {
            let (class, sign) = if line.to == To::Nowhere {
                ("broken", "✕")
            } else {
                ("faint", "…")
            };
            let _ = writeln!(
                out,
                "<path class=\"way {class}\" d=\"M{x:.0} {y:.0}h12\"/>\
                 <text class=\"{class}\" x=\"{:.0}\" y=\"{:.0}\">{sign}</text>",
                x + 15.0,
                y + 4.0
            );
        }
    }
}

/// A curve to the left edge of a card; one that leads back goes around below.
fn curve(out: &mut String, from: (f64, f64), left: f64, to: (f64, f64), laid: &Laid, class: &str) {
    let ((x, y), (tx, ty)) = (from, to);
    let ty = ty + PADDING + number(laid.head.len()) * STEP / 2.0;
    let is_back = tx <= left;
    let bend = if is_back {
        70.0
    } else {
        ((tx - x) / 2.0).max(40.0)
    };
    let class = if is_back {
        format!("{class} back")
    } else {
        class.to_owned()
    };
    let (a, b) = (x + bend, tx - bend);
    let _ = writeln!(
        out,
        "<path class=\"{class}\" d=\"M{x:.0} {y:.0}C{a:.0} {y:.0} {b:.0} {ty:.0} {:.0} {ty:.0}\"/>\
         <path class=\"tip {class}\" d=\"M{tx:.0} {ty:.0}l-8 -4v8z\"/>",
        tx - 6.0
    );
}

fn show(out: &mut String, card: &Card<'_>, laid: &Laid, (x, y): (f64, f64)) {
    let mut class = String::from("card");
    if card.is_root {
        class.push_str(" root");
    }
    if !card.visits.is_empty() {
        class.push_str(" been");
    }
    if card.is_here {
        class.push_str(" here");
    }
    let _ = writeln!(
        out,
        "<g><title>{}\n{}</title><rect class=\"{class}\" x=\"{x:.0}\" y=\"{y:.0}\" \
         width=\"{CARD}\" height=\"{:.0}\" rx=\"8\"/>",
        escaped(card.id),
        escaped(card.says),
        laid.height
    );
    let mut line = y + PADDING + 11.0;
    let mut text = |out: &mut String, class: &str, lines: &[String], gap: f64| {
        line += gap;
        for words in lines {
            let _ = writeln!(
                out,
                "<text class=\"{class}\" x=\"{:.0}\" y=\"{line:.0}\">{}</text>",
                x + PADDING,
                escaped(words)
            );
            line += STEP;
        }
    };
    text(out, "head", &laid.head, 0.0);
    text(out, "says", &laid.says, 0.0);
    let mut rule = y + line_at(laid, 0)
        - laid
            .labels
            .first()
            .map_or(0.0, |own| number(own.len()) * STEP / 2.0)
        - 4.0;
    for (number_of, label) in laid.labels.iter().enumerate() {
        let _ = writeln!(out, "<path class=\"rule\" d=\"M{x:.0} {rule:.0}h{CARD}\"/>");
        let is_walked = card.lines.get(number_of).is_some_and(|line| line.is_walked);
        let class = if is_walked { "label chosen" } else { "label" };
        text(out, class, label, 8.0);
        rule += number(label.len()) * STEP + 8.0;
    }
    if !card.visits.is_empty() {
        let visits: Vec<String> = card.visits.iter().map(ToString::to_string).collect();
        let visits = visits.join(", ");
        let wide = 14.0 + 7.0 * number(visits.len());
        let _ = writeln!(
            out,
            "<rect class=\"badge\" x=\"{:.0}\" y=\"{:.0}\" width=\"{wide:.0}\" height=\"20\" rx=\"10\"/>\
             <text class=\"visit\" x=\"{:.0}\" y=\"{:.0}\">{visits}</text>",
            x + CARD - wide - 6.0,
            y - 10.0,
            x + CARD - wide / 2.0 - 6.0,
            y + 4.0
        );
    }
    out.push_str("</g>\n");
}

const STYLE: &str = "<style>\
text{font:13px system-ui,'Noto Sans','Noto Sans CJK SC','PingFang SC','Microsoft YaHei',sans-serif;fill:#111827}\
.page{fill:#f9fafb}.name{font-size:18px;font-weight:600}.faint{font-size:12px;fill:#6b7280}\
.card{fill:#fff;stroke:#cbd5e1;stroke-width:1}.root{stroke:#475569;stroke-width:2}\
.been{stroke:#2563eb;stroke-width:2.5}.here{fill:#dbeafe}\
.head{font-weight:600}.says{fill:#374151;font-size:12.5px}.label{fill:#1f2937;font-size:12.5px}\
.chosen{fill:#1d4ed8;font-weight:600}.rule{stroke:#e5e7eb;fill:none}\
.way{stroke:#94a3b8;stroke-width:1.3;fill:none}.back{stroke-dasharray:4 4;opacity:.7}\
.jump{stroke-dasharray:2 4}.tip{fill:#94a3b8;stroke:none}\
.walked{stroke:#2563eb;stroke-width:3;opacity:1}.tip.walked{fill:#2563eb;stroke:none}\
.end{fill:#64748b;stroke:none}.end.walked{fill:#2563eb}.broken{stroke:#dc2626;fill:#dc2626}\
.badge{fill:#2563eb}.visit{fill:#fff;font-size:12px;text-anchor:middle}\
</style>\n";

/// Lines that fit, the last one cut if there is more.
fn wrapped(text: &str, room: usize, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    'text: for paragraph in text.lines() {
        let (mut line, mut wide) = (String::new(), 0);
        for word in words(paragraph) {
            let size = wideness(word);
            if wide + size > room && wide > 0 {
                lines.push(std::mem::take(&mut line));
                wide = 0;
                if lines.len() > most {
                    break 'text;
                }
            }
            if wide == 0 && word.trim().is_empty() {
                continue;
            }
            line.push_str(word);
            wide += size;
        }
        if !line.trim().is_empty() {
            lines.push(line);
        }
        if lines.len() > most {
            break;
        }
    }
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            last.truncate(last.trim_end().len());
            if last.chars().count() > 2 && wideness(last) + 2 > room {
                last.pop();
            }
            last.push('…');
        }
    }
    lines
}

/// Pieces at whose ends a line may break; a piece never has more than half a line.
fn words(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut count) = (0, 0);
    let mut before: Option<char> = None;
    for (at, c) in text.char_indices() {
        let dense = crate::text::is_dense(c) || before.is_some_and(crate::text::is_dense);
        let is_sign = matches!(
            c,
            '，' | '。' | '、' | '；' | '：' | '！' | '？' | '）' | '”'
        );
        let breaks = before.is_some_and(|before| {
            c.is_whitespace() != before.is_whitespace() || (dense && !is_sign) || count >= ROOM / 2
        });
        if breaks && at > start {
            pieces.push(&text[start..at]);
            (start, count) = (at, 0);
        }
        before = Some(c);
        count += 1;
    }
    pieces.push(&text[start..]);
    pieces
}

/// The room a text takes, in halves of a wide character.
fn wideness(text: &str) -> usize {
    let wide = |c: char| {
        crate::text::is_dense(c)
            || matches!(c, '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ff60}' | '\u{1f300}'..='\u{1faff}')
    };
    text.chars().map(|c| if wide(c) { 2 } else { 1 }).sum()
}

fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// A text as XML takes it; characters it cannot hold are left out.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => out.push(c),
        }
    }
    out
}
