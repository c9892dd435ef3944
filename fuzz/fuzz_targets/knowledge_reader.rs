//! Fuzzes the readers of knowledge files and of drawings.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tollgate_knowledge::fuzzing::knowledge_reader(data));
