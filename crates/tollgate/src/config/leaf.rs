//! Checks one value against what its key may hold, and makes its paths absolute.

use std::path::PathBuf;

use serde_json::Value as Json;
use toml::Value;

use super::{
    keys,
    secret::{SecretRef, looks_secret},
    suggest,
};

/// One thing wrong with a value.
pub(super) struct Fault {
    /// Which entry of a list, such as `[2]`; empty for the value itself.
    pub place: String,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl Fault {
    /// The entry of a list that it is about, and where in that.
    pub(super) fn entry(&self) -> Option<(usize, &str)> {
        let (at, place) = self.place.strip_prefix('[')?.split_once(']')?;
        Some((at.parse().ok()?, place.trim_start_matches('.')))
    }
}

/// Says all that is wrong with a value; paths are rewritten as `absolute` says.
pub(super) fn check(
    value: &mut Value,
    schema: &Json,
    absolute: &dyn Fn(&str) -> PathBuf,
) -> Vec<Fault> {
    let wanted = kind_wanted(schema);
    match (value, wanted) {
        (Value::Array(entries), "array") => {
            let inner = schema.get("items").unwrap_or(&Json::Null);
            let each = |(at, entry): (usize, &mut Value)| {
                let mut faults = check(entry, inner, absolute);
                for fault in &mut faults {
                    fault.place = format!("[{at}]{}", fault.place);
                }
                faults
            };
            entries.iter_mut().enumerate().flat_map(each).collect()
        }
        (Value::Table(table), "object") => fields(table, schema, absolute),
        (Value::String(text), "string") => {
            string(text, schema, absolute).err().into_iter().collect()
        }
        (Value::Integer(number), "integer") => range(*number as f64, schema).into_iter().collect(),
        (Value::Float(number), "number") => range(*number, schema).into_iter().collect(),
        (value @ Value::Integer(_), "number") => {
            let number = value.as_integer().unwrap_or_default() as f64;
            *value = Value::Float(number);
            range(number, schema).into_iter().collect()
        }
        (Value::Boolean(_), "boolean") => Vec::new(),
        (value, wanted) => {
            let found = kind(value.type_str());
            vec![fault(format!("expected {}, found {found}", kind(wanted)))]
        }
    }
}

/// Says all that is wrong with the entry of a list of tables.
fn fields(
    table: &mut toml::Table,
    schema: &Json,
    absolute: &dyn Fn(&str) -> PathBuf,
) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (name, value) in table.iter_mut() {
        let known = schema.get("properties").and_then(|all| all.get(name));
        let found = match known.or_else(|| keys::free_names(schema)) {
            Some(below) if is_variable(below) => {
                variable(name, value, absolute).err().into_iter().collect()
            }
            Some(below) => check(value, below, absolute),
            None => {
                let known: Vec<&str> = keys::properties(schema).map(|(k, _)| k.as_str()).collect();
                let hint = match suggest::nearest(name, known.iter().copied()) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => format!("there are {}", known.join(", ")),
                };
                vec![Fault {
                    hint: Some(hint),
                    ..fault("unknown key".to_owned())
                }]
            }
        };
        faults.extend(found.into_iter().map(|fault| Fault {
            place: format!(".{name}{}", fault.place),
            ..fault
        }));
    }
    faults
}

/// Whether a value is a variable of a program's environment.
fn is_variable(schema: &Json) -> bool {
    schema.get("format").and_then(Json::as_str) == Some("variable")
}

/// A variable of a program's environment, as the programs' own pages print it: what is no secret
/// is written out, and a secret is named by its place.
fn variable(
    name: &str,
    value: &mut Value,
    absolute: &dyn Fn(&str) -> PathBuf,
) -> Result<(), Fault> {
    let text = match value {
        Value::String(text) => text,
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) => {
            *value = Value::String(value.to_string());
            return Ok(());
        }
        Value::Datetime(_) | Value::Array(_) | Value::Table(_) => {
            let found = kind(value.type_str());
            return Err(fault(format!("expected a text, found {found}")));
        }
    };
    let looks_meant = ["env:", "file:"]
        .iter()
        .any(|start| text.starts_with(start));
    match SecretRef::parse(text) {
        Ok(SecretRef::File(file)) => {
            let file = absolute(&file.to_string_lossy());
            *text = format!("file:{}", file.display());
            Ok(())
        }
        Ok(SecretRef::Env(_)) => Ok(()),
        Err(_) if looks_meant => Err(Fault {
            hint: Some(format!("such as `{name} = \"env:{name}\"`")),
            ..fault("this names no variable and no file".to_owned())
        }),
        Err(_) if looks_secret(name, text) => Err(Fault {
            hint: Some(format!(
                "write `env = {{ {name} = \"env:{name}\" }}` and set that variable where Tollgate starts, \
                 or `{name} = \"file:PATH\"`; if it is no secret, write `plain_env = {{ {name} = … }}`"
            )),
            ..fault("a secret must not be written here".to_owned())
        }),
        Err(_) => Ok(()),
    }
}

/// Reads a value from the text of a variable or flag.
pub(super) fn from_text(text: &str, schema: &Json) -> Value {
    let parsed = match kind_wanted(schema) {
        "integer" => text
            .trim()
            .replace('_', "")
            .parse()
            .map(Value::Integer)
            .ok(),
        "number" => text.trim().parse().map(Value::Float).ok(),
        "boolean" => text.trim().parse().map(Value::Boolean).ok(),
        "array" => {
            let inner = schema.get("items").unwrap_or(&Json::Null);
            let entries = text.split(',').map(str::trim).filter(|e| !e.is_empty());
            Some(Value::Array(entries.map(|e| from_text(e, inner)).collect()))
        }
        _ => None,
    };
    parsed.unwrap_or_else(|| Value::String(text.to_owned()))
}

