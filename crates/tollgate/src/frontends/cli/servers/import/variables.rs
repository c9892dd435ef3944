//! `${…}` in other programs' files: what can be filled in now, and what only they can ask for.

use std::path::Path;

use crate::config::Environment;

/// What stands between two braces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Variable {
    /// An environment variable, and what counts without it.
    Environment(String, Option<String>),
    /// Something this file's program would have filled in.
    Known(String),
    /// Something only its program can ask for.
    Unknown(String),
}

/// A text in pieces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    Variable(Variable),
}

/// Takes a text apart.
pub(super) fn pieces(text: &str, root: &Path, environment: &Environment) -> Vec<Piece> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let Some(length) = rest[start..].find('}') else {
            break;
        };
        if start > 0 {
            found.push(Piece::Text(rest[..start].to_owned()));
        }
        let inner = &rest[start + 2..start + length];
        found.push(Piece::Variable(variable(inner, root, environment)));
        rest = &rest[start + length + 1..];
    }
    if !rest.is_empty() || found.is_empty() {
        found.push(Piece::Text(rest.to_owned()));
    }
    found
}

fn variable(inner: &str, root: &Path, environment: &Environment) -> Variable {
    let folder = |path: &Path| Variable::Known(path.to_string_lossy().into_owned());
    match inner {
        "workspaceFolder" => return folder(root),
        "workspaceFolderBasename" => {
            return folder(Path::new(root.file_name().unwrap_or_default()));
        }
        "userHome" => {
            if let Some(home) = &environment.home {
                return folder(home);
            }
        }
        "pathSeparator" | "/" => return Variable::Known(std::path::MAIN_SEPARATOR.to_string()),
        _ => {}
    }
    let name = inner.strip_prefix("env:").unwrap_or(inner);
    let (name, usual) = match name.split_once(":-") {
        Some((name, usual)) => (name, Some(usual.to_owned())),
        None => (name, None),
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_name = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(plain);
    if is_name {
        Variable::Environment(name.to_owned(), usual)
    } else {
        Variable::Unknown(inner.to_owned())
    }
}

/// The text with everything filled in, or what is missing for that.
pub(super) fn filled(pieces: &[Piece], environment: &Environment) -> Result<String, String> {
    let mut text = String::new();
    for piece in pieces {
        match piece {
            Piece::Text(piece) | Piece::Variable(Variable::Known(piece)) => text.push_str(piece),
            Piece::Variable(Variable::Environment(name, usual)) => {
                let value = environment.text(name).or(usual.as_deref());
                text.push_str(value.ok_or_else(|| format!("${{{name}}}"))?);
            }
            Piece::Variable(Variable::Unknown(inner)) => return Err(format!("${{{inner}}}")),
        }
    }
    Ok(text)
}

/// The environment variable that a text consists of, if that is all of it.
pub(super) fn only_variable(pieces: &[Piece]) -> Option<&str> {
    match pieces {
        [Piece::Variable(Variable::Environment(name, None))] => Some(name),
        _ => None,
    }
}

/// Whether anything has to be filled in by somebody's environment or dialog.
pub(super) fn is_open(pieces: &[Piece]) -> bool {
    let open = |piece: &Piece| match piece {
        Piece::Text(_) | Piece::Variable(Variable::Known(_)) => false,
        Piece::Variable(Variable::Environment(..) | Variable::Unknown(_)) => true,
    };
    pieces.iter().any(open)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_taken_apart_and_filled_in() {
        let mut environment = Environment {
            home: Some("/home/me".into()),
            ..Environment::default()
        };
        environment.variables.insert("SET".into(), "value".into());
        let fill = |text: &str| {
            let pieces = pieces(text, Path::new("/project"), &environment);
            filled(&pieces, &environment)
        };
        assert_eq!(fill("plain"), Ok("plain".to_owned()));
        assert_eq!(fill(""), Ok(String::new()));
        assert_eq!(fill("${workspaceFolder}/a"), Ok("/project/a".to_owned()));
        assert_eq!(fill("${userHome}${/}b"), Ok("/home/me/b".to_owned()));
        assert_eq!(fill("x${env:SET}y${SET}"), Ok("xvalueyvalue".to_owned()));
        assert_eq!(fill("${UNSET:-usual}"), Ok("usual".to_owned()));
        assert_eq!(fill("${UNSET}"), Err("${UNSET}".to_owned()));
        assert_eq!(fill("${input:key}"), Err("${input:key}".to_owned()));
        assert_eq!(fill("not ${closed"), Ok("not ${closed".to_owned()));
        let only = |text: &str| {
            let pieces = pieces(text, Path::new("/"), &environment);
            only_variable(&pieces).map(str::to_owned)
        };
        assert_eq!(only("${env:A}").as_deref(), Some("A"));
        assert_eq!(only("Bearer ${A}"), None);
        assert_eq!(only("${A:-b}"), None);
    }
}
