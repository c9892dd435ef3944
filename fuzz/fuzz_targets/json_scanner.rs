//! Fuzzes the JSON scanner of the sanitizer.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tollgate_sanitize::fuzzing::json_scanner(data));
