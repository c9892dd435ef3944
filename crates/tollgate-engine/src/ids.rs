//! Ids that nobody can guess and that sort by time.

use std::{
    cell::RefCell,
    io,
    sync::atomic::{AtomicU64, Ordering},
};

use tollgate_core::{
    CallId, Timestamp, TraceContext,
    canonical::{hex, hex_digest},
};

/// Random bytes as lower-case hex; an error where the system gives none, as nothing else can
/// stand in for a secret.
pub fn random_hex(bytes: usize) -> io::Result<String> {
    hex_of(bytes, |buffer| {
        getrandom::fill(buffer).map_err(io::Error::other)
    })
}

fn hex_of(bytes: usize, fill: impl FnOnce(&mut [u8]) -> io::Result<()>) -> io::Result<String> {
    let mut buffer = vec![0_u8; bytes];
    fill(&mut buffer)?;
    Ok(hex(&buffer))
}

/// An id for people to type: `prefix-` and ten letters and digits without look-alikes.
pub fn random_id(prefix: &str) -> io::Result<String> {
    Ok(format!("{prefix}-{}", letters(&random_hex(10)?)))
}

/// The same for what has to be distinct and is no secret.
pub(crate) fn distinct_id(prefix: &str) -> String {
    format!("{prefix}-{}", letters(&quick_hex(10)))
}

fn letters(raw: &str) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz023456789";
    raw.as_bytes()
        .chunks(2)
        .filter_map(|pair| std::str::from_utf8(pair).ok())
        .filter_map(|pair| usize::from_str_radix(pair, 16).ok())
        .map(|byte| char::from(LETTERS[byte % LETTERS.len()]))
        .collect()
}

thread_local! {
    static CHANCE: RefCell<Chance> = const { RefCell::new(Chance { bytes: [0; 512], left: 0 }) };
}

/// Random bytes fetched ahead, each used once: asking the system costs more than an id.
struct Chance {
    bytes: [u8; 512],
    left: usize,
}

/// Like [`random_hex`], for ids of calls and spans. They have to be distinct and are no secrets:
/// where the system gives no random bytes, a count within this process and its id stand in.
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
    taken
        .or_else(|| random_hex(bytes).ok())
        .unwrap_or_else(|| counted(bytes))
}

fn counted(bytes: usize) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let digest = hex_digest(format!("{}/{number}", std::process::id()).as_bytes());
    digest.chars().cycle().take(bytes * 2).collect()
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
    fn without_random_bytes_there_is_no_secret() {
        let none = |_: &mut [u8]| Err(io::Error::other("no entropy"));
        assert!(hex_of(24, none).is_err());
        let some = |buffer: &mut [u8]| {
            buffer.fill(0xab);
            Ok(())
        };
        assert_eq!(hex_of(2, some).unwrap(), "abab");
        assert_eq!(random_hex(24).unwrap().len(), 48);
        assert_eq!(random_id("ap").unwrap().len(), 13);
        assert_ne!(counted(10), counted(10));
        assert_eq!(counted(40).len(), 80);
    }

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
