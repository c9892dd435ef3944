//! Claims runs that wait, and sees to it that none is left behind.

use std::{
    collections::HashSet,
    sync::{Arc, PoisonError, Weak, atomic::Ordering},
    time::Duration,
};

use serde_json::json;
use tokio::{sync::watch, task::JoinSet};
use tokio_util::sync::CancellationToken;
use tollgate_core::{
    StoreError,
    store::{Batch, Change, Durability, RunChange, RunRow},
};
use tollgate_runs::Status;

use super::{Driven, Live, RunView, Runs, Shared, WaitingFor, drive, view::with_records};
use crate::{
    call::{Gateway, Inner},
    record,
};

/// How often somebody looks for runs of other processes.
const LOOK: Duration = Duration::from_millis(500);
/// How many runs are looked at in one go.
const AT_ONCE: u32 = 64;
/// Sweeping is for those who have nothing else to do, and not every time.
const SWEEP_EVERY: u32 = 120;

impl Runs {
    /// Begins to claim and drive runs, until the engine is gone.
    pub fn work(&self) {
        if let Ok(inner) = self.0.engine() {
            self.0.begin(&inner);
        }
    }

    /// Waits until every run that was started or is driven here is over, or needs a human.
    pub async fn settle(&self) {
        let mut moved = self.0.moved.subscribe();
        let mut over = HashSet::new();
        loop {
            moved.borrow_and_update();
            if self.has_settled(&mut over).await {
                return;
            }
            let Ok(inner) = self.0.engine() else { return };
            self.0.begin(&inner);
            drop(inner);
            // Nobody tells of those that another process drives.
            tokio::select! {
                told = moved.changed() => if told.is_err() { return },
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    /// Takes away artifacts whose time is up; tells how many there were.
    pub async fn sweep(&self) -> Result<usize, StoreError> {
        match self.0.engine() {
            Ok(inner) => self.0.sweep(&inner).await,
            Err(_) => Ok(0),
        }
    }

    /// A run with what is kept of it and of its steps, whoever started it; for people at a shell.
    pub async fn look(&self, id: &str) -> Result<Option<RunView>, StoreError> {
        let Ok(inner) = self.0.engine() else {
            return Ok(None);
        };
        match inner.store.run(id).await? {
            Some(row) => self.0.view(&inner, &row).await.map(Some),
            None => Ok(None),
        }
    }

    /// The same with what the audit log says of its calls.
    pub async fn show(&self, id: &str) -> Result<Option<RunView>, StoreError> {
        let Ok(inner) = self.0.engine() else {
            return Ok(None);
        };
        let Some(row) = inner.store.run(id).await? else {
            return Ok(None);
        };
        let view = self.0.view(&inner, &row).await?;
        with_records(&inner, &row, view).await.map(Some)
    }

    /// Whether every run that was started or is driven here is over, or needs a human.
    pub async fn is_idle(&self) -> bool {
        self.has_settled(&mut HashSet::new()).await
    }

    /// The same, without asking again for those that are known to be over.
    async fn has_settled(&self, over: &mut HashSet<String>) -> bool {
        if self.0.is_driving() {
            return false;
        }
        let Ok(inner) = self.0.engine() else {
            return true;
        };
        for id in self.0.started() {
            if over.contains(&id) {
                continue;
            }
            match inner.store.run(&id).await {
                Ok(Some(row)) if row.is_over => {
                    over.insert(id);
                }
                Ok(Some(row)) if !row.is_resting => return false,
                Ok(_) => {}
                // Whoever cannot tell does not say that nothing is left to do.
                Err(_) => return false,
            }
        }
        true
    }

    /// What a human has to agree to before runs that were started here can go on.
    pub async fn waiting_for(&self) -> Result<Vec<WaitingFor>, StoreError> {
        let mut all = Vec::new();
        for id in self.0.started() {
            let view = self.show(&id).await?;
            all.extend(view.into_iter().flat_map(|view| view.waiting_for));
        }
        Ok(all)
    }
}

impl Driven {
    /// Whether the run only waits for somebody's answer.
    fn is_resting(&self) -> bool {
        self.live.borrow().is_resting
    }
}

impl Shared {
    /// Whether this process drives a run that does not only wait for somebody.
    fn is_driving(&self) -> bool {
        let driven = self.driven.lock().unwrap_or_else(PoisonError::into_inner);
        driven.values().any(|driven| !driven.is_resting())
    }

    /// The runs that were started in this process.
    fn started(&self) -> Vec<String> {
        let started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        started.iter().map(|started| started.run.clone()).collect()
    }

    /// The run that a call of this process started.
    pub(super) fn started_by(&self, call: &str) -> Option<String> {
        let started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        let mut newest = started.iter().rev();
        newest
            .find(|started| started.call == call)
            .map(|started| started.run.clone())
    }

    /// Notes which call started a run; those that are long over are forgotten.
    pub(super) fn note_start(&self, call: &str, run: &str) {
        const MOST: usize = 4096;
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        if started.len() >= MOST {
            started.drain(..MOST / 2);
        }
        started.push(super::Started {
            call: call.to_owned(),
            run: run.to_owned(),
        });
    }

    /// Sees to it that somebody in this process claims runs.
    pub(super) fn begin(self: &Arc<Self>, inner: &Arc<Inner>) {
        if !self.is_working.swap(true, Ordering::SeqCst) {
            tokio::spawn(work(Arc::downgrade(self), Arc::downgrade(inner)));
        }
        self.wake.notify_one();
    }

    /// Claims one run for this process, beside at most so many others, and drives it; `false`
    /// if it is not to be had.
    pub(super) async fn claim(
        self: &Arc<Self>,
        inner: &Arc<Inner>,
        row: RunRow,
        most: u32,
    ) -> Result<bool, StoreError> {
        if row.owner.is_some() {
            // What its process had begun is ended first, so that no step runs twice.
            Gateway(Arc::clone(inner)).recover().await?;
        }
        match inner.store.commit(claiming(inner, &row, most)).await {
            Ok(_) => {
                self.drive(inner, row);
                Ok(true)
            }
            Err(StoreError::Conflict) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// How many more runs this process could drive, for all it knows of others.
    pub(super) fn room(&self) -> u32 {
        let driven = self.driven.lock().unwrap_or_else(PoisonError::into_inner);
        let busy = driven.values().filter(|driven| !driven.is_resting());
        let busy = u32::try_from(busy.count()).unwrap_or(u32::MAX);
        self.settings.concurrent.saturating_sub(busy)
    }

    /// Drives a run that this process has claimed.
    pub(super) fn drive(self: &Arc<Self>, inner: &Arc<Inner>, row: RunRow) {
        let driven = Driven {
            live: watch::Sender::new(Live::default()),
            cancel: CancellationToken::new(),
        };
        self.driven
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(row.id.clone(), driven.clone());
        let (shared, inner) = (Arc::clone(self), Arc::clone(inner));
        tokio::spawn(drive::drive(shared, inner, row, driven));
    }

    /// Claims what waits, as far as there is room.
    async fn claim_waiting(self: &Arc<Self>, inner: &Arc<Inner>) -> Result<bool, StoreError> {
        let room = self.room();
        if room == 0 {
            return Ok(false);
        }
        let waiting = inner.store.waiting_runs(room.min(AT_ONCE)).await?;
        let mut claims = JoinSet::new();
        for row in waiting {
            let (shared, inner) = (Arc::clone(self), Arc::clone(inner));
            let most = self.settings.concurrent;
            claims.spawn(async move { shared.claim(&inner, row, most).await });
        }
        let mut any = false;
        while let Some(claimed) = claims.join_next().await {
            any |= matches!(claimed, Ok(Ok(true)));
        }
        Ok(any)
    }
}

/// What claims a run for this process, if there is room beside `most` others.
pub(super) fn claiming(inner: &Inner, row: &RunRow, most: u32) -> Batch {
    let now = inner.clock.now();
    let claim = Change::Run(RunChange::Claim {
        id: row.id.clone(),
        owner: inner.store.owner().to_owned(),
        fence: row.fence,
        most,
        status: Status::Running.as_str().to_owned(),
        at: now,
    });
    let note = record::note(
        "run",
        now,
        json!({
            "principal": row.session.principal.as_str(),
            "session": row.session.handle,
            "run": row.id,
            "status": Status::Running.as_str(),
            "fence": row.fence + 1,
            "taken_over": row.owner.is_some(),
        }),
    );
    Batch {
        changes: vec![claim],
        audit: vec![note],
        durability: Durability::Disk,
    }
}

async fn work(shared: Weak<Shared>, inner: Weak<Inner>) {
    let mut turns = 0_u32;
    loop {
        let (Some(alive), Some(engine)) = (shared.upgrade(), inner.upgrade()) else {
            return;
        };
        // A store that fails now is asked again the next time.
        alive.end_unkept(&engine).await;
        while matches!(alive.claim_waiting(&engine).await, Ok(true)) {}
        if turns.is_multiple_of(SWEEP_EVERY) {
            drop(alive.sweep(&engine).await);
        }
        turns = turns.wrapping_add(1);
        drop(engine);
        tokio::select! {
            () = alive.wake.notified() => {}
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}
