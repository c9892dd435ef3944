//! Amazon product data from Keepa: what its answers mean, what its requests cost, and what an agent should read of them.
//!
//! Invariants: the crate knows nothing of tools, sessions or the gate, opens no connection of its own, and reads no
//! clock, file or environment variable. An absent value is absent in every view; it is never a zero.

#![forbid(unsafe_code)]

mod action;
pub mod brief;
pub mod chart;
pub mod client;
mod command;
mod compare;
pub mod cost;
mod domain;
mod error;
pub mod evaluate;
pub mod fixtures;
pub mod graph;
pub mod key;
mod params;
pub mod plan;
mod product;
pub mod prompts;
pub mod request;
pub mod resolve;
pub mod resources;
mod scan;
pub mod secrets;
pub mod selection;
pub mod series;
pub mod service;
mod time;
pub mod tool;
pub mod view;

pub use action::action;
pub use command::{Command, Effect};
pub use compare::{compare, compare_with_points, default_options as compare_options};
pub use domain::{Domain, UnknownDomain};
pub use error::{Error, Kind};
pub use params::Params;
pub use product::Product;
pub use request::ApiKey;
pub use time::KeepaMinute;
