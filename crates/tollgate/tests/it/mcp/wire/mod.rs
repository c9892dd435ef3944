//! What goes over the wire, on both transports and in both eras.

mod access;
mod alike;
mod artifacts;
mod bad;
mod batches;
mod behind;
mod codes;
mod consent;
mod delivery;
mod discovery;
mod documents;
mod eras;
mod events;
mod knowledge;
mod lists;
mod peer;
mod pieces;
mod profiles;
mod results;
mod skills;
mod spelling;
mod spill;
mod tasks;
mod templates;
mod visits;
