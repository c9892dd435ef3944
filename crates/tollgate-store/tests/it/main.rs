//! The embedded store against real files, real processes and real faults.

#[cfg(test)]
mod acknowledged;
#[cfg(test)]
mod ahead;
#[cfg(test)]
mod alone;
#[cfg(test)]
mod beside;
#[cfg(test)]
mod child;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod crowd;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod keeping;
#[cfg(test)]
mod processes;
#[cfg(test)]
mod tampering;
#[cfg(test)]
mod world;
