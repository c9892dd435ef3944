//! Other people's MCP servers, each a provider of its own.
//!
//! Nothing here waits for a server when it is asked what there is: it says what is known,
//! and says again when that changes. A server that fails costs its own calls and nobody
//! else's.

mod ask;
mod backlog;
mod call;
mod causes;
mod chatter;
mod control;
mod excerpt;
mod follow;
pub(crate) mod fuzzing;
mod garbage;
mod http;
mod known;
mod life;
mod line;
mod lines;
mod link;
mod lock;
mod mirror;
mod names;
mod oauth;
mod offered;
mod older;
mod outcome;
mod pace;
mod pages;
mod patience;
mod peer;
mod readable;
mod relist;
mod rewrite;
mod rpc;
mod settings;
mod specs;
mod spoken;
mod sse;
mod stall;
mod stdio;
mod suspect;
mod tasks;
#[cfg(test)]
mod tests;
mod whose;
mod wire;

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore, watch},
    task::JoinHandle,
    time::Instant,
};
use tokio_util::sync::CancellationToken;
use tollgate_core::{
    Answer, CallContext, Deferral, ErrorCode, Health, Notice, NoticeSink, Offers, Provider,
    ProviderError, ToolCall, ToolSpec,
};

pub use control::{Restarted, restart};
pub use lock::{INSTRUCTIONS, Lock, Pin, Pinned, Pins, Told};
pub use names::refused_bare;
pub use offered::{OddOffer, Offered};
pub use settings::{
    Era, Journal, OAuth, Pinning, ResultFormat, SecretSource, Server, Settings, Tool, Transport,
};
pub use specs::proposed;
pub use suspect::oddities;

use self::{
    control::Control,
    known::{Entry, Known, Taken},
    life::Phase,
    names::Names,
    pages::Pages,
    peer::Peer,
    spoken::Spoken,
    stall::Stall,
};

/// How long a call waits for a server that has failed and is started again.
const SOON: Duration = Duration::from_millis(600);
const STARTING: &str = "it is still starting";

/// One server.
pub(crate) struct Upstream {
    id: String,
    settings: Server,
    patience: Duration,
    afresh: bool,
    journal: Option<Arc<dyn Journal>>,
    names: Names,
    phase: Mutex<Phase>,
    changed: watch::Sender<u64>,
    /// The task that owns the connection.
    life: Mutex<Option<JoinHandle<()>>>,
    known: Mutex<Option<Arc<Known>>>,
    /// Where definitions are pinned.
    lock: Option<Lock>,
    /// What it listed last.
    taken: Mutex<Taken>,
    /// How many lists it was asked for.
    lists: AtomicU64,
    /// Whether it is asked for one now.
    lists_now: AtomicBool,
    /// What hides something or commands, as the operator was told of it.
    odd: Mutex<HashSet<String>>,
    notices: OnceLock<Arc<dyn NoticeSink>>,
    /// Somebody wants it although it keeps failing.
    wanted: Notify,
    /// Somebody wants it started again.
    restart: Notify,
    /// A call got no answer.
    suspicion: Notify,
    /// Its lists have changed.
    relist: Notify,
    /// What somebody wants to hear of, by the server's own addresses.
    followed: watch::Sender<BTreeSet<String>>,
    closed: CancellationToken,
    /// Held by whoever closes it, so that everybody else who does waits for the end as well.
    closing: tokio::sync::Mutex<()>,
    turns: Arc<Semaphore>,
    waiting: AtomicUsize,
    /// How often it was started.
    lives: Mutex<u64>,
    /// Where the operator's wishes arrive.
    control: Option<Arc<Control>>,
    /// What its process says beside the protocol.
    spoken: Mutex<Option<Arc<Spoken>>>,
    /// Requests that wait for an answer of the client.
    held: Mutex<HashMap<u64, ask::Held>>,
    /// Pages that humans were sent to.
    pages: Pages,
    /// Whether it leaves calls waiting and answers nothing else either.
    stall: Stall,
}

/// A provider for each server.
pub(crate) fn providers(settings: Settings) -> Vec<Arc<dyn Provider>> {
    let handle = |upstream| -> Arc<dyn Provider> { Arc::new(Handle(upstream)) };
    upstreams(settings).into_iter().map(handle).collect()
}

