//! A server that is a child process.
//!
//! One task reads, one writes, and calls only hold numbers: a server that answers late,
//! twice or to nobody finds no one waiting. What it says beyond measure ends it.

use std::{
    collections::HashMap,
    future::poll_fn,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use tokio::{
    io::AsyncWriteExt,
    net::unix::pipe,
    sync::{mpsc, watch},
};
use tollgate_core::Payload;
use tollgate_sandbox::{Supervised, Watch};

use super::{
    backlog::Backlog,
    chatter::Chatter,
    garbage::Garbage,
    lines::{Line, Lines},
    link::{LinkError, Next, Outgoing},
    rpc::{self, Heard, RpcError},
    whose::{self, Call},
};

/// Messages to the server that may wait.
const OUTBOX: usize = 256;
/// What a server may say of its own accord in a second.
const CHATTER: u32 = 5_000;
/// Lines that are no messages, one after the other, before it counts as broken.
const GARBAGE: u32 = 1_000;
const UNREADABLE: &str = "its answer cannot be read";
/// How long a server may leave its input unread.
const UNREAD: Duration = Duration::from_secs(30);
/// How long a server may take to leave when it is asked to.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// The connection to a child, which ends with it: nothing else keeps a [`Watch`].
pub(super) struct Stdio {
    shared: Arc<Shared>,
    outbox: mpsc::Sender<String>,
    lost: watch::Receiver<Option<String>>,
    pub(super) watch: Watch,
}

struct Shared {
    waiting: Mutex<Waiting>,
    /// When it last said something that was a message.
    heard: Mutex<Instant>,
    message_bytes: usize,
    chatter: Chatter,
    end: watch::Sender<Option<String>>,
}

/// Whoever waits for an answer, as long as one can come.
#[derive(Default)]
struct Waiting {
    calls: HashMap<u64, Caller>,
    /// Why no answer will come any more.
    lost: Option<String>,
}

struct Caller {
    slot: Arc<Slot>,
    /// None of what is no call: nobody is asked anything because of it.
    call: Option<Call>,
}

/// What has come for one request.
#[derive(Default)]
struct Slot(Mutex<Come>);

#[derive(Default)]
struct Come {
    said: Backlog,
    answer: Option<Result<Result<Payload, RpcError>, LinkError>>,
    waker: Option<Waker>,
}

/// One request to a child.
pub(super) struct Exchange {
    id: u64,
    shared: Arc<Shared>,
    slot: Arc<Slot>,
}

impl Slot {
    fn put<T>(&self, add: impl FnOnce(&mut Come) -> T) -> T {
        let mut come = self.come();
        let added = add(&mut come);
        let waker = come.waker.take();
        drop(come);
        if let Some(waker) = waker {
            waker.wake();
        }
        added
    }

    fn answer(&self, answer: Result<Result<Payload, RpcError>, LinkError>) {
        self.put(|come| come.answer = Some(answer));
    }

    /// Whoever does not listen misses something, and nothing else waits for it: what there is no
    /// room for is given back.
    fn say(&self, heard: Heard) -> Option<Heard> {
        self.put(|come| come.said.put(heard).err())
    }

    fn poll(&self, cx: &Context<'_>) -> Poll<Result<Next, LinkError>> {
        let mut come = self.come();
        if let Some(said) = come.said.take() {
            return Poll::Ready(Ok(Next::Said(said)));
        }
        if let Some(answer) = come.answer.take() {
            return Poll::Ready(answer.map(Next::Answer));
        }
        come.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    fn come(&self) -> MutexGuard<'_, Come> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stdio {
    /// Takes a child over; what it says to nobody in particular goes to `chatter`.
    pub(super) fn new(
        child: Supervised,
        message_bytes: usize,
        chatter: Chatter,
        garbage: Arc<Garbage>,
    ) -> Self {
        let (end, lost) = watch::channel(None);
        let shared = Arc::new(Shared {
            waiting: Mutex::default(),
            heard: Mutex::new(Instant::now()),
            message_bytes,
            chatter,
            end,
        });
        let (outbox, letters) = mpsc::channel(OUTBOX);
        let Supervised {
            stdin,
            stdout,
            watch,
        } = child;
        tokio::spawn(write(stdin, letters, Arc::clone(&shared)));
        let reader = Reader {
            shared: Arc::clone(&shared),
            garbage,
            second: Instant::now(),
            said: 0,
        };
        let (seen, lines) = (watch.ending(), Lines::new(stdout, message_bytes));
        let read = Arc::clone(&shared);
        tokio::spawn(async move {
            let why = reader.run(lines).await;
            let why = match (why, seen.has_ended()) {
                (Some(why), _) => why,
                (None, Some(how)) => format!("it ended ({how})"),
                (None, None) => match tokio::time::timeout(GRACE, seen.ended()).await {
                    Ok(how) => format!("it ended ({how})"),
                    Err(_) => "it closed its output".to_owned(),
                },
            };
            read.lose(why);
        });
        Self {
            shared,
            outbox,
            lost,
            watch,
        }
    }

    pub(super) fn request(&self, outgoing: &Outgoing<'_>) -> Result<Exchange, LinkError> {
        let slot = Arc::<Slot>::default();
        let caller = Caller {
            slot: Arc::clone(&slot),
            call: outgoing.call(),
        };
        let mut waiting = self.shared.waiting();
        if let Some(why) = &waiting.lost {
            return Err(LinkError::Lost(why.clone()));
        }
        waiting.calls.insert(outgoing.id, caller);
        drop(waiting);
        let exchange = Exchange {
            id: outgoing.id,
            shared: Arc::clone(&self.shared),
            slot,
        };
        self.send(rpc::request(outgoing.id, outgoing.method, outgoing.params))?;
        Ok(exchange)
    }

    pub(super) fn send(&self, mut message: String) -> Result<(), LinkError> {
        message.push('\n');
        self.outbox.try_send(message).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => LinkError::Busy,
            mpsc::error::TrySendError::Closed(_) => {
                LinkError::Lost("it closed its input".to_owned())
            }
        })
    }

    /// For how long it has said nothing.
    pub(super) fn silence(&self) -> Duration {
        self.shared.heard().elapsed()
    }

    pub(super) async fn lost(&self) -> String {
        let mut lost = self.lost.clone();
        let why = lost.wait_for(Option::is_some).await;
        let why = why.ok().and_then(|why| why.clone());
        why.unwrap_or_else(|| "it is gone".to_owned())
    }
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn heard(&self) -> MutexGuard<'_, Instant> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes whoever waits for this answer out of the list.
    fn take(&self, id: u64) -> Option<Arc<Slot>> {
        let caller = self.waiting().calls.remove(&id);
        caller.map(|caller| caller.slot)
    }

    /// Nothing more will come; the first reason is the one that is told.
    fn lose(&self, why: String) {
        let mut waiting = self.waiting();
        let why = waiting.lost.get_or_insert(why).clone();
        let calls = std::mem::take(&mut waiting.calls);
        drop(waiting);
        for caller in calls.into_values() {
            caller.slot.answer(Err(LinkError::Lost(why.clone())));
        }
        self.end.send_if_modified(|end| {
            let first = end.is_none();
            end.get_or_insert(why);
            first
        });
    }
}

