//! The tokens of a page: its tags and texts, in order, without a tree.

use std::cell::RefCell;

use html5ever::{
    tendril::StrTendril,
    tokenizer::{
        BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
        states::RawKind,
    },
};

/// Runs a function over the tags and texts of a page.
pub(crate) fn stream(html: &str, each: impl FnMut(Piece<'_>)) {
    drop(run(html, Watcher(RefCell::new(each))));
}

/// A tag or a text.
pub(crate) enum Piece<'a> {
    /// A tag.
    Tag(&'a Tag),
    /// A text, as it came.
    Text(&'a str),
}

/// Runs the tokenizer over a page; gives the sink back.
pub(super) fn run<S: TokenSink>(html: &str, sink: S) -> S {
    let queue = BufferQueue::default();
    queue.push_back(StrTendril::from_slice(html));
    let tokenizer = Tokenizer::new(sink, TokenizerOpts::default());
    // It stops early only for scripts, which our sinks never report.
    drop(tokenizer.feed(&queue));
    tokenizer.end();
    tokenizer.sink
}

/// How the content of an element is to be read.
pub(super) fn reading<H>(tag: &Tag) -> TokenSinkResult<H> {
    if tag.kind == TagKind::EndTag || tag.self_closing {
        return TokenSinkResult::Continue;
    }
    match &*tag.name {
        "script" => TokenSinkResult::RawData(RawKind::ScriptData),
        "style" | "xmp" | "iframe" | "noembed" | "noframes" | "noscript" => {
            TokenSinkResult::RawData(RawKind::Rawtext)
        }
        "title" | "textarea" => TokenSinkResult::RawData(RawKind::Rcdata),
        _ => TokenSinkResult::Continue,
    }
}

struct Watcher<F>(RefCell<F>);

impl<F: FnMut(Piece<'_>)> TokenSink for Watcher<F> {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        let each = &mut *self.0.borrow_mut();
        match token {
            Token::TagToken(tag) => {
                each(Piece::Tag(&tag));
                return reading(&tag);
            }
            Token::CharacterTokens(text) => each(Piece::Text(&text)),
            Token::DoctypeToken(_)
            | Token::CommentToken(_)
            | Token::NullCharacterToken
            | Token::EOFToken
            | Token::ParseError(_) => {}
        }
        TokenSinkResult::Continue
    }
}

/// The value of an attribute.
pub(crate) fn attribute<'a>(tag: &'a Tag, name: &str) -> Option<&'a str> {
    let found = tag.attrs.iter().find(|one| &*one.name.local == name)?;
    Some(&found.value)
}
