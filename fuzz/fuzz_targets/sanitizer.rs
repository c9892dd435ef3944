//! Fuzzes the sanitizer, on texts and on JSON.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tollgate_sanitize::fuzzing::sanitizer(data));
