//! The checks of this crate on arbitrary bytes, for the fuzz targets and the tests that repeat them.

pub use crate::{policy::fuzzing::cedar_context, schema::fuzzing::schema_budget};
