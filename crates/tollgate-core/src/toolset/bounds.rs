//! How long the texts and lists may be that our own tools take, by kind.
//!
//! Every input text and list has a bound (a contract test holds that), and one that means the
//! same has the same bound everywhere. Bounds keep out what cannot be meant; what a tool can do
//! with a value is its own to say.

/// An id, a cursor or a key that an earlier answer gave.
pub const ID: usize = 200;
/// The name of a tool, a profile or the like, and a point in time.
pub const NAME: usize = 200;
/// A title.
pub const TITLE: usize = 2000;
/// A question, a search, or a message, in words.
pub const WORDS: usize = 8000;
/// A CSS selector.
pub const SELECTOR: usize = 1000;
/// An address.
pub const URL: usize = 8192;
/// A body of text: the largest message an operator can allow; the message itself is bounded
/// before anything reads it.
pub const TEXT: usize = 256 << 20;
/// A list of things that are named one by one.
pub const ITEMS: usize = 10_000;
