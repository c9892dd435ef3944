//! What fields for secrets hold, so that it can be kept out of what a page says elsewhere.

use serde_json::json;

use super::Tab;
use crate::{
    error::{Error, unless_gone},
    page::{element::telling, locate::judging},
};

/// How many fields of a frame are asked, and how much of what they hold is told.
const MOST: usize = 20;
const LONGEST: usize = 1000;

/// Reads every field for a secret, in open shadow trees too. What is chosen and not written is
/// no secret.
const HELD: &str = "(telling, [most, longest]) => { \
    const found = []; \
    const chosen = ['button', 'checkbox', 'color', 'file', 'image', 'radio', 'range', 'reset', 'submit']; \
    const look = (root) => { \
        for (const one of root.querySelectorAll('*')) { \
            if (one.shadowRoot) look(one.shadowRoot); \
            if (found.length >= most || !one.value || typeof one.value !== 'string') continue; \
            if (!['input', 'textarea'].includes(one.localName) || chosen.includes(one.type)) continue; \
            if (isSecret(one, telling)) found.push(one.value.slice(0, longest)); \
        } }; \
    look(document); \
    return found; }";

impl Tab {
    /// What the fields for secrets of the page and its frames hold.
    pub async fn held_secrets(&self) -> Result<Vec<String>, Error> {
        let read = judging(HELD);
        let mut held = Vec::new();
        for (session, frames) in self.conversations() {
            for frame in frames {
                let arguments = vec![telling(), json!([MOST, LONGEST])];
                let found = self.run_in::<Vec<String>>(&session, frame, &read, arguments);
                held.extend(unless_gone(found.await)?.into_iter().flatten());
            }
        }
        Ok(held)
    }
}
