//! Regular expressions in linear time, bounded in size.

use regex_automata::meta::Regex;
use tollgate_core::ProviderError;

const SIZE_LIMIT: usize = 1 << 20;

/// Compiles a regular expression, or the literal text itself.
pub(super) fn compile(pattern: &str, regex: bool) -> Result<Regex, ProviderError> {
    let source = if regex {
        pattern.to_owned()
    } else {
        escape(pattern)
    };
    Regex::builder()
        .configure(Regex::config().nfa_size_limit(Some(SIZE_LIMIT)))
        .build(&source)
        .map_err(|error| {
            let why = error
                .syntax_error()
                .map_or_else(|| error.to_string(), ToString::to_string);
            ProviderError::rejected(format!("the pattern cannot be used: {why}"))
        })
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if !c.is_alphanumeric() && c.is_ascii() && c != ' ' {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}