/// What a type is called in a message.
pub(super) fn kind(name: &str) -> &'static str {
    match name {
        "object" | "table" => "a table",
        "array" => "a list",
        "string" => "a text",
        "integer" => "a whole number",
        "number" | "float" => "a number",
        "boolean" => "true or false",
        "datetime" => "a date",
        _ => "something else",
    }
}

fn kind_wanted(schema: &Json) -> &str {
    // Words that carry a description come as `oneOf` without a type of its own.
    schema
        .get("type")
        .and_then(Json::as_str)
        .unwrap_or("string")
}

fn fault(message: String) -> Fault {
    Fault {
        place: String::new(),
        message,
        hint: None,
    }
}

fn range(number: f64, schema: &Json) -> Option<Fault> {
    let bound = |name| schema.get(name).and_then(Json::as_f64);
    let low = bound("minimum").unwrap_or(f64::NEG_INFINITY);
    let high = bound("maximum").unwrap_or(f64::INFINITY);
    if (low..=high).contains(&number) {
        return None;
    }
    let allowed = format!("it may be {low} to {high}");
    Some(Fault {
        hint: Some(allowed),
        ..fault(format!("{number} is out of range"))
    })
}

fn string(
    text: &mut String,
    schema: &Json,
    absolute: &dyn Fn(&str) -> PathBuf,
) -> Result<(), Fault> {
    word(text, schema)?;
    length(text, schema)?;
    let path = |written: &str| {
        let path = absolute(written).into_os_string().into_string();
        path.map_err(|_| fault("the path is not UTF-8".to_owned()))
    };
    match schema.get("format").and_then(Json::as_str) {
        Some("path") if text.is_empty() => Err(fault("the path is empty".to_owned())),
        Some("path") => path(text).map(|path| *text = path),
        Some("path-or-stderr") if text == "stderr" => Ok(()),
        Some("path-or-stderr") if text.is_empty() => Err(Fault {
            hint: Some("a path, or `stderr`".to_owned()),
            ..fault("the path is empty".to_owned())
        }),
        Some("path-or-stderr") => path(text).map(|path| *text = path),
        Some("secret-reference") => match SecretRef::parse(text) {
            Ok(SecretRef::File(file)) => {
                let file = path(&file.to_string_lossy())?;
                *text = format!("file:{file}");
                Ok(())
            }
            Ok(SecretRef::Env(_)) => Ok(()),
            Err(error) => Err(Fault {
                hint: Some("name its place instead: `env:NAME` or `file:PATH`".to_owned()),
                ..fault(error.to_string())
            }),
        },
        Some("http-address") => http_address(text),
        Some("server-address") => server_address(text),
        Some("safe-address") => safe_address(text),
        _ => Ok(()),
    }
}

fn word(text: &str, schema: &Json) -> Result<(), Fault> {
    let words = keys::words(schema);
    if words.is_empty() || words.contains(&text) {
        return Ok(());
    }
    let hint = match suggest::nearest(text, words.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("one of {}", words.join(", ")),
    };
    Err(Fault {
        hint: Some(hint),
        ..fault(format!("`{}` is not a choice", text.escape_debug()))
    })
}

fn length(text: &str, schema: &Json) -> Result<(), Fault> {
    let bound = |name| schema.get(name).and_then(Json::as_u64);
    let found = text.chars().count() as u64;
    if found < bound("minLength").unwrap_or(0) {
        return Err(fault("the text is empty".to_owned()));
    }
    match bound("maxLength") {
        Some(most) if found > most => Err(fault(format!("longer than {most} characters"))),
        _ => Ok(()),
    }
}

/// An address whose answers nobody on the way can change: https, or on this machine.
fn safe_address(text: &str) -> Result<(), Fault> {
    let host = |rest: &str| {
        let host = rest.split('/').next().unwrap_or_default();
        match host.strip_prefix('[') {
            Some(inner) => inner.split(']').next().unwrap_or_default().to_owned(),
            None => host.split(':').next().unwrap_or_default().to_owned(),
        }
    };
    let here = |host: String| matches!(host.as_str(), "localhost" | "127.0.0.1" | "::1");
    let plain_http = text.strip_prefix("http://");
    if http_address(text).is_ok() && plain_http.is_none_or(|rest| here(host(rest))) {
        return Ok(());
    }
    Err(Fault {
        hint: Some("such as `https://login.example`; http only on this machine".to_owned()),
        ..fault("not a plain https address".to_owned())
    })
}

/// Whether a server can be reached at this address, as the configuration sees it.
pub(crate) fn is_server_address(text: &str) -> bool {
    server_address(text).is_ok()
}

/// The address of somebody else's server may say more by a query; a user and a password are
/// secrets, and nobody is sent a fragment.
fn server_address(text: &str) -> Result<(), Fault> {
    http_address(text.split('?').next().unwrap_or_default())?;
    let hidden = |c: char| c.is_whitespace() || c.is_control() || c == '#';
    if text.contains(hidden) {
        return http_address(text);
    }
    Ok(())
}

/// An address may carry no user, password or query: those are secrets.
fn http_address(text: &str) -> Result<(), Fault> {
    let rest = text
        .strip_prefix("http://")
        .or_else(|| text.strip_prefix("https://"));
    let host = rest.and_then(|rest| rest.split('/').next());
    let plain = |c: char| !c.is_whitespace() && !c.is_control();
    match host {
        Some(host)
            if !host.is_empty() && !text.contains(['@', '?', '#']) && text.chars().all(plain) =>
        {
            Ok(())
        }
        _ => Err(Fault {
            hint: Some("such as `http://127.0.0.1:4318`; secrets go into `headers`".to_owned()),
            ..fault("not a plain http or https address".to_owned())
        }),
    }
}
