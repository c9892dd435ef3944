//! Fuzzes the reader of requests to the HTTP front end.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tollgate::fuzzing::http_request(data));
