//! The governed path every tool call takes, and nothing else.
//!
//! Invariant: this crate names no concrete provider and no concrete store, and
//! only `call/invoke.rs` calls a provider.

#![forbid(unsafe_code)]

pub mod policy;
pub mod record;
pub mod replay;
pub mod runs;
pub mod search;
pub mod session;

mod binary;
mod call;
mod catalog;
mod desk;
mod ids;
mod recover;
mod review;
mod sanitize;
mod schema;
mod seal;
mod settings;
mod skills;
mod tools;

pub use call::{
    Caller, Changed, DialogError, Disposition, Following, Gateway, HumanConsent, Outcome, Parts,
    Request, Stage, StageProbe, StepOf, cache_key_of,
};
pub use catalog::{Catalog, Listing, Missing, Problem, ProviderChoice, Selection};
pub use desk::{Decided, NewToken};
pub use ids::{random_hex, random_id};
pub use sanitize::{Clean, Cleaner};
pub use seal::Seals;
pub use settings::{Discovery, Profile, ReviewRules, Settings};
pub use skills::{RunType, Skill, SkillBoard, Skills, Standing, WeakGateway};
pub use tools::{GateTools, Page, outline};
