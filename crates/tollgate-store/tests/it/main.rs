//! The embedded store against real files, real processes and real faults.

#[cfg(test)]
mod conformance;
