//! Lines: which elements begin one, and how one is kept from being read as more than text.

/// The longest number that makes a list.
const MOST_DIGITS: usize = 9;

/// A text whose lines begin no heading, list, rule or fence.
pub(super) fn guarded(block: &str) -> String {
    let mut made = String::with_capacity(block.len() + 2);
    for (number, line) in block.split('\n').enumerate() {
        if number > 0 {
            made.push('\n');
        }
        match marked(line) {
            Some(at) => {
                made.push_str(&line[..at]);
                made.push('\\');
                made.push_str(&line[at..]);
            }
            None => made.push_str(line),
        }
    }
    made
}

/// Where the mark stands that would make a line more than text.
fn marked(line: &str) -> Option<usize> {
    let is_followed = |rest: &str| rest.is_empty() || rest.starts_with([' ', '\t']);
    let is_run = |mark: char| line.trim_end().chars().all(|c| c == mark);
    let first = line.chars().next()?;
    match first {
        '#' => {
            let rest = line.trim_start_matches('#');
            (line.len() - rest.len() <= 6 && is_followed(rest)).then_some(0)
        }
        '-' | '+' => {
            let is_rule = line.chars().all(|c| c == '-' || c == ' ');
            (is_followed(&line[1..]) || is_rule).then_some(0)
        }
        '=' => is_run('=').then_some(0),
        '~' => line.starts_with("~~~").then_some(0),
        '0'..='9' => {
            let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
            let digits = line.len() - rest.len();
            let is_mark = rest.starts_with(['.', ')']) && is_followed(&rest[1..]);
            (is_mark && digits <= MOST_DIGITS).then_some(digits)
        }
        _ => None,
    }
}

/// Whether an element begins a line of its own.
pub(super) fn is_block(name: &str) -> bool {
    matches!(
        name,
        "address"
            | "article"
            | "aside"
            | "body"
            | "caption"
            | "center"
            | "dd"
            | "details"
            | "dialog"
            | "div"
            | "dl"
            | "dt"
            | "fieldset"
            | "figcaption"
            | "figure"
            | "footer"
            | "form"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "header"
            | "hgroup"
            | "li"
            | "main"
            | "p"
            | "pre"
            | "section"
            | "summary"
            | "tbody"
            | "thead"
            | "tfoot"
            | "tr"
            | "video"
            | "audio"
    )
}

#[cfg(test)]
mod tests {
    use super::guarded;

    #[test]
    fn text_stays_text() {
        for (text, written) in [
            ("# not a heading", "\\# not a heading"),
            ("####### seven", "####### seven"),
            ("#hash", "#hash"),
            ("- not a list", "\\- not a list"),
            ("+ nor this", "\\+ nor this"),
            ("-5 degrees", "-5 degrees"),
            ("---", "\\---"),
            ("title\n===", "title\n\\==="),
            ("1. nor this", "1\\. nor this"),
            ("12) nor this", "12\\) nor this"),
            ("1.5 litres", "1.5 litres"),
            ("2026. ", "2026\\. "),
            ("~~~ fence", "\\~~~ fence"),
            ("a\n# b", "a\n\\# b"),
            ("", ""),
        ] {
            assert_eq!(guarded(text), written);
        }
    }
}
