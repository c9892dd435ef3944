//! Whether a page is a shell that its scripts fill.
//!
//! A guess, made from what such pages have in common, and made towards "yes": a page that is
//! opened in a browser for nothing costs time, one that is taken for read costs its content.

use super::{Piece, attribute, stream};

/// A page that says more than this says something without its scripts.
const MUCH: usize = 2000;
/// How much of a page is looked at: what is to be filled comes early.
const HEAD: usize = 256 << 10;
/// What a script from elsewhere counts for.
const BUNDLE: usize = 10_000;
/// How much larger than its text scripts are that draw a page.
const LARGER: usize = 100;

/// Elements that are filled by scripts, by their ids.
const ROOTS: &[&str] = &[
    "root",
    "app",
    "__next",
    "__nuxt",
    "___gatsby",
    "app-root",
    "main-app",
    "q-app",
    "svelte",
    "react-root",
    "ember-application",
];

/// Whether scripts seem to draw what matters of a page whose text without them is `text`.
pub(super) fn is_shell(html: &str, text: &str) -> bool {
    if text.len() > MUCH {
        return false;
    }
    let mut seen = Seen::default();
    let head = html.floor_char_boundary(HEAD);
    stream(&html[..head], |piece| seen.take(&piece));
    let asks = seen.noscript.to_lowercase().contains("javascript");
    let is_small = seen.scripts > LARGER * text.len();
    seen.scripts > 0 && (asks || seen.has_empty_root || is_small)
}

#[derive(Default)]
struct Seen {
    /// How much there is of scripts.
    scripts: usize,
    /// What is said to those without them.
    noscript: String,
    has_empty_root: bool,
    is_in_script: bool,
    is_in_noscript: bool,
    /// Whether the last tag was the beginning of a root, and nothing came since.
    is_at_root: bool,
}

impl Seen {
    fn take(&mut self, piece: &Piece<'_>) {
        match piece {
            Piece::Text(text) => {
                if self.is_in_script {
                    self.scripts += text.len();
                } else if self.is_in_noscript && self.noscript.len() < MUCH {
                    self.noscript.push_str(text);
                }
                self.is_at_root &= text.trim().is_empty();
            }
            Piece::Tag(tag) => {
                let name: &str = &tag.name;
                let begins = tag.kind == html5ever::tokenizer::TagKind::StartTag;
                match name {
                    "script" => self.is_in_script = begins && draws(attribute(tag, "type")),
                    "noscript" => self.is_in_noscript = begins,
                    _ => {}
                }
                if name == "script" && self.is_in_script && attribute(tag, "src").is_some() {
                    self.scripts += BUNDLE;
                }
                self.has_empty_root |= self.is_at_root && !begins;
                let id = attribute(tag, "id").unwrap_or_default();
                let is_root = ROOTS.contains(&id) || ROOTS.contains(&name);
                self.is_at_root = begins && is_root && name != "script";
            }
        }
    }
}

/// Whether a script of this type runs; others hold values.
fn draws(kind: Option<&str>) -> bool {
    kind.is_none_or(|kind| {
        let kind = kind.trim().to_ascii_lowercase();
        kind.is_empty() || kind == "module" || kind.ends_with("javascript")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_is_told_by_what_is_empty_and_what_is_asked_for() {
        let shell = "Welcome to the shop of many things. ".repeat(8);
        let story =
            "The ferry leaves the old pier at noon, and comes back before night. ".repeat(9);
        let bundle = "<script type=module src=/main.js></script>";
        for (page, wanted) in [
            (format!("<p>{shell}</p><div id=root></div>{bundle}"), true),
            (
                format!("<p>{shell}</p><app-root> </app-root>{bundle}"),
                true,
            ),
            (
                format!("<p>{shell}</p><noscript>Please turn on JavaScript</noscript>{bundle}"),
                true,
            ),
            (format!("<p>{shell}</p>{}", bundle.repeat(5)), true),
            (
                format!("<p>{shell}</p><script>{}</script>", "draw();".repeat(9000)),
                true,
            ),
            (format!("<p>{shell}</p><div id=root></div>"), false),
            (
                format!("<p>{shell}</p><div id=root><p>{shell}</p></div>{bundle}"),
                false,
            ),
            (
                format!(
                    "<p>{shell}</p><script type=application/ld+json>{}</script>",
                    "x".repeat(90_000)
                ),
                false,
            ),
            (format!("<article>{story}</article>{bundle}"), false),
        ] {
            let text = if page.contains(&story) {
                &story
            } else {
                &shell
            };
            assert_eq!(is_shell(&page, text), wanted, "{page:.400}");
        }
        assert!(!is_shell(
            "<div id=root></div><script src=a></script>",
            &story.repeat(4)
        ));
    }
}
