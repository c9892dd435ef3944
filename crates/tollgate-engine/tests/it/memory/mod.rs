//! What a session remembers: answers, calls in flight, and what was spent.

mod budgets;
mod cache;
mod entries;
mod flight;
mod ledger;
