//! Makes the changes of one batch, and links its audit entries.
//!
//! Changes of sessions are made in memory and written once per transaction; they
//! come first, so that a budget refuses before anything is written. A batch that
//! could be refused halfway has a savepoint, so that its neighbours in the same
//! transaction stay.

mod consent;
mod effects;
mod ledger;
mod memory;
mod runs;

use std::{path::Path, sync::Arc};

use rusqlite::{Connection, OptionalExtension as _, params};
use tollgate_core::{
    Timestamp,
    audit::{AuditEntry, Hash, Place, link},
    store::{Batch, Body, Change, Receipt, StateProblem, StoreError},
};

pub(super) use self::consent::forget_previews;
use self::ledger::Ledger;
pub(crate) use self::memory::slot;
use super::{index, migrate::STEPS, prune::Pruner};
use crate::{chain::Seal, error::store_error};

/// The largest body that lies with its entry: both fit into one page.
const SMALL: usize = 1024;

/// The transaction of a group of batches.
pub(crate) struct Group<'c> {
    connection: &'c Connection,
    ledger: Ledger,
    head: Head,
    chain: &'c Arc<str>,
    /// Where it says who is alive.
    state_dir: &'c Path,
    now: Timestamp,
    /// Whether there is anything to commit.
    applied: bool,
    /// The head as it was found.
    found: Head,
    /// Whether its row has to say where the chain ends.
    sealed: bool,
}

/// The end of the chain and the other numbers that only grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) seq: u64,
    pub(crate) hash: Hash,
    uses: u64,
    versions: u64,
    /// Entries up to here can be found by the index.
    pub(crate) indexed: u64,
    /// The same for bodies.
    pub(crate) bodies: u64,
    /// Entries up to here have no body beside them any more.
    pub(crate) bare: u64,
}

/// Why a batch was not applied.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The state says no; the neighbours are fine.
    Refused(StoreError),
    /// SQLite says no; the whole transaction is void.
    Broken(StoreError),
}

