//! Fuzzes the bound on the work of a JSON Schema.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tollgate_engine::fuzzing::schema_budget(data));
