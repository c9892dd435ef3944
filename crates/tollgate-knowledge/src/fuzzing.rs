//! The checks of this crate on arbitrary bytes, for the fuzz targets and the tests that repeat them.

pub use crate::import::fuzzing::{knowledge_reader, spreadsheet};