impl From<rusqlite::Error> for Refusal {
    fn from(error: rusqlite::Error) -> Self {
        Self::Broken(store_error(error))
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

impl<'c> Group<'c> {
    /// Begins the transaction; the caller holds the lock.
    pub(crate) fn begin(
        connection: &'c Connection,
        (state_dir, chain): (&'c Path, &'c Arc<str>),
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        execute(connection, "BEGIN IMMEDIATE").map_err(store_error)?;
        let head = head_or_nothing(connection, chain)?;
        Ok(Self::after(head, connection, (state_dir, chain), now))
    }

    /// Goes on with a transaction that has only looked so far. Its first write fails if
    /// somebody else wrote meanwhile; what it only reads may be out of date.
    pub(crate) fn after(
        head: Head,
        connection: &'c Connection,
        (state_dir, chain): (&'c Path, &'c Arc<str>),
        now: Timestamp,
    ) -> Self {
        Self {
            connection,
            ledger: Ledger::default(),
            head,
            found: head,
            sealed: false,
            chain,
            state_dir,
            now,
            applied: false,
        }
    }

    /// Where the chain ends so far.
    pub(crate) fn head(&self) -> Head {
        self.head
    }

    /// Applies a batch whole, or leaves the transaction as it was.
    pub(crate) fn apply(&mut self, batch: &Batch) -> Result<Receipt, Refusal> {
        let before = self.head;
        self.ledger.mark();
        let guarded = needs_savepoint(&batch.changes);
        if guarded {
            execute(self.connection, "SAVEPOINT batch")?;
        }
        let applied = self.make(batch);
        match &applied {
            Ok(_) => self.applied = true,
            Err(Refusal::Refused(_)) => {
                self.head = before;
                self.ledger.undo();
                if guarded {
                    execute(self.connection, "ROLLBACK TO batch")?;
                }
            }
            Err(Refusal::Broken(_)) => return applied,
        }
        if guarded {
            execute(self.connection, "RELEASE batch")?;
        }
        applied
    }

    /// Forgets what is no longer needed, if it is time for that.
    pub(crate) fn prune(&mut self, pruner: &mut Pruner) -> Result<(), StoreError> {
        if Pruner::is_due(self.found.seq..self.head.seq) {
            let log = self.head.bare..self.head.seq;
            self.head.bare = pruner.prune(self.connection, log, self.now)?;
        }
        Ok(())
    }

    /// Notes a signed head.
    pub(crate) fn seal(&mut self, seal: &Seal) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(
                "INSERT OR IGNORE INTO audit_signed_heads (seq, chain, hash, key, signature)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )
            .and_then(|mut statement| {
                statement.execute(params![
                    seal.seq.cast_signed(),
                    &**self.chain,
                    seal.hash,
                    seal.key,
                    seal.signature,
                ])
            })
            .map_err(store_error)?;
        self.applied = true;
        self.sealed = true;
        Ok(())
    }

    /// Writes a little, so that there is something to commit.
    pub(crate) fn probe(&mut self) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("UPDATE audit_head SET probes = probes + 1 WHERE chain = ?1")
            .and_then(|mut statement| statement.execute([&**self.chain]))
            .map_err(store_error)?;
        self.applied = true;
        Ok(())
    }

    /// Writes what is still in memory and commits; on failure nothing is kept.
    pub(crate) fn commit(mut self) -> Result<(), StoreError> {
        if self.applied {
            self.flush()
                .and_then(|()| execute(self.connection, "COMMIT"))
                .map_err(store_error)?;
        }
        Ok(())
    }

    fn flush(&mut self) -> rusqlite::Result<()> {
        self.head.uses = self.ledger.flush(self.connection, self.head.uses)?;
        if index::is_due(self.head.indexed, self.head.seq, self.sealed) {
            index::fill(self.connection, self.head.indexed, self.head.seq)?;
            self.head.indexed = self.head.seq;
            self.head.bodies = index::fill_bodies(self.connection, self.head.bodies)?;
        }
        // The last entry says where the chain ends, so that alone is not worth a page.
        let found = Head {
            seq: self.head.seq,
            hash: self.head.hash,
            ..self.found
        };
        if found == self.head && !self.sealed {
            return Ok(());
        }
        self.connection
            .prepare_cached(
                "UPDATE audit_head SET seq = ?2, hash = ?3, uses = ?4, versions = ?5,
                     indexed = ?6, bodies = ?7, bare = ?8
                 WHERE chain = ?1",
            )?
            .execute(params![
                &**self.chain,
                self.head.seq.cast_signed(),
                self.head.hash,
                self.head.uses.cast_signed(),
                self.head.versions.cast_signed(),
                self.head.indexed.cast_signed(),
                self.head.bodies.cast_signed(),
                self.head.bare.cast_signed(),
            ])?;
        Ok(())
    }

    fn make(&mut self, batch: &Batch) -> Result<Receipt, Refusal> {
        let mut receipt = Receipt::default();
        let mut touched = None;
        for change in &batch.changes {
            if let Some(key) = self.ledger.change(self.connection, change)? {
                touched = Some(key);
            }
        }
        let mut beside = None;
        for change in &batch.changes {
            if let Change::KeepBody(body) = change
                && beside.is_none()
                && lies_beside(body, &batch.audit)
            {
                beside = Some(body);
            } else if let Some(version) = self.change(change)? {
                receipt.version = Some(version);
            }
        }
        receipt.places = batch
            .audit
            .iter()
            .map(|entry| self.append(entry, beside.filter(|body| is_about(entry, body))))
            .collect::<Result<_, _>>()?;
        receipt.session = touched.and_then(|key| self.ledger.session(key));
        Ok(receipt)
    }

    /// Makes a change outside the sessions; says the version of state it wrote.
    fn change(&mut self, change: &Change) -> Result<Option<u64>, Refusal> {
        let db = self.connection;
        match change {
            Change::OpenSession(_)
            | Change::Configure { .. }
            | Change::Reserve { .. }
            | Change::Settle { .. }
            | Change::Block { .. }
            | Change::CountHit { .. } => {}
            Change::OpenIntent(intent) => effects::open_intent(db, intent)?,
            Change::EndIntent(ending) => effects::end_intent(db, ending)?,
            Change::Delivered { call } => effects::delivered(db, call)?,
            Change::AskApproval { approval, limits } => consent::ask(db, approval, limits)?,
            Change::DecideApproval {
                id,
                granted,
                by,
                at,
            } => consent::decide(db, id, *granted, (by, *at))?,
            Change::ConsumeApproval { digest, call, at } => {
                consent::consume(db, digest, call, *at)?;
            }
            Change::Grant(grant) => consent::grant(db, grant)?,
            Change::Revoke { session, scope } => consent::revoke(db, session, scope)?,
            Change::Remember {
                key,
                answer,
                until,
                at,
            } => memory::remember(db, key, answer, (*until, *at))?,
            Change::Forget { session } => memory::forget(db, session)?,
            Change::OpenReview(item) => consent::open_review(db, item)?,
            Change::ResolveReview {
                id,
                resolution,
                note,
                by,
                at,
            } => {
                let note = note.as_deref();
                consent::resolve_review(db, id, (resolution, note), (by, *at))?;
            }
            Change::KeepBody(body) => memory::keep_body(db, body, self.now)?,
            Change::AddCredential(credential) => consent::add_credential(db, credential)?,
            Change::RevokeCredential { id, at } => consent::revoke_credential(db, id, *at)?,
            Change::PutState {
                namespace,
                principal,
                key,
                version,
                value,
                until,
                at,
            } => {
                let place = (namespace.as_str(), principal.as_str(), key.as_str());
                let next = self.head.versions + 1;
                memory::put_state(db, place, (*version, next), (value, *until, *at))?;
                self.head.versions = next;
                return Ok(Some(next));
            }
            Change::DeleteState {
                namespace,
                principal,
                key,
            } => memory::delete_state(db, (namespace, principal.as_str(), key))?,
            Change::Run(change) => runs::change(db, self.state_dir, change)?,
        }
        Ok(None)
    }

    fn append(&mut self, entry: &AuditEntry, beside: Option<&Body>) -> Result<Place, Refusal> {
        let seq = self.head.seq + 1;
        let hash = link(&self.head.hash, self.chain, seq, entry.content());
        let columns = entry.columns();
        self.connection
            .prepare_cached(
                "INSERT INTO audit_entries (seq, chain, hash, at, kind, call_id, trace_id,
                     principal, session, tool, status, body, arguments, data)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
            )?
            .execute(params![
                seq.cast_signed(),
                &**self.chain,
                hash,
                columns.at,
                columns.kind,
                columns.call_id,
                columns.trace_id,
                columns.principal,
                columns.session,
                columns.tool,
                columns.status,
                entry.body(),
                beside.and_then(|body| body.arguments.as_deref()),
                beside.and_then(|body| body.data.as_deref()),
            ])?;
        self.head.seq = seq;
        self.head.hash = hash;
        Ok(Place {
            chain: Arc::clone(self.chain),
            seq,
            hash,
        })
    }
}

