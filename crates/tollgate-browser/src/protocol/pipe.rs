//! Messages over the two pipes of `--remote-debugging-pipe`: JSON, each ended by a zero byte.
//!
//! One task reads and one writes. Events are handled where they are read, by a function that
//! never waits, so nothing queues up here and a browser that talks too fast is slowed down by
//! its own pipe.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    sync::{mpsc, oneshot},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{Command, WireError};

/// The longest message that is read. A longer one is passed over: it is about one page, and the
/// pages of all sessions are spoken of here.
const LONGEST: usize = 256 << 20;
/// What is read at once.
const PIECE: usize = 64 << 10;
/// What is kept of the room that a long message took.
const ROOM: usize = 1 << 20;

/// Something the browser tells unasked.
pub(crate) struct Event<'e> {
    /// The attached target it is about; none for the browser itself.
    pub(crate) session: Option<&'e str>,
    /// Its name.
    pub(crate) method: &'e str,
    params: Option<&'e RawValue>,
}

impl Event<'_> {
    /// What it says; nothing if that is not what was expected.
    pub(crate) fn read<'a, T: Deserialize<'a>>(&'a self) -> Option<T> {
        serde_json::from_str(self.params.map_or("{}", RawValue::get)).ok()
    }
}

/// Handles events. It must not wait.
pub(crate) type Handler = Box<dyn Fn(&Event<'_>) + Send + Sync>;

/// One conversation with a browser.
#[derive(Clone)]
pub(crate) struct Connection {
    out: mpsc::UnboundedSender<Vec<u8>>,
    shared: Arc<Shared>,
}

struct Shared {
    next: AtomicU64,
    /// Gone once the browser is.
    waiting: Mutex<Option<HashMap<u64, Waiting>>>,
    closed: CancellationToken,
}

type Answer = Result<Box<RawValue>, WireError>;
type Waiting = oneshot::Sender<Answer>;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request<'r, C> {
    id: u64,
    method: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<&'r str>,
    params: &'r C,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message<'m> {
    id: Option<u64>,
    #[serde(borrow)]
    method: Option<std::borrow::Cow<'m, str>>,
    #[serde(borrow)]
    session_id: Option<std::borrow::Cow<'m, str>>,
    #[serde(borrow)]
    params: Option<&'m RawValue>,
    #[serde(borrow)]
    result: Option<&'m RawValue>,
    error: Option<Refusal>,
}

#[derive(Deserialize)]
struct Refusal {
    message: String,
    data: Option<String>,
}

impl Connection {
    /// Begins a conversation; must be called within a runtime.
    pub(crate) fn open(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        handler: Handler,
    ) -> Self {
        Self::within(LONGEST, reader, writer, handler)
    }

    fn within(
        longest: usize,
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        handler: Handler,
    ) -> Self {
        let (out, queue) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared {
            next: AtomicU64::new(1),
            waiting: Mutex::new(Some(HashMap::new())),
            closed: CancellationToken::new(),
        });
        tokio::spawn(write(writer, queue, Arc::clone(&shared)));
        tokio::spawn(read(reader, Arc::clone(&shared), handler, longest));
        Self { out, shared }
    }

    /// Ends when the browser is gone.
    pub(crate) fn closed(&self) -> &CancellationToken {
        &self.shared.closed
    }

    /// Has enough of a browser that is of no use any more; whoever started it ends it.
    pub(crate) fn give_up(&self) {
        self.shared.close();
    }

    /// Asks and waits for the answer.
    pub(crate) async fn ask<C: Command>(
        &self,
        session: Option<&str>,
        command: &C,
        patience: Duration,
    ) -> Result<C::Answer, WireError> {
        let (id, answer) = self.post(session, command)?;
        let answer = match timeout(patience, answer).await {
            Ok(Ok(answer)) => answer?,
            Ok(Err(_)) => return Err(WireError::Gone),
            Err(_) => {
                self.shared.forget(id);
                return Err(WireError::Silent(C::METHOD));
            }
        };
        serde_json::from_str(answer.get())
            .map_err(|error| WireError::Unreadable(format!("{}: {error}", C::METHOD)))
    }

    /// Asks without waiting; commands of one target are done in the order they are sent.
    pub(crate) fn tell<C: Command>(&self, session: Option<&str>, command: &C) {
        // A browser that is gone needs to be told nothing.
        let _ = self.post(session, command);
    }

    fn post<C: Command>(
        &self,
        session_id: Option<&str>,
        command: &C,
    ) -> Result<(u64, oneshot::Receiver<Answer>), WireError> {
        let id = self.shared.next.fetch_add(1, Ordering::Relaxed);
        let request = Request {
            id,
            method: C::METHOD,
            session_id,
            params: command,
        };
        let mut line = serde_json::to_vec(&request)
            .map_err(|error| WireError::Unreadable(error.to_string()))?;
        line.push(0);
        let (sender, receiver) = oneshot::channel();
        match self.shared.lock().as_mut() {
            Some(waiting) => waiting.insert(id, sender),
            None => return Err(WireError::Gone),
        };
        self.out.send(line).map_err(|_| WireError::Gone)?;
        Ok((id, receiver))
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<HashMap<u64, Waiting>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget(&self, id: u64) {
        if let Some(waiting) = self.lock().as_mut() {
            waiting.remove(&id);
        }
    }

    /// Everyone who waits is told that nobody will answer, and finds it so when they ask again.
    fn close(&self) {
        self.closed.cancel();
        drop(self.lock().take());
    }

    /// Whoever waits for a message that is too long is told so; `start` is how it begins.
    fn pass_over(&self, start: &[u8]) {
        let digits = start.strip_prefix(b"{\"id\":").unwrap_or_default();
        let end = digits.iter().position(|byte| !byte.is_ascii_digit());
        let id = std::str::from_utf8(&digits[..end.unwrap_or(0)]).ok();
        let id: Option<u64> = id.and_then(|id| id.parse().ok());
        let waiting = id.and_then(|id| self.lock().as_mut().and_then(|all| all.remove(&id)));
        if let Some(waiting) = waiting {
            let why = "the page gives more than can be read".to_owned();
            // Whoever asked may have gone.
            let _ = waiting.send(Err(WireError::Refused(why)));
        }
    }

    fn answer(&self, id: u64, message: &Message<'_>) {
        let Some(waiting) = self.lock().as_mut().and_then(|all| all.remove(&id)) else {
            return;
        };
        let answer = match (&message.error, message.result) {
            (Some(refusal), _) => Err(WireError::Refused(match &refusal.data {
                Some(data) => format!("{}: {data}", refusal.message),
                None => refusal.message.clone(),
            })),
            (None, Some(result)) => Ok(result.to_owned()),
            (None, None) => Err(WireError::Unreadable("neither result nor error".to_owned())),
        };
        // Whoever asked may have gone.
        let _ = waiting.send(answer);
    }
}

async fn write(
    mut writer: impl AsyncWrite + Unpin,
    mut queue: mpsc::UnboundedReceiver<Vec<u8>>,
    shared: Arc<Shared>,
) {
    loop {
        tokio::select! {
            line = queue.recv() => match line {
                Some(line) => {
                    if writer.write_all(&line).await.is_err() {
                        break;
                    }
                }
                None => break,
            },
            () = shared.closed.cancelled() => break,
        }
    }
}

async fn read(
    mut reader: impl AsyncRead + Unpin,
    shared: Arc<Shared>,
    handler: Handler,
    longest: usize,
) {
    let mut kept: Vec<u8> = Vec::with_capacity(PIECE);
    let mut searched = 0;
    let mut is_passing_over = false;
    loop {
        let start = kept.len();
        kept.resize(start + PIECE, 0);
        let read = match reader.read(&mut kept[start..]).await {
            Ok(read) if read > 0 => read,
            Ok(_) | Err(_) => break,
        };
        kept.truncate(start + read);
        let mut begin = 0;
        while let Some(length) = kept[searched..].iter().position(|byte| *byte == 0) {
            let end = searched + length;
            if !std::mem::take(&mut is_passing_over) {
                take(&kept[begin..end], &shared, &handler);
            }
            begin = end + 1;
            searched = begin;
            // A browser that never stops talking must not keep others waiting.
            tokio::task::yield_now().await;
        }
        kept.drain(..begin);
        if !is_passing_over && kept.len() > longest {
            shared.pass_over(&kept);
            is_passing_over = true;
        }
        if is_passing_over {
            kept.clear();
        }
        searched = kept.len();
        if kept.len() < PIECE {
            kept.shrink_to(ROOM);
        }
    }
    shared.close();
}

fn take(line: &[u8], shared: &Shared, handler: &Handler) {
    let Ok(message) = serde_json::from_slice::<Message<'_>>(line) else {
        return;
    };
    if let Some(id) = message.id {
        shared.answer(id, &message);
    } else if let Some(method) = &message.method {
        handler(&Event {
            session: message.session_id.as_deref(),
            method,
            params: message.params,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::commands::GetVersion;

    #[tokio::test]
    async fn a_message_that_is_too_long_ends_one_question_and_nothing_else() {
        let (ours, theirs) = tokio::io::duplex(1 << 12);
        let (reader, writer) = tokio::io::split(ours);
        let connection = Connection::within(PIECE, reader, writer, Box::new(|_| {}));
        let (_from, mut to) = tokio::io::split(theirs);
        let patience = Duration::from_secs(30);
        let browser = tokio::spawn(async move {
            let long = format!("{{\"id\":1,\"result\":\"{}\"}}\0", "x".repeat(4 * PIECE));
            to.write_all(long.as_bytes()).await.unwrap();
            to.write_all(b"{\"id\":2,\"result\":{\"product\":\"x\"}}\0")
                .await
                .unwrap();
            to
        });
        let (long, next) = tokio::join!(
            connection.ask(None, &GetVersion {}, patience),
            connection.ask(None, &GetVersion {}, patience),
        );
        assert!(matches!(&long, Err(WireError::Refused(why)) if why.contains("more than")));
        assert_eq!(next.unwrap().product, "x");
        drop(browser.await.unwrap());
    }

    #[tokio::test]
    async fn answers_find_their_questions_in_any_order() {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(ours);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&seen);
        let handler: Handler = Box::new(move |event| {
            let said = (event.method.to_owned(), event.session.map(str::to_owned));
            sink.lock().unwrap().push(said);
        });
        let connection = Connection::open(reader, writer, handler);
        let (mut from, mut to) = tokio::io::split(theirs);
        let browser = tokio::spawn(async move {
            let mut text = vec![0; 4096];
            let mut read = 0;
            while text[..read].iter().filter(|byte| **byte == 0).count() < 2 {
                read += from.read(&mut text[read..]).await.unwrap();
            }
            to.write_all(b"{\"method\":\"A.b\",\"sessionId\":\"s\",\"params\":{}}\0nonsense\0")
                .await
                .unwrap();
            to.write_all(b"{\"id\":2,\"error\":{\"message\":\"no\"}}\0{\"id\":1,\"result\":")
                .await
                .unwrap();
            to.write_all(b"{\"product\":\"x\"}}\0").await.unwrap();
        });
        let second = Duration::from_secs(30);
        let (first, other) = tokio::join!(
            connection.ask(None, &GetVersion {}, second),
            connection.ask(Some("s"), &GetVersion {}, second),
        );
        assert_eq!(first.unwrap().product, "x");
        assert!(matches!(other, Err(WireError::Refused(why)) if why == "no"));
        browser.await.unwrap();
        connection.closed().cancelled().await;
        let after = connection.ask(None, &GetVersion {}, second).await;
        assert!(matches!(after, Err(WireError::Gone)));
        assert_eq!(
            *seen.lock().unwrap(),
            [("A.b".to_owned(), Some("s".to_owned()))]
        );
    }
}
