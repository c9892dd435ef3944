//! Runs and artifacts in memory.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use async_trait::async_trait;
use tollgate_core::{
    Timestamp,
    store::{ArtifactRow, Blobs, RunChange, RunQuery, RunRow, Runs, StoreError},
};

use super::{MemoryStore, apply::found, state::State};

impl State {
    pub(super) fn change_run(&mut self, change: RunChange) -> Result<(), StoreError> {
        match change {
            RunChange::Open(run) => {
                let taken = self.runs.iter().any(|known| known.id == run.id);
                found(!taken, StoreError::Conflict)?;
                self.runs.push(*run);
            }
            RunChange::Claim {
                id,
                owner,
                fence,
                most,
                status,
                at,
            } => {
                self.room(&id, most)?;
                let run = self.open_run(&id, fence)?;
                run.owner = Some(owner);
                run.fence += 1;
                run.status = status;
                run.updated = at;
                run.is_resting = false;
            }
            RunChange::Rest {
                id,
                fence,
                rests,
                most,
            } => {
                if !rests {
                    self.room(&id, most)?;
                }
                self.open_run(&id, fence)?.is_resting = rests;
            }
            RunChange::Move {
                id,
                fence,
                status,
                is_over,
                record,
                at,
            } => {
                let run = self.open_run(&id, fence)?;
                run.status = status;
                run.is_over = is_over;
                run.record = record;
                run.updated = at;
                if is_over {
                    run.owner = None;
                    run.sealed = None;
                    run.is_resting = false;
                }
            }
            RunChange::Steps {
                id,
                fence,
                steps,
                at,
            } => {
                self.open_run(&id, fence)?.updated = at;
                let named = steps.into_iter();
                let named = named.map(|(name, record)| ((id.clone(), name), record));
                self.run_steps.extend(named);
            }
            RunChange::Cancel { id, at } => {
                let run = self
                    .runs
                    .iter_mut()
                    .find(|run| run.id == id && !run.is_over);
                let run = run.ok_or(StoreError::Missing)?;
                run.is_canceled = true;
                run.updated = at;
            }
            RunChange::Keep(artifact) => {
                self.artifacts.retain(|known| known.id != artifact.id);
                self.artifacts.push(artifact);
            }
            RunChange::Until { run, until } => {
                for artifact in self.artifacts.iter_mut().filter(|it| it.run == run) {
                    artifact.until = Some(until);
                }
            }
            RunChange::Gone { artifact } => {
                for known in self.artifacts.iter_mut().filter(|it| it.id == artifact) {
                    known.is_gone = true;
                }
            }
        }
        Ok(())
    }

    fn room(&self, id: &str, most: u32) -> Result<(), StoreError> {
        let is_alive = |owner: &String| !self.dead.contains(owner);
        let driven = |run: &&RunRow| {
            !run.is_over
                && run.owner.as_ref().is_some_and(is_alive)
                && !run.is_resting
                && run.id != id
        };
        let others = self.runs.iter().filter(driven).count();
        found(others < most as usize, StoreError::Busy)
    }

    fn open_run(&mut self, id: &str, fence: u64) -> Result<&mut RunRow, StoreError> {
        let mut runs = self.runs.iter_mut();
        runs.find(|run| run.id == id && run.fence == fence && !run.is_over)
            .ok_or(StoreError::Conflict)
    }
}

#[async_trait]
impl Runs for MemoryStore {
    async fn run(&self, id: &str) -> Result<Option<RunRow>, StoreError> {
        let mut inner = self.inner();
        if !inner.run_failures.is_empty() {
            return Err(inner.run_failures.remove(0));
        }
        Ok(inner.state.runs.iter().find(|run| run.id == id).cloned())
    }

    async fn run_canceled(&self, id: &str) -> Result<Option<bool>, StoreError> {
        Ok(self.run(id).await?.map(|run| run.is_canceled))
    }

    async fn run_steps(&self, id: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let inner = self.inner();
        let steps = inner
            .state
            .run_steps
            .iter()
            .filter(|((run, _), _)| run == id);
        Ok(steps
            .map(|((_, name), record)| (name.clone(), record.clone()))
            .collect())
    }

