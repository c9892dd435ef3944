//! The engine from outside: shipped bases, planted faults, bad input, examples of the pages.

#[cfg(test)]
mod conditions;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod entry;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod lints;
#[cfg(test)]
mod planted;
#[cfg(test)]
mod ranking;
#[cfg(test)]
mod shipped;