fn upstreams(settings: Settings) -> Vec<Arc<Upstream>> {
    let Settings {
        servers,
        lock,
        patience,
        afresh,
        journal,
        control,
    } = settings;
    let control = control.map(Control::new);
    let lock = lock.map(Lock::new);
    let pins = lock.as_ref().and_then(|lock| lock.read().ok());
    let pins = pins.unwrap_or_default();
    let all: Vec<Arc<Upstream>> = servers
        .into_iter()
        .map(|server| {
            let pinned = pins.servers.get(&server.name);
            let upstream = Upstream {
                id: server.id(),
                names: Names::new(&server.name, server.prefix),
                turns: Arc::new(Semaphore::new(server.concurrent)),
                held: Mutex::default(),
                pages: Pages::default(),
                stall: Stall::default(),
                patience,
                afresh,
                journal: journal.clone(),
                phase: Mutex::new(Phase::Idle),
                changed: watch::channel(0).0,
                life: Mutex::default(),
                known: Mutex::new(None),
                lock: lock.clone().filter(|_| server.pin != Pinning::Off),
                taken: Mutex::default(),
                lists: AtomicU64::new(0),
                lists_now: AtomicBool::new(false),
                odd: Mutex::default(),
                notices: OnceLock::new(),
                wanted: Notify::new(),
                restart: Notify::new(),
                suspicion: Notify::new(),
                relist: Notify::new(),
                followed: watch::Sender::default(),
                closed: CancellationToken::new(),
                closing: tokio::sync::Mutex::default(),
                waiting: AtomicUsize::new(0),
                lives: Mutex::new(0),
                control: control.clone(),
                spoken: Mutex::new(None),
                settings: server,
            };
            if let Some(pinned) = pinned {
                upstream.recall(pinned);
            }
            Arc::new(upstream)
        })
        .collect();
    if let Some(control) = control {
        control.knows(all.iter().map(Arc::downgrade).collect());
    }
    all
}

impl Upstream {
    fn phase(&self) -> Phase {
        let phase = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        phase.clone()
    }

    /// Goes on to another phase; what is closed stays closed. Gives the phase before.
    fn set(&self, next: Phase) -> Phase {
        let mut phase = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        let before = if matches!(*phase, Phase::Closed) {
            Phase::Closed
        } else {
            std::mem::replace(&mut *phase, next)
        };
        drop(phase);
        self.changed.send_modify(|count| *count += 1);
        before
    }

