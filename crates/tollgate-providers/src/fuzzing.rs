//! The checks of this crate on arbitrary bytes, for the fuzz targets and the tests that repeat them.

pub use crate::upstream::fuzzing::{http_response, json_rpc, split, sse};
