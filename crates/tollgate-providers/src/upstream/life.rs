//! The life of one server: started when it is wanted, watched while it runs, started again
//! when it dies, and left alone for a while when it keeps dying.
//!
//! Invariant: one task owns the connection; everybody else sees a phase and waits for the
//! next one.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    sync::{Arc, PoisonError},
    time::Duration,
};

use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tollgate_core::{ErrorCode, Notice};
use tollgate_sandbox::{Program, spawn_supervised};

use super::{
    Upstream, causes,
    chatter::{self, Chatter, Hears, Word},
    control::Control,
    excerpt,
    garbage::Garbage,
    http::Http,
    link::{Link, LinkError},
    peer::{self, AskError, Begun, Peer},
    settings::{Era, Transport},
    stdio::{GRACE, Stdio},
};

/// Who could be called for this long was not in a loop of crashes.
const STABLE: Duration = Duration::from_secs(10);
/// Waits before a server is started again.
const WAITS: [Duration; 5] = [
    Duration::from_millis(100),
    Duration::from_millis(500),
    Duration::from_secs(2),
    Duration::from_secs(8),
    Duration::from_secs(30),
];
/// Failures in a row after which a server is only started again when somebody wants it, or
/// after a long while: nobody can want what was never seen.
const BREAKER: usize = WAITS.len();
const LONG_WHILE: Duration = Duration::from_secs(300);
/// How long a server may take to say that it is awake.
pub(super) const AWAKE: Duration = Duration::from_secs(5);
/// How long its lists wait until it is listened to.
const LISTENING: Duration = Duration::from_secs(1);
/// How much of standard error is kept.
const STDERR: usize = 64 << 10;
/// Characters of the last line of it that are told of a failure to start.
const LAST_WORDS: usize = 200;

/// Where a server is in its life.
#[derive(Clone)]
pub(super) enum Phase {
    /// Nobody wanted it yet.
    Idle,
    /// It is on its way, and has not failed before.
    Starting,
    /// It can be called.
    Up(Arc<Peer>),
    /// It cannot, for this reason; a new attempt changes that only when it succeeds.
    Down(Down),
    /// It is over.
    Closed,
}

/// Why a server cannot be called.
#[derive(Debug, Clone)]
pub(super) struct Down {
    pub(super) code: ErrorCode,
    pub(super) reason: String,
    /// When it is started again; nothing while that is being tried.
    pub(super) until: Option<Instant>,
}

impl Down {
    /// How long it stays so at least.
    pub(super) fn left(&self) -> Duration {
        let left = |until: Instant| until.saturating_duration_since(Instant::now());
        self.until.map(left).unwrap_or_default()
    }
}

/// How a life ended.
pub(super) struct Trouble {
    event: Option<&'static str>,
    code: ErrorCode,
    reason: String,
    /// Somebody wanted it, so it is no failure.
    wanted: bool,
    /// For how long it could be called, if ever.
    up: Option<Duration>,
    /// How long it wants to be left alone.
    rest: Option<Duration>,
}

impl Trouble {
    /// Every reason that anybody hears is made here, and is short from then on.
    fn new(event: Option<&'static str>, code: ErrorCode, reason: &str) -> Self {
        Self {
            event,
            code,
            reason: excerpt::of(reason, excerpt::REASON),
            wanted: false,
            up: None,
            rest: None,
        }
    }

    fn wanted() -> Self {
        let why = "the operator wants it started again";
        Self {
            wanted: true,
            ..Self::new(None, ErrorCode::Unavailable, why)
        }
    }

    /// It could be called, and the connection is over.
    fn lost(why: &str) -> Self {
        Self::new(None, ErrorCode::Unavailable, why)
    }

    /// Failures in a row, this one included.
    fn failures(&self, before: usize) -> usize {
        let was_stable = self.up.is_some_and(|up| up > STABLE);
        if was_stable { 1 } else { before + 1 }
    }

    fn of(event: &'static str, error: &AskError) -> Self {
        let code = match error {
            AskError::Link(LinkError::Unauthorized | LinkError::Credentials(_)) => {
                ErrorCode::Unauthorized
            }
            AskError::Link(LinkError::RateLimited(_)) => ErrorCode::RateLimited,
            AskError::Link(_) | AskError::Refused(_) | AskError::Silent(_) => {
                ErrorCode::Unavailable
            }
        };
        Self {
            rest: error.wait(),
            ..Self::new(Some(event), code, &error.to_string())
        }
    }
}

