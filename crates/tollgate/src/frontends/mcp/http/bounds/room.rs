//! Room for connections: how many there may be, and which one goes when there are too many.
//!
//! Invariant: connections stay below the process's limit of open files, so that the store and
//! providers can open theirs. A connection on which a request is being answered, or a stream
//! is open, is never closed for another one; the one that was idle for longest is.

use std::{
    collections::HashMap,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Instant,
};

use axum::body::{Body, Bytes};
use http_body::{Frame, SizeHint};
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::config::Serve;

/// Files that are left for everything but connections.
const OTHER_FILES: u64 = 256;

/// Raises the soft limit of open files to the hard one; gives the limit that holds then.
pub(in super::super) fn raise_open_files() -> Option<u64> {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        limit.current = limit.maximum;
        // Where this is refused, the soft limit stays as it is.
        let _ = setrlimit(Resource::Nofile, limit);
    }
    getrlimit(Resource::Nofile).current
}

/// The connections there may be beside other files.
fn fitting(wanted: usize, files: Option<u64>) -> usize {
    let Some(files) = files else { return wanted };
    let left = files.saturating_sub(OTHER_FILES.min(files / 2));
    wanted
        .min(usize::try_from(left).unwrap_or(usize::MAX))
        .max(1)
}

/// Every open connection.
pub(in super::super) struct Room {
    most: usize,
    per_peer: usize,
    proxies: Vec<IpAddr>,
    state: Mutex<State>,
    freed: Notify,
}

#[derive(Default)]
struct State {
    next: u64,
    places: HashMap<u64, Arc<Shared>>,
    /// Connections of callers that are not known, by their address.
    strangers: HashMap<IpAddr, usize>,
}

struct Shared {
    id: u64,
    peer: IpAddr,
    /// Requests that are being answered, and streams that are open.
    working: AtomicUsize,
    /// Whether the last request was of a known caller, or comes from a trusted proxy.
    known: AtomicBool,
    idle_since: Mutex<Instant>,
    evicted: CancellationToken,
}

/// The place of one connection; dropping it makes room.
pub(in super::super) struct Place {
    room: Arc<Room>,
    shared: Arc<Shared>,
}

/// A request that is being answered, or a stream that is open.
pub(in super::super) struct Working(Arc<Place>);

impl Drop for Working {
    fn drop(&mut self) {
        *lock(&self.0.shared.idle_since) = Instant::now();
        self.0.shared.working.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Room {
    /// Room beside other files, of which there may be `files`.
    pub(in super::super) fn new(serve: &Serve, files: Option<u64>) -> Self {
        let most = fitting(serve.connections, files);
        Self {
            most,
            per_peer: serve.connections_per_peer.min(most).max(1),
            proxies: serve
                .trusted_proxies
                .iter()
                .map(IpAddr::to_canonical)
                .collect(),
            state: Mutex::default(),
            freed: Notify::new(),
        }
    }

    /// How many connections there may be.
    pub(in super::super) fn most(&self) -> usize {
        self.most
    }

    /// Takes a new connection in; the one that was idle for longest goes if there are too
    /// many of its address. `None` if all of them are at work.
    pub(in super::super) fn enter(self: &Arc<Self>, peer: SocketAddr) -> Option<Arc<Place>> {
        let peer = peer.ip().to_canonical();
        let is_proxy = self.proxies.contains(&peer);
        let mut state = lock(&self.state);
        let there = state.strangers.get(&peer).copied().unwrap_or(0);
        if !is_proxy && there >= self.per_peer {
            let longest = state.longest_idle(|shared| {
                shared.peer == peer && !shared.known.load(Ordering::Acquire)
            })?;
            state.evict(&longest);
        }
        let id = state.next;
        state.next += 1;
        let shared = Arc::new(Shared {
            id,
            peer,
            working: AtomicUsize::new(0),
            known: AtomicBool::new(is_proxy),
            idle_since: Mutex::new(Instant::now()),
            evicted: CancellationToken::new(),
        });
        state.places.insert(id, Arc::clone(&shared));
        if !is_proxy {
            *state.strangers.entry(peer).or_default() += 1;
        }
        let room = Arc::clone(self);
        Some(Arc::new(Place { room, shared }))
    }

    /// Waits until there is room for all who are in; the longest idle connections go.
    pub(in super::super) async fn settle(&self) {
        loop {
            let freed = self.freed.notified();
            {
                let mut state = lock(&self.state);
                if state.places.len() <= self.most {
                    return;
                }
                if let Some(longest) = state.longest_idle(|_| true) {
                    state.evict(&longest);
                    continue;
                }
            }
            freed.await;
        }
    }
}

impl State {
    fn longest_idle(&self, wanted: impl Fn(&Shared) -> bool) -> Option<Arc<Shared>> {
        let idle = self
            .places
            .values()
            .filter(|shared| shared.working.load(Ordering::Acquire) == 0 && wanted(shared));
        idle.min_by_key(|shared| *lock(&shared.idle_since)).cloned()
    }

    fn evict(&mut self, shared: &Shared) {
        self.leave(shared);
        shared.evicted.cancel();
    }

    fn leave(&mut self, shared: &Shared) {
        if self.places.remove(&shared.id).is_some() && !shared.known.load(Ordering::Acquire) {
            self.forget_stranger(shared.peer);
        }
    }

    fn forget_stranger(&mut self, peer: IpAddr) {
        if let Some(count) = self.strangers.get_mut(&peer) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.strangers.remove(&peer);
            }
        }
    }
}

