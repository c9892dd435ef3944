//! Fuzzes canonical JSON: printing it twice, and the spelling of numbers.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tollgate_core::fuzzing::canonical(data));
