//! One hash for ids and terms; the same in every process, so that order never depends on it.

/// A 64-bit hash of a text, mixed well enough for a table.
pub(crate) fn hash(text: &str) -> u64 {
    let mut state: u64 = 0xcbf2_9ce4_8422_2325;
    for chunk in text.as_bytes().chunks(8) {
        let mut bytes = [0; 8];
        bytes[..chunk.len()].copy_from_slice(chunk);
        state = mix(state ^ u64::from_le_bytes(bytes));
    }
    mix(state ^ (text.len() as u64))
}

fn mix(mut state: u64) -> u64 {
    state ^= state >> 32;
    state = state.wrapping_mul(0xe703_7ed1_a0b4_28db);
    state ^= state >> 29;
    state = state.wrapping_mul(0x8ebc_6af0_9c88_c6e3);
    state ^ (state >> 32)
}