impl Exchange {
    pub(super) fn is_held(&self, held: bool) {
        let mut waiting = self.shared.waiting();
        let caller = waiting.calls.get_mut(&self.id);
        if let Some(call) = caller.and_then(|caller| caller.call.as_mut()) {
            call.is_held = held;
        }
    }

    pub(super) async fn next(&mut self) -> Result<Next, LinkError> {
        poll_fn(|cx| self.slot.poll(cx)).await
    }
}

/// What a test says in the place of a child.
#[cfg(test)]
pub(super) struct Pretended(Arc<Slot>);

#[cfg(test)]
impl Pretended {
    pub(super) fn say(&self, heard: Heard) {
        assert!(self.0.say(heard).is_none(), "there is room");
    }

    pub(super) fn answer(&self, payload: Payload) {
        self.0.answer(Ok(Ok(payload)));
    }
}

#[cfg(test)]
impl Exchange {
    /// A request to nobody.
    pub(super) fn pretended(id: u64) -> (Self, Pretended) {
        let shared = Shared {
            waiting: Mutex::default(),
            heard: Mutex::new(Instant::now()),
            message_bytes: 0,
            chatter: super::chatter::channel().0,
            end: watch::channel(None).0,
        };
        let slot = Arc::<Slot>::default();
        let exchange = Self {
            id,
            shared: Arc::new(shared),
            slot: Arc::clone(&slot),
        };
        (exchange, Pretended(slot))
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.shared.take(self.id);
    }
}

