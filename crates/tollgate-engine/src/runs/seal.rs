//! What a run was given, sealed while the run is not over.
//!
//! Inputs can hold what no record may show, and a run must survive its process; so they
//! are kept encrypted, bound to their run, and deleted when it is over.

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

use crate::call::Inner;

const PURPOSE: &str = "inputs of runs";

fn key(inner: &Inner) -> Option<LessSafeKey> {
    let secret = inner.approval_key.derive(PURPOSE);
    let key = UnboundKey::new(&CHACHA20_POLY1305, secret.reveal()).ok()?;
    Some(LessSafeKey::new(key))
}

/// Seals `plain` for one run; nothing if there is no source of randomness.
pub(super) fn seal(inner: &Inner, run: &str, plain: &[u8]) -> Option<Vec<u8>> {
    let mut nonce = [0; NONCE_LEN];
    getrandom::fill(&mut nonce).ok()?;
    let mut sealed = plain.to_vec();
    key(inner)?
        .seal_in_place_append_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(run.as_bytes()),
            &mut sealed,
        )
        .ok()?;
    let mut whole = nonce.to_vec();
    whole.append(&mut sealed);
    Some(whole)
}

/// Opens what was sealed for this run and not altered since.
pub(super) fn open(inner: &Inner, run: &str, sealed: &[u8]) -> Option<Vec<u8>> {
    let (nonce, sealed) = sealed.split_at_checked(NONCE_LEN)?;
    let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
    let mut plain = sealed.to_vec();
    let length = key(inner)?
        .open_in_place(nonce, Aad::from(run.as_bytes()), &mut plain)
        .ok()?
        .len();
    plain.truncate(length);
    Some(plain)
}
