//! What the system does with the files of a folder.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;

#[cfg(target_os = "linux")]
pub(super) use linux::{Folder, Owner};
#[cfg(not(target_os = "linux"))]
pub(super) use other::{Folder, Owner};
