//! Fuzzes a call's arguments as Cedar sees them.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tollgate_engine::fuzzing::cedar_context(data));
