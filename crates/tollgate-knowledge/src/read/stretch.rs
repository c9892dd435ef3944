//! Stretches of a quoted text that mean themselves, found eight bytes at a time.

/// Every byte of a word being one.
const ONES: u64 = 0x0101_0101_0101_0101;
/// The highest bit of every byte.
const HIGH: u64 = ONES << 7;

/// A stretch without a quote, a backslash or a control character.
#[derive(Debug, PartialEq)]
pub(super) struct Plain {
    /// How many bytes it has.
    pub(super) length: usize,
    /// How many of them do not begin a character.
    pub(super) inner: usize,
}

/// The stretch at the beginning of some bytes.
pub(super) fn plain(bytes: &[u8]) -> Plain {
    let (mut length, mut inner) = (0, 0);
    let (words, _) = bytes.as_chunks::<8>();
    for word in words {
        let word = u64::from_le_bytes(*word);
        let inside = (word >> 7) & !(word >> 6) & ONES;
        let ends = none(word ^ (ONES * u64::from(b'"')))
            | none(word ^ (ONES * u64::from(b'\\')))
            | word.wrapping_sub(ONES * 0x20) & !word & HIGH;
        if ends != 0 {
            // Only the lowest mark is sure to be right.
            let end = ends.trailing_zeros() / 8;
            let before = (1_u64 << (end * 8)) - 1;
            return Plain {
                length: length + end as usize,
                inner: inner + (inside & before).count_ones() as usize,
            };
        }
        length += 8;
        inner += inside.count_ones() as usize;
    }
    for byte in &bytes[length..] {
        if matches!(byte, b'"' | b'\\' | 0..=0x1f) {
            break;
        }
        length += 1;
        inner += usize::from(is_inner(*byte));
    }
    Plain { length, inner }
}

/// Marks the bytes that are zero; marks above the lowest one may be wrong.
fn none(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & HIGH
}

/// Whether a byte of UTF-8 does not begin a character.
pub(super) fn is_inner(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_bytes_at_a_time_are_the_same_as_one() {
        let mut state: u64 = 11;
        let mut random = move |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        for round in 0..20_000 {
            let bytes: Vec<u8> = (0..random(40))
                .map(|_| match random(if round % 2 == 0 { 8 } else { 40 }) {
                    0 => b"\"\\\n\x1f\x00 !#[]"[random(10) as usize],
                    1 => random(256) as u8,
                    other => [b'a', 0x80, 0xbf, 0xe4, 0x20][other as usize % 5],
                })
                .collect();
            let ends = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
            let length = bytes.iter().position(ends).unwrap_or(bytes.len());
            let inner = bytes[..length].iter().filter(|byte| is_inner(**byte));
            let inner = inner.count();
            assert_eq!(plain(&bytes), Plain { length, inner }, "{bytes:?}");
        }
    }
}
