//! The crate against real servers on loopback, in their real shapes and with their faults.

#[cfg(test)]
mod extracting;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod fetching;
#[cfg(test)]
mod labelled;
#[cfg(test)]
mod searching;
#[cfg(test)]
mod secure;
#[cfg(test)]
mod server;
