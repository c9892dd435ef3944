//! The tags of a page, told from its bytes before any parser sees them: how many attributes they have, and the words between.
//!
//! Parsers pay for attributes with the square of their number, and people do not write many hundreds.

/// Elements whose content is no markup.
const RAW: &[&str] = &["script", "style", "textarea", "title"];

/// The most attributes that a tag of the page has, if it is read as its author most likely meant it.
pub(super) fn attributes(html: &str) -> usize {
    let mut most = 0;
    walk(html, |piece| match piece {
        Piece::Text(_) => false,
        Piece::Tag {
            name,
            is_end,
            attributes,
        } => {
            most = most.max(attributes);
            !is_end && is_raw(name)
        }
    });
    most
}

fn is_raw(name: &str) -> bool {
    RAW.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Where in a tag a reader is.
const NAME: usize = 0;
const BEFORE: usize = 1;
const ATTRIBUTE: usize = 2;
const AFTER: usize = 3;
const VALUE: usize = 4;
const DOUBLE: usize = 5;
const SINGLE: usize = 6;
const BARE: usize = 7;

/// No tag has more attributes than this, wherever in the page a parser takes a tag to begin: within comments and scripts, too.
///
/// All readings are followed at once. Two that come to the same state go on as the one that has counted more, so the cost is
/// that of one pass.
pub(super) fn attributes_anywhere(html: &str) -> usize {
    let bytes = html.as_bytes();
    let mut counts: Readings = [None; 8];
    let mut most = 0;
    let mut at = 0;
    while at < bytes.len() {
        let is_any = match alive(&counts) {
            Alive::None => {
                let Some(found) = memchr::memchr(b'<', &bytes[at..]) else {
                    break;
                };
                at += found;
                false
            }
            // Nearly always there is one, which is followed by itself to where another may begin.
            Alive::One(state, count) => {
                counts = [None; 8];
                let Some((state, count)) = follow(bytes, &mut at, state, count, &mut most) else {
                    continue;
                };
                counts[state] = Some(count);
                if at == bytes.len() {
                    break;
                }
                true
            }
            Alive::Several => true,
        };
        let byte = bytes[at];
        if is_any {
            let mut next: Readings = [None; 8];
            for (state, count) in counts.iter().enumerate() {
                if let Some(count) = *count
                    && let Some(to) = step(state, byte)
                {
                    let begins = to == ATTRIBUTE && state != ATTRIBUTE;
                    let count = count + usize::from(begins);
                    most = most.max(count);
                    next[to] = next[to].max(Some(count));
                }
            }
            counts = next;
        }
        if byte == b'<' {
            let is_end = bytes.get(at + 1) == Some(&b'/');
            let first = bytes.get(at + 1 + usize::from(is_end));
            if first.is_some_and(u8::is_ascii_alphabetic) {
                counts[NAME] = counts[NAME].max(Some(0));
                // The slash of an end tag is no part of what follows.
                at += usize::from(is_end);
            }
        }
        at += 1;
    }
    most
}

/// How many attributes were counted by whoever is in each state.
type Readings = [Option<usize>; 8];

/// How many readings go on.
enum Alive {
    None,
    One(usize, usize),
    Several,
}

fn alive(counts: &Readings) -> Alive {
    let mut known = counts
        .iter()
        .enumerate()
        .filter_map(|(state, count)| Some((state, (*count)?)));
    match (known.next(), known.next()) {
        (None, _) => Alive::None,
        (Some((state, count)), None) => Alive::One(state, count),
        (Some(_), Some(_)) => Alive::Several,
    }
}

/// Follows one reading to the next place where a tag may begin, or to the end of its own.
fn follow(
    bytes: &[u8],
    at: &mut usize,
    state: usize,
    count: usize,
    most: &mut usize,
) -> Option<(usize, usize)> {
    let (mut state, mut count) = (state, count);
    while let Some(byte) = bytes.get(*at).filter(|byte| **byte != b'<') {
        *at += 1;
        let to = step(state, *byte)?;
        count += usize::from(to == ATTRIBUTE && state != ATTRIBUTE);
        *most = (*most).max(count);
        state = to;
    }
    Some((state, count))
}

/// The state after a byte, as the standard has it; none where the tag ends.
fn step(state: usize, byte: u8) -> Option<usize> {
    let is_space = byte.is_ascii_whitespace();
    let to = match (state, byte) {
        (DOUBLE, b'"') | (SINGLE, b'\'') => BEFORE,
        (DOUBLE | SINGLE, _) => state,
        (_, b'>') => return None,
        (BARE, _) if is_space => BEFORE,
        (BARE, _) => BARE,
        (VALUE, b'"') => DOUBLE,
        (VALUE, b'\'') => SINGLE,
        (VALUE, _) if is_space => VALUE,
        (VALUE, _) => BARE,
        (_, b'/') => BEFORE,
        (NAME, _) if is_space => BEFORE,
        (NAME, _) => NAME,
        (ATTRIBUTE | AFTER, b'=') => VALUE,
        (ATTRIBUTE | AFTER, _) if is_space => AFTER,
        (BEFORE, _) if is_space => BEFORE,
        _ => ATTRIBUTE,
    };
    Some(to)
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
        Piece::Tag { name, is_end, .. } => !is_end && is_raw(name),
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
            assert_eq!(attributes(html), count, "{html}");
            assert_eq!(attributes_anywhere(html), count, "{html}");
        }
    }

    #[test]
    fn attributes_are_found_wherever_a_tag_may_begin() {
        let hidden = " a b c d e f g h";
        for (html, seen) in [
            (format!("<xmp><!--</xmp><p{hidden}>-->"), 0),
            (format!("<svg><style><p{hidden}></style>"), 0),
            (format!("<a title='<p{hidden}>'>"), 1),
            (format!("<i x=\"'></i{hidden}>"), 1),
        ] {
            assert_eq!(attributes(&html), seen, "{html}");
            assert!(attributes_anywhere(&html) >= 8, "{html}");
        }
        let script = "<script>for(i=0;i<n;i++){say('a b c')} if(a>b) {}</script>".repeat(100);
        assert!(attributes_anywhere(&script) < 10);
    }

    #[test]
    fn words_are_left_when_tags_are_gone() {
        let html = "<title>No</title>One <b x='>'>two</b><!-- three --><script>four</script> 5 < 6";
        assert_eq!(strip(html), "One two 5 < 6");
    }
}
