//! Where pages may lead.

use std::{
    collections::VecDeque,
    future::Future,
    net::SocketAddr,
    pin::Pin,
    sync::{Mutex, PoisonError},
};

/// How many refusals are remembered.
const KEPT: usize = 100;

/// Decides where connections of a session may lead.
pub trait Boundary: Send + Sync {
    /// Looks a host up and says which addresses may be connected to, or why none may.
    ///
    /// The connection is made to these addresses and to no others, so what was checked is
    /// what is reached.
    fn admit(&self, host: String, port: u16) -> Admission;
}

/// Addresses that were checked, or the reason why there are none.
pub type Admission = Pin<Box<dyn Future<Output = Result<Vec<SocketAddr>, String>> + Send>>;

/// What was not let through, so that whoever waits for a page learns why it does not come.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Mutex<(u64, VecDeque<Refusal>)>);

#[derive(Debug, Clone)]
struct Refusal {
    number: u64,
    host: String,
    why: Why,
}

/// Why a connection was not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Why {
    /// It may not be.
    Refused(String),
    /// The other side failed.
    Failed(String),
}

impl Refusals {
    pub(crate) fn add(&self, host: &str, why: Why) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.0 += 1;
        let refusal = Refusal {
            number: kept.0,
            host: host.to_owned(),
            why,
        };
        kept.1.push_back(refusal);
        if kept.1.len() > KEPT {
            kept.1.pop_front();
        }
    }

    /// How many there have been.
    pub(crate) fn count(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0
    }

    /// The last one of a host after the first `seen`.
    pub(crate) fn since(&self, seen: u64, host: &str) -> Option<Why> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = kept.1.iter().rev();
        found
            .find(|it| it.number > seen && it.host == host)
            .map(|it| it.why.clone())
    }
}
