//! Fuzzes the reader of workbooks and of CSV.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tollgate_knowledge::fuzzing::spreadsheet(data));
