//! The command line, as people and scripts use it.

mod approvals;
mod audit;
mod bad_input;
mod bench;
mod call;
mod configuration;
mod desk;
mod docs;
mod doctor;
mod exits;
mod init;
mod knowledge;
mod logs;
mod mistakes;
mod policy;
mod replay;
mod research;
mod runs;
mod sandbox;
mod skills;
mod terminal;
mod tokens;
mod tools;
mod trust;
mod web;
