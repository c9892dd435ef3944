//! What a client says of itself, read once for as long as it says the same.
//!
//! From 2026-07-28 on every request says all of it, in the same words each time. Invariant: what
//! was read depends on those words alone, so it does not matter whose request they came with;
//! what is wrong with them is not kept, and neither is what differs from request to request.

use std::{cell::RefCell, rc::Rc};

use super::era::{Client, Said};

/// Words longer than this are read each time.
const LONGEST: usize = 2 << 10;

thread_local! {
    static LAST: RefCell<Option<Rc<Known>>> = const { RefCell::new(None) };
}

/// What a modern request says about its client, and beside its own parameters.
pub(super) struct Known {
    words: Box<str>,
    pub(super) client: Client,
    pub(super) said: Said,
}

/// What these words mean, if they were read last on this thread.
pub(super) fn known(words: &str) -> Option<Rc<Known>> {
    LAST.with_borrow(|last| last.clone().filter(|known| *known.words == *words))
}

/// Keeps what these words mean.
pub(super) fn keep(words: &str, client: &Client, said: &Said) {
    let is_once = said.progress_token.is_some() || said.traceparent.is_some();
    if is_once || words.len() > LONGEST {
        return;
    }
    let known = Known {
        words: words.into(),
        client: client.clone(),
        said: said.clone(),
    };
    LAST.set(Some(Rc::new(known)));
}

#[cfg(test)]
mod tests {
    use super::{
        super::{meta::Meta, params::Params},
        *,
    };
    use tollgate_core::Payload;

    fn read(words: &str) -> (Client, Said) {
        let params = Payload::parse(format!(r#"{{"_meta":{words}}}"#)).unwrap();
        let params = Params::from(params);
        let meta = Meta::of(&params).unwrap().unwrap();
        let client = Client::of_request(&meta).unwrap();
        (client, Said::in_meta(&meta).unwrap())
    }

    fn words(name: &str, more: &str) -> String {
        format!(
            r#"{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}},"io.modelcontextprotocol/clientInfo":{{"name":"{name}"}}{more}}}"#
        )
    }

    #[test]
    fn the_same_words_mean_the_same_and_others_are_read() {
        let ada = words("ada", r#","tollgate/session":"s1","x":1.50"#);
        let (client, said) = read(&ada);
        assert!(known(&ada).is_none());
        keep(&ada, &client, &said);
        let found = known(&ada).unwrap();
        assert_eq!(found.client.name.as_deref(), Some("ada"));
        assert_eq!(found.said.session.as_deref(), Some("s1"));
        assert_eq!(found.said.aside.as_deref(), Some(r#""x":1.50"#));
        for other in [
            words("adb", r#","tollgate/session":"s1","x":1.50"#),
            words("ada", r#","tollgate/session":"s1","x":1.5"#),
            ada.replace(':', ": "),
            String::new(),
        ] {
            assert!(known(&other).is_none(), "{other}");
        }
    }

    #[test]
    fn what_differs_from_request_to_request_is_not_kept() {
        let usual = words("usual", "");
        let (client, said) = read(&usual);
        keep(&usual, &client, &said);
        for more in [
            r#","progressToken":7"#.to_owned(),
            r#","traceparent":"00-1-2-01""#.to_owned(),
            format!(r#","x":"{}""#, "y".repeat(LONGEST)),
        ] {
            let once = words("usual", &more);
            let (client, said) = read(&once);
            keep(&once, &client, &said);
            assert!(known(&once).is_none(), "{more}");
        }
        assert!(known(&usual).is_some());
    }
}
