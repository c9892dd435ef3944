//! What the crate promises, checked with real processes.

#[cfg(test)]
#[cfg(target_os = "linux")]
mod hostile;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod leaks;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod limits;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod network;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod ordinary;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod quota;
#[cfg(test)]
mod supervised;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod support;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod tiers;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod workspaces;
