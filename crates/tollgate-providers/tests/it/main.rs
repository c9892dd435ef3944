//! Provider tests, through the public API only.
