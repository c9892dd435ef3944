//! Integration tests of the engine, through its public API only.

#[cfg(test)]
mod consent;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod path;
#[cfg(test)]
mod record;
#[cfg(test)]
mod runs;
#[cfg(test)]
mod support;
