//! A walk that was tried, as a golden conversation.

use std::fmt::Write as _;

use crate::{Session, View, quoted};

/// What was asked and answered so far.
#[derive(Debug, Clone, Default)]
pub struct Transcript {
    text: String,
}

impl Transcript {
    /// Begins with a question and its answer.
    pub fn new(query: &str, session: &Session, view: &View) -> Self {
        let mut transcript = Self::default();
        let query = quoted(query);
        // Writing to a string cannot fail.
        let _ = writeln!(transcript.text, "  - name: {query}\n    query: {query}");
        transcript.expect("    ", session, view);
        transcript.text.push_str("    steps:\n");
        transcript
    }

    /// Adds an option that was chosen, or words that were said, and the answer.
    pub fn step(&mut self, option: &str, input: Option<&str>, session: &Session, view: &View) {
        let _ = match (option, input) {
            ("provide_more_info", Some(words)) => {
                writeln!(self.text, "      - say: {}", quoted(words))
            }
            (option, Some(words)) => writeln!(
                self.text,
                "      - choose: {}\n        input: {}",
                quoted(option),
                quoted(words)
            ),
            (option, None) => writeln!(self.text, "      - choose: {}", quoted(option)),
        };
        self.expect("        ", session, view);
    }

    fn expect(&mut self, indent: &str, session: &Session, view: &View) {
        if session.candidates.is_empty() {
            let _ = writeln!(self.text, "{indent}node: {}", quoted(&session.node));
        }
        if view.is_complete {
            let _ = writeln!(self.text, "{indent}complete: true");
        } else {
            let options: Vec<String> = view.options.iter().map(|offer| quoted(&offer.id)).collect();
            let _ = writeln!(self.text, "{indent}options: [{}]", options.join(", "));
        }
    }

    /// The conversation as a file of its own.
    pub fn file(&self) -> String {
        format!("conversations:\n{}", self.entry())
    }

    /// The conversation as one more entry of a file that has some.
    pub fn entry(&self) -> &str {
        // A list of steps with nothing in it is no list.
        self.text.strip_suffix("    steps:\n").unwrap_or(&self.text)
    }
}
