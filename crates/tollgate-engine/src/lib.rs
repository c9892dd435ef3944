//! The governed path every tool call takes, and nothing else.
//!
//! Invariant: this crate names no concrete provider and no concrete store, and
//! only `call/invoke.rs` calls a provider.

#![forbid(unsafe_code)]

#[doc(hidden)]
pub mod fuzzing;
pub mod policy;
pub mod record;
pub mod replay;
pub mod runs;
pub mod search;
pub mod session;

mod binary;
mod call;
mod catalog;
mod consent_view;
mod desk;
mod elision;
mod forwarded_meta;
mod ids;
mod recover;
mod review;
mod sanitize;
mod schema;
mod seal;
mod settings;
mod skills;
mod tools;
mod volatile;

pub use call::{
    Caller, Changed, DialogError, Disposition, Following, Gateway, Holdings, HumanConsent, Outcome,
    Parts, Request, SESSION_GRANT, Stage, StageProbe, StepOf, cache_key_of,
};
pub use catalog::{Catalog, Listing, Missing, Problem, ProviderChoice, Selection};
pub use desk::{Decided, NewToken, can_be_granted_for_session};
pub use elision::{Elision, TextLimits, elided};
pub use ids::{random_hex, random_id};
pub use sanitize::{Clean, Cleaner};
pub use seal::Seals;
pub use settings::{Budgets, Discovery, Profile, ReviewRules, Settings};
pub use skills::{
    DisabledLookup, RunType, Skill, SkillBoard, Skills, Standing, TURNED_OFF, WeakGateway,
};
pub use tools::{GateTools, Page};
