//! The one place where these tests touch the gate; everything else is data.

mod replies;
mod setup;
mod sinks;
mod world;

pub(crate) use replies::{
    deaf, done, never, panics, priced, result, spec_kept, spec_open, spec_paid, spec_read,
    spec_sink, spec_write, waits,
};
pub(crate) use setup::Setup;
pub(crate) use sinks::{At, Lines, Spans};
pub(crate) use world::{World, body, caller, details, error, request, said};
