//! What a body is, by its declared type or by its looks.

use crate::error::{Kind, WebError};

/// What can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// A page.
    Html,
    /// Text of another kind, kept as it is.
    Text,
}

/// What a declared type is; `None` if nothing was declared.
pub(crate) fn of_header(content_type: Option<&str>) -> Result<Option<Content>, WebError> {
    let Some(declared) = content_type.map(essence).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let is_text = declared.starts_with("text/")
        || declared.ends_with("+json")
        || declared.ends_with("+xml")
        || matches!(
            declared.as_str(),
            "application/json"
                | "application/xml"
                | "application/javascript"
                | "application/x-ndjson"
                | "application/yaml"
                | "application/toml"
        );
    match declared.as_str() {
        "text/html" | "application/xhtml+xml" => Ok(Some(Content::Html)),
        "application/pdf" | "application/x-pdf" => Err(pdf()),
        // A server that does not know says so with this.
        "application/octet-stream" => Ok(None),
        _ if is_text => Ok(Some(Content::Text)),
        _ => Err(WebError::new(
            Kind::ContentType,
            format!("the answer is {declared}, which is not read as text"),
        )),
    }
}

/// Nothing that reads PDF well keeps within limits when a stranger wrote it (see the decision on main texts).
fn pdf() -> WebError {
    let message = "the answer is a PDF, and PDF is not read; look for the same text as a page";
    WebError::new(Kind::ContentType, message)
}

/// The type without its parameters.
pub(crate) fn essence(content_type: &str) -> String {
    let end = content_type.find(';').unwrap_or(content_type.len());
    content_type[..end].trim().to_ascii_lowercase()
}

/// What bytes without a declared type are.
pub(crate) fn of_bytes(bytes: &[u8]) -> Result<Content, WebError> {
    let head = &bytes[..bytes.len().min(1024)];
    let is_wide = head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]);
    if head.contains(&0) && !is_wide {
        let message = "the answer does not say what it is, and it is not text";
        return Err(WebError::new(Kind::ContentType, message));
    }
    let start = head.trim_ascii_start();
    if start.starts_with(b"%PDF-") {
        return Err(pdf());
    }
    let start = start.strip_prefix(&[0xef, 0xbb, 0xbf]).unwrap_or(start);
    let lower = start.trim_ascii_start().to_ascii_lowercase();
    let is_html = [
        &b"<!doctype html"[..],
        b"<html",
        b"<head",
        b"<body",
        b"<!--",
    ]
    .iter()
    .any(|mark| lower.starts_with(mark));
    Ok(if is_html {
        Content::Html
    } else {
        Content::Text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_types_are_read_or_refused() {
        let of = |text: &str| of_header(Some(text)).map_err(|error| error.kind);
        assert_eq!(of("Text/HTML; charset=x"), Ok(Some(Content::Html)));
        assert_eq!(of("application/ld+json"), Ok(Some(Content::Text)));
        assert_eq!(of("application/octet-stream"), Ok(None));
        for refused in ["application/pdf", "image/png", "video/mp4", "nonsense"] {
            assert_eq!(of(refused), Err(Kind::ContentType), "{refused}");
        }
    }

    #[test]
    fn undeclared_bytes_are_looked_at() {
        assert_eq!(of_bytes(b" \n<!DOCTYPE HTML>").unwrap(), Content::Html);
        assert_eq!(of_bytes(b"plain words").unwrap(), Content::Text);
        assert!(of_bytes(b"\x7fELF\0\0").is_err());
        let pdf = of_bytes(b"%PDF-1.7 ...").unwrap_err();
        assert!(pdf.kind == Kind::ContentType && pdf.message.contains("PDF"));
    }
}
