//! The shape of a page, told from its bytes before any parser sees it: how deep it nests, and how many attributes a tag has.
//!
//! Parsers of HTML pay for both with the square of the number. People write neither many hundreds of levels nor of attributes.

/// Elements that hold nothing, or that the next of their kind ends.
const NOT_NESTING: &[&str] = &[
    "area", "base", "body", "br", "col", "colgroup", "dd", "dt", "embed", "head", "hr", "html",
    "img", "input", "li", "link", "meta", "optgroup", "option", "p", "param", "rp", "rt", "source",
    "tbody", "td", "tfoot", "th", "thead", "tr", "track", "wbr",
];
/// Elements whose content is no markup.
const RAW: &[&str] = &["script", "style", "textarea", "title"];

/// The shape of a page; the depth errs on the high side.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Shape {
    pub(super) depth: usize,
    pub(super) attributes: usize,
}

/// Looks at a page.
pub(super) fn shape(html: &str) -> Shape {
    let mut shape = Shape::default();
    let mut now = 0_usize;
    // In drawings and formulas nothing is raw.
    let mut foreign = [0_usize; 2];
    walk(html, |piece| {
        let Piece::Tag {
            name,
            is_end,
            attributes,
        } = piece
        else {
            return false;
        };
        let is_in = |list: &[&str]| list.iter().any(|known| known.eq_ignore_ascii_case(name));
        shape.attributes = shape.attributes.max(attributes);
        for (kind, count) in ["svg", "math"].into_iter().zip(&mut foreign) {
            if kind.eq_ignore_ascii_case(name) {
                *count = if is_end {
                    count.saturating_sub(1)
                } else {
                    *count + 1
                };
            }
        }
        if is_in(NOT_NESTING) {
            return false;
        }
        if is_end {
            now = now.saturating_sub(1);
        } else if foreign == [0, 0] && is_in(RAW) {
            return true;
        } else {
            now += 1;
            shape.depth = shape.depth.max(now);
        }
        false
    });
    shape
}

/// The words between the tags, for pages that no parser should see.
pub(super) fn strip(html: &str) -> String {
    let mut made = String::new();
    walk(html, |piece| match piece {
        Piece::Text(text) => {
            made.push_str(text);
            made.push(' ');
            false
        }
        Piece::Tag { name, is_end, .. } => {
            !is_end && RAW.iter().any(|known| known.eq_ignore_ascii_case(name))
        }
    });
    made.split_whitespace().collect::<Vec<_>>().join(" ")
}

enum Piece<'a> {
    Text(&'a str),
    Tag {
        name: &'a str,
        is_end: bool,
        attributes: usize,
    },
}

/// Goes over tags and texts; what follows a tag is skipped to its end tag if `each` says that it is raw.
fn walk<'a>(html: &'a str, mut each: impl FnMut(Piece<'a>) -> bool) {
    let bytes = html.as_bytes();
    let (mut at, mut text_from) = (0, 0);
    while let Some(found) = html[at..].find('<') {
        let open = at + found;
        let is_end = bytes.get(open + 1) == Some(&b'/');
        let start = open + 1 + usize::from(is_end);
        at = match bytes.get(start) {
            Some(first) if first.is_ascii_alphabetic() => {
                each(Piece::Text(&html[text_from..open]));
                let length = name_length(&bytes[start..]);
                let (end, attributes) = tag_end(bytes, start + length);
                let name = &html[start..start + length];
                let is_raw = each(Piece::Tag {
                    name,
                    is_end,
                    attributes,
                });
                let skipped = if is_raw {
                    raw_end(&bytes[end..], name)
                } else {
                    0
                };
                text_from = end + skipped;
                end + skipped
            }
            Some(b'!' | b'?' | b'/') => {
                each(Piece::Text(&html[text_from..open]));
                text_from = open + comment_length(&html[open..]);
                text_from
            }
            _ => open + 1,
        };
    }
    each(Piece::Text(&html[text_from..]));
}

/// A name goes on to the next space, slash or end of the tag.
fn name_length(bytes: &[u8]) -> usize {
    let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>');
    bytes.iter().position(ends).unwrap_or(bytes.len())
}

