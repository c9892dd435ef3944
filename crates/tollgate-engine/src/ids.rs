//! Ids that nobody can guess and that sort by time.

use tollgate_core::{
    CallId, Timestamp, TraceContext,
    canonical::{hex, hex_digest},
};

/// Random bytes as lower-case hex.
///
/// Without a source of randomness a process cannot keep secrets; the digest of
/// what little differs stands in so that ids at least stay distinct.
pub fn random_hex(bytes: usize) -> String {
    let mut buffer = vec![0_u8; bytes];
    match getrandom::fill(&mut buffer) {
        Ok(()) => hex(&buffer),
        Err(_) => {
            let seed = format!("{:?}{:p}", std::time::Instant::now(), buffer.as_ptr());
            hex_digest(seed.as_bytes())
                .chars()
                .take(bytes * 2)
                .collect()
        }
    }
}

/// An id for people to type: `prefix-` and ten letters and digits without look-alikes.
pub fn random_id(prefix: &str) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz023456789";
    let raw = random_hex(10);
    let id: String = raw
        .as_bytes()
        .chunks(2)
        .filter_map(|pair| std::str::from_utf8(pair).ok())
        .filter_map(|pair| usize::from_str_radix(pair, 16).ok())
        .map(|byte| char::from(LETTERS[byte % LETTERS.len()]))
        .collect();
    format!("{prefix}-{id}")
}

/// A call id: twelve hex digits of time, twenty of chance.
pub(crate) fn call_id(at: Timestamp) -> CallId {
    let millis = u64::try_from(at.0).unwrap_or(0) & 0xffff_ffff_ffff;
    CallId(format!("{millis:012x}{}", random_hex(10)).into())
}

/// Where a call stands in a trace: below the caller's span, or a trace of its own.
pub(crate) fn trace(traceparent: Option<&str>) -> TraceContext {
    let random = random_hex(24);
    let (own_trace, span) = random.split_at(32);
    match traceparent.and_then(TraceContext::parse) {
        Some((trace_id, parent, sampled)) => TraceContext {
            trace_id,
            parent: Some(parent),
            span_id: span.to_owned(),
            sampled,
        },
        None => TraceContext {
            trace_id: own_trace.to_owned(),
            parent: None,
            span_id: span.to_owned(),
            sampled: true,
        },
    }
}
