//! One state folder: shared by many processes, and broken in many ways.

mod faults;
mod knowledge;
mod processes;
mod runs;
