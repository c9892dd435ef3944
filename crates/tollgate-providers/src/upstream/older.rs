//! Requests to an older server at an address.
//!
//! Such a server may ask on its other stream what a call needs to know, so a call hears both
//! from the moment it is sent; and it may close the stream of an answer that is to be taken up
//! later. Giving up has to be said, so nothing is waited for before a request has its number.

use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Notify, time::sleep};

use super::{
    backlog::Backlog,
    http::{Exchange, Http},
    link::{LinkError, Next, Outgoing},
    rpc::Heard,
    whose::{self, Call},
    wire::Letter,
};

/// How long it takes until a stream is taken up again, unless the server says so.
const AGAIN: Duration = Duration::from_secs(1);
const SOONEST: Duration = Duration::from_millis(20);
const LATEST: Duration = Duration::from_secs(30);

/// One request.
pub(super) struct Older {
    id: u64,
    http: Arc<Http>,
    stage: Stage,
    ear: Arc<Ear>,
}

/// How far a request has come.
enum Stage {
    /// The beginning of its answer, or of the rest of it, is waited for.
    Coming(Pin<Box<dyn Future<Output = Result<Exchange, LinkError>> + Send>>),
    Here(Exchange),
}

/// What is under way at one server.
#[derive(Default)]
pub(super) struct Calls(Mutex<BTreeMap<u64, Caller>>);

struct Caller {
    call: Option<Call>,
    ear: Arc<Ear>,
}

/// What one of them is told on the other stream.
#[derive(Default)]
struct Ear {
    unheard: Mutex<Backlog>,
    more: Notify,
}

impl Ear {
    /// Gives back what there is no room for.
    fn tell(&self, heard: Heard) -> Option<Heard> {
        let left = self.unheard().put(heard).err();
        self.more.notify_one();
        left
    }

    async fn next(&self) -> Heard {
        loop {
            let heard = self.unheard().take();
            match heard {
                Some(heard) => return heard,
                None => self.more.notified().await,
            }
        }
    }

    fn unheard(&self) -> MutexGuard<'_, Backlog> {
        self.unheard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Older {
    /// Sends a request as soon as somebody waits for its answer.
    pub(super) fn begin(http: &Arc<Http>, letter: Letter, outgoing: &Outgoing<'_>) -> Self {
        let ear = Arc::<Ear>::default();
        let (id, own) = (outgoing.id, Arc::clone(http));
        let caller = Caller {
            call: outgoing.call(),
            ear: Arc::clone(&ear),
        };
        http.calls.all().insert(id, caller);
        Self {
            id,
            http: Arc::clone(http),
            stage: Stage::Coming(Box::pin(async move { own.exchange(letter, id).await })),
            ear,
        }
    }

    pub(super) fn is_held(&self, held: bool) {
        let mut all = self.http.calls.all();
        if let Some(call) = all.get_mut(&self.id).and_then(|one| one.call.as_mut()) {
            call.is_held = held;
        }
    }

    pub(super) async fn next(&mut self) -> Result<Next, LinkError> {
        loop {
            let came = tokio::select! {
                biased;
                heard = self.ear.next() => return Ok(Next::Said(heard)),
                came = self.stage.next() => came,
            };
            self.stage = match came {
                Ok(Came::Next(next)) => return Ok(next),
                Ok(Came::Answer(exchange)) => Stage::Here(exchange),
                Err(error) => self.resumed(error)?,
            };
        }
    }

    /// Takes up a stream that ended before the answer, if the server can be asked for the rest.
    fn resumed(&mut self, error: LinkError) -> Result<Stage, LinkError> {
        let LinkError::Lost(_) = error else {
            return Err(error);
        };
        let none = Stage::Here(Exchange::Whole(None));
        let Stage::Here(Exchange::Stream { events, .. }) = std::mem::replace(&mut self.stage, none)
        else {
            return Err(error);
        };
        if events.last().is_none() {
            return Err(error);
        }
        let wait = events.retry().unwrap_or(AGAIN).clamp(SOONEST, LATEST);
        let (id, http) = (self.id, Arc::clone(&self.http));
        Ok(Stage::Coming(Box::pin(async move {
            sleep(wait).await;
            http.resume(id, events).await
        })))
    }
}

impl Drop for Older {
    fn drop(&mut self) {
        self.http.calls.all().remove(&self.id);
    }
}

/// What came of a request.
enum Came {
    Answer(Exchange),
    Next(Next),
}

impl Stage {
    async fn next(&mut self) -> Result<Came, LinkError> {
        match self {
            Self::Coming(coming) => coming.await.map(Came::Answer),
            Self::Here(exchange) => exchange.next().await.map(Came::Next),
        }
    }
}

impl Calls {
    /// Brings what a server says on its other stream to the call it concerns; what concerns
    /// none, or finds no room there, is given back.
    pub(super) fn deliver(&self, heard: Heard) -> Option<Heard> {
        let all = self.all();
        let calls = || all.iter().filter_map(|(id, one)| Some((*id, one.call?)));
        let id = match &heard {
            Heard::Told(method, params) => {
                whose::token(method, params).or_else(|| whose::concerned(method, calls()))
            }
            Heard::Asked(_, method, _) => whose::concerned(method, calls()),
            Heard::Answered(..) => None,
        };
        match id.and_then(|id| all.get(&id)) {
            Some(caller) => caller.ear.tell(heard),
            None => Some(heard),
        }
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<u64, Caller>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
