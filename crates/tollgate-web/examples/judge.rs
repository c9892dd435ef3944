//! Judges extraction on pages whose main text is known: `--data DIR` names a folder of folders, each with `source.html`,
//! `expected.html` and `expected-metadata.json`.
//!
//! Prints how like the expected text ours is, word by word, how many titles agree, and how fast it went. The first measure
//! runs the expected HTML through the writer that wrote ours, so it judges which part of a page was chosen, and not the writer.
//! The second takes the expected words with a small walk of its own that shares nothing with the writer.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for people; what it cannot read it should stop at"
)]

use std::{fs, path::Path, time::Instant};

use tollgate_web::{Method, extract};

/// Beyond this many differing words two texts are just different.
const MOST_DIFFERENT: usize = 4000;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some("--data"), Some(folder)) = (arguments.next().as_deref(), arguments.next()) else {
        println!("skipped: no --data DIR was given");
        return;
    };
    let Ok(folders) = fs::read_dir(&folder) else {
        println!("skipped: {folder} is not there");
        return;
    };
    let mut pages: Vec<_> = folders.map(|entry| entry.unwrap().path()).collect();
    pages.sort();
    pages.retain(|page| page.join("expected.html").is_file());
    let (mut sum, mut alike, mut titles, mut bytes, mut plain) = (0.0, 0, 0, 0, 0);
    let mut apart = 0.0;
    let mut spent = 0.0;
    for page in &pages {
        let read = |name: &str| fs::read_to_string(page.join(name)).unwrap();
        let (source, expected) = (read("source.html"), read("expected.html"));
        let metadata: serde_json::Value =
            serde_json::from_str(&read("expected-metadata.json")).unwrap();
        let start = Instant::now();
        let found = extract(&source, Some("http://fakehost/test/page.html"));
        spent += start.elapsed().as_secs_f64();
        bytes += source.len();
        plain += usize::from(found.method == Method::Whole);
        let wanted = whole(&expected);
        let score = similarity(&words(&found.text), &words(&wanted));
        sum += score;
        alike += usize::from(score >= 0.999);
        apart += similarity(&words(&found.text), &words(&content(&expected)));
        let title = metadata["title"].as_str().unwrap_or_default().trim();
        titles += usize::from(found.title.as_deref().unwrap_or_default() == title);
        if score < 0.99 {
            println!("{score:.4} {}", name(page));
        }
    }
    let count = pages.len().max(1) as f64;
    println!(
        "{} pages: mean similarity {:.4}, at least .999: {alike}, titles as expected: {titles}, without a main part: {plain}",
        pages.len(),
        sum / count
    );
    println!(
        "by a walk apart from the writer: mean similarity {:.4}",
        apart / count
    );
    let megabytes = bytes as f64 / 1e6;
    println!(
        "{megabytes:.1} MB in {spent:.2} s: {:.1} MB/s",
        megabytes / spent
    );
}

fn name(page: &Path) -> String {
    page.file_name().unwrap().to_string_lossy().into_owned()
}

/// What a page says in all, with our own writer: nesting it beyond measure keeps the search for a main part away.
fn whole(html: &str) -> String {
    let page = format!("{}{html}", "<b>".repeat(1001));
    extract(&page, None).text
}

/// The words of well-formed HTML: tags within a line vanish, others part words, and references are read.
fn content(html: &str) -> String {
    const INLINE: [&str; 16] = [
        "a", "abbr", "b", "cite", "code", "em", "font", "i", "kbd", "q", "s", "small", "span",
        "strong", "sub", "sup",
    ];
    let mut made = String::new();
    let mut rest = html;
    while let Some(open) = rest.find('<') {
        made.push_str(&read_references(&rest[..open]));
        let is_comment = rest[open..].starts_with("<!--");
        let end = if is_comment { "-->" } else { ">" };
        let tag = &rest[open..];
        let length = tag.find(end).map_or(tag.len(), |at| at + end.len());
        let name = tag[1..length].trim_start_matches('/');
        let name = name.split(|c: char| !c.is_ascii_alphanumeric()).next();
        if !is_comment && !INLINE.contains(&name.unwrap_or_default()) {
            made.push(' ');
        }
        rest = &tag[length..];
    }
    made.push_str(&read_references(rest));
    made
}

fn read_references(text: &str) -> String {
    let mut made = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        made.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.find(';').filter(|end| *end < 12);
        let read = end.and_then(|end| {
            let name = &rest[1..end];
            let number =
                name.strip_prefix('#')
                    .map(|digits| match digits.strip_prefix(['x', 'X']) {
                        Some(digits) => u32::from_str_radix(digits, 16),
                        None => digits.parse(),
                    });
            match name {
                "amp" => Some('&'),
                "lt" => Some('<'),
                "gt" => Some('>'),
                "quot" => Some('"'),
                "apos" => Some('\''),
                "nbsp" => Some('\u{a0}'),
                _ => char::from_u32(number?.ok()?),
            }
        });
        match (read, end) {
            (Some(c), Some(end)) => {
                made.push(c);
                rest = &rest[end + 1..];
            }
            _ => {
                made.push('&');
                rest = &rest[1..];
            }
        }
    }
    made.push_str(rest);
    made
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

/// Twice the words in common over all words, in order.
fn similarity(a: &[&str], b: &[&str]) -> f64 {
    let total = a.len() + b.len();
    if total == 0 {
        return 1.0;
    }
    1.0 - distance(a, b) as f64 / total as f64
}

/// How many words must be left out or put in to get from one to the other, by Myers's greedy walk.
fn distance(a: &[&str], b: &[&str]) -> usize {
    let most = (a.len() + b.len()).min(MOST_DIFFERENT);
    let middle = most as isize + 1;
    let mut furthest = vec![0_isize; 2 * middle as usize + 1];
    for edits in 0..=most as isize {
        for diagonal in (-edits..=edits).step_by(2) {
            let at = |offset: isize| (middle + diagonal + offset) as usize;
            let down =
                diagonal == -edits || (diagonal != edits && furthest[at(-1)] < furthest[at(1)]);
            let mut x = if down {
                furthest[at(1)]
            } else {
                furthest[at(-1)] + 1
            };
            while (x as usize) < a.len()
                && x >= diagonal
                && ((x - diagonal) as usize) < b.len()
                && a[x as usize] == b[(x - diagonal) as usize]
            {
                x += 1;
            }
            furthest[at(0)] = x;
            if x as usize >= a.len() && x - diagonal >= b.len() as isize {
                return edits as usize;
            }
        }
    }
    a.len() + b.len()
}
