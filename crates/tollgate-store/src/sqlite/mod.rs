//! The store over SQLite: one place that writes, a thread that keeps, readers beside them.

mod apply;
mod condition;
mod crowd;
mod desk;
pub(crate) mod index;
mod keeper;
mod lock;
mod migrate;
pub(crate) mod open;
mod owner;
mod prune;
mod queue;
mod read;
pub(crate) mod readers;
pub(crate) mod rows;
mod writer;

use std::{
    fs::DirBuilder,
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, PoisonError, atomic::AtomicU32},
    thread,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension as _, params};
use tollgate_core::{
    Clock, Store, Timestamp,
    audit::Hash,
    store::{Batch, Change, Durability, Receipt, StateProblem, StoreError},
};

pub use self::migrate::schema_sql;
pub(crate) use self::{
    apply::{read_head, read_noted},
    condition::{accept::EPOCH_OPENED, guard::must_be_anchored},
};
use self::{
    condition::{
        accept,
        guard::{Guard, Identity, identity},
        health::{Health, Verdict},
        holder::holder,
    },
    crowd::{Crowd, PATIENCE, PAUSE},
    desk::Desk,
    keeper::{Keeper, Log},
    lock::WriteLock,
    owner::Owner,
    prune::Pruner,
    queue::{Answer, Queue},
    readers::Readers,
    writer::{Declined, Pen, Place, Writer},
};
use crate::{
    chain::{Anchor, Keyring},
    error::{OpenError, io_error, store_error},
    settings::{Limits, Settings},
};

/// One SQLite file, shared safely with the other processes that have it open.
pub struct SqliteStore {
    readers: Readers,
    state_dir: PathBuf,
    chain: String,
    anchor: Anchor,
    /// Absent in a store that only reads.
    writing: Option<Writing>,
}

/// What a store has that also writes.
struct Writing {
    place: Arc<Place>,
    queue: Arc<Queue>,
    crowd: Arc<Crowd>,
    health: Arc<Health>,
    guard: Arc<Guard>,
    limits: Limits,
    done: Arc<Done>,
    owner: Owner,
    busy: Duration,
}

/// How often whoever waits for the end looks whether another process keeps the lock.
const PIECE: Duration = Duration::from_millis(50);

/// Tells when both threads have ended.
#[derive(Default)]
struct Done {
    ended: Mutex<bool>,
    wake: Condvar,
}

impl SqliteStore {
    /// Opens the state, creating or migrating it first if need be.
    pub fn open(settings: Settings, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        check_chain_name(&settings.chain)?;
        create_directory(&settings.state_dir)?;
        let Opened {
            mut connection,
            keyring,
            database,
        } = prepare(&settings, clock.now())?;
        let anchor = Anchor::new(&settings.anchor_dir, &settings.state_dir, &settings.chain);
        let guard = Guard::new(
            (&settings.state_dir, database),
            anchor.clone(),
            &settings.chain,
            &connection,
        )?;
        let guard = Arc::new(guard);
        let frames = Arc::new(AtomicU32::new(0));
        open::count_frames(&mut connection, Arc::clone(&frames))?;
        let owner = Owner::take(&settings.state_dir).map_err(OpenError::Directory)?;
        let queue = Arc::new(Queue::new(settings.limits.queue));
        let desk = Arc::new(Desk::default());
        let health = Arc::new(Health::default());
        let keeper = Keeper {
            desk: Arc::clone(&desk),
            queue: Arc::clone(&queue),
            health: Arc::clone(&health),
            guard: Arc::clone(&guard),
            state_dir: settings.state_dir.clone(),
            log: Log::open(&settings.state_dir, &settings.limits, frames)?,
            anchor: anchor.clone(),
            chain: settings.chain.clone(),
            name: owner.name().to_owned(),
            limits: settings.limits,
            interval: settings.sync_interval,
            anchored: 0,
        };
        let writer = Writer {
            lock: WriteLock::open(&settings.state_dir).map_err(OpenError::Directory)?,
            pen: Pen {
                connection,
                queue: Arc::clone(&queue),
                desk,
                health: Arc::clone(&health),
                guard: Arc::clone(&guard),
                keyring,
                pruner: Pruner::new(settings.retention),
                clock,
                chain: settings.chain.as_str().into(),
                state_dir: settings.state_dir.clone(),
                group: settings.limits.group,
                busy: settings.limits.busy,
                seen: None,
                written: 0,
            },
            last: 0,
        };
        let place = Arc::new(Place::new(writer));
        Ok(Self {
            readers: Readers::new(settings.state_dir.clone(), settings.limits.busy, false),
            state_dir: settings.state_dir,
            chain: settings.chain,
            anchor,
            writing: Some(Writing {
                done: start(Arc::clone(&place), keeper)?,
                place,
                queue,
                health,
                guard,
                limits: settings.limits,
                crowd: Arc::default(),
                owner,
                busy: settings.limits.busy,
            }),
        })
    }

