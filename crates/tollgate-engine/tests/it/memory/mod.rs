//! What a session remembers: answers, calls in flight, and what was spent.

mod cache;
mod flight;
mod ledger;