    async fn runs(&self, query: &RunQuery) -> Result<Vec<RunRow>, StoreError> {
        let inner = self.inner();
        let wanted = |run: &&RunRow| {
            let fits = |wanted: &Option<String>, value: &str| {
                wanted.as_ref().is_none_or(|wanted| wanted == value)
            };
            let principal = query.principal.as_ref();
            principal.is_none_or(|principal| *principal == run.session.principal)
                && fits(&query.status, &run.status)
                && fits(&query.template, &run.template)
        };
        let newest = inner.state.runs.iter().rev().filter(wanted);
        let page = newest
            .skip(query.offset as usize)
            .take(query.limit as usize);
        Ok(page.cloned().collect())
    }

    async fn waiting_runs(&self, limit: u32) -> Result<Vec<RunRow>, StoreError> {
        let inner = self.inner();
        let is_dead = |owner: &String| inner.state.dead.contains(owner);
        let open = inner.state.runs.iter().filter(|run| !run.is_over);
        let mut waiting: Vec<RunRow> = open
            .filter(|run| run.owner.as_ref().is_none_or(is_dead))
            .cloned()
            .collect();
        waiting.sort_by_key(|run| run.owner.is_none());
        waiting.truncate(limit as usize);
        Ok(waiting)
    }

    async fn open_runs(&self) -> Result<u64, StoreError> {
        let inner = self.inner();
        Ok(inner.state.runs.iter().filter(|run| !run.is_over).count() as u64)
    }

    async fn artifact(&self, id: &str) -> Result<Option<ArtifactRow>, StoreError> {
        let inner = self.inner();
        Ok(inner.state.artifacts.iter().find(|it| it.id == id).cloned())
    }

    async fn artifacts(&self, run: &str) -> Result<Vec<ArtifactRow>, StoreError> {
        let inner = self.inner();
        let artifacts = inner.state.artifacts.iter().filter(|it| it.run == run);
        Ok(artifacts.cloned().collect())
    }

    async fn stale_artifacts(
        &self,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<ArtifactRow>, StoreError> {
        let inner = self.inner();
        let is_stale =
            |it: &&ArtifactRow| !it.is_gone && it.until.is_some_and(|until| until <= now);
        let stale = inner.state.artifacts.iter().filter(is_stale);
        Ok(stale.take(limit as usize).cloned().collect())
    }
}

/// Content in memory; a full disk can be played.
#[derive(Debug, Default)]
pub struct MemoryBlobs {
    contents: Mutex<BTreeMap<String, Vec<u8>>>,
    full: std::sync::atomic::AtomicBool,
}

impl MemoryBlobs {
    /// From now on there is no room, or there is again.
    pub fn fill(&self, is_full: bool) {
        self.full
            .store(is_full, std::sync::atomic::Ordering::SeqCst);
    }

    /// How many contents there are.
    pub fn count(&self) -> usize {
        self.contents
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }
}

#[async_trait]
impl Blobs for MemoryBlobs {
    async fn put(&self, name: &str, content: Vec<u8>) -> Result<(), StoreError> {
        if self.full.load(std::sync::atomic::Ordering::SeqCst) {
            return Err(StoreError::Full);
        }
        let mut contents = self.contents.lock().unwrap_or_else(PoisonError::into_inner);
        contents.insert(name.to_owned(), content);
        Ok(())
    }

    async fn part(&self, name: &str, from: u64, bytes: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let contents = self.contents.lock().unwrap_or_else(PoisonError::into_inner);
        let part = |content: &Vec<u8>| {
            let skip = usize::try_from(from).unwrap_or(usize::MAX);
            let take = usize::try_from(bytes).unwrap_or(usize::MAX);
            content.iter().skip(skip).take(take).copied().collect()
        };
        Ok(contents.get(name).map(part))
    }

    async fn remove(&self, name: &str) -> Result<(), StoreError> {
        let mut contents = self.contents.lock().unwrap_or_else(PoisonError::into_inner);
        contents.remove(name);
        Ok(())
    }
}
