//! Tokens that were accepted a moment ago, so that a busy client does not cost a lookup or
//! a signature for each request.
//!
//! Only good tokens get in, by their digest, so strangers can neither fill nor probe it.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tollgate_core::Timestamp;

use super::Identity;

pub(super) struct Recent {
    most: usize,
    accepted: Mutex<HashMap<[u8; 32], Accepted>>,
}

struct Accepted {
    identity: Identity,
    since: Timestamp,
    until: Timestamp,
}

impl Accepted {
    /// A clock that was set back must not make anything last longer.
    fn counts(&self, now: Timestamp) -> bool {
        self.since <= now && now < self.until
    }
}

impl Recent {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            accepted: Mutex::default(),
        }
    }

    pub(super) fn get(&self, digest: &[u8; 32], now: Timestamp) -> Option<Identity> {
        let accepted = self.lock();
        let found = accepted.get(digest)?;
        found.counts(now).then(|| found.identity.clone())
    }

    pub(super) fn put(
        &self,
        digest: [u8; 32],
        identity: &Identity,
        since: Timestamp,
        until: Timestamp,
    ) {
        let mut accepted = self.lock();
        if accepted.len() >= self.most {
            accepted.retain(|_, one| one.counts(since));
        }
        if accepted.len() < self.most {
            let identity = identity.clone();
            accepted.insert(
                digest,
                Accepted {
                    identity,
                    since,
                    until,
                },
            );
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 32], Accepted>> {
        self.accepted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use tollgate_core::{Principal, TrustLevel};

    use super::*;

    fn somebody(id: &str) -> Identity {
        Identity {
            principal: Principal::token(id),
            trust: TrustLevel::Remote,
            toolsets: None,
            session_limit: None,
            expires: None,
        }
    }

    #[test]
    fn an_identity_counts_from_its_beginning_to_its_end() {
        let recent = Recent::new(8);
        recent.put([1; 32], &somebody("a"), Timestamp(100), Timestamp(200));
        let counts = |at| recent.get(&[1; 32], Timestamp(at)).is_some();
        assert_eq!([99, 100, 199, 200].map(counts), [false, true, true, false]);
        assert_eq!(recent.get(&[2; 32], Timestamp(150)), None);
    }

    #[test]
    fn it_does_not_grow_and_makes_room_for_the_living() {
        let recent = Recent::new(2);
        for (at, id) in [(0, 1), (0, 2), (5, 3), (20, 4)] {
            let until = Timestamp(at + 10);
            recent.put([id; 32], &somebody("a"), Timestamp(at), until);
        }
        assert_eq!(recent.get(&[3; 32], Timestamp(5)), None);
        assert!(recent.get(&[4; 32], Timestamp(20)).is_some());
        assert_eq!(recent.lock().len(), 1);
    }
}