    /// Opens the state only to read it; every commit is refused as read-only.
    pub fn open_read_only(settings: Settings) -> Result<Self, OpenError> {
        check_chain_name(&settings.chain)?;
        if !settings.state_dir.join(open::DATABASE).exists() {
            return Err(OpenError::Absent);
        }
        let readable = |connection: &Connection| -> Result<(), OpenError> {
            let found = migrate::version(connection)?;
            migrate::check(found, migrate::STEPS)?;
            read_head(connection, &settings.chain)?;
            Ok(())
        };
        let busy = settings.limits.busy;
        let opened = open::reader(&settings.state_dir, busy)
            .map_err(OpenError::from)
            .and_then(|connection| readable(&connection));
        // Without the right to make the shared index there are no writers either.
        let frozen = match opened {
            Ok(()) => false,
            Err(OpenError::ReadOnly | OpenError::Failed(_)) => {
                readable(&open::frozen_reader(&settings.state_dir)?)?;
                true
            }
            Err(error) => return Err(error),
        };
        Ok(Self {
            readers: Readers::new(settings.state_dir.clone(), busy, frozen),
            anchor: Anchor::new(&settings.anchor_dir, &settings.state_dir, &settings.chain),
            state_dir: settings.state_dir,
            chain: settings.chain,
            writing: None,
        })
    }

    /// What is wrong with the state as a whole, seen now.
    pub fn problems(&self) -> Result<Vec<StateProblem>, StoreError> {
        let Some(writing) = &self.writing else {
            return Err(StoreError::ReadOnly);
        };
        self.readers.look_up(|db| {
            writing.guard.look(db)?;
            writing.guard.look_again(db)
        })
    }

    /// Takes the state as it is for the acknowledged one, on the word of `by`. It is written down
    /// in the audit log, where it stays. Gives what was accepted.
    pub fn accept(&self, by: &str, now: Timestamp) -> Result<Vec<StateProblem>, StoreError> {
        let Some(writing) = &self.writing else {
            return Err(StoreError::ReadOnly);
        };
        let failed = |error: OpenError| StoreError::Failed(Box::new(error));
        let lock = WriteLock::open(&self.state_dir).map_err(io_error)?;
        let _held = lock.acquire_within(writing.busy).map_err(failed)?;
        let problems = self.problems()?;
        if problems.is_empty() {
            return Ok(problems);
        }
        let connection = open::writer(&self.state_dir, &writing.limits).map_err(store_error)?;
        let keyring = Keyring::load_or_create(&self.state_dir).map_err(failed)?;
        let chain: Arc<str> = self.chain.as_str().into();
        let place = accept::Place {
            state_dir: &self.state_dir,
            anchor: &self.anchor,
            chain: &chain,
        };
        accept::open_epoch(&connection, &keyring, &place, &problems, (by, now))?;
        writing.guard.look(&connection)?;
        Ok(problems)
    }