    fn known(&self) -> Option<Arc<Known>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.clone()
    }

    fn notice(&self, notice: Notice) {
        if let Some(notices) = self.notices.get() {
            notices.notice(notice);
        }
    }

    fn journal(&self, event: &'static str, message: &str) {
        if let Some(journal) = &self.journal {
            let message = excerpt::of(message, excerpt::NOTE);
            journal.note(event, &self.settings.name, &message);
        }
    }

    /// Whether nobody waits for an answer of it, we ourselves included; a question of its own may still be open.
    fn is_idle(&self) -> bool {
        let has_calls = self.turns.available_permits() < self.settings.concurrent;
        !has_calls && !self.lists_now.load(Ordering::Relaxed)
    }

    /// Waits for a turn; a full queue answers at once.
    async fn turn(&self, cx: &CallContext) -> Result<OwnedSemaphorePermit, ProviderError> {
        let turns = Arc::clone(&self.turns);
        if let Ok(turn) = Arc::clone(&turns).try_acquire_owned() {
            return Ok(turn);
        }
        let busy = || ProviderError {
            retry_after: Some(Duration::from_secs(1)),
            ..ProviderError::new(
                ErrorCode::Overloaded,
                format!("the server `{}` is busy", self.settings.name),
            )
        };
        if self.waiting.fetch_add(1, Ordering::SeqCst) >= self.settings.queued {
            self.waiting.fetch_sub(1, Ordering::SeqCst);
            return Err(busy());
        }
        let turn = tokio::select! {
            turn = turns.acquire_owned() => turn.map_err(|_| busy()),
            () = cx.cancel.cancelled() => Err(cancelled()),
        };
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        turn
    }

    /// The server, as soon as it can be called; who has to wait too long is told why.
    async fn ready(self: &Arc<Self>, cx: &CallContext) -> Result<Arc<Peer>, ProviderError> {
        let mut changed = self.changed.subscribe();
        let soon = Instant::now() + SOON;
        loop {
            let (patience, told) = match self.phase() {
                Phase::Up(peer) if self.stall.is_none() => return Ok(peer),
                Phase::Up(peer) => return self.despite_stall(peer),
                Phase::Closed => return Err(closed(&self.settings.name)),
                phase @ (Phase::Idle | Phase::Starting) => {
                    if matches!(phase, Phase::Idle) {
                        self.begin();
                    }
                    let told = self.unavailable(STARTING, ErrorCode::Unavailable, SOON);
                    (Instant::now() + self.settings.start_timeout, told)
                }
                Phase::Down(down) => {
                    let told = self.unavailable(&down.reason, down.code, down.left());
                    if down.left() > SOON {
                        return Err(told);
                    }
                    self.wanted.notify_one();
                    (soon, told)
                }
            };
            tokio::select! {
                _ = changed.changed() => {}
                () = cx.cancel.cancelled() => return Err(cancelled()),
                () = tokio::time::sleep_until(patience) => return Err(told),
            }
        }
    }

    fn unavailable(&self, why: &str, code: ErrorCode, left: Duration) -> ProviderError {
        let name = &self.settings.name;
        ProviderError {
            retry_after: Some(left.max(Duration::from_secs(1))),
            document_code: (code == ErrorCode::SpawnFailed).then(|| "SpawnFailed".to_owned()),
            suggestion: Some(format!(
                "Wait `retry_after_seconds`, or look at `tollgate servers status` and `tollgate servers logs {name}`."
            )),
            ..ProviderError::new(code, format!("the server `{name}` is not available: {why}"))
        }
    }

    /// Waits until something is known of it (anew, if that is wanted), it failed, or patience is
    /// at its end.
    async fn acquaint(self: &Arc<Self>, patience: Duration) -> Option<String> {
        let trouble = self.waited_for(patience).await;
        if let (Some(journal), Some(why)) = (&self.journal, &trouble) {
            let settings = self.settings.digest();
            journal.failed(&self.settings.name, &settings, why);
        }
        trouble
    }

    /// Why nobody waits for it: somebody did a short while ago, in vain.
    fn last_failure(&self) -> Option<String> {
        let journal = self.journal.as_ref()?;
        journal.last_failure(&self.settings.name, &self.settings.digest())
    }

    /// Whether a tool of this name could be its own, though it is not known.
    fn may_offer(&self, tool: &str) -> bool {
        let is_alias = |own: &Tool| own.alias.as_deref() == Some(tool);
        !self.settings.prefix
            || self.names.is_own(tool)
            || self.settings.tools.values().any(is_alias)
    }

    async fn waited_for(self: &Arc<Self>, patience: Duration) -> Option<String> {
        let mut changed = self.changed.subscribe();
        let deadline = tokio::time::sleep(patience);
        tokio::pin!(deadline);
        self.begin();
        loop {
            let is_known = self.known().is_some();
            match self.phase() {
                Phase::Up(_) if is_known => return None,
                Phase::Idle | Phase::Starting if is_known && !self.afresh => return None,
                Phase::Down(down) => return Some(down.reason),
                Phase::Closed => return Some("it is closed".to_owned()),
                Phase::Idle | Phase::Starting | Phase::Up(_) => {}
            }
            tokio::select! {
                _ = changed.changed() => {}
                () = &mut deadline => {
                    let waited = patience.as_secs_f32();
                    return Some(format!(
                        "it did not say what it offers within {waited} s; `tollgate servers status` waits longer"
                    ));
                }
            }
        }
    }
}

fn closed(name: &str) -> ProviderError {
    ProviderError {
        document_code: Some("ProviderClosed".to_owned()),
        ..ProviderError::new(
            ErrorCode::ProviderClosed,
            format!("the server `{name}` has been closed"),
        )
    }
}

fn cancelled() -> ProviderError {
    ProviderError::new(ErrorCode::Cancelled, "the call was cancelled")
}

/// What the catalogue holds.
struct Handle(Arc<Upstream>);

#[async_trait]
impl Provider for Handle {
    fn id(&self) -> &str {
        &self.0.id
    }

