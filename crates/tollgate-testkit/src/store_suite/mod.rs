//! What every store must do, as one suite that each backend runs.
//!
//! `store_suite!(name, || async { Subject::new(store, guard) })` makes one test
//! per case; the backend supplies only an empty store.

#![expect(
    clippy::unwrap_used,
    reason = "a case fails by panicking, like any test"
)]

pub mod consent;
pub mod effects;
pub mod ledger;
pub mod memory;
pub mod record;
pub mod runs;
mod samples;

use std::{any::Any, sync::Arc};

use tollgate_core::store::{Batch, Change, Receipt, Store, StoreError};

/// A process that every store of the suite counts as dead.
pub const DEAD_OWNER: &str = "dead-owner";

/// An empty store, and what has to live as long as it.
pub struct Subject {
    store: Arc<dyn Store>,
    _guard: Box<dyn Any + Send>,
}

impl Subject {
    /// A store to try; `guard` is dropped after it.
    pub fn new(store: Arc<dyn Store>, guard: impl Any + Send) -> Self {
        Self {
            store,
            _guard: Box::new(guard),
        }
    }

    async fn change(
        &self,
        changes: impl IntoIterator<Item = Change>,
    ) -> Result<Receipt, StoreError> {
        let changes = changes.into_iter().collect();
        self.store
            .commit(Batch {
                changes,
                ..Batch::default()
            })
            .await
    }
}

/// The variant of a refusal, for comparing.
fn refusal<T>(result: Result<T, StoreError>) -> &'static str {
    match result {
        Ok(_) => "made",
        Err(StoreError::Budget { .. }) => "budget",
        Err(StoreError::ApprovalGone) => "approval gone",
        Err(StoreError::ApprovalsFull) => "approvals full",
        Err(StoreError::AlreadyEnded) => "already ended",
        Err(StoreError::Conflict) => "conflict",
        Err(StoreError::Missing) => "missing",
        Err(StoreError::Busy) => "busy",
        Err(StoreError::Held(_)) => "held",
        Err(StoreError::Unsynced) => "unsynced",
        Err(StoreError::NotAcknowledged(_)) => "not acknowledged",
        Err(StoreError::Full) => "full",
        Err(StoreError::ReadOnly) => "read-only",
        Err(StoreError::Corrupt(_)) => "corrupt",
        Err(StoreError::Failed(_)) => "failed",
    }
}

/// Makes one test per case, in a module of this name.
#[macro_export]
macro_rules! store_suite {
    ($name:ident, $make:expr) => {
        mod $name {
            use super::*;
            $crate::store_cases! { $make;
                runs::a_run_is_opened_once_and_found,
                runs::a_claim_raises_the_fence,
                runs::no_more_runs_are_driven_than_allowed,
                runs::runs_of_the_dead_take_nobodys_place,
                runs::a_run_that_rests_takes_nobodys_place,
                runs::a_run_that_is_over_stays_so_and_forgets_its_inputs,
                runs::runs_without_a_living_owner_wait,
                runs::runs_are_listed_newest_first,
                runs::artifacts_end_and_go,
                ledger::a_session_is_opened_once,
                ledger::a_session_belongs_to_its_principal,
                ledger::sessions_are_listed_by_last_use,
                ledger::reserving_and_settling_move_the_ledger,
                ledger::an_estimate_that_does_not_fit_is_refused_with_what_is_left,
                ledger::settling_never_goes_below_zero_or_over_the_top,
                ledger::the_last_hundred_blocked_calls_are_kept,
                ledger::a_call_that_is_blocked_again_is_listed_once,
                ledger::many_callers_cannot_overspend,
                ledger::a_session_that_is_not_there_is_missing,
                ledger::the_receipt_shows_the_session_touched_last,
                consent::an_open_question_is_kept,
                consent::an_ended_question_is_asked_again,
                consent::no_more_questions_are_open_than_allowed,
                consent::open_questions_show_no_more_than_allowed,
                consent::a_question_that_ended_undecided_shows_nothing,
                consent::only_an_open_question_in_time_is_decided,
                consent::an_approval_works_once,
                consent::an_approval_works_once_however_many_try,
                consent::a_denied_or_late_approval_does_not_work,
                consent::a_clock_that_jumped_back_revives_nothing,
                consent::approvals_are_listed_newest_first,
                consent::grants_replace_and_go,
                consent::a_review_item_is_resolved_once,
                consent::credentials_are_found_by_digest_and_end_once,
                effects::a_call_ends_once,
                effects::a_call_is_announced_once,
                effects::two_that_end_the_same_call_do_not_both_succeed,
                effects::an_effect_is_found_by_its_key_whatever_became_of_it,
                effects::an_effect_that_was_never_called_may_be_announced_again,
                effects::an_effect_is_found_by_its_digest_until_delivered,
                effects::the_callers_name_for_an_effect_is_used_once,
                effects::a_harmless_call_is_no_effect,
                effects::intents_of_the_living_are_not_abandoned,
                memory::an_answer_is_bound_to_its_whole_key,
                memory::entries_of_a_session_are_found_by_how_their_keys_begin,
                memory::an_answer_ends,
                memory::an_answer_that_ends_does_not_last_because_the_clock_jumped_back,
                memory::a_session_forgets_only_its_own,
                memory::bodies_are_kept_as_they_are,
                memory::state_is_written_only_over_the_expected_version,
                memory::a_version_is_never_given_twice,
                memory::ended_state_counts_as_absent,
                memory::of_many_writers_one_wins,
                record::entries_are_linked_in_order,
                record::a_refused_batch_leaves_nothing_behind,
                record::a_refused_batch_does_not_disturb_its_neighbours,
                record::concurrent_commits_make_one_chain,
                record::records_are_found_by_every_column,
                record::records_are_paged_both_ways,
                record::every_entry_of_a_long_log_is_found_page_by_page,
                record::a_whole_log_verifies_and_its_head_is_signed,
                record::a_body_that_is_no_object_is_kept_as_it_is,
                record::disk_commits_are_acknowledged,
            }
        }
    };
}

/// One test for each case of the list.
#[doc(hidden)]
#[macro_export]
macro_rules! store_cases {
    ($make:expr; $($area:ident::$case:ident,)*) => {
        $(
            #[tokio::test]
            async fn $case() {
                let make = $make;
                $crate::store_suite::$area::$case(make().await).await;
            }
        )*
    };
}
