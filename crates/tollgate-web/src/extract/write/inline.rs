//! What stands within a line: emphasis, links and pictures.

use html5ever::tokenizer::Tag;
use reqwest::Url;

use super::{
    super::{Image, Link, tokens::attribute},
    Writer,
};

/// The marks of emphasis: strong, stressed, code.
const MARKS: [&str; 3] = ["**", "*", "`"];
pub(super) const STRONG: usize = 0;
pub(super) const STRESSED: usize = 1;
pub(super) const CODE: usize = 2;

/// Emphasis that has begun: how often within itself, and where.
#[derive(Clone, Copy, Default)]
pub(super) struct Emphasis {
    pub(super) times: usize,
    pub(super) from: usize,
}

/// A link that has begun.
pub(super) struct Anchor {
    url: Option<String>,
    pub(super) markdown_from: usize,
    text_from: usize,
}

impl Writer {
    /// Begins emphasis; within itself it is begun already.
    pub(super) fn begin(&mut self, kind: usize) {
        if self.code.is_some() {
            return;
        }
        let open = &mut self.open[kind];
        open.times += 1;
        if open.times == 1 {
            open.from = self.block.len();
            self.block.push_str(MARKS[kind]);
        }
    }

    /// Ends emphasis; around nothing there was none.
    pub(super) fn end(&mut self, kind: usize) {
        let open = &mut self.open[kind];
        if self.code.is_some() || open.times == 0 {
            return;
        }
        open.times -= 1;
        if open.times > 0 {
            return;
        }
        let mark = MARKS[kind];
        if self.block.len() <= open.from + mark.len() {
            self.block.truncate(open.from);
            return;
        }
        let has_space = self.block.ends_with(' ');
        self.block.truncate(self.block.trim_end_matches(' ').len());
        self.block.push_str(mark);
        if has_space {
            self.block.push(' ');
        }
    }

    /// The emphasis that has just begun, if nothing stands in it yet.
    pub(super) fn fresh_emphasis(&self) -> Option<usize> {
        (0..MARKS.len()).find(|kind| {
            let open = &self.open[*kind];
            open.times > 0 && self.block.len() == open.from + MARKS[*kind].len()
        })
    }

    /// Ends every link and emphasis that is open.
    pub(super) fn close_inline(&mut self) {
        self.close_anchor();
        for kind in (0..MARKS.len()).rev() {
            self.open[kind].times = self.open[kind].times.min(1);
            self.end(kind);
        }
    }

    pub(super) fn open_anchor(&mut self, tag: &Tag) {
        self.close_anchor();
        let url = attribute(tag, "href").and_then(|href| self.address(href));
        self.anchor = Some(Anchor {
            url,
            markdown_from: self.block.len(),
            text_from: self.line.len(),
        });
    }

    pub(super) fn close_anchor(&mut self) {
        let Some(anchor) = self.anchor.take() else {
            return;
        };
        let Some(url) = anchor.url else { return };
        let text = self.line.get(anchor.text_from..).unwrap_or_default().trim();
        if text.is_empty() {
            return;
        }
        let may_list = self.written.links.len() < self.most_links;
        if may_list && self.seen.insert(url.clone()) {
            self.written.links.push(Link {
                text: text.to_owned(),
                url: url.clone(),
            });
        }
        let Some(label) = self.block.get(anchor.markdown_from..) else {
            return;
        };
        if label.trim().is_empty() {
            return;
        }
        let lead = label.len() - label.trim_start().len();
        let trail = &label[label.trim_end().len()..];
        let made = format!(
            "{}[{}]({}){trail}",
            &label[..lead],
            label.trim().replace('\n', " "),
            url.replace('(', "%28")
                .replace(')', "%29")
                .replace(' ', "%20"),
        );
        self.block.truncate(anchor.markdown_from);
        self.block.push_str(&made);
    }

    pub(super) fn image(&mut self, tag: &Tag) {
        let words = attribute(tag, "alt").unwrap_or_default();
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let url = attribute(tag, "src").and_then(|src| self.address(src));
        if self.table.is_some() {
            self.word(&words);
        } else if let Some(url) = url.filter(|_| !words.is_empty()) {
            let words = words.replace(['[', ']'], "");
            if self.written.images.len() < self.most_links {
                self.written.images.push(Image {
                    alt: words.clone(),
                    src: url.clone(),
                });
            }
            self.block.push_str(&format!("![{words}]({url})"));
        }
    }

    /// The full address, if it is one of the web.
    fn address(&self, text: &str) -> Option<String> {
        let url = match &self.base {
            Some(base) => base.join(text.trim()).ok()?,
            None => Url::parse(text.trim()).ok()?,
        };
        matches!(url.scheme(), "http" | "https").then(|| url.to_string())
    }
}
