//! The token a request shows: in one `Authorization` header and nowhere else.

use http::{
    HeaderMap, HeaderName,
    header::{self, AUTHORIZATION},
};

use super::Refused;

/// Longer ones are refused unread.
const LONGEST: usize = 8192;
/// Random hexadecimal digits after the prefix of our own tokens.
const OUR_DIGITS: usize = 48;

/// A token, by who made it. It has no `Debug` on purpose.
pub(super) enum Shown<'h> {
    /// Made by `tollgate token create`.
    Ours(&'h str),
    /// Made by somebody else.
    Foreign(&'h str),
}

impl Shown<'_> {
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Ours(token) | Self::Foreign(token) => token,
        }
    }
}

/// The token of a request, if it has one; two of them are one too many.
pub(super) fn shown(headers: &HeaderMap) -> Result<Option<Shown<'_>>, Refused> {
    let mut all = headers.get_all(AUTHORIZATION).iter();
    let (value, more) = (all.next(), all.next());
    let Some(value) = value else { return Ok(None) };
    if more.is_some() {
        return Err(Refused::Invalid("there are two `Authorization` headers"));
    }
    let text = value
        .to_str()
        .map_err(|_| Refused::Invalid("the token has characters no token has"))?;
    let (scheme, token) = text.split_once(' ').unwrap_or((text, ""));
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(Refused::Invalid("only `Authorization: Bearer` is accepted"));
    }
    let token = token.trim();
    if token.is_empty() {
        return Err(Refused::Invalid("the token is empty"));
    }
    if token.len() > LONGEST {
        return Err(Refused::Invalid("the token is too long"));
    }
    sort(token).map(Some)
}

fn sort(token: &str) -> Result<Shown<'_>, Refused> {
    if token.starts_with("tga_") {
        return Err(Refused::Invalid("an approver token cannot call"));
    }
    match token.strip_prefix("tgb_") {
        // What cannot be one of ours need not be looked for.
        Some(digits)
            if digits.len() == OUR_DIGITS && digits.bytes().all(|b| b.is_ascii_hexdigit()) =>
        {
            Ok(Shown::Ours(token))
        }
        Some(_) => Err(Refused::Invalid("the token is not whole")),
        None => Ok(Shown::Foreign(token)),
    }
}

/// Whether somebody passed this request on for another.
pub(super) fn is_forwarded(headers: &HeaderMap) -> bool {
    const MARKS: [HeaderName; 4] = [
        header::FORWARDED,
        HeaderName::from_static("x-forwarded-for"),
        HeaderName::from_static("x-real-ip"),
        header::VIA,
    ];
    MARKS.iter().any(|mark| headers.contains_key(mark))
}
