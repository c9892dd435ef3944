//! From the failures of the web to the codes of the gate.

use tollgate_core::{ErrorCode, ProviderError};
use tollgate_web::{Kind, WebError};

/// The failure as a caller sees it.
pub(super) fn told(error: WebError) -> ProviderError {
    let kind = error.kind;
    let mut told = ProviderError::new(code(kind), error.to_string());
    told.document_code = Some(kind.name().to_owned());
    if let Some(detail) = kind.detail() {
        told.details.insert("detail_code".to_owned(), detail.into());
    }
    told.suggestion = advice(kind).map(str::to_owned);
    told.retry_after = error.retry_after;
    told.source = Some(Box::new(error));
    told
}

fn code(kind: Kind) -> ErrorCode {
    match kind {
        Kind::InvalidInput | Kind::AddressRefused => ErrorCode::InputRejected,
        Kind::RobotsDisallowed | Kind::CaptchaRequired | Kind::Forbidden => ErrorCode::ToolFailed,
        Kind::TooManyRequests => ErrorCode::RateLimited,
        Kind::Parse | Kind::BadGateway => ErrorCode::Unavailable,
        Kind::ContentType => ErrorCode::Unsupported,
        Kind::Network => ErrorCode::ConnectionLost,
        Kind::Timeout => ErrorCode::TimedOut,
        Kind::Auth => ErrorCode::Unauthorized,
    }
}

fn advice(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::AddressRefused => {
            "Use an address of the public web; the operator can name others in `web.allow_hosts`."
        }
        Kind::RobotsDisallowed | Kind::CaptchaRequired | Kind::Forbidden => {
            "Do not repeat it; read another source."
        }
        Kind::ContentType => "Read another source, or look for the same thing as a page.",
        Kind::InvalidInput
        | Kind::TooManyRequests
        | Kind::Parse
        | Kind::Network
        | Kind::Timeout
        | Kind::Auth
        | Kind::BadGateway => return None,
    })
}
