//! What a value looks like: random, a word, a number, an identifier.
//!
//! Random letters are told from words by how many of their pairs are common in English.

/// Counts over a value's characters.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Shape {
    pub(super) length: usize,
    pub(super) letters: usize,
    pub(super) digits: usize,
    pub(super) others: usize,
    hex: usize,
    /// How often letters and digits alternate, whatever stands between them.
    changes: usize,
    pairs: usize,
    common: usize,
    longest_run: usize,
    longest_part: usize,
}

impl Shape {
    pub(super) fn of(value: &str) -> Self {
        let mut shape = Shape::default();
        let (mut last, mut last_alnum) = (0_u8, 0_u8);
        let (mut run, mut part) = (0, 0);
        for &byte in value.as_bytes() {
            shape.length += 1;
            run = if byte == last { run + 1 } else { 1 };
            shape.longest_run = shape.longest_run.max(run);
            part = if byte.is_ascii_alphanumeric() {
                part + 1
            } else {
                0
            };
            shape.longest_part = shape.longest_part.max(part);
            shape.classify(byte, last, last_alnum);
            if byte.is_ascii_alphanumeric() {
                last_alnum = byte;
            }
            last = byte;
        }
        shape
    }

    fn classify(&mut self, byte: u8, last: u8, last_alnum: u8) {
        if byte.is_ascii_digit() {
            self.digits += 1;
            self.hex += 1;
            self.changes += usize::from(last_alnum.is_ascii_alphabetic());
        } else if byte.is_ascii_alphabetic() {
            self.letters += 1;
            self.hex += usize::from(byte.is_ascii_hexdigit());
            self.changes += usize::from(last_alnum.is_ascii_digit());
            // Where a small letter meets a capital, one word ends and another begins.
            let hump = last.is_ascii_lowercase() && byte.is_ascii_uppercase();
            if last.is_ascii_alphabetic() && !hump {
                self.pairs += 1;
                self.common += usize::from(is_common_pair(last, byte));
            }
        } else {
            self.others += 1;
        }
    }

    /// Whether the value reads like something a generator made, with at least `shortest` letters and digits.
    pub(super) fn is_random(&self, shortest: usize) -> bool {
        let alnum = self.letters + self.digits;
        if alnum < shortest
            || self.longest_part < 5
            || (self.longest_run > 8 && self.longest_run * 2 > alnum)
        {
            return false;
        }
        if self.letters == 0 {
            return self.digits >= shortest.max(16) && self.others <= 4;
        }
        if self.digits == 0 {
            return alnum >= shortest.max(16) && self.reads_unlike_words(45);
        }
        if self.letters < 3 && alnum < 20 {
            return false;
        }
        // Numbers strewn between letters, or letters that form no words.
        let strewn = self.changes >= 4 && self.digits * 8 >= alnum;
        let hex = self.is_hex() && self.changes >= 1;
        let few_digits = self.digits * 12 < alnum;
        strewn || hex || self.reads_unlike_words(if few_digits { 45 } else { 60 })
    }

    /// Whether fewer than `percent` of the letter pairs are common.
    pub(super) fn reads_unlike_words(&self, percent: usize) -> bool {
        self.pairs == 0 || self.common * 100 < self.pairs * percent
    }

    /// Hexadecimal digits and separators only: a digest, an id, or a key.
    pub(super) fn is_hex(&self) -> bool {
        self.hex == self.letters + self.digits
    }

    /// Words, perhaps with a few digits, as in `sha256` or `Uint8Array`.
    pub(super) fn is_wordy(&self) -> bool {
        let few_digits = self.digits <= 6 && self.digits * 3 <= self.letters;
        self.letters > 0 && few_digits && !self.reads_unlike_words(55)
    }
}

/// Letter pairs that make up most of English text and of names in programs.
const COMMON: &str = "th he in er an re on at en nd ti es or te of ed is it al ar st to nt ng se ha as ou io le ve co me \
    de hi ri ro ic ne ea ra ce li ch ll be ma si om ur ca el ta la ns di fo ho pe ec pr no ct us ac ot \
    il tr ly nc et ut ss so rs un lo wa ge ie wh ee wi em ad ol rt po we na ul ni ts mo ow pa im mi ai \
    sh ir su id os iv ia am fi ci vi pl ig tu ev ld ry mp fe bl ab gh ty op wo sa ay ex ke fr oo av ag \
    if ap gr od bo sp rd do uc bu ei ov by rm ep tt oc fa ef cu rn sc gi da yo cr cl du ga qu ue ff ba \
    ey ls va um pp ua up lu go ht ru ug ds lt pi rc rr eg au ck ew mu br bi pt ak pu ui rg ib tl ny ki \
    rk ys ob mm fu ph og ms ye ud mb ip ub oi rl gu dr cc tw ft wn nu af hu nn vo rv nf xp gn sm fl iz \
    ok nl my gl aw ju eq sy sl ps lf nv nk kn gs dy ze ks xt ik dd ox tc";

static PAIRS: [u32; 26] = pairs();

const fn pairs() -> [u32; 26] {
    let text = COMMON.as_bytes();
    let mut table = [0_u32; 26];
    let mut at = 0;
    while at + 1 < text.len() {
        table[(text[at] - b'a') as usize] |= 1 << (text[at + 1] - b'a');
        at += 3;
    }
    table
}

fn is_common_pair(first: u8, second: u8) -> bool {
    let first = usize::from(first.to_ascii_lowercase().wrapping_sub(b'a'));
    let second = u32::from(second.to_ascii_lowercase().wrapping_sub(b'a'));
    PAIRS
        .get(first)
        .is_some_and(|row| row >> (second & 31) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::Shape;

    fn random(value: &str) -> bool {
        Shape::of(value).is_random(12)
    }

    #[test]
    fn generated_values_are_random() {
        for value in [
            "q8Zt4Lw0Xk2Nv7Bs",
            "9f8e7d6c5b4a39281706",
            "zqxwvkjhgfdpmnbvtrq",
            "kT9-aa41_LmN0pQrStUv",
            "53e0c1d2-7a9b-4c6d-8e1f-0a2b4c6d8e1f",
        ] {
            assert!(random(value), "{value}");
        }
    }

    #[test]
    fn words_and_identifiers_are_not() {
        for value in [
            "internationalization",
            "getAuthenticationManager",
            "test_sp800_38a_vectors",
            "application/octet-stream",
            "2024-01-02T03:04:05",
            "--------------------",
            "some.module.path.of.things",
        ] {
            assert!(!random(value), "{value}");
        }
    }
}