    /// Writes, syncs, signs and anchors what is under way; later commits are refused.
    pub async fn close(&self) {
        if let Some(writing) = &self.writing {
            writing.queue.close();
            let done = Arc::clone(&writing.done);
            let (limit, health) = (writing.busy * 2, Arc::clone(&writing.health));
            let wait = move || {
                done.wait(limit, &health);
                // Whoever drops the store after this has waited enough.
                done.end();
            };
            let _ = tokio::task::spawn_blocking(wait).await;
        }
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        if let Some(writing) = &self.writing {
            writing.queue.close();
            writing.done.wait(writing.busy * 2, &writing.health);
        }
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn commit_shared(&self, batch: Arc<Batch>) -> Result<Receipt, StoreError> {
        let Some(writing) = &self.writing else {
            return Err(StoreError::ReadOnly);
        };
        if writing.health.holder().is_some() {
            // It may have let go since; then the commit waits its turn again.
            let holder = holder(&self.state_dir);
            if holder.pid.is_some_and(|pid| pid != std::process::id()) {
                return Err(StoreError::Held(holder));
            }
        }
        match writing.place.write_alone(&batch) {
            Ok(receipt) => return Ok(receipt),
            Err(Declined::Refused(error)) => return Err(error),
            Err(Declined::Left) => {}
        }
        let answer = writing.enqueue(batch)?;
        answer.await.unwrap_or_else(|_| Err(queue::closed()))
    }

    async fn check_commit(&self) -> Result<(), StoreError> {
        let Some(writing) = &self.writing else {
            return Err(StoreError::ReadOnly);
        };
        writing.guard.check_files()?;
        let guard = Arc::clone(&writing.guard);
        let problems = self.readers.look_up(|db| guard.look_again(db))?;
        if let Some(problem) = problems.into_iter().next() {
            return Err(StoreError::NotAcknowledged(problem));
        }
        match writing.health.verdict() {
            Verdict::Works => Ok(()),
            Verdict::Fails(error) => Err(error),
            Verdict::Unknown => writing.probe().await,
        }
    }

    fn can_look_ahead(&self) -> bool {
        let writing = self.writing.as_ref();
        writing.is_some_and(|writing| writing.place.is_alone())
    }

    fn look_ahead(&self) {
        if let Some(writing) = &self.writing {
            writing.place.look_ahead();
        }
    }

    fn foresee(&self, calls: usize) {
        if let Some(writing) = &self.writing {
            writing.crowd.foresee(calls);
        }
    }
}

impl Writing {
    /// Commits a little, and says whether that worked and nothing failed just before.
    async fn probe(&self) -> Result<(), StoreError> {
        let batch = Batch {
            durability: Durability::Disk,
            ..Batch::default()
        };
        let answer = self.queue.push(Arc::new(batch))?;
        answer.await.unwrap_or_else(|_| Err(queue::closed()))?;
        self.health.lingering().map_or(Ok(()), Err)
    }

    /// Has a batch written together with those of others.
    fn enqueue(&self, batch: Arc<Batch>) -> Result<Answer, StoreError> {
        let runtime = tokio::runtime::Handle::try_current();
        let (Ok(runtime), Durability::Process, false) =
            (runtime, batch.durability, is_large(&batch))
        else {
            return self.queue.push(batch);
        };
        let (answer, leads) = self.queue.join(batch)?;
        if leads {
            // A task of its own: the caller may be one that is not asked for a while.
            let leads = Leads {
                queue: Arc::clone(&self.queue),
                crowd: Arc::clone(&self.crowd),
                has_come: false,
            };
            runtime.spawn(leads.write(Arc::clone(&self.place)));
        }
        Ok(answer)
    }
}

/// An answer of so many bytes takes long to write.
const LARGE: usize = 64 << 10;

/// Whether writing it would hold up other tasks.
fn is_large(batch: &Batch) -> bool {
    let large = |change: &Change| matches!(change, Change::Remember { answer, .. } if answer.len() >= LARGE);
    batch.changes.iter().any(large)
}

/// How often whoever leads lets others go first.
const TURNS: usize = 4;

/// Who writes for all; if it is called off, the thread does.
struct Leads {
    queue: Arc<Queue>,
    crowd: Arc<Crowd>,
    has_come: bool,
}

impl Leads {
    /// Writes for all who come while the tasks that can run have run, and for those of a crowd
    /// who come soon.
    async fn write(mut self, place: Arc<Place>) {
        self.let_go_first().await;
        if self.crowd.may_wait() {
            self.gather().await;
        }
        self.has_come = true;
        place.write_for_all();
    }

    async fn let_go_first(&self) {
        let mut seen = 0;
        for _ in 0..TURNS {
            tokio::task::yield_now().await;
            let waiting = self.queue.len();
            if waiting == seen {
                break;
            }
            seen = waiting;
        }
    }

    /// Asking again is cheaper here than sleeping: the next answer is a few microseconds away,
    /// and a core that goes to sleep takes as long to wake.
    async fn gather(&self) {
        let (begun, first) = (Instant::now(), self.queue.len());
        let (mut last, mut seen) = (begun, first);
        while !self.queue.is_gathered(self.crowd.enough()) {
            tokio::task::yield_now().await;
            let (now, waiting) = (Instant::now(), self.queue.len());
            if waiting > seen {
                (last, seen) = (now, waiting);
            }
            if now - last > PAUSE || now - begun > PATIENCE {
                break;
            }
        }
        self.crowd.came(seen - first, begun.elapsed());
    }
}

impl Drop for Leads {
    fn drop(&mut self) {
        if !self.has_come {
            self.queue.hand_over(Vec::new());
        }
    }
}

impl Done {
    fn end(&self) {
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.wake.notify_all();
    }

