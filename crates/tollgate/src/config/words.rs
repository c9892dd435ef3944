//! Splits a command line into words, as a shell would, and does nothing else a shell does.

/// The words; `None` if a quote is not closed.
pub(super) fn split(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match (quote, c) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('\''), c) => word.get_or_insert_default().push(c),
            (Some(_), '\\') => {
                let next = rest.next()?;
                let word = word.get_or_insert_default();
                if !matches!(next, '"' | '\\' | '$' | '`') {
                    word.push('\\');
                }
                word.push(next);
            }
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '\\') => word.get_or_insert_default().push(rest.next()?),
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_does() {
        let split = |text: &str| split(text);
        assert_eq!(split("a  b\tc").unwrap(), ["a", "b", "c"]);
        assert_eq!(
            split(r#"a 'b c' "d \" e" f\ g ''"#).unwrap(),
            ["a", "b c", "d \" e", "f g", ""]
        );
        assert_eq!(split("a 'b"), None);
        assert_eq!(split("").unwrap(), Vec::<String>::new());
    }
}