impl Upstream {
    /// Starts the task of its life, if that has not begun.
    pub(super) fn begin(self: &Arc<Self>) {
        let mut phase = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*phase, Phase::Idle) {
            *phase = Phase::Starting;
            let own = Arc::clone(self);
            let life = tokio::spawn(async move { own.live().await });
            *self.life.lock().unwrap_or_else(PoisonError::into_inner) = Some(life);
            drop(phase);
            let closed = self.control.as_ref().and_then(Control::open);
            if let Some(error) = closed {
                let message = format!("no other process can reach this one: {error}");
                self.journal("mcp.control.failed", &message);
            }
        }
    }

    /// Waits until the task of its life has let go of everything.
    pub(super) async fn over(&self) {
        let life = {
            let mut life = self.life.lock().unwrap_or_else(PoisonError::into_inner);
            life.take()
        };
        if let Some(life) = life {
            // A task that broke has let go as well.
            drop(life.await);
        }
    }

    async fn live(self: Arc<Self>) {
        let mut failures = 0;
        while !self.closed.is_cancelled() {
            self.set(match self.phase() {
                Phase::Down(down) => Phase::Down(Down {
                    until: None,
                    ..down
                }),
                Phase::Idle | Phase::Starting | Phase::Up(_) | Phase::Closed => Phase::Starting,
            });
            *self.lives.lock().unwrap_or_else(PoisonError::into_inner) += 1;
            let trouble = tokio::select! {
                trouble = self.one_life() => trouble,
                () = self.closed.cancelled() => break,
            };
            if trouble.wanted {
                failures = 0;
                self.journal("mcp.restarted", &trouble.reason);
                continue;
            }
            failures = trouble.failures(failures);
            let wait = WAITS[failures.min(WAITS.len()) - 1];
            let wait = trouble.rest.map_or(wait, |rest| rest.max(wait));
            self.journal(trouble.event.unwrap_or("mcp.ended"), &trouble.reason);
            self.set(Phase::Down(Down {
                code: trouble.code,
                reason: trouble.reason,
                until: Some(Instant::now() + wait),
            }));
            self.notice(Notice::ListsChanged);
            let rest = async {
                tokio::time::sleep(wait).await;
                if failures >= BREAKER {
                    // Whether somebody wanted it or not, it is time.
                    let _wanted = timeout(LONG_WHILE, self.wanted.notified()).await.is_ok();
                }
            };
            tokio::select! {
                () = rest => {}
                () = self.restart.notified() => failures = 0,
                () = self.closed.cancelled() => break,
            }
        }
        self.set(Phase::Closed);
    }

    /// From start to end; says how it ended.
    async fn one_life(self: &Arc<Self>) -> Trouble {
        let limit = self.settings.start_timeout;
        let started = tokio::select! {
            started = timeout(limit, self.connect()) => started,
            () = self.restart.notified() => return Trouble::wanted(),
        };
        let (peer, mut hears) = match started {
            Ok(Ok((peer, hears))) => (Arc::new(peer), hears),
            Ok(Err(trouble)) => return trouble,
            Err(_) => {
                let why = format!("it was not ready within {} ms", limit.as_millis());
                return Trouble::new(Some("mcp.spawn.failed"), ErrorCode::Unavailable, &why);
            }
        };
        // Whichever way this ends, nobody goes on listening to it.
        let _over = peer.over.clone().drop_guard();
        let mut up = None;
        let ended = tokio::select! {
            ended = self.while_up(&peer, &mut up) => ended,
            () = self.attend(&peer.link, &mut hears) => Trouble::lost(&peer.link.lost().await),
            () = self.restart.notified() => Trouble::wanted(),
        };
        let up = up.map(|since: Instant| since.elapsed());
        end(&peer).await;
        self.forget_all();
        Trouble { up, ..ended }
    }

    async fn while_up(self: &Arc<Self>, peer: &Arc<Peer>, up: &mut Option<Instant>) -> Trouble {
        // Whatever changes once it is listened to is heard, so that comes first.
        let listens = self.listen(peer);
        let _in_time = timeout(LISTENING, listens.cancelled()).await.is_ok();
        listens.cancel();
        let listing = self.settings.start_timeout;
        let listed = match peer.list(listing).await {
            Ok(listed) => listed,
            Err(error) => return Trouble::of("mcp.list_tools.failed", &error),
        };
        let others = listed.others();
        self.learn(listed).await;
        let count = self.known().map_or(0, |known| known.tools.len());
        let ready = format!("it speaks {} and offers {count} tools", peer.version);
        self.journal("mcp.ready", &ready);
        if let Some(journal) = &self.journal {
            journal.recovered(&self.settings.name);
        }
        self.stall.forget();
        self.set(Phase::Up(Arc::clone(peer)));
        *up = Some(Instant::now());
        self.notice(Notice::ListsChanged);
        self.keep_lists(peer, others);
        let mut look = interval(self.settings.health_interval);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        look.reset();
        loop {
            tokio::select! {
                why = peer.link.lost() => return Trouble::lost(&why),
                _ = look.tick() => match &*peer.link {
                    Link::Stdio(_) => {
                        if let Some(why) = self.examine(peer, self.is_idle()).await {
                            return Trouble::lost(&why);
                        }
                    }
                    // A place that others may use as well is only asked for a reason.
                    Link::Http(http) => self.look_at_address(peer, http).await,
                },
                () = self.wanted.notified() => {
                    if let Link::Http(http) = &*peer.link {
                        self.look_at_address(peer, http).await;
                    }
                }
                () = self.suspicion.notified() => {
                    if let Some(why) = self.examine(peer, true).await {
                        return Trouble::lost(&why);
                    }
                }
            }
        }
    }

    /// Takes what is said to nobody in particular, for as long as something can be: a server may
    /// want an answer before it gives its own, also while it shakes hands or lists.
    async fn attend(&self, link: &Link, hears: &mut Hears) {
        while let Some(word) = hears.next().await {
            match word {
                Word::ListsChanged => self.relist.notify_one(),
                Word::Updated(uri) => self.notice(Notice::ResourceUpdated(self.names.uri(&uri))),
                Word::PageDone(params) => self.page_done(&params),
                Word::Asked(id, method, params) => {
                    peer::brush_off(link, &id, &method, &params).await;
                }
            }
        }
    }

    /// What is wrong with a server that still seems to be there.
    async fn examine(&self, peer: &Peer, ask: bool) -> Option<String> {
        if let Link::Stdio(stdio) = &*peer.link
            && stdio.watch.is_stopped()
        {
            return Some("it is stopped and does not run".to_owned());
        }
        let patience = AWAKE.min(self.settings.timeout);
        // Who waits for a human may hear nothing else, for as long as its question is open.
        if !ask || self.is_asking() || peer.is_awake(patience).await || self.is_asking() {
            return None;
        }
        let silence = match &*peer.link {
            Link::Stdio(stdio) => stdio.silence(),
            Link::Http(http) => http.silence(),
        };
        let is_hung = is_hung(self.is_idle(), silence, self.settings.longest_silence());
        is_hung.then(|| "it does not answer any more".to_owned())
    }

    async fn connect(&self) -> Result<(Peer, Hears), Trouble> {
        let mut era = self.settings.era;
        loop {
            let (chatter, mut hears) = chatter::channel();
            let link = self.open(chatter).await?;
            let begun = tokio::select! {
                begun = peer::begin(Arc::clone(&link), era, self.settings.probe_timeout) => begun,
                () = self.attend(&link, &mut hears) => Ok(Begun::Left(link.lost().await)),
            };
            match begun {
                Ok(Begun::Peer(peer)) => {
                    return Ok((peer, hears));
                }
                Ok(Begun::Left(_)) if era == Era::Auto && is_stdio(&link) => {
                    // An older server may leave when it hears what it does not know.
                    era = Era::Legacy;
                    close(&link).await;
                }
                Ok(Begun::Left(why)) => {
                    let trouble = stillborn(&link, &why);
                    close(&link).await;
                    return Err(trouble);
                }
                Err(error) => {
                    let trouble = Trouble::of("mcp.spawn.failed", &error);
                    let trouble = Trouble {
                        reason: stillborn(&link, &trouble.reason).reason,
                        ..trouble
                    };
                    close(&link).await;
                    return Err(trouble);
                }
            }
        }
    }

    async fn open(&self, chatter: Chatter) -> Result<Arc<Link>, Trouble> {
        let limit = self.settings.message_bytes;
        let garbage = Garbage::new(self.journal.clone(), &self.settings.name);
        let failed =
            |why: String| Trouble::new(Some("mcp.spawn.failed"), ErrorCode::SpawnFailed, &why);
        match &self.settings.transport {
            Transport::Stdio {
                command,
                args,
                cwd,
                env,
                secrets,
            } => {
                let mut all: BTreeMap<_, _> = env
                    .iter()
                    .map(|(name, value)| (name.into(), value.into()))
                    .collect();
                for (name, source) in secrets {
                    let secret = source().map_err(failed)?;
                    all.insert(name.into(), secret.reveal().into());
                }
                let program = Program {
                    command: command.into(),
                    args: args.iter().map(Into::into).collect(),
                    cwd: cwd.clone(),
                    env: all,
                    stderr_bytes: STDERR,
                    is_kept: true,
                };
                if cwd.as_ref().is_some_and(|folder| !folder.is_dir()) {
                    return Err(failed("the folder it starts in is not there".to_owned()));
                }
                let path = env.get("PATH").map(OsString::from);
                let started = causes::Started {
                    command,
                    cwd: cwd.as_deref(),
                    path: path.as_deref(),
                };
                let child = spawn_supervised(program)
                    .await
                    .map_err(|error| failed(causes::of_start(&started, &error)))?;
                self.hear(&child.watch);
                let stdio = Stdio::new(child, limit, chatter, garbage);
                Ok(Arc::new(Link::Stdio(stdio)))
            }
            Transport::Http {
                url,
                headers,
                oauth,
            } => Http::new(url, headers, oauth.as_ref(), limit, chatter, garbage)
                .map(|http| Arc::new(Link::Http(Arc::new(http))))
                .map_err(|error| failed(error.to_string())),
        }
    }
}

