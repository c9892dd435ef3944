//! The state.
