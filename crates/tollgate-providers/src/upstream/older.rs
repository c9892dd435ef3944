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

use tokio::{sync::mpsc, time::sleep};

use super::{
    http::{Exchange, Http},
    link::{LinkError, Next, Outgoing},
    rpc::Heard,
    whose::{self, Call},
    wire::Letter,
};

/// Things a server may say about one request before they are read.
const BACKLOG: usize = 64;
/// How long it takes until a stream is taken up again, unless the server says so.
const AGAIN: Duration = Duration::from_secs(1);
const SOONEST: Duration = Duration::from_millis(20);
const LATEST: Duration = Duration::from_secs(30);

/// One request.
pub(super) struct Older {
    id: u64,
    http: Arc<Http>,
    stage: Stage,
    hears: mpsc::Receiver<Heard>,
}

/// How far a request has come.
enum Stage {
    /// The beginning of its answer, or of the rest of it, is waited for.
    Coming(Pin<Box<dyn Future<Output = Result<Exchange, LinkError>> + Send>>),
    Here(Exchange),
}

/// What is under way at one server.
#[derive(Default)]
pub(super) struct Calls(Mutex<BTreeMap<u64, Ear>>);

struct Ear {
    call: Option<Call>,
    tell: mpsc::Sender<Heard>,
}

impl Older {
    /// Sends a request as soon as somebody waits for its answer.
    pub(super) fn begin(http: &Arc<Http>, letter: Letter, outgoing: &Outgoing<'_>) -> Self {
        let (tell, hears) = mpsc::channel(BACKLOG);
        let (id, own) = (outgoing.id, Arc::clone(http));
        let call = outgoing.call();
        http.calls.all().insert(id, Ear { call, tell });
        Self {
            id,
            http: Arc::clone(http),
            stage: Stage::Coming(Box::pin(async move { own.exchange(letter, id).await })),
            hears,
        }
    }

    pub(super) fn is_held(&self, held: bool) {
        let mut all = self.http.calls.all();
        if let Some(call) = all.get_mut(&self.id).and_then(|ear| ear.call.as_mut()) {
            call.is_held = held;
        }
    }

    pub(super) async fn next(&mut self) -> Result<Next, LinkError> {
        loop {
            let came = tokio::select! {
                biased;
                Some(heard) = self.hears.recv() => return Ok(Next::Said(heard)),
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
    /// none is given back.
    pub(super) fn deliver(&self, heard: Heard) -> Option<Heard> {
        let all = self.all();
        let calls = || all.iter().filter_map(|(id, ear)| Some((*id, ear.call?)));
        let id = match &heard {
            Heard::Told(method, params) => {
                whose::token(method, params).or_else(|| whose::concerned(method, calls()))
            }
            Heard::Asked(_, method, _) => whose::concerned(method, calls()),
            Heard::Answered(..) => None,
        };
        match id.and_then(|id| all.get(&id)) {
            // Whoever does not listen misses something, and nothing else waits for it.
            Some(ear) => drop(ear.tell.try_send(heard)),
            None => return Some(heard),
        }
        None
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<u64, Ear>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
