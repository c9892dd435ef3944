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
    pub(super) capitals: usize,
    /// How often two letters that stand together differ in case.
    flips: usize,
}

const DIGIT: u8 = 1;
const LETTER: u8 = 2;
const SMALL: u8 = 4;
const HEX: u8 = 8;

static CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0_u8;
    while byte < 0x80 {
        table[byte as usize] = (byte.is_ascii_digit() as u8 * DIGIT)
            | (byte.is_ascii_alphabetic() as u8 * LETTER)
            | (byte.is_ascii_lowercase() as u8 * SMALL)
            | (byte.is_ascii_hexdigit() as u8 * HEX);
        byte += 1;
    }
    table
}

impl Shape {
    pub(super) fn of(value: &str) -> Self {
        let mut shape = Shape::default();
        let (mut last, mut last_class, mut last_alnum) = (0_u8, 0_u8, 0_u8);
        let (mut run, mut part) = (0, 0);
        // Counted without branches, because what a secret consists of cannot be predicted.
        for &byte in value.as_bytes() {
            let class = CLASS[usize::from(byte)];
            let has = |bit: u8| usize::from(class & bit != 0);
            let alnum = class & (DIGIT | LETTER);
            run = run * usize::from(byte == last) + 1;
            shape.longest_run = shape.longest_run.max(run);
            part = (part + 1) * usize::from(alnum != 0);
            shape.longest_part = shape.longest_part.max(part);
            shape.digits += has(DIGIT);
            shape.letters += has(LETTER);
            shape.capitals += usize::from(class & (LETTER | SMALL) == LETTER);
            shape.hex += has(HEX);
            shape.changes += usize::from(alnum | last_alnum == DIGIT | LETTER);
            // Where a small letter meets a capital, one word ends and another begins.
            let hump = last_class & SMALL > class & SMALL;
            let together = class & last_class & LETTER != 0;
            let pair = together && !hump;
            shape.flips += usize::from(together && (class ^ last_class) & SMALL != 0);
            shape.pairs += usize::from(pair);
            shape.common += usize::from(pair && is_common_pair(last, byte));
            if alnum != 0 {
                last_alnum = alnum;
            }
            (last, last_class) = (byte, class);
        }
        shape.length = value.len();
        shape.others = shape.length - shape.letters - shape.digits;
        shape
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

    /// Whether the value can be what a generator made, where its form already says that it is a secret.
    ///
    /// Random letters are often pronounceable, so words are told by more than their pairs.
    pub(super) fn is_token(&self) -> bool {
        if self.longest_run > 8 && self.longest_run * 2 > self.letters + self.digits {
            return false;
        }
        match (self.letters, self.digits) {
            (0, digits) => digits >= 16,
            (_, 0) => self.is_mixed_case(),
            // Words of such a length are written with something between them.
            _ => self.longest_part >= 20 || !self.is_wordy(),
        }
    }

    /// Capitals and small letters in no order, unlike `CamelCase` and `SHOUTING`.
    fn is_mixed_case(&self) -> bool {
        let capitals = self.capitals * 100;
        self.letters >= 10
            && (30 * self.letters..=70 * self.letters).contains(&capitals)
            && self.flips * 10 >= self.letters * 3
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
        // Digits strewn between letters, or capitals in no order, are in no word.
        let scattered = self.changes > 4 || self.is_mixed_case();
        self.letters > 0 && few_digits && !scattered && !self.reads_unlike_words(55)
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

/// For each letter, by its low five bits, the letters that often follow it.
static PAIRS: [u32; 32] = pairs();

const fn pairs() -> [u32; 32] {
    let text = COMMON.as_bytes();
    let mut table = [0_u32; 32];
    let mut at = 0;
    while at + 1 < text.len() {
        table[(text[at] & 31) as usize] |= 1 << (text[at + 1] & 31);
        at += 3;
    }
    table
}

/// Whether two letters often stand together, in whatever case they are written.
fn is_common_pair(first: u8, second: u8) -> bool {
    PAIRS[usize::from(first & 31)] >> (second & 31) & 1 == 1
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
    fn tokens_may_be_pronounceable() {
        for value in [
            "ciowRglfmdOVACIpsD3wSGqaNdmvqiuQrKR",
            "SHEHWwUduOWrnIWntsePROwx",
            "62u9mltleqguzlibrteo",
        ] {
            assert!(Shape::of(value).is_token(), "{value}");
        }
        for value in [
            "getMyKeyForAll",
            "XMLHttpRequestURL",
            "DEFAULT_BUFFER_SIZE",
            "sha256WithRSA",
        ] {
            assert!(!Shape::of(value).is_token(), "{value}");
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
