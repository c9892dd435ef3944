//! Black-box tests of the `tollgate` binary and of its public surfaces.

#[cfg(test)]
mod telemetry;
