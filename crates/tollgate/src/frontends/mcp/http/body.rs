//! Answers as bodies: one JSON document, or a stream of events.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::{Body, Bytes},
    response::{IntoResponse, Response},
};
use futures_util::Stream;
use http::{HeaderValue, StatusCode, header};
use http_body::{Frame, SizeHint};

/// How often an idle stream shows that it is alive.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// One JSON document; `arrived` is called once it has been handed to the connection.
pub(super) fn json(
    status: StatusCode,
    text: String,
    arrived: Option<Box<dyn FnOnce() + Send>>,
) -> Response {
    let body = Whole {
        bytes: Some(text.into()),
        arrived,
    };
    let mut response = (status, Body::new(body)).into_response();
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

struct Whole {
    bytes: Option<Bytes>,
    arrived: Option<Box<dyn FnOnce() + Send>>,
}

impl http_body::Body for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = self.bytes.take();
        if let Some(arrived) = self.arrived.take() {
            arrived();
        }
        Poll::Ready(bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}

/// A stream of events.
pub(super) fn events(
    stream: impl Stream<Item = Result<String, Infallible>> + Send + 'static,
) -> Response {
    let mut response = Body::from_stream(stream).into_response();
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache, no-transform"),
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// A message as an event.
pub(super) fn event(message: &str) -> String {
    format!("event: message\ndata: {message}\n\n")
}

/// A message as an event that can be returned to.
pub(super) fn numbered(id: &str, message: &str) -> String {
    format!("id: {id}\nevent: message\ndata: {message}\n\n")
}

/// A sign of life.
pub(super) const ALIVE: &str = ": alive\n\n";
