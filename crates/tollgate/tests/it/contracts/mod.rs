//! What others rely on.
