//! Real children on a real system.

#[cfg(test)]
mod supervised;
