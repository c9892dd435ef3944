//! Fuzzes the reader of server-sent events.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tollgate_providers::fuzzing::sse(data));