    fn forwards_meta(&self) -> &[String] {
        &self.0.settings.forward_meta
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, ProviderError> {
        let server = &self.0;
        let is_asked = server.afresh || server.known().is_none();
        let trouble = if !is_asked || server.patience.is_zero() {
            None
        } else {
            match server.last_failure().filter(|_| !server.afresh) {
                Some(why) => Some(why),
                None => server.acquaint(server.patience).await,
            }
        };
        let Some(known) = server.known() else {
            return match trouble {
                Some(why) => Err(ProviderError::new(ErrorCode::Unavailable, why)),
                None => Ok(Vec::new()),
            };
        };
        let inactive = match server.phase() {
            Phase::Down(down) => Some(down.reason),
            Phase::Closed => Some("it has been closed".to_owned()),
            Phase::Idle | Phase::Starting | Phase::Up(_) => None,
        };
        let with_state = |entry: &Entry| ToolSpec {
            inactive: entry.quarantined.clone().or_else(|| inactive.clone()),
            ..entry.spec.clone()
        };
        Ok(known
            .tools
            .values()
            .map(|entry| with_state(entry))
            .collect())
    }

    async fn acquaint(&self, tool: Option<&str>, patience: Duration) -> bool {
        let server = &self.0;
        let is_wanted = match tool {
            Some(tool) => server.may_offer(tool),
            None => server.last_failure().is_none(),
        };
        if !is_wanted || server.known().is_some() {
            return false;
        }
        // Why it is not there is told by whoever asks for one of its tools.
        let _trouble = server.acquaint(patience).await;
        server.known().is_some()
    }

    async fn offers(&self) -> Result<Offers, ProviderError> {
        let known = self.0.known();
        Ok(known.map_or_else(Offers::default, |known| known.offers.clone()))
    }

    async fn call(&self, call: ToolCall, cx: CallContext) -> Result<Answer, ProviderError> {
        self.0.serve(call, cx).await
    }

    fn deferral(&self, call: &ToolCall, has_answers: bool) -> Deferral {
        let known = self.0.known();
        let entry = known.and_then(|known| known.tools.get(call.tool.as_str()).cloned());
        // What goes on by itself there goes on by itself here, for whoever can wait.
        if !has_answers && entry.is_some_and(|entry| entry.tasks.load(Ordering::Relaxed)) {
            Deferral::Possible
        } else {
            Deferral::Never
        }
    }

    fn refuses(&self, tool: &str) -> Option<ProviderError> {
        if matches!(self.0.phase(), Phase::Closed) {
            return Some(closed(&self.0.settings.name));
        }
        let is_known = self.0.known()?.tools.contains_key(tool);
        is_known.then(|| self.0.usable(tool).err()).flatten()
    }

    fn missing(&self, tool: &str) -> Option<ProviderError> {
        let server = &self.0;
        if server.known().is_some() || !server.names.is_own(tool) {
            return None;
        }
        match server.phase() {
            Phase::Up(_) => None,
            Phase::Closed => Some(closed(&server.settings.name)),
            Phase::Idle | Phase::Starting => {
                Some(server.unavailable(STARTING, ErrorCode::Unavailable, SOON))
            }
            Phase::Down(down) => Some(server.unavailable(&down.reason, down.code, down.left())),
        }
    }

    fn watch(&self, notices: Arc<dyn NoticeSink>) {
        // Watching twice is not foreseen; the first watcher stays.
        drop(self.0.notices.set(notices));
        if self.0.known().is_none_or(|known| known.reads) {
            self.0.begin();
        }
    }

    fn follow(&self, uri: &str, wanted: bool) {
        if self.0.watch_for(uri, wanted) {
            self.0.begin();
        }
    }

    async fn health(&self) -> Health {
        match self.0.phase() {
            Phase::Idle | Phase::Up(_) => Health::Ready,
            Phase::Starting => Health::Degraded("it is starting".to_owned()),
            Phase::Down(down) => Health::Down(down.reason),
            Phase::Closed => Health::Down("it has been closed".to_owned()),
        }
    }

    async fn close(&self) {
        let _closing = self.0.closing.lock().await;
        let before = self.0.set(Phase::Closed);
        self.0.closed.cancel();
        if let Phase::Up(peer) = before {
            life::end(&peer).await;
        }
        self.0.over().await;
        self.0.last_words().await;
    }
}