    /// Waits, but not for a process that holds the lock and never lets go.
    fn wait(&self, limit: Duration, health: &Health) {
        let begun = Instant::now();
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        while !*ended && begun.elapsed() < limit && health.holder().is_none() {
            let waited = self.wake.wait_timeout(ended, PIECE);
            ended = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Starts both threads; the keeper outlives the writer and says when it ends.
fn start(place: Arc<Place>, keeper: Keeper) -> Result<Arc<Done>, OpenError> {
    let done = Arc::new(Done::default());
    let ended = Arc::clone(&done);
    thread::Builder::new()
        .name("tollgate-writer".to_owned())
        .spawn(move || place.run())
        .map_err(OpenError::Directory)?;
    thread::Builder::new()
        .name("tollgate-keeper".to_owned())
        .spawn(move || {
            keeper.run();
            ended.end();
        })
        .map_err(OpenError::Directory)?;
    Ok(done)
}

/// A database of the current version, and the key to sign with.
struct Opened {
    connection: Connection,
    keyring: Keyring,
    /// The file that was opened, where the system tells files apart.
    database: Option<Identity>,
}

/// Opens the database, creating or migrating it first if need be.
fn prepare(settings: &Settings, now: Timestamp) -> Result<Opened, OpenError> {
    let state_dir = &settings.state_dir;
    let database = || identity(&state_dir.join(open::DATABASE));
    // The usual case needs no lock: everything is there.
    if state_dir.join(open::DATABASE).exists()
        && let Some(keyring) = Keyring::load(state_dir)?
    {
        let database = database();
        let connection = open::writer(state_dir, &settings.limits)?;
        if is_current(&connection, &settings.chain)? {
            return Ok(Opened {
                connection,
                keyring,
                database,
            });
        }
    }
    let lock = WriteLock::open(state_dir).map_err(OpenError::Directory)?;
    let _held = lock.acquire_within(settings.limits.busy)?;
    let mut connection = open::writer(state_dir, &settings.limits)?;
    open::use_log(&connection)?;
    // Nobody else makes a database meanwhile, so it is this one or none.
    let database = database();
    if migrate::version(&connection)? == 0 {
        keep_private(state_dir).map_err(OpenError::Directory)?;
    }
    migrate::migrate(&mut connection, migrate::STEPS)?;
    let genesis: Hash = [0; 32];
    connection.execute(
        "INSERT INTO audit_head (chain, seq, hash, uses, versions)
         SELECT ?1, 0, ?2, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM audit_head)",
        params![settings.chain, genesis],
    )?;
    let keyring = Keyring::load_or_create(state_dir)?;
    let chain: Arc<str> = settings.chain.as_str().into();
    let anchor = Anchor::new(&settings.anchor_dir, state_dir, &settings.chain);
    let place = accept::Place {
        state_dir,
        anchor: &anchor,
        chain: &chain,
    };
    if !must_be_anchored(&connection, &chain)? {
        accept::anchor_first(&connection, &keyring, &place, now)?;
    }
    is_current(&connection, &settings.chain)?;
    Ok(Opened {
        connection,
        keyring,
        database,
    })
}

/// Whether the file has the last version and belongs to this chain.
fn is_current(connection: &Connection, chain: &str) -> Result<bool, OpenError> {
    let found = migrate::version(connection)?;
    migrate::check(found, migrate::STEPS)?;
    if (found as usize) < migrate::STEPS.len() {
        return Ok(false);
    }
    let known: Option<(String, bool)> = connection
        .query_row("SELECT chain, is_anchored FROM audit_head", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    match known {
        Some((known, is_anchored)) if known == chain => Ok(is_anchored),
        Some((known, _)) => Err(OpenError::OtherChain(known)),
        None => Ok(false),
    }
}

fn check_chain_name(name: &str) -> Result<(), OpenError> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.is_empty() || name.len() > 64 || !name.bytes().all(plain) {
        return Err(OpenError::ChainName(name.to_owned()));
    }
    Ok(())
}

/// Takes a new state away from other users, also in a folder that someone else made.
fn keep_private(state_dir: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        for file in [open::DATABASE, open::LOG, open::INDEX] {
            let path = state_dir.join(file);
            match std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        let mode = std::fs::metadata(state_dir)?.permissions().mode() & 0o7777;
        if mode & 0o022 != 0 {
            let private = std::fs::Permissions::from_mode(mode & !0o022);
            std::fs::set_permissions(state_dir, private)?;
        }
    }
    Ok(())
}

fn create_directory(path: &Path) -> Result<(), OpenError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(OpenError::Directory)
}
