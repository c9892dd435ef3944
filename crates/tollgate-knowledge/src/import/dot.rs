//! Graphviz: nodes, arrows, groups and the labels of all of them.

use super::{
    MAX_DEPTH, bounded, fault,
    flow::{Flow, plain},
    unmarked,
};
use crate::read::Fault;

pub(super) fn read(text: &str) -> Result<Flow, Fault> {
    let mut reader = Reader {
        text,
        at: 0,
        flow: Flow::default(),
    };
    reader.begin()?;
    reader.group(0)?;
    Ok(reader.flow.named())
}

/// The smallest piece of a file.
#[derive(Debug, Clone, PartialEq)]
enum Token {
    Word(String),
    /// Words in quotes or tags are never keywords.
    Quoted(String),
    Arrow,
    Sign(char),
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    flow: Flow,
}

impl Reader<'_> {
    fn wrong<T>(&self, message: impl Into<String>) -> Result<T, Fault> {
        Err(fault(self.text, self.at, message))
    }

    fn begin(&mut self) -> Result<(), Fault> {
        let mut kind = self.next()?;
        if is_word(kind.as_ref(), "strict") {
            kind = self.next()?;
        }
        if !is_word(kind.as_ref(), "digraph") && !is_word(kind.as_ref(), "graph") {
            return self.wrong("expected `digraph` or `graph`");
        }
        match self.next()? {
            Some(Token::Sign('{')) => Ok(()),
            Some(Token::Word(_) | Token::Quoted(_)) => match self.next()? {
                Some(Token::Sign('{')) => Ok(()),
                _ => self.wrong("expected `{`"),
            },
            _ => self.wrong("expected `{`"),
        }
    }

    /// Everything up to the `}` that closes a group; gives the nodes in it.
    fn group(&mut self, depth: usize) -> Result<Vec<usize>, Fault> {
        if depth > MAX_DEPTH {
            return self.wrong(format!("groups are more than {MAX_DEPTH} levels deep"));
        }
        let mut members = Vec::new();
        loop {
            match self.next()? {
                None => return self.wrong("a `}` is missing"),
                Some(Token::Sign('}')) => return Ok(members),
                Some(Token::Sign(';' | ',')) => {}
                Some(Token::Sign('[')) => drop(self.attributes()?),
                Some(token) => self.statement(token, depth, &mut members)?,
            }
        }
    }

    fn statement(
        &mut self,
        first: Token,
        depth: usize,
        members: &mut Vec<usize>,
    ) -> Result<(), Fault> {
        if let Token::Word(word) = &first
            && ["node", "edge", "graph"].contains(&word.to_ascii_lowercase().as_str())
        {
            return Ok(());
        }
        let name = match &first {
            Token::Word(name) | Token::Quoted(name) => Some(name.clone()),
            Token::Arrow | Token::Sign(_) => None,
        };
        if self.peek()? == Some(Token::Sign('=')) {
            self.next()?;
            if let (Some("label"), Some(Token::Word(value) | Token::Quoted(value)), 0) =
                (name.as_deref(), self.next()?, depth)
            {
                self.flow.title = Some(unmarked(&value)).filter(|title| !title.is_empty());
            }
            return Ok(());
        }
        let mut ends = vec![self.end(first, depth)?];
        while self.peek()? == Some(Token::Arrow) {
            self.next()?;
            let Some(token) = self.next()? else {
                return self.wrong("an arrow leads nowhere");
            };
            ends.push(self.end(token, depth)?);
        }
        let attributes = if self.peek()? == Some(Token::Sign('[')) {
            self.next()?;
            self.attributes()?
        } else {
            Vec::new()
        };
        let get = |name: &str| {
            let found = attributes.iter().find(|(key, _)| key == name);
            found.map(|(_, value)| value.as_str())
        };
        if let [nodes] = ends.as_slice()
            && let (Some(label), [node]) = (get("label"), nodes.as_slice())
        {
            let is_record = get("shape").is_some_and(|shape| shape.ends_with("record"));
            let label = if is_record {
                record(label)
            } else {
                unmarked(label)
            };
            self.flow.at(*node).text = plain(&label);
        }
        let label = ["label", "xlabel", "taillabel", "headlabel"]
            .into_iter()
            .find_map(get);
        let label = unmarked(label.unwrap_or_default());
        for pair in ends.windows(2) {
            for &from in &pair[0] {
                for &to in &pair[1] {
                    self.flow.arrow(from, to, &label);
                }
            }
        }
        members.extend(ends.into_iter().flatten());
        bounded(&self.flow, self.text, self.at)
    }

    /// One end of an arrow: a node, or all nodes of a group.
    fn end(&mut self, token: Token, depth: usize) -> Result<Vec<usize>, Fault> {
        match token {
            Token::Sign('{') => self.group(depth + 1),
            Token::Word(word) if word.eq_ignore_ascii_case("subgraph") => {
                let mut token = self.next()?;
                if matches!(token, Some(Token::Word(_) | Token::Quoted(_))) {
                    token = self.next()?;
                }
                match token {
                    Some(Token::Sign('{')) => self.group(depth + 1),
                    _ => self.wrong("expected `{`"),
                }
            }
            Token::Word(name) | Token::Quoted(name) => {
                while self.peek()? == Some(Token::Sign(':')) {
                    self.next()?;
                    self.next()?;
                }
                Ok(vec![self.flow.step(&name)])
            }
            Token::Arrow | Token::Sign(_) => self.wrong("expected the name of a node"),
        }
    }

    /// What stands between brackets, the opening one being passed.
    fn attributes(&mut self) -> Result<Vec<(String, String)>, Fault> {
        let mut found = Vec::new();
        loop {
            match self.next()? {
                None => return self.wrong("a `]` is missing"),
                Some(Token::Sign(']')) => {
                    if self.peek()? != Some(Token::Sign('[')) {
                        return Ok(found);
                    }
                    self.next()?;
                }
                Some(Token::Word(name) | Token::Quoted(name)) => {
                    if self.peek()? == Some(Token::Sign('=')) {
                        self.next()?;
                        if let Some(Token::Word(value) | Token::Quoted(value)) = self.next()? {
                            found.push((name.to_ascii_lowercase(), value));
                        }
                    }
                }
                Some(Token::Arrow | Token::Sign(_)) => {}
            }
        }
    }

    fn peek(&mut self) -> Result<Option<Token>, Fault> {
        let at = self.at;
        let token = self.next();
        self.at = at;
        token
    }

    fn next(&mut self) -> Result<Option<Token>, Fault> {
        self.space()?;
        let rest = &self.text[self.at..];
        let Some(first) = rest.chars().next() else {
            return Ok(None);
        };
        if rest.starts_with("->") || rest.starts_with("--") {
            self.at += 2;
            return Ok(Some(Token::Arrow));
        }
        match first {
            '"' => self.quoted().map(Some),
            '<' => self.tagged().map(Some),
            c if is_part(c) || matches!(c, '-' | '.') => {
                let begin = first.len_utf8();
                let length = rest[begin..].find(|c| !is_part(c) && c != '.');
                let length = length.map_or(rest.len(), |length| begin + length);
                self.at += length;
                Ok(Some(Token::Word(rest[..length].to_owned())))
            }
            sign => {
                self.at += sign.len_utf8();
                Ok(Some(Token::Sign(sign)))
            }
        }
    }

    /// Passes white space and comments.
    fn space(&mut self) -> Result<(), Fault> {
        loop {
            let rest = &self.text[self.at..];
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            let before = self.text[..self.at].trim_end_matches([' ', '\t', '\r']);
            let is_first = before.is_empty() || before.ends_with('\n');
            if trimmed.starts_with("//") || (trimmed.starts_with('#') && is_first) {
                self.at += trimmed.find('\n').unwrap_or(trimmed.len());
            } else if trimmed.starts_with("/*") {
                match trimmed.find("*/") {
                    Some(length) => self.at += length + 2,
                    None => return self.wrong("this comment is never closed"),
                }
            } else {
                return Ok(());
            }
        }
    }

    /// Words in quotes, and more of them behind a `+`.
    fn quoted(&mut self) -> Result<Token, Fault> {
        let mut out = String::new();
        loop {
            self.at += 1;
            let mut characters = self.text[self.at..].char_indices();
            let mut end = None;
            while let Some((at, c)) = characters.next() {
                match c {
                    '"' => {
                        end = Some(at);
                        break;
                    }
                    '\\' => match characters.next() {
                        Some((_, 'n' | 'l' | 'r')) => out.push('\n'),
                        Some((_, '\n')) => {}
                        Some((_, other)) => out.push(other),
                        None => {}
                    },
                    c => out.push(c),
                }
            }
            let Some(end) = end else {
                return self.wrong("a quote is not closed");
            };
            self.at += end + 1;
            let after = self.at;
            self.space()?;
            if !self.text[self.at..].starts_with('+') {
                self.at = after;
                return Ok(Token::Quoted(out));
            }
            self.at += 1;
            self.space()?;
            if !self.text[self.at..].starts_with('"') {
                return self.wrong("expected words in quotes behind `+`");
            }
        }
    }

    /// A label of tags, up to the `>` that closes it.
    fn tagged(&mut self) -> Result<Token, Fault> {
        let mut depth = 0_usize;
        for (at, c) in self.text[self.at..].char_indices() {
            match c {
                '<' => depth += 1,
                '>' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                let inside = self.text[self.at + 1..self.at + at].to_owned();
                self.at += at + 1;
                return Ok(Token::Quoted(inside));
            }
        }
        self.wrong("a `<` is not closed")
    }
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || !c.is_ascii()
}

fn is_word(token: Option<&Token>, word: &str) -> bool {
    matches!(token, Some(Token::Word(found)) if found.eq_ignore_ascii_case(word))
}

/// The text of a record: its cells below each other, without the names of ports.
fn record(label: &str) -> String {
    let mut lines = Vec::new();
    for cell in label.split('|') {
        let cell = cell.trim_matches(['{', '}', ' ']);
        let cell = match (cell.starts_with('<'), cell.split_once('>')) {
            (true, Some((_, text))) => text.trim(),
            _ => cell,
        };
        if !cell.is_empty() {
            lines.push(cell);
        }
    }
    lines.join("\n")
}
