//! Fields for secrets, covered while a picture is taken.
//!
//! A password shows as dots by itself; a code, a card number or a token in a plain field does
//! not, and its value must not leave the page as a picture either.

use super::Tab;
use crate::{
    error::Error,
    page::{element::telling, locate::judging},
};

/// Covers fields, and says how many there are.
const COVER: &str = "(telling) => { \
    const how = '-webkit-text-security', hidden = globalThis.tollgateHidden ??= []; \
    const look = (root) => { \
        for (const one of root.querySelectorAll('*')) { \
            if (one.shadowRoot) look(one.shadowRoot); \
            const is_field = ['input', 'textarea'].includes(one.localName) || one.hasAttribute('contenteditable'); \
            if (!is_field || one.type === 'password' || !one.checkVisibility() || !isSecret(one, telling)) continue; \
            hidden.push([one, one.style.getPropertyValue(how), one.style.getPropertyPriority(how)]); \
            one.style.setProperty(how, 'disc', 'important'); \
        } }; \
    look(document); \
    return hidden.length; }";

/// Shows them again, as they were.
const UNCOVER: &str = "() => { \
    const how = '-webkit-text-security'; \
    for (const [one, value, priority] of globalThis.tollgateHidden ?? []) { \
        one.style.setProperty(how, value, priority); \
        if (!one.getAttribute('style')) one.removeAttribute('style'); \
    } \
    globalThis.tollgateHidden = []; return true; }";

/// A frame in which something is covered.
pub(super) struct Veiled {
    session: String,
    frame: String,
}

impl Tab {
    /// Covers what is secret in every frame.
    pub(super) async fn veil(&self) -> Result<Vec<Veiled>, Error> {
        let cover = judging(COVER);
        let arguments = vec![telling()];
        let main = self.lock().main_frame.clone();
        let mut veiled = Vec::new();
        for (session, frames) in self.conversations() {
            for frame in frames {
                let covered =
                    self.run_in::<u64>(&session, frame.clone(), &cover, arguments.clone());
                match covered.await {
                    Ok(0) => {}
                    Ok(_) => veiled.push(Veiled {
                        session: session.clone(),
                        frame,
                    }),
                    // A frame that went away meanwhile shows nothing.
                    Err(Error::Protocol(_)) if frame != main => {}
                    Err(error) => {
                        self.unveil(veiled).await;
                        return Err(error);
                    }
                }
            }
        }
        Ok(veiled)
    }

    /// Shows what was covered.
    pub(super) async fn unveil(&self, veiled: Vec<Veiled>) {
        for Veiled { session, frame } in veiled {
            // A document that is gone takes what was covered along.
            let _ = self
                .run_in::<bool>(&session, frame, UNCOVER, Vec::new())
                .await;
        }
    }
}
