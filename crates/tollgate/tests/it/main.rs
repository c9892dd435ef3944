//! Black-box tests of the `tollgate` binary and of its public surfaces.

#[cfg(test)]
mod browser;
#[cfg(test)]
mod browser_consent;
#[cfg(test)]
mod browser_kept;
#[cfg(test)]
mod cli;
#[cfg(test)]
mod contracts;
#[cfg(test)]
mod fuzzing;
#[cfg(test)]
mod jsonl;
#[cfg(test)]
mod keepa;
#[cfg(test)]
mod keepa_cache;
#[cfg(test)]
mod keepa_golden;
#[cfg(test)]
mod keepa_live;
#[cfg(test)]
mod keepa_outcomes;
#[cfg(test)]
mod mcp;
#[cfg(test)]
mod state;
#[cfg(test)]
mod support;
#[cfg(test)]
mod telemetry;
#[cfg(test)]
mod upstream;
#[cfg(test)]
mod upstream_meta;
