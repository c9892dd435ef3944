//! Reads what came back: unpacks it, tells errors from answers, and finds the tokens in both.

use std::{io::Read as _, time::Duration};

use flate2::read::MultiGzDecoder;

use super::{
    Bucket, Incoming,
    envelope::Envelope,
    subject::{Source, mismatch},
};
use crate::{Error, Kind, request::Request};

/// What an answer may unpack to: a hundred products with all they have are about 60 MB.
const MOST_BYTES: u64 = 128 << 20;
const GZIP: [u8; 2] = [0x1f, 0x8b];
const PNG: [u8; 4] = [0x89, b'P', b'N', b'G'];

/// What an answer holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// JSON, as it came.
    Json(String),
    /// A picture.
    Picture {
        /// Its bytes.
        bytes: Vec<u8>,
        /// Its media type.
        content_type: String,
    },
}

/// A good answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// What it holds.
    pub body: Body,
    /// The tokens, where it told.
    pub bucket: Option<Bucket>,
    /// How long a refill was waited for.
    pub waited: Option<Duration>,
}

/// An answer, good or not.
pub(super) enum Read {
    Fine(Answer),
    Wrong {
        error: Error,
        bucket: Option<Bucket>,
        refill: Option<Duration>,
    },
}

impl Read {
    /// The same, wrong if it is an answer to another question.
    pub(super) fn about(self, request: &Request) -> Self {
        let answer = match self {
            Self::Fine(answer) => answer,
            wrong @ Self::Wrong { .. } => return wrong,
        };
        let error = match &answer.body {
            Body::Json(text) => mismatch(request, text, Source::Keepa),
            Body::Picture { .. } => None,
        };
        match error {
            None => Self::Fine(answer),
            Some(error) => Self::Wrong {
                error,
                bucket: answer.bucket,
                refill: None,
            },
        }
    }

    pub(super) fn bucket(&self) -> Option<Bucket> {
        match self {
            Self::Fine(answer) => answer.bucket,
            Self::Wrong { bucket, .. } => *bucket,
        }
    }
}

pub(super) fn read(incoming: &Incoming, is_binary: bool) -> Read {
    let bytes = match unpack(&incoming.body) {
        Ok(bytes) => bytes,
        Err(message) => return wrong(incoming, broken(message), None, None),
    };
    if is_binary && incoming.status == 200 && bytes.starts_with(&PNG) {
        let content_type = incoming.content_type.clone();
        let content_type = content_type.unwrap_or_else(|| "image/png".to_owned());
        let body = Body::Picture {
            bytes,
            content_type,
        };
        return Read::Fine(Answer {
            body,
            bucket: None,
            waited: None,
        });
    }
    let found = Envelope::read(&bytes);
    let is_json = found.is_some();
    let envelope = found.unwrap_or_default();
    let bucket = envelope.bucket();
    let told = incoming.retry_after.map(Duration::from_secs);
    let refill = envelope.refill().or(told);
    if let Some(error) = envelope.error(incoming.status, refill) {
        return wrong(incoming, error, bucket, refill);
    }
    match String::from_utf8(bytes) {
        Ok(text) if is_json && !is_binary => Read::Fine(Answer {
            body: Body::Json(text),
            bucket,
            waited: None,
        }),
        _ => wrong(
            incoming,
            broken("the answer is not what was asked for"),
            bucket,
            None,
        ),
    }
}

fn wrong(
    incoming: &Incoming,
    error: Error,
    bucket: Option<Bucket>,
    refill: Option<Duration>,
) -> Read {
    let status = Some(incoming.status);
    let error = Error { status, ..error };
    Read::Wrong {
        error,
        bucket,
        refill,
    }
}

fn broken(message: impl Into<String>) -> Error {
    Error::new(Kind::NetworkOrParseError, message)
}

/// Unpacks what is packed, told by its first bytes: not every answer says so in its headers.
fn unpack(body: &[u8]) -> Result<Vec<u8>, String> {
    if !body.starts_with(&GZIP) {
        return Ok(body.to_vec());
    }
    let mut bytes = Vec::new();
    let mut unpacked = MultiGzDecoder::new(body).take(MOST_BYTES + 1);
    unpacked
        .read_to_end(&mut bytes)
        .map_err(|error| format!("the answer could not be unpacked: {error}"))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err("the answer unpacks to more than we take".to_owned());
    }
    Ok(bytes)
}
