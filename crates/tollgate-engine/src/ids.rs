//! Ids that nobody can guess and that sort by time.

use std::cell::RefCell;

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

thread_local! {
    static CHANCE: RefCell<Chance> = const { RefCell::new(Chance { bytes: [0; 512], left: 0 }) };
}

/// Random bytes fetched ahead, each used once: asking the system costs more than an id.
struct Chance {
    bytes: [u8; 512],
    left: usize,
}

/// Like [`random_hex`], for ids of calls; at most 256 bytes.
fn quick_hex(bytes: usize) -> String {
    let taken = CHANCE.with_borrow_mut(|chance| {
        if chance.left < bytes {
            getrandom::fill(&mut chance.bytes).ok()?;
            chance.left = chance.bytes.len();
        }
        let rest = chance.left.checked_sub(bytes)?;
        let taken = hex(&chance.bytes[rest..chance.left]);
        chance.left = rest;
        Some(taken)
    });
    taken.unwrap_or_else(|| random_hex(bytes))
}

/// A call id: twelve hex digits of time, twenty of chance.
pub(crate) fn call_id(at: Timestamp) -> CallId {
    let [_, _, millis @ ..] = u64::try_from(at.0).unwrap_or(0).to_be_bytes();
    CallId((hex(&millis) + &quick_hex(10)).into())
}

/// Where a call stands in a trace: below the caller's span, or a trace of its own.
pub(crate) fn trace(traceparent: Option<&str>) -> TraceContext {
    let mut own_trace = quick_hex(24);
    let span_id = own_trace.split_off(32);
    match traceparent.and_then(TraceContext::parse) {
        Some((trace_id, parent, sampled)) => TraceContext {
            trace_id,
            parent: Some(parent),
            span_id,
            sampled,
        },
        None => TraceContext {
            trace_id: own_trace,
            parent: None,
            span_id,
            sampled: true,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_ids_share_their_chance() {
        let ids: HashSet<String> = (0..1000).map(|_| quick_hex(10)).collect();
        assert_eq!(ids.len(), 1000);
        assert!(ids.iter().all(|id| id.len() == 20));
        let pieces: HashSet<String> = ids
            .iter()
            .flat_map(|id| [id[..10].to_owned(), id[10..].to_owned()])
            .collect();
        assert_eq!(pieces.len(), 2000);
        assert_eq!(quick_hex(600).len(), 1200);
    }
}
