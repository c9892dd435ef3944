//! Rules about the repository itself, each a test: what is only written down is decoration.

#![forbid(unsafe_code)]

#[cfg(test)]
mod crates;
#[cfg(test)]
mod dependencies;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod files;
#[cfg(test)]
mod licences;
#[cfg(test)]
mod packaging;
#[cfg(test)]
mod source;
