//! What the headers of a modern request must say: the same as its body.

use std::{borrow::Cow, cell::LazyCell};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, HeaderName, header::AsHeaderName};
use serde_json::{Value, value::RawValue};
use tollgate_core::Fields;
use tollgate_engine::Catalog;

use super::super::{
    params::{self, Member, Params},
    rpc::{Asked, RpcError, code},
};

pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const PARAM: &str = "mcp-param-";

/// A header's text; one that is no text says nothing.
pub(super) fn text(headers: &HeaderMap, name: impl AsHeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

fn mismatch(message: String) -> RpcError {
    RpcError::new(code::HEADER_MISMATCH, message)
}

/// The version in the header must be the one in the body.
pub(super) fn check_version(headers: &HeaderMap, said: Option<&str>) -> Result<(), RpcError> {
    let Some(said) = said else {
        return Ok(());
    };
    if headers.get_all(&VERSION).iter().count() > 1 {
        let message = "the header `MCP-Protocol-Version` is there twice";
        return Err(mismatch(message.to_owned()));
    }
    match text(headers, &VERSION) {
        Some(header) if header == said => Ok(()),
        Some(_) => Err(mismatch(
            "the header `MCP-Protocol-Version` differs from `_meta`".to_owned(),
        )),
        None => Err(mismatch(
            "the header `MCP-Protocol-Version` is missing".to_owned(),
        )),
    }
}

/// Method, name and mirrored arguments must be those of the body.
pub(super) fn check(headers: &HeaderMap, asked: &Asked, catalog: &Catalog) -> Result<(), RpcError> {
    same(headers, &METHOD, "Mcp-Method", &asked.method)?;
    let member = match asked.method.as_str() {
        "tools/call" | "prompts/get" => Member::Name,
        "resources/read" => Member::Uri,
        "tasks/get" | "tasks/update" | "tasks/cancel" => Member::Task,
        _ => return Ok(()),
    };
    // What is no text is for the method itself to refuse.
    if let Some(name) = asked.params.text(member)? {
        same(headers, &NAME, "Mcp-Name", &name)?;
        if asked.method == "tools/call" {
            mirrored(headers, &name, &asked.params, catalog)?;
        }
    }
    Ok(())
}

fn same(headers: &HeaderMap, name: &HeaderName, shown: &str, body: &str) -> Result<(), RpcError> {
    if headers.get_all(name).iter().count() > 1 {
        return Err(mismatch(format!("the header `{shown}` is there twice")));
    }
    match headers.get(name).map(|value| decoded(value.as_bytes())) {
        Some(Some(header)) if header == body => Ok(()),
        Some(_) => Err(mismatch(format!(
            "the header `{shown}` differs from the body"
        ))),
        None => Err(mismatch(format!("the header `{shown}` is missing"))),
    }
}

/// Arguments that a tool wants mirrored into headers.
fn mirrored(
    headers: &HeaderMap,
    tool: &str,
    params: &Params,
    catalog: &Catalog,
) -> Result<(), RpcError> {
    let Some(listing) = catalog.find(tool) else {
        return Ok(());
    };
    let arguments = params.get(Member::Arguments)?.unwrap_or("{}");
    // Few tools want any.
    let given = LazyCell::new(|| serde_json::from_str::<Fields<'_>>(arguments).unwrap_or_default());
    let properties = listing.spec.input_schema.get("properties");
    for (property, schema) in properties.and_then(Value::as_object).into_iter().flatten() {
        let Some(header) = schema.get("x-mcp-header").and_then(Value::as_str) else {
            continue;
        };
        let name = format!("{PARAM}{}", header.to_ascii_lowercase());
        let value = match given.get(property).map(RawValue::get) {
            None | Some("null") => None,
            Some(raw) if raw.starts_with('"') => params::text(raw).map(Cow::into_owned),
            // A number may be longer than any that can be reckoned with.
            Some(raw) => Some(raw.to_owned()),
        };
        let sent = headers.get(&name).map(|value| decoded(value.as_bytes()));
        match (sent, value) {
            (None, None) => {}
            (Some(Some(sent)), Some(value)) if sent == value => {}
            (None, Some(_)) => {
                return Err(mismatch(format!(
                    "the header `Mcp-Param-{header}` is missing"
                )));
            }
            (Some(_), _) => {
                let message = format!("the header `Mcp-Param-{header}` differs from the body");
                return Err(mismatch(message));
            }
        }
    }
    Ok(())
}

/// A header's value; what no header can carry travels as `=?base64?…?=`.
fn decoded(bytes: &[u8]) -> Option<Cow<'_, str>> {
    let text = std::str::from_utf8(bytes).ok()?.trim();
    let wrapped = text
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="));
    match wrapped {
        Some(coded) => {
            let text = String::from_utf8(STANDARD.decode(coded).ok()?).ok()?;
            Some(Cow::Owned(text))
        }
        None => Some(Cow::Borrowed(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_values_are_read_strictly() {
        fn read(text: &str) -> Option<Cow<'_, str>> {
            decoded(text.as_bytes())
        }
        assert_eq!(read("=?base64?SGVsbG8=?=").as_deref(), Some("Hello"));
        assert_eq!(read("  plain  ").as_deref(), Some("plain"));
        assert_eq!(read("SGVsbG8=").as_deref(), Some("SGVsbG8="));
        assert_eq!(
            read("=?base64?SGVsbG8=").as_deref(),
            Some("=?base64?SGVsbG8=")
        );
        assert_eq!(read("=?base64?SGVsbG8?="), None);
        assert_eq!(read("=?base64?SGVs!!!bG8=?="), None);
    }
}
