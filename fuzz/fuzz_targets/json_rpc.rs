//! Fuzzes the readers of JSON-RPC messages, of the server and of the client side.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tollgate::fuzzing::json_rpc(data));