/// Whether a server that does not say that it is awake is to be ended: one that is busy with
/// calls may be silent for as long as a call may.
fn is_hung(is_idle: bool, silence: Duration, patience: Duration) -> bool {
    is_idle || silence >= patience
}

/// A failure to start, with the last thing the server said about it.
fn stillborn(link: &Link, why: &str) -> Trouble {
    let mut reason = why.to_owned();
    if let Link::Stdio(stdio) = link {
        let said = stdio.watch.stderr().text();
        if let Some(cause) = causes::told(&said) {
            reason = format!("{reason}; {cause}");
        } else if let Some(last) = said.lines().rev().find(|line| !line.trim().is_empty()) {
            let last = excerpt::of(last, LAST_WORDS);
            reason = format!("{reason}; it said: {last}");
        }
    }
    Trouble::new(Some("mcp.spawn.failed"), ErrorCode::Unavailable, &reason)
}

fn is_stdio(link: &Link) -> bool {
    matches!(link, Link::Stdio(_))
}

/// Ends a connection in order.
pub(super) async fn end(peer: &Peer) {
    peer.over.cancel();
    close(&peer.link).await;
}

async fn close(link: &Link) {
    match link {
        Link::Stdio(stdio) => {
            stdio.watch.end(GRACE).await;
        }
        Link::Http(http) => http.leave().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_server_may_be_silent_for_as_long_as_a_call_may() {
        let seconds = Duration::from_secs;
        assert!(is_hung(true, seconds(6), seconds(60)));
        assert!(!is_hung(false, seconds(6), seconds(60)));
        assert!(is_hung(false, seconds(60), seconds(60)));
    }

    #[test]
    fn only_who_could_be_called_for_a_while_begins_anew() {
        let died = |up: Option<u64>| Trouble {
            up: up.map(Duration::from_secs),
            ..Trouble::new(None, ErrorCode::Unavailable, "it ended")
        };
        assert_eq!(died(Some(11)).failures(4), 1);
        assert_eq!(died(Some(10)).failures(4), 5);
        assert_eq!(died(None).failures(4), 5);
    }
}
