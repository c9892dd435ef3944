//! From the failures of the browser to the codes of the gate and of the design document.

use serde_json::{Value, json};
use tollgate_browser::Error;
use tollgate_core::{ErrorCode, ProviderError};

/// The failure as a caller sees it.
pub(super) fn told(error: Error) -> ProviderError {
    let mut told = ProviderError::new(code(&error), error.to_string());
    told.document_code = error.code().map(str::to_owned);
    told.suggestion = advice(&error);
    if let Error::OtherSite { site, .. } = &error {
        let page = site.clone();
        told.details.insert("page".to_owned(), page.into());
    }
    if matches!(error, Error::ElementNotFound { .. }) {
        let near = candidates(&error);
        told.details.insert("candidates".to_owned(), near.into());
        told.next_steps = vec![
            "browser.find_element".to_owned(),
            "browser.get_page_info".to_owned(),
        ];
    }
    told.source = Some(Box::new(error));
    told
}

/// What answers best to an id that names nothing.
pub(super) fn candidates(error: &Error) -> Vec<Value> {
    let Error::ElementNotFound { near, .. } = error else {
        return Vec::new();
    };
    let near = near
        .iter()
        .map(|it| json!({"id": it.id, "label": it.label, "score": it.score}));
    near.collect()
}

fn code(error: &Error) -> ErrorCode {
    match error {
        Error::ElementNotFound { .. } | Error::SessionNotFound(_) | Error::TabNotFound(_) => {
            ErrorCode::NotFound
        }
        Error::Timeout(_) => ErrorCode::TimedOut,
        Error::Crashed => ErrorCode::ConnectionLost,
        Error::Invalid(_) | Error::OtherSite { .. } | Error::Refused(_) | Error::Limit(_) => {
            ErrorCode::InputRejected
        }
        Error::Script(_) | Error::Load(_) | Error::Dialog(_) => ErrorCode::ToolFailed,
        Error::Missing(_) => ErrorCode::Unsupported,
        Error::NotStarted(_) => ErrorCode::SpawnFailed,
        Error::Protocol(_) | Error::NotKept(_) | Error::Io { .. } => ErrorCode::Unavailable,
    }
}

fn advice(error: &Error) -> Option<String> {
    let advice = match error {
        Error::ElementNotFound { near, .. } if near.is_empty() => {
            "Ids end when the page changes: look at it again with browser.get_page_info."
        }
        Error::ElementNotFound { .. } => {
            "Ids end when the page changes: use one of `details.candidates`, or look again with browser.get_page_info."
        }
        Error::Timeout(_) => "Wait with browser.wait_for_stable, or navigate again.",
        Error::SessionNotFound(_) => {
            "Make one with browser.create_session, or leave `sessionId` out for your default session."
        }
        Error::OtherSite { .. } => "Say with `url` which site is meant: that of its frame.",
        Error::TabNotFound(_) => "List the tabs with browser.list_tabs.",
        Error::Crashed => "Repeat the call: the page is loaded anew.",
        Error::Refused(_) => {
            "Use another address; the operator can name hosts in `browser.allow_hosts`, and folders in `browser.roots`."
        }
        Error::Dialog(_) => "Answer it with browser.handle_dialog.",
        Error::Load(_) => "Check the address, or try again later.",
        Error::Limit(_) => {
            "Close what is not needed with browser.close_tab or browser.close_session."
        }
        Error::Missing(missing) => return Some(missing.to_string()),
        Error::NotStarted(_) => "Tell the operator: `tollgate doctor` says what is missing.",
        Error::NotKept(_) => {
            "Tell the operator: the key of the profiles or their folder is not what it was."
        }
        Error::Invalid(_) | Error::Script(_) | Error::Protocol(_) | Error::Io { .. } => {
            return None;
        }
    };
    Some(advice.to_owned())
}
