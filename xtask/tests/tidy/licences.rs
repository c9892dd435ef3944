//! Reads SPDX expressions, as far as crates use them.

/// Licences that ask for no more than a notice.
const PERMISSIVE: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Whether an expression can be satisfied with permissive licences only.
pub(crate) fn is_permissive(expression: &str) -> bool {
    // Before SPDX expressions, a slash meant a choice.
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut reader = Reader { words, at: 0 };
    let answer = reader.any();
    answer && reader.at == reader.words.len()
}

struct Reader<'a> {
    words: Vec<&'a str>,
    at: usize,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> &'a str {
        let word = self.words.get(self.at).copied().unwrap_or("");
        self.at += 1;
        word
    }

    fn take(&mut self, word: &str) -> bool {
        let is_next = self.words.get(self.at) == Some(&word);
        self.at += usize::from(is_next);
        is_next
    }

    fn any(&mut self) -> bool {
        let mut answer = self.every();
        while self.take("OR") {
            let other = self.every();
            answer |= other;
        }
        answer
    }

    fn every(&mut self) -> bool {
        let mut answer = self.one();
        while self.take("AND") {
            let other = self.one();
            answer &= other;
        }
        answer
    }

    fn one(&mut self) -> bool {
        if self.take("(") {
            let answer = self.any();
            return self.take(")") && answer;
        }
        let name = self.next();
        if self.take("WITH") {
            let exception = self.next();
            return PERMISSIVE.contains(&format!("{name} WITH {exception}").as_str());
        }
        PERMISSIVE.contains(&name)
    }
}

#[test]
fn expressions_are_understood() {
    let cases = [
        ("MIT", true),
        ("MIT/Apache-2.0", true),
        ("MIT OR GPL-3.0-only", true),
        ("MIT AND GPL-3.0-only", false),
        ("(MIT OR GPL-2.0) AND Unicode-3.0", true),
        ("Apache-2.0 WITH LLVM-exception OR Apache-2.0", true),
        ("GPL-2.0 WITH Classpath-exception-2.0", false),
        ("MPL-2.0", false),
        ("none", false),
        ("(MIT", false),
    ];
    for (expression, expected) in cases {
        assert_eq!(is_permissive(expression), expected, "{expression}");
    }
}
