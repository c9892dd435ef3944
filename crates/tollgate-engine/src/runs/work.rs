//! Claims runs that wait, and sees to it that none is left behind.

use std::{
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

use super::{Driven, Live, RunView, Runs, Shared, WaitingFor, drive};
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
        loop {
            let mut open = false;
            {
                let driven = self.0.driven.lock().unwrap_or_else(PoisonError::into_inner);
                open |= driven.values().any(|driven| !driven.is_resting());
            }
            let started = self.0.started();
            let Ok(inner) = self.0.engine() else { return };
            for id in started {
                let row = inner.store.run(&id).await;
                open |= matches!(row, Ok(Some(row)) if !row.is_over && !row.is_resting);
            }
            if !open {
                return;
            }
            self.0.begin(&inner);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Takes away artifacts whose time is up; tells how many there were.
    pub async fn sweep(&self) -> Result<usize, StoreError> {
        match self.0.engine() {
            Ok(inner) => self.0.sweep(&inner).await,
            Err(_) => Ok(0),
        }
    }

    /// A run with all that is known of it, whoever started it; for people at a shell.
    pub async fn show(&self, id: &str) -> Result<Option<RunView>, StoreError> {
        let Ok(inner) = self.0.engine() else {
            return Ok(None);
        };
        match inner.store.run(id).await? {
            Some(row) => self.0.view(&inner, &row).await.map(Some),
            None => Ok(None),
        }
    }

    /// Whether every run that was started or is driven here is over, or needs a human.
    pub async fn is_idle(&self) -> bool {
        let is_driving = {
            let driven = self.0.driven.lock().unwrap_or_else(PoisonError::into_inner);
            driven.values().any(|driven| !driven.is_resting())
        };
        if is_driving {
            return false;
        }
        let Ok(inner) = self.0.engine() else {
            return true;
        };
        for id in self.0.started() {
            let row = inner.store.run(&id).await;
            if matches!(row, Ok(Some(row)) if !row.is_over && !row.is_resting) {
                return false;
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

    /// Claims one run for this process and drives it; `false` if it is not to be had.
    pub(super) async fn claim(
        self: &Arc<Self>,
        inner: &Arc<Inner>,
        row: RunRow,
    ) -> Result<bool, StoreError> {
        if row.owner.is_some() {
            // What its process had begun is ended first, so that no step runs twice.
            Gateway(Arc::clone(inner)).recover().await?;
        }
        let now = inner.clock.now();
        let claim = Change::Run(RunChange::Claim {
            id: row.id.clone(),
            owner: inner.store.owner().to_owned(),
            fence: row.fence,
            most: self.settings.concurrent,
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
        let batch = Batch {
            changes: vec![claim],
            audit: vec![note],
            durability: Durability::Disk,
        };
        match inner.store.commit(batch).await {
            Ok(_) => {
                self.drive(inner, row);
                Ok(true)
            }
            Err(StoreError::Conflict) => Ok(false),
            Err(error) => Err(error),
        }
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
        let driven = {
            let driven = self.driven.lock().unwrap_or_else(PoisonError::into_inner);
            let busy = driven.values().filter(|driven| !driven.is_resting());
            busy.count()
        };
        let room = self
            .settings
            .concurrent
            .saturating_sub(u32::try_from(driven).unwrap_or(u32::MAX));
        if room == 0 {
            return Ok(false);
        }
        let waiting = inner.store.waiting_runs(room.min(AT_ONCE)).await?;
        let mut claims = JoinSet::new();
        for row in waiting {
            let (shared, inner) = (Arc::clone(self), Arc::clone(inner));
            claims.spawn(async move { shared.claim(&inner, row).await });
        }
        let mut any = false;
        while let Some(claimed) = claims.join_next().await {
            any |= matches!(claimed, Ok(Ok(true)));
        }
        Ok(any)
    }
}

async fn work(shared: Weak<Shared>, inner: Weak<Inner>) {
    let mut turns = 0_u32;
    loop {
        let (Some(alive), Some(engine)) = (shared.upgrade(), inner.upgrade()) else {
            return;
        };
        // A store that fails now is asked again the next time.
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