/// Hands messages over in their order; a server that reads nothing is as good as gone.
async fn write(mut stdin: pipe::Sender, mut letters: mpsc::Receiver<String>, shared: Arc<Shared>) {
    let mut batch = Vec::new();
    while letters.recv_many(&mut batch, OUTBOX).await > 0 {
        // What came together goes together.
        let text = match batch.as_mut_slice() {
            [one] => std::mem::take(one),
            several => several.concat(),
        };
        batch.clear();
        let written = tokio::time::timeout(UNREAD, stdin.write_all(text.as_bytes())).await;
        let why = match written {
            Ok(Ok(())) => continue,
            Ok(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                // If it ended, the reader knows how.
                tokio::time::sleep(GRACE).await;
                "it closed its input".to_owned()
            }
            Ok(Err(error)) => format!("its input cannot be written: {error}"),
            Err(_) => "it does not read its input".to_owned(),
        };
        return shared.lose(why);
    }
}

struct Reader {
    shared: Arc<Shared>,
    garbage: Arc<Garbage>,
    second: Instant,
    said: u32,
}

impl Reader {
    /// Reads until the end; gives the reason if the end is of our making.
    async fn run(mut self, mut lines: Lines) -> Option<String> {
        loop {
            match lines.next().await {
                Ok(Some(Line::Whole(line))) if line.trim_ascii().is_empty() => {}
                Ok(Some(Line::Whole(line))) => {
                    for message in rpc::messages(line) {
                        if !self.take(message) {
                            return Some("it talks without end".to_owned());
                        }
                    }
                }
                Ok(Some(Line::Endless(beginning))) => {
                    let error = LinkError::TooLarge(self.shared.message_bytes);
                    self.spoil(rpc::early_id(&beginning), error);
                    self.garbage.note("a line beyond all measure".to_owned());
                }
                Ok(Some(Line::Drowned)) => return Some("it writes a line without end".to_owned()),
                Ok(None) | Err(_) => return None,
            }
            if self.garbage.row() > GARBAGE {
                return Some("it writes what is not the protocol".to_owned());
            }
        }
    }

    /// Takes one message; `false` if there are too many for nobody.
    fn take(&mut self, message: &[u8]) -> bool {
        match self.garbage.read(message) {
            Some(heard) => {
                *self.shared.heard() = Instant::now();
                self.deliver(heard)
            }
            None => {
                let error = LinkError::Nonsense(UNREADABLE.to_owned());
                self.spoil(rpc::early_id(message), error);
                true
            }
        }
    }

    /// Tells whoever waits for this answer that it cannot be had.
    fn spoil(&self, id: Option<u64>, error: LinkError) {
        if let Some(slot) = id.and_then(|id| self.shared.take(id)) {
            slot.answer(Err(error));
        }
    }

    /// Brings a message to whom it concerns; `false` if there are too many for nobody.
    fn deliver(&mut self, heard: Heard) -> bool {
        match heard {
            Heard::Answered(id, result) => match self.shared.take(id) {
                Some(slot) => slot.answer(Ok(result)),
                // Late, or twice.
                None => return self.count(),
            },
            Heard::Told(method, params) => {
                let known = whose::token(&method, &params).or_else(|| self.concerned(&method));
                self.pass_on(known, Heard::Told(method, params));
                return self.count();
            }
            Heard::Asked(id, method, params) => {
                let known = self.concerned(&method);
                self.pass_on(known, Heard::Asked(id, method, params));
                return self.count();
            }
        }
        true
    }

    /// What finds no room where it belongs is for nobody in particular, so that a question is
    /// refused at least.
    fn pass_on(&self, id: Option<u64>, heard: Heard) {
        let left = match id.and_then(|id| self.slot(id)) {
            Some(slot) => slot.say(heard),
            None => Some(heard),
        };
        if let Some(heard) = left {
            self.shared.chatter.tell(heard);
        }
    }

    fn slot(&self, id: u64) -> Option<Arc<Slot>> {
        let waiting = self.shared.waiting();
        waiting
            .calls
            .get(&id)
            .map(|caller| Arc::clone(&caller.slot))
    }

    fn concerned(&self, method: &str) -> Option<u64> {
        let waiting = self.shared.waiting();
        let calls = waiting.calls.iter();
        whose::concerned(method, calls.filter_map(|(id, one)| Some((*id, one.call?))))
    }

    fn count(&mut self) -> bool {
        if self.second.elapsed() > Duration::from_secs(1) {
            self.second = Instant::now();
            self.said = 0;
        }
        self.said += 1;
        self.said <= CHATTER
    }
}

#[cfg(test)]
mod tests;
