//! Where a list goes on: the link to its next page, and the entries of this one.
//!
//! A page says it with `rel=next`; most say it only in words or with an arrow.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{error::Error, tab::Tab};

const LOOK: &str = include_str!("next.js");

/// Where a list goes on.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Onward {
    /// The address of the next page, if a link leads there.
    pub url: Option<String>,
    /// Whether only a button leads on.
    #[serde(rename = "button")]
    pub is_button: bool,
    /// The entries of this page.
    pub items: Vec<Entry>,
}

/// An entry of a list.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Entry {
    /// What it says.
    pub text: String,
    /// Where its first link leads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub href: Option<String>,
}

impl Tab {
    /// Where the list of this page goes on. `next` is a selector of what leads on, if the page
    /// has to be told; `items` one of the entries, which are cut at `longest` characters.
    pub async fn onward(
        &self,
        next: Option<&str>,
        items: Option<&str>,
        longest: usize,
    ) -> Result<Onward, Error> {
        let arguments = vec![json!(next), json!(items), json!(longest)];
        match self.run(LOOK, arguments).await {
            Err(Error::Script(why)) => Err(Error::Invalid(why)),
            other => other,
        }
    }
}
