//! What Keepa draws into its own graph: how large, which lines, in which colours.
//!
//! Invariant: what is no size, no switch or no colour is refused here, before a token is spent on a picture of something
//! else. How large a picture may be is Keepa's to say.

use super::Request;
use crate::{Error, Params};

/// Whole numbers: how many days, and how large in points.
const SIZES: [&str; 3] = ["range", "width", "height"];
/// What is drawn: lines, the heading, and whether the axis is cut to what is there.
const SWITCHES: [&str; 12] = [
    "amazon",
    "new",
    "used",
    "salesrank",
    "bb",
    "bbu",
    "fba",
    "fbm",
    "ld",
    "wd",
    "title",
    "yzoom",
];
/// Colours of the ground, of letters and of each line.
const COLOURS: [&str; 12] = [
    "cBackground",
    "cFont",
    "cAmazon",
    "cNew",
    "cUsed",
    "cSales",
    "cBB",
    "cBBU",
    "cFBA",
    "cFBM",
    "cLD",
    "cWD",
];

/// Adds the options that are given, as Keepa spells them.
pub(super) fn options(mut request: Request, params: &Params) -> Result<Request, Error> {
    for name in SIZES {
        if params.get(&[name]).is_some() {
            let size = params.number(name, 0)?;
            if size <= 0 {
                return Err(wrong(name, "is more than 0"));
            }
            request = request.with(name, size);
        }
    }
    for name in SWITCHES {
        if let Some(word) = params.text(&[name]) {
            let is_on = match word.to_ascii_lowercase().as_str() {
                "1" | "true" | "yes" | "on" => true,
                "0" | "false" | "no" | "off" => false,
                _ => return Err(wrong(name, "is 1 or 0")),
            };
            request = request.with(name, u8::from(is_on));
        }
    }
    for name in COLOURS {
        if let Some(colour) = params.text(&[name]) {
            let digits = colour.strip_prefix('#').unwrap_or(&colour);
            let is_colour = digits.len() == 6 && digits.bytes().all(|one| one.is_ascii_hexdigit());
            if !is_colour {
                return Err(wrong(name, "is six hexadecimal digits, such as ff9900"));
            }
            request = request.with(name, digits);
        }
    }
    Ok(request)
}

fn wrong(name: &str, what: &str) -> Error {
    Error::argument(format!("{name} {what}")).with("field", name)
}
