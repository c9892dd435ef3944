//! From text to an expression: words first, then precedence.

use serde_json::Value;

use super::{Comparison, Expression, Function, Segment};

const MAX_DEPTH: usize = 24;
const MAX_CHARACTERS: usize = 2000;

#[derive(Debug, Clone, PartialEq)]
enum Word {
    Name(String),
    Text(String),
    Number(serde_json::Number),
    Sign(&'static str),
}

const SIGNS: [&str; 16] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "(", ")", "[", "]", ".", ",", "-",
];

pub(super) fn parse(text: &str) -> Result<Expression, String> {
    if text.chars().count() > MAX_CHARACTERS {
        return Err(format!(
            "an expression has at most {MAX_CHARACTERS} characters"
        ));
    }
    let mut parser = Parser {
        words: words(text)?,
        at: 0,
    };
    let expression = parser.or(0)?;
    match parser.words.get(parser.at) {
        None => Ok(expression),
        Some(word) => Err(format!("{} is not expected here", shown(word))),
    }
}

fn words(text: &str) -> Result<Vec<Word>, String> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (word, used) = if first.is_alphabetic() || first == '_' {
            let is_part = |c: char| c.is_alphanumeric() || c == '_';
            let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            (Word::Name(rest[..end].to_owned()), end)
        } else if first.is_ascii_digit() {
            let is_part = |c: char| c.is_ascii_digit() || c == '.';
            let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            let number = serde_json::from_str(&rest[..end])
                .map_err(|_| format!("`{}` is no number", &rest[..end]))?;
            (Word::Number(number), end)
        } else if first == '"' || first == '\'' {
            let inner = &rest[1..];
            let end = inner.find(first).ok_or("a text is not closed")?;
            (Word::Text(inner[..end].to_owned()), end + 2)
        } else {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
            let sign = sign.ok_or_else(|| format!("`{first}` is not expected here"))?;
            (Word::Sign(sign), sign.len())
        };
        words.push(word);
        rest = rest[used..].trim_start();
    }
    Ok(words)
}

fn shown(word: &Word) -> String {
    match word {
        Word::Name(name) => format!("`{name}`"),
        Word::Text(text) => format!("\"{text}\""),
        Word::Number(number) => number.to_string(),
        Word::Sign(sign) => format!("`{sign}`"),
    }
}

struct Parser {
    words: Vec<Word>,
    at: usize,
}

impl Parser {
    fn next(&mut self) -> Option<Word> {
        let word = self.words.get(self.at).cloned();
        self.at += 1;
        word
    }

    fn takes(&mut self, sign: &'static str) -> bool {
        let is_next = self.words.get(self.at) == Some(&Word::Sign(sign));
        self.at += usize::from(is_next);
        is_next
    }

    fn needs(&mut self, sign: &'static str) -> Result<(), String> {
        if self.takes(sign) {
            return Ok(());
        }
        Err(format!("`{sign}` is missing"))
    }

    fn or(&mut self, depth: usize) -> Result<Expression, String> {
        let mut left = self.and(depth)?;
        while self.takes("||") {
            left = Expression::Or(Box::new(left), Box::new(self.and(depth)?));
        }
        Ok(left)
    }

    fn and(&mut self, depth: usize) -> Result<Expression, String> {
        let mut left = self.not(depth)?;
        while self.takes("&&") {
            left = Expression::And(Box::new(left), Box::new(self.not(depth)?));
        }
        Ok(left)
    }

    fn not(&mut self, depth: usize) -> Result<Expression, String> {
        if depth > MAX_DEPTH {
            return Err(format!(
                "an expression nests at most {MAX_DEPTH} levels deep"
            ));
        }
        if self.takes("!") {
            return Ok(Expression::Not(Box::new(self.not(depth + 1)?)));
        }
        self.comparison(depth)
    }

    fn comparison(&mut self, depth: usize) -> Result<Expression, String> {
        const COMPARISONS: [(&str, Comparison); 6] = [
            ("==", Comparison::Equal),
            ("!=", Comparison::Unequal),
            ("<=", Comparison::AtMost),
            (">=", Comparison::AtLeast),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        let left = self.primary(depth)?;
        for (sign, comparison) in COMPARISONS {
            if self.takes(sign) {
                let right = self.primary(depth)?;
                return Ok(Expression::Compare(
                    comparison,
                    Box::new(left),
                    Box::new(right),
                ));
            }
        }
        Ok(left)
    }

    fn primary(&mut self, depth: usize) -> Result<Expression, String> {
        let word = self.next().ok_or("something is missing at the end")?;
        match word {
            Word::Text(text) => Ok(Expression::Literal(Value::String(text))),
            Word::Number(number) => Ok(Expression::Literal(Value::Number(number))),
            Word::Name(name) => match name.as_str() {
                "true" => Ok(Expression::Literal(Value::Bool(true))),
                "false" => Ok(Expression::Literal(Value::Bool(false))),
                "null" => Ok(Expression::Literal(Value::Null)),
                _ if self.takes("(") => self.apply(&name, depth + 1),
                _ => self.path(name),
            },
            Word::Sign("(") => {
                let inner = self.or(depth + 1)?;
                self.needs(")")?;
                Ok(inner)
            }
            Word::Sign("-") => match self.next() {
                Some(Word::Number(number)) => {
                    let negative = serde_json::from_str(&format!("-{number}"));
                    let negative = negative.map_err(|_| format!("-{number} is no number"))?;
                    Ok(Expression::Literal(Value::Number(negative)))
                }
                Some(_) | None => Err("a number is missing after `-`".to_owned()),
            },
            Word::Sign(sign) => Err(format!("`{sign}` is not expected here")),
        }
    }

    fn apply(&mut self, name: &str, depth: usize) -> Result<Expression, String> {
        let known = Function::ALL.iter().find(|(known, ..)| *known == name);
        let Some((_, function, least)) = known else {
            let names: Vec<&str> = Function::ALL.iter().map(|(name, ..)| *name).collect();
            return Err(format!(
                "there is no function `{name}`; there are {}",
                names.join(", ")
            ));
        };
        let mut arguments = Vec::new();
        if !self.takes(")") {
            loop {
                arguments.push(self.or(depth)?);
                if self.takes(")") {
                    break;
                }
                self.needs(",")?;
            }
        }
        if arguments.len() < *least {
            return Err(format!("`{name}` takes {least} argument(s)"));
        }
        Ok(Expression::Apply(*function, arguments))
    }

    fn path(&mut self, root: String) -> Result<Expression, String> {
        let mut path = vec![Segment::Name(root)];
        loop {
            if self.takes(".") {
                match self.next() {
                    Some(Word::Name(name)) => path.push(Segment::Name(name)),
                    Some(_) | None => return Err("a name is missing after `.`".to_owned()),
                }
            } else if self.takes("[") {
                match self.next() {
                    Some(Word::Text(name)) => path.push(Segment::Name(name)),
                    Some(Word::Number(number)) => {
                        let index = number.as_u64().and_then(|it| usize::try_from(it).ok());
                        path.push(Segment::Index(index.ok_or("an index is a whole number")?));
                    }
                    Some(_) | None => return Err("an index is missing after `[`".to_owned()),
                }
                self.needs("]")?;
            } else {
                return Ok(Expression::Path(path));
            }
        }
    }
}