/// Begins a transaction that only looks, at the end of the chain; the caller ends it.
pub(crate) fn look(connection: &Connection, chain: &str) -> Result<Head, StoreError> {
    execute(connection, "BEGIN").map_err(store_error)?;
    head_or_nothing(connection, chain)
}

/// The head; without one, the transaction is over.
fn head_or_nothing(connection: &Connection, chain: &str) -> Result<Head, StoreError> {
    let error = match known_version(connection)
        .and_then(|()| read_head(connection, chain).map_err(store_error))
    {
        Ok(Some(head)) => return Ok(head),
        Ok(None) => StoreError::Corrupt("the head of the chain is gone".into()),
        Err(error) => error,
    };
    roll_back(connection);
    Err(error)
}

/// Refuses to write what a later release has changed meanwhile.
fn known_version(connection: &Connection) -> Result<(), StoreError> {
    let found: u32 = connection
        .prepare_cached("PRAGMA user_version")
        .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
        .map_err(store_error)?;
    let known = u32::try_from(STEPS.len()).unwrap_or(u32::MAX);
    if found > known {
        let problem = StateProblem::NewerSchema { found, known };
        return Err(StoreError::NotAcknowledged(problem));
    }
    Ok(())
}

/// Whatever was not committed is taken back.
impl Drop for Group<'_> {
    fn drop(&mut self) {
        roll_back(self.connection);
    }
}

