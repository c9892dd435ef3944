//! Sealing what is kept but may be read by nobody else: one way, for everything that needs it.
//!
//! What is sealed is bound to its place, so that it cannot be moved from one to another.

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use tollgate_core::{SealError, Sealer, Secret};

use crate::policy::ApprovalKey;

/// A key that seals for one purpose.
pub struct Seals(LessSafeKey);

impl Seals {
    /// A key made of another one, that tells nothing about that.
    pub fn new(key: &ApprovalKey, purpose: &str) -> Result<Self, SealError> {
        let secret = key.derive(purpose);
        let key = UnboundKey::new(&CHACHA20_POLY1305, secret.reveal());
        let key = key.map_err(|_| SealError::NotSealed)?;
        Ok(Self(LessSafeKey::new(key)))
    }

    /// A key made of a long text.
    pub fn from_text(text: &Secret<String>, purpose: &str) -> Result<Self, SealError> {
        use sha2::{Digest as _, Sha256};
        let key = Sha256::digest(text.reveal().as_bytes());
        Self::new(&ApprovalKey::new(Secret::new(key.into())), purpose)
    }
}

impl Sealer for Seals {
    fn seal(&self, place: &str, plain: &[u8]) -> Result<Vec<u8>, SealError> {
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).map_err(|_| SealError::NotSealed)?;
        let mut sealed = plain.to_vec();
        let unique = Nonce::assume_unique_for_key(nonce);
        let done =
            self.0
                .seal_in_place_append_tag(unique, Aad::from(place.as_bytes()), &mut sealed);
        done.map_err(|_| SealError::NotSealed)?;
        let mut whole = nonce.to_vec();
        whole.append(&mut sealed);
        Ok(whole)
    }

    fn open(&self, place: &str, sealed: &[u8]) -> Result<Vec<u8>, SealError> {
        let (nonce, sealed) = sealed
            .split_at_checked(NONCE_LEN)
            .ok_or(SealError::NotOurs)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| SealError::NotOurs)?;
        let mut plain = sealed.to_vec();
        let opened = self
            .0
            .open_in_place(nonce, Aad::from(place.as_bytes()), &mut plain);
        let length = opened.map_err(|_| SealError::NotOurs)?.len();
        plain.truncate(length);
        Ok(plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_opens_in_its_place_with_its_key_and_unaltered() {
        let key = |text: &str| Seals::from_text(&Secret::new(text.to_owned()), "tests").unwrap();
        let (one, two) = (key("one"), key("two"));
        let sealed = one.seal("here", b"words").unwrap();
        assert_eq!(one.open("here", &sealed).unwrap(), b"words");
        assert!(!sealed.windows(5).any(|it| it == b"words"));
        assert_ne!(sealed, one.seal("here", b"words").unwrap());
        let mut altered = sealed.clone();
        altered[NONCE_LEN] ^= 1;
        let wrong = [
            one.open("there", &sealed),
            two.open("here", &sealed),
            one.open("here", &altered),
            one.open("here", b"short"),
        ];
        assert!(wrong.iter().all(|it| *it == Err(SealError::NotOurs)));
    }
}