/// How long a comment is, or what is read like one.
fn comment_length(text: &str) -> usize {
    let Some(inner) = text.strip_prefix("<!--") else {
        return text.find('>').map_or(text.len(), |end| end + 1);
    };
    if inner.starts_with('>') || inner.starts_with("->") {
        return text.len() - inner.len() + usize::from(inner.starts_with('-')) + 1;
    }
    let mut at = 0;
    while let Some(found) = inner[at..].find("--") {
        at += found;
        for end in ["-->", "--!>"] {
            if inner[at..].starts_with(end) {
                return 4 + at + end.len();
            }
        }
        at += 1;
    }
    text.len()
}

/// Where a tag ends and how many attributes it has, as the standard reads it.
fn tag_end(bytes: &[u8], from: usize) -> (usize, usize) {
    let mut at = from;
    let mut attributes = 0;
    let is_space = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_whitespace);
    loop {
        while is_space(at) || bytes.get(at) == Some(&b'/') {
            at += 1;
        }
        match bytes.get(at) {
            None => return (bytes.len(), attributes),
            Some(b'>') => return (at + 1, attributes),
            Some(_) => {}
        }
        attributes += 1;
        at += 1;
        while !is_space(at) && !matches!(bytes.get(at), None | Some(b'/' | b'>' | b'=')) {
            at += 1;
        }
        while is_space(at) {
            at += 1;
        }
        if bytes.get(at) != Some(&b'=') {
            continue;
        }
        at += 1;
        while is_space(at) {
            at += 1;
        }
        match bytes.get(at) {
            Some(quote @ (b'"' | b'\'')) => {
                let rest = &bytes[at + 1..];
                let length = rest.iter().position(|byte| byte == quote);
                at += 2 + length.unwrap_or(rest.len());
                at = at.min(bytes.len());
            }
            _ => {
                while !is_space(at) && !matches!(bytes.get(at), None | Some(b'>')) {
                    at += 1;
                }
            }
        }
    }
}

/// How far it is to the end of an element whose content is no markup.
fn raw_end(bytes: &[u8], name: &str) -> usize {
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(2).position(|pair| pair == b"</") {
        at += found;
        let rest = &bytes[at + 2..];
        if rest.len() >= name.len() && rest[..name.len()].eq_ignore_ascii_case(name.as_bytes()) {
            return at;
        }
        at += 2;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth(html: &str) -> usize {
        shape(html).depth
    }

    #[test]
    fn depth_is_told_without_a_tree() {
        assert_eq!(depth("<div><p>a<p>b<br></div><span>x</span>"), 1);
        assert_eq!(depth("<script>'<div><div><div>'</script><b><i>"), 2);
        assert_eq!(depth("<SCRIPT><div></scrip></ScRiPt ><b>"), 1);
        assert_eq!(depth("<!-- <div><div> --><b>é<"), 1);
        assert_eq!(depth("<!--><div><div>--><b>"), 3);
        assert_eq!(depth("<!-- --!><div><div>--><b>"), 3);
        assert_eq!(depth("<p title='<div><div>'><b>"), 1);
        assert_eq!(depth("<svg><title><div><div></title></svg>"), 3 + 1);
        assert_eq!(depth("a < b </ > <"), 0);
        assert_eq!(depth(&"<div>".repeat(5000)), 5000);
        assert_eq!(depth("<style><div>"), 0);
    }

    #[test]
    fn attributes_are_counted_as_the_standard_reads_them() {
        for (html, count) in [
            ("<p>", 0),
            ("<p a b=1 c='x y' d=\"z>\" e = f/>", 5),
            ("<p a=b\"c d\">", 2),
            ("<p a=></p>", 1),
            ("<p =x =y>", 1),
            ("<p a='unclosed b c d>", 1),
        ] {
            assert_eq!(shape(html).attributes, count, "{html}");
        }
    }

    #[test]
    fn words_are_left_when_tags_are_gone() {
        let html = "<title>No</title>One <b x='>'>two</b><!-- three --><script>four</script> 5 < 6";
        assert_eq!(strip(html), "One two 5 < 6");
    }
}
