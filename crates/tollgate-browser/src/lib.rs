//! A real browser for agents: Chromium over its own pipe, sessions that share nothing, pages
//! as lists of elements and sections, and one way out that is checked.
//!
//! It knows nothing of tools or calls. What must hold whatever a page does: no browser outlives
//! us, no session sees another's state, no connection is made that the boundary did not admit,
//! and a page that dies ends the calls on it and nothing else.

#![forbid(unsafe_code)]

mod boundary;
mod browser;
mod error;
mod hub;
mod page;
mod process;
mod protocol;
mod proxy;
mod session;
mod tab;

pub use boundary::{Admission, Boundary};
pub use browser::{Browser, Limits, Owner, Settings};
pub use error::{Error, Near};
pub use page::{
    address::origin,
    content::{Content, PageImage, PageLink, Section},
    element::{Bounds, Element, State},
    locate::Target,
    matching::{Candidate, find as find_elements},
    next::{Entry, Onward},
    overview::{Overview, PageType, Region},
    view::{Changes, by_use, fitting, shortened, tokens},
};
pub use process::find::{INSTALL, Missing, Whereabouts};
pub use session::{Cookie, Download, Keeper, Kept, KeptTab, Options, Session};
pub use tab::{
    Tab,
    act::{Clicked, Direction, Scrolled},
    going::{Loaded, Turn},
    headers::Headers,
    keys::{KeyError, Stroke},
    load::{Stability, WaitFor},
    logs::{ConsoleEntry, Dialog, NetworkEntry},
    picture::{Format, Picture},
};

use std::{fmt::Write as _, io};

/// Random lower-case hex digits, two for each byte.
pub(crate) fn random_hex(bytes: usize) -> io::Result<String> {
    let mut random = vec![0; bytes];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let mut text = String::new();
    for byte in random {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}
