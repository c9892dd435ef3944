//! Fuzzes templates and their expressions.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tollgate_runs::fuzzing::template_expression(data));
