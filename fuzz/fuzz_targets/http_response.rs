//! Fuzzes the reader of responses of HTTP servers.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tollgate_providers::fuzzing::http_response(data));