/// Reads the head of a chain: what its row notes, and where the entries really end.
pub(crate) fn read_head(connection: &Connection, chain: &str) -> rusqlite::Result<Option<Head>> {
    let Some(noted) = read_noted(connection, chain)? else {
        return Ok(None);
    };
    let last = connection
        .prepare_cached("SELECT seq, hash FROM audit_entries ORDER BY seq DESC LIMIT 1")?
        .query_row([], |row| {
            Ok((row.get::<_, i64>(0)?.cast_unsigned(), row.get(1)?))
        })
        .optional()?;
    Ok(Some(match last {
        Some((seq, hash)) if seq > noted.seq => Head { seq, hash, ..noted },
        // Entries that are missing stay missing: nothing takes their numbers.
        Some(_) | None => noted,
    }))
}

/// Reads the row of the head; the chain may go on after it.
pub(crate) fn read_noted(connection: &Connection, chain: &str) -> rusqlite::Result<Option<Head>> {
    connection
        .prepare_cached(
            "SELECT seq, hash, uses, versions, indexed, bodies, bare FROM audit_head
             WHERE chain = ?1",
        )?
        .query_row([chain], |row| {
            let number = |at: usize| row.get::<_, i64>(at).map(i64::cast_unsigned);
            Ok(Head {
                seq: number(0)?,
                hash: row.get(1)?,
                uses: number(2)?,
                versions: number(3)?,
                indexed: number(4)?,
                bodies: number(5)?,
                bare: number(6)?,
            })
        })
        .optional()
}

/// Whether a body lies with the one entry about its call: it is small, and there is one.
fn lies_beside(body: &Body, audit: &[AuditEntry]) -> bool {
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    (1..=SMALL).contains(&(length(&body.arguments) + length(&body.data)))
        && audit.iter().filter(|entry| is_about(entry, body)).count() == 1
}

fn is_about(entry: &AuditEntry, body: &Body) -> bool {
    entry.columns().call_id.as_deref() == Some(body.call.as_str())
}

/// A refusal before the first write needs no savepoint.
fn needs_savepoint(changes: &[Change]) -> bool {
    let mut written = false;
    for change in changes {
        match kind(change) {
            Kind::Session => {}
            Kind::Certain => written = true,
            Kind::Refusable if written => return true,
            Kind::Refusable => written = true,
        }
    }
    false
}

enum Kind {
    /// Made in memory.
    Session,
    /// Written, and never refused.
    Certain,
    /// Refused before it writes, or written.
    Refusable,
}

fn kind(change: &Change) -> Kind {
    match change {
        Change::OpenSession(_)
        | Change::Configure { .. }
        | Change::Reserve { .. }
        | Change::Settle { .. }
        | Change::Block { .. }
        | Change::CountHit { .. } => Kind::Session,
        Change::Delivered { .. }
        | Change::Grant(_)
        | Change::Remember { .. }
        | Change::Forget { .. }
        | Change::KeepBody(_)
        | Change::DeleteState { .. } => Kind::Certain,
        Change::OpenIntent(_)
        | Change::EndIntent(_)
        | Change::AskApproval { .. }
        | Change::DecideApproval { .. }
        | Change::ConsumeApproval { .. }
        | Change::Revoke { .. }
        | Change::OpenReview(_)
        | Change::ResolveReview { .. }
        | Change::AddCredential(_)
        | Change::RevokeCredential { .. }
        | Change::PutState { .. }
        | Change::Run(_) => Kind::Refusable,
    }
}

fn execute(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([])?;
    Ok(())
}

/// After some errors SQLite has rolled back by itself; then there is nothing to do.
pub(crate) fn roll_back(connection: &Connection) {
    if !connection.is_autocommit() {
        let _ = execute(connection, "ROLLBACK");
    }
}
