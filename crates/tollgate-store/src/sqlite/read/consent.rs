//! Reads what humans decided.

use async_trait::async_trait;
use rusqlite::params;
use tollgate_core::{
    SessionKey,
    audit::Hash,
    store::{
        Approval, ApprovalFilter, ApprovalState, Approvals, Credential, Credentials, Grant,
        ReviewItem, ReviewStatus, Reviews, StoreError,
    },
};

use super::{all, one};
use crate::{
    SqliteStore,
    sqlite::rows::{self, APPROVAL, CREDENTIAL},
};

#[async_trait]
impl Approvals for SqliteStore {
    async fn approval(&self, id: &str) -> Result<Option<Approval>, StoreError> {
        let sql = format!("SELECT {APPROVAL} FROM approvals WHERE id = ?1");
        self.readers
            .look_up(|db| one(db, &sql, [id], rows::approval))
    }

    async fn approvals(&self, filter: &ApprovalFilter) -> Result<Vec<Approval>, StoreError> {
        let ApprovalFilter { state, limit } = *filter;
        self.readers
            .scan(move |db| match state {
                Some(state) => all(
                    db,
                    &format!(
                        "SELECT {APPROVAL} FROM approvals WHERE state = ?1
                         ORDER BY number DESC LIMIT ?2"
                    ),
                    params![ApprovalState::as_str(state), limit],
                    rows::approval,
                ),
                None => all(
                    db,
                    &format!("SELECT {APPROVAL} FROM approvals ORDER BY number DESC LIMIT ?1"),
                    [limit],
                    rows::approval,
                ),
            })
            .await
    }

    async fn approval_of(&self, digest: &Hash) -> Result<Option<Approval>, StoreError> {
        let sql = format!(
            "SELECT {APPROVAL} FROM approvals WHERE digest = ?1 ORDER BY number DESC LIMIT 1"
        );
        self.readers
            .look_up(|db| one(db, &sql, [digest], rows::approval))
    }

    async fn grants(&self, session: &SessionKey) -> Result<Vec<Grant>, StoreError> {
        self.readers.look_up(|db| {
            all(
                db,
                "SELECT scope, granted_by, at, expires FROM grants
                 WHERE principal = ?1 AND handle = ?2 ORDER BY scope",
                [session.principal.as_str(), &session.handle],
                |row| rows::grant(row, session),
            )
        })
    }
}

#[async_trait]
impl Reviews for SqliteStore {
    async fn reviews(
        &self,
        status: Option<ReviewStatus>,
        limit: u32,
    ) -> Result<Vec<ReviewItem>, StoreError> {
        self.readers
            .scan(move |db| match status {
                Some(status) => all(
                    db,
                    "SELECT item FROM reviews WHERE status = ?1 ORDER BY number DESC LIMIT ?2",
                    params![status.as_str(), limit],
                    rows::review,
                ),
                None => all(
                    db,
                    "SELECT item FROM reviews ORDER BY number DESC LIMIT ?1",
                    [limit],
                    rows::review,
                ),
            })
            .await
    }

    async fn review(&self, id: &str) -> Result<Option<ReviewItem>, StoreError> {
        let sql = "SELECT item FROM reviews WHERE id = ?1";
        self.readers.look_up(|db| one(db, sql, [id], rows::review))
    }
}

#[async_trait]
impl Credentials for SqliteStore {
    async fn credential(&self, digest: &Hash) -> Result<Option<Credential>, StoreError> {
        let sql = format!("SELECT {CREDENTIAL} FROM credentials WHERE digest = ?1");
        self.readers
            .look_up(|db| one(db, &sql, [digest], rows::credential))
    }

    async fn credentials(&self) -> Result<Vec<Credential>, StoreError> {
        self.readers
            .scan(|db| {
                let sql = format!("SELECT {CREDENTIAL} FROM credentials ORDER BY number DESC");
                all(db, &sql, [], rows::credential)
            })
            .await
    }
}