impl Place {
    /// Begins to answer a request.
    pub(in super::super) fn work(self: &Arc<Self>) -> Working {
        self.shared.working.fetch_add(1, Ordering::AcqRel);
        Working(Arc::clone(self))
    }

    /// Notes whether the caller of the last request is known.
    pub(in super::super) fn knows_caller(&self, known: bool) {
        if self.shared.known.load(Ordering::Acquire) == known {
            return;
        }
        let mut state = lock(&self.room.state);
        let is_proxy = self.room.proxies.contains(&self.shared.peer);
        if is_proxy || !state.places.contains_key(&self.shared.id) {
            return;
        }
        if self.shared.known.swap(known, Ordering::AcqRel) == known {
            return;
        }
        if known {
            state.forget_stranger(self.shared.peer);
        } else {
            *state.strangers.entry(self.shared.peer).or_default() += 1;
        }
    }

    /// Ends when the connection has to go for another one.
    pub(in super::super) async fn evicted(&self) {
        self.shared.evicted.cancelled().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.room.state).leave(&self.shared);
        self.room.freed.notify_waiters();
    }
}

/// A body whose connection is at work until it was sent.
pub(in super::super) struct Sending {
    pub(in super::super) body: Body,
    pub(in super::super) _working: Working,
}

impl http_body::Body for Sending {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(most: usize, per_peer: usize, proxies: &[&str]) -> Arc<Room> {
        Arc::new(Room {
            most,
            per_peer,
            proxies: proxies.iter().map(|it| it.parse().unwrap()).collect(),
            state: Mutex::default(),
            freed: Notify::new(),
        })
    }

    fn enter(room: &Arc<Room>, ip: &str) -> Option<Arc<Place>> {
        room.enter(SocketAddr::new(ip.parse().unwrap(), 1))
    }

    fn is_gone(place: &Place) -> bool {
        place.shared.evicted.is_cancelled()
    }

    #[test]
    fn connections_leave_room_for_other_files() {
        assert_eq!(fitting(16_384, Some(1024)), 768);
        assert_eq!(fitting(16_384, Some(100)), 50);
        assert_eq!(fitting(10, Some(1024)), 10);
        assert_eq!(fitting(16_384, None), 16_384);
        assert_eq!(fitting(16_384, Some(0)), 1);
    }

    #[test]
    fn too_many_of_one_address_make_its_longest_idle_go() {
        let room = room(100, 2, &["192.0.2.9"]);
        let first = enter(&room, "192.0.2.1").unwrap();
        let second = enter(&room, "::ffff:192.0.2.1").unwrap();
        drop(first.work());
        let third = enter(&room, "192.0.2.1").unwrap();
        assert!(is_gone(&second) && !is_gone(&first) && !is_gone(&third));
        let working = [first.work(), third.work()];
        assert!(enter(&room, "192.0.2.1").is_none(), "all are at work");
        assert!(enter(&room, "192.0.2.2").is_some());
        // Known callers and trusted proxies are not counted.
        first.knows_caller(true);
        assert!(enter(&room, "192.0.2.1").is_some());
        first.knows_caller(false);
        assert!(enter(&room, "192.0.2.1").is_some_and(|it| !is_gone(&it)) || working.len() == 2);
        let proxied: Vec<_> = (0..9).map(|_| enter(&room, "192.0.2.9").unwrap()).collect();
        assert!(!proxied.iter().any(|it| is_gone(it)));
    }

    #[tokio::test]
    async fn a_full_room_lets_the_longest_idle_go_and_waits_if_none_is() {
        let room = room(2, 10, &[]);
        let first = enter(&room, "192.0.2.1").unwrap();
        let second = enter(&room, "192.0.2.2").unwrap();
        let third = enter(&room, "192.0.2.3").unwrap();
        let busy = [second.work(), third.work()];
        room.settle().await;
        assert!(is_gone(&first) && !is_gone(&second));
        let fourth = enter(&room, "192.0.2.4").unwrap();
        let working = fourth.work();
        let waits = tokio::spawn({
            let room = Arc::clone(&room);
            async move { room.settle().await }
        });
        tokio::task::yield_now().await;
        assert!(!waits.is_finished());
        drop((busy, second));
        waits.await.unwrap();
        drop((working, third, fourth, first));
        let state = lock(&room.state);
        assert!(state.places.is_empty() && state.strangers.is_empty());
    }
}
