//! Phone, card, social security, IBAN and identity numbers, found by their digits.
//!
//! Digits are counted in blocks first; only where enough stand together are they looked at.

use super::checks::{iban_length, is_card_prefix, is_cn_id_card, is_iban, is_ssn, luhn};
use super::context::{contains_word, ends_in_word, has_word_after, has_word_before};
use super::{Finder, Label};
use crate::rules::Words;

const BLOCK: usize = 64;
const FEWEST_DIGITS: usize = 7;
const MOST_DIGITS: usize = 19;
const MOST_GROUPS: usize = 8;

/// A run of digit groups with short separators between them.
#[derive(Debug, Clone, Copy)]
struct Cluster {
    start: usize,
    end: usize,
    plus: bool,
    paren: bool,
    digits: Short<u8, MOST_DIGITS>,
    /// How long each group is.
    lengths: Short<u8, MOST_GROUPS>,
    separators: Short<u8, MOST_GROUPS>,
    /// How wide the separators are.
    widths: Short<u8, MOST_GROUPS>,
    /// Where the first group ends.
    first_end: usize,
}

/// Which spaces may stand between groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spaces {
    Plain,
    /// Also those that do not break, and thin ones.
    Wide,
}

impl Cluster {
    /// Drops the last group; gives where the one before it ends, what stood between them, and how long it was.
    fn drop_last(&mut self) -> Option<(usize, u8, usize)> {
        let length = usize::from(self.lengths.pop()?);
        let separator = self.separators.pop()?;
        let width = usize::from(self.widths.pop()?);
        self.digits.count -= length;
        Some((self.end - length - width, separator, length))
    }
}

/// A list too short to be worth an allocation.
#[derive(Debug, Clone, Copy)]
struct Short<T, const N: usize> {
    items: [T; N],
    count: usize,
}

impl<T: Copy + Default, const N: usize> Short<T, N> {
    fn new() -> Self {
        Short {
            items: [T::default(); N],
            count: 0,
        }
    }

    fn push(&mut self, item: T) {
        if let Some(place) = self.items.get_mut(self.count) {
            *place = item;
            self.count += 1;
        }
    }

    fn pop(&mut self) -> Option<T> {
        self.count = self.count.checked_sub(1)?;
        self.items.get(self.count).copied()
    }

    fn as_slice(&self) -> &[T] {
        &self.items[..self.count]
    }
}

impl<'r> Finder<'r, '_> {
    pub(super) fn numbers(&mut self) {
        let bytes = self.text.as_bytes();
        if bytes.len() < FEWEST_DIGITS {
            return;
        }
        let mut before = 0;
        let mut done = 0;
        let mut from = 0;
        while from < bytes.len() {
            let to = bytes.len().min(from + BLOCK);
            let count = count_digits(&bytes[from..to]);
            if count + before >= FEWEST_DIGITS {
                done = self.region(done.max(from.saturating_sub(BLOCK)), to);
            }
            before = count;
            from = to;
        }
    }

    /// Looks at every number that begins in the region; gives where to go on.
    fn region(&mut self, from: usize, to: usize) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = from;
        while at < to {
            let Some(step) = bytes[at..to].iter().position(u8::is_ascii_digit) else {
                return at.max(from);
            };
            at += step;
            if at > 0 && bytes[at - 1].is_ascii_digit() {
                at += bytes[at..]
                    .iter()
                    .take_while(|byte| byte.is_ascii_digit())
                    .count();
                continue;
            }
            at = self.number(at);
        }
        at
    }

    /// Judges the number at `at`; gives where to go on.
    fn number(&mut self, at: usize) -> usize {
        let bytes = self.text.as_bytes();
        let word_end = at
            + bytes[at..]
                .iter()
                .take_while(|byte| byte.is_ascii_alphanumeric())
                .count();
        if at > 0 && is_word(bytes[at - 1]) {
            return self
                .iban(at)
                .or_else(|| self.passport(at))
                .unwrap_or(word_end);
        }
        // The rest of a fraction, a version or a time.
        if at > 1 && matches!(bytes[at - 1], b'.' | b':' | b'/') && bytes[at - 2].is_ascii_digit() {
            return word_end;
        }
        if let Some(cluster) = cluster_at(bytes, at, Spaces::Plain) {
            let named = self.name(&cluster).or_else(|| self.wide_card(&cluster, at));
            let Some((start, end, label)) = named else {
                return if cluster.lengths.count > 1 {
                    cluster.first_end
                } else {
                    word_end
                };
            };
            self.add(start, end, label);
            return end;
        }
        // An identity number may end with a letter.
        if word_end - at == 18 && is_cn_id_card(&bytes[at..word_end]) {
            self.add(at, word_end, &self.detector.personal.id_card);
        }
        word_end
    }

    fn name(&self, cluster: &Cluster) -> Option<(usize, usize, &'r Label)> {
        let personal = &self.detector.personal;
        let (start, end) = (cluster.start, cluster.end);
        let digits = cluster.digits.as_slice();
        if digits.len() < FEWEST_DIGITS {
            return None;
        }
        if !self.around.is_name
            && cluster.lengths.as_slice() == [3, 2, 4]
            && cluster.separators.as_slice() == b"--"
            && is_ssn(&digits[..3], &digits[3..5], &digits[5..])
        {
            return Some((start, end, &personal.ssn));
        }
        if cluster.lengths.count == 1 && is_cn_id_card(digits) {
            return Some((start, end, &personal.id_card));
        }
        if !self.around.is_name {
            let place = (start, end);
            let named = self.identity_number(place, cluster.lengths.as_slice(), digits);
            if named.is_some() {
                return named;
            }
        }
        if self.around.identifier {
            return None;
        }
        // Few numbers are anything, so the field is asked last whether it holds identifiers.
        let named = self.card_or_phone(cluster)?;
        (!self.is_identifier_field()).then_some(named)
    }

    fn card_or_phone(&self, cluster: &Cluster) -> Option<(usize, usize, &'r Label)> {
        if self.is_card(cluster) {
            return Some(self.card(cluster));
        }
        // A field name that is a number is as often an id, and a phone number has no checksum to tell.
        if !self.around.is_name && self.is_phone(cluster) {
            let end = cluster.end + extension(&self.text.as_bytes()[cluster.end..]);
            return Some((cluster.start, end, &self.detector.personal.phone));
        }
        self.card_before_more(cluster)
    }

    /// The span of a card; a parenthesis in front is not part of it.
    fn card(&self, cluster: &Cluster) -> (usize, usize, &'r Label) {
        let paren = self.text.as_bytes().get(cluster.start) == Some(&b'(');
        let start = cluster.start + usize::from(paren);
        (start, cluster.end, &self.detector.personal.card)
    }

    /// A card with its date or check number behind it, as in `4111111111111111/12/28`.
    fn card_before_more(&self, cluster: &Cluster) -> Option<(usize, usize, &'r Label)> {
        let mut shorter = *cluster;
        while shorter.lengths.count > 1 && shorter.digits.count > 14 {
            let (group, separator, length) = shorter.drop_last()?;
            shorter.end = group;
            if length <= 4 && matches!(separator, b' ' | b'/' | b'(') && self.is_card(&shorter) {
                return Some(self.card(&shorter));
            }
        }
        None
    }

    /// A card whose groups stand apart by spaces other than the plain one.
    fn wide_card(&self, plain: &Cluster, at: usize) -> Option<(usize, usize, &'r Label)> {
        let bytes = self.text.as_bytes();
        if wide_space(&bytes[plain.end..]) == 0
            || self.around.identifier
            || self.is_identifier_field()
        {
            return None;
        }
        let cluster = cluster_at(bytes, at, Spaces::Wide)?;
        if self.is_card(&cluster) {
            return Some(self.card(&cluster));
        }
        self.card_before_more(&cluster)
    }

    fn is_identifier_field(&self) -> bool {
        let Some(field) = self.around.field else {
            return false;
        };
        let names = &self.detector.rules.names;
        ends_in_word(field, &names.identifier)
            && !contains_word(field, &names.phone)
            && !contains_word(field, &names.card)
    }

    fn is_card(&self, cluster: &Cluster) -> bool {
        let digits = cluster.digits.as_slice();
        let count = digits.len();
        if !(12..=MOST_DIGITS).contains(&count) || cluster.plus || !luhn(digits) {
            return false;
        }
        let separators = cluster.separators.as_slice();
        let uniform = separators.windows(2).all(|pair| pair[0] == pair[1])
            && separators
                .iter()
                .all(|separator| matches!(separator, b' ' | b'-' | b'.'));
        let grouped = match cluster.lengths.as_slice() {
            [_] => true,
            [4, 6, 4 | 5] => uniform,
            [4, 4, 4, 1..=4] | [4, 4, 4, 4, 1..=3] => uniform,
            _ => false,
        };
        if !grouped {
            return false;
        }
        (count >= 14 && is_card_prefix(digits))
            || self.has_context(cluster, &self.detector.rules.names.card)
    }

    fn is_phone(&self, cluster: &Cluster) -> bool {
        let digits = cluster.digits.as_slice();
        let count = digits.len();
        if !(FEWEST_DIGITS..=15).contains(&count) || self.looks_like_amount(cluster) {
            return false;
        }
        let (lengths, separators) = (cluster.lengths.as_slice(), cluster.separators.as_slice());
        if self.continues_a_name(cluster) || is_date_or_address(cluster) {
            return false;
        }
        if is_cn_mobile(cluster) {
            return true;
        }
        if cluster.plus {
            let region = digits[0] != b'0' && (digits[0] != b'1' || digits[1] >= b'2');
            return region && (count >= 9 || lengths.len() > 1);
        }
        let north_american = matches!(lengths, [3, 3, 4] | [1, 3, 3, 4])
            && matches!(digits[count - 10], b'2'..=b'9')
            && (cluster.paren
                || separators
                    .iter()
                    .all(|separator| matches!(separator, b'-' | b'.')));
        north_american
            || (separators != b"."
                && count <= 13
                && self.has_context(cluster, &self.detector.rules.names.phone))
    }

    /// The number hangs on a word, as in `comment-123456789`.
    fn continues_a_name(&self, cluster: &Cluster) -> bool {
        let before = &self.text.as_bytes()[..cluster.start];
        matches!(before, [.., letter, b'-' | b'_' | b'.'] if letter.is_ascii_alphabetic())
    }

    fn looks_like_amount(&self, cluster: &Cluster) -> bool {
        let before = self.text[..cluster.start].chars().next_back();
        matches!(
            before,
            Some('$' | '€' | '£' | '¥' | '₹' | '#' | '=' | '/' | '_' | '&')
        ) && !cluster.plus
            && !cluster.paren
    }

    fn has_context(&self, cluster: &Cluster, words: &Words) -> bool {
        has_word_before(&self.text[..cluster.start], 36, words)
            || has_word_after(&self.text[cluster.end..], 12, words)
            || self
                .around
                .field
                .is_some_and(|field| contains_word(field, words))
    }

    /// An IBAN whose check digits begin at `at`, behind its two letters.
    fn iban(&mut self, at: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let start = at.checked_sub(2)?;
        let country = [bytes[start], bytes[start + 1]];
        if start > 0 && is_word(bytes[start - 1]) {
            return None;
        }
        let length = iban_length(country)?;
        let mut iban = Vec::with_capacity(length);
        let mut end = start;
        while iban.len() < length {
            match *bytes.get(end)? {
                byte if byte.is_ascii_alphanumeric() => iban.push(byte),
                b' ' if iban.len() % 4 == 0 => {}
                _ => return None,
            }
            end += 1;
        }
        if bytes.get(end).is_some_and(|&byte| is_word(byte)) || is_hex(&iban) || !is_iban(&iban) {
            return None;
        }
        self.add(start, end, &self.detector.personal.iban);
        Some(end)
    }
}

/// Whether it is an id rather than an account: of those of the right length, one in a hundred
/// passes the checksum. Account numbers are written in capitals, or have other letters.
fn is_hex(iban: &[u8]) -> bool {
    let is_hex = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
    iban.iter().all(is_hex) && iban[4..].iter().any(u8::is_ascii_lowercase)
}

fn count_digits(block: &[u8]) -> usize {
    let count = |bytes: &[u8]| {
        bytes
            .iter()
            .fold(0_u8, |count, byte| count + u8::from(byte.is_ascii_digit()))
    };
    // A block of known length is counted many bytes at a time.
    usize::from(
        block
            .first_chunk::<BLOCK>()
            .map_or_else(|| count(block), |block| count(block)),
    )
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Dates, spans of years, dotted quads and object identifiers.
fn is_date_or_address(cluster: &Cluster) -> bool {
    let (lengths, separators) = (cluster.lengths.as_slice(), cluster.separators.as_slice());
    let dotted = lengths.len() >= 4
        && separators
            .iter()
            .all(|separator| matches!(separator, b'.' | b'/'));
    let plain = separators
        .iter()
        .all(|separator| matches!(separator, b'-' | b'.' | b'/'));
    let date = lengths
        .windows(3)
        .any(|three| matches!(three, [4, 1..=2, 1..=2] | [1..=2, 1..=2, 4]));
    let years =
        lengths == [4, 4] && separators == b"-" && cluster.digits.as_slice().starts_with(b"20");
    let after_paren = cluster.paren && lengths.windows(3).any(|three| three == [4, 2, 2]);
    dotted || (date && plain && !cluster.plus) || years || after_paren
}

fn is_cn_mobile(cluster: &Cluster) -> bool {
    let (number, lengths) = match (cluster.digits.as_slice(), cluster.lengths.as_slice()) {
        ([b'8', b'6', number @ ..], [2, lengths @ ..]) if number.len() == 11 => (number, lengths),
        ([b'8', b'6', number @ ..], [13]) if number.len() == 11 && cluster.plus => {
            (number, &[11][..])
        }
        (number, lengths) => (number, lengths),
    };
    number.len() == 11
        && number[0] == b'1'
        && number[1] >= b'3'
        && matches!(lengths, [11] | [3, 4, 4] | [3, 8] | [7, 4])
}

/// Reads the groups that begin with the digit at `at`; none if letters touch them.
fn cluster_at(bytes: &[u8], at: usize, spaces: Spaces) -> Option<Cluster> {
    let mut cluster = Cluster {
        start: at,
        end: at,
        plus: false,
        paren: false,
        digits: Short::new(),
        lengths: Short::new(),
        separators: Short::new(),
        widths: Short::new(),
        first_end: at,
    };
    prefix(bytes, &mut cluster);
    let mut position = at;
    loop {
        let run = bytes[position..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if cluster.digits.count + run > MOST_DIGITS || cluster.lengths.count == MOST_GROUPS {
            break;
        }
        if bytes
            .get(position + run)
            .is_some_and(|&byte| touches(byte, &bytes[position + run..]))
        {
            // Letters touch this group: it belongs to a word, the groups before may still stand.
            break;
        }
        for &digit in &bytes[position..position + run] {
            cluster.digits.push(digit);
        }
        cluster.lengths.push(run as u8);
        cluster.end = position + run;
        if cluster.lengths.count == 1 {
            cluster.first_end = cluster.end;
        }
        let (separator, length) = separator_at(&bytes[cluster.end..], spaces);
        if length == 0 {
            break;
        }
        cluster.paren |= separator == b'(';
        cluster.separators.push(separator);
        cluster.widths.push(length);
        position = cluster.end + usize::from(length);
    }
    cluster.separators.count = cluster.lengths.count.saturating_sub(1);
    cluster.widths.count = cluster.separators.count;
    (cluster.lengths.count > 0).then_some(cluster)
}

/// Takes in a `+` or `(` in front of the first digit.
fn prefix(bytes: &[u8], cluster: &mut Cluster) {
    if cluster.start > 0 && bytes[cluster.start - 1] == b'(' {
        cluster.start -= 1;
        cluster.paren = true;
    }
    if cluster.start > 0
        && bytes[cluster.start - 1] == b'+'
        && !(cluster.start > 1 && is_word(bytes[cluster.start - 2]))
    {
        cluster.start -= 1;
        cluster.plus = true;
    }
}

/// Whether a byte after a digit makes it part of a word; an extension does not.
fn touches(byte: u8, rest: &[u8]) -> bool {
    is_word(byte) && extension(rest) == 0
}

/// The length of a no-break, figure, thin or ideographic space with a digit behind it.
fn wide_space(rest: &[u8]) -> u8 {
    let length = match rest {
        [0xc2, 0xa0, ..] => 2,
        [0xe2, 0x80, 0x80..=0x8a | 0xaf, ..] | [0xe3, 0x80, 0x80, ..] => 3,
        _ => return 0,
    };
    if rest
        .get(usize::from(length))
        .is_some_and(u8::is_ascii_digit)
    {
        length
    } else {
        0
    }
}

fn separator_at(rest: &[u8], spaces: Spaces) -> (u8, u8) {
    let digit = |at: usize| rest.get(at).is_some_and(u8::is_ascii_digit);
    match rest {
        [separator @ (b' ' | b'-' | b'.' | b'/'), ..] if digit(1) => (*separator, 1),
        [b')', ..] if digit(1) => (b'(', 1),
        [b' ' | b'-', b'(', ..] if digit(2) => (b'(', 2),
        [b')', b' ' | b'-', ..] if digit(2) => (b'(', 2),
        [0xc2 | 0xe2 | 0xe3, ..] if spaces == Spaces::Wide && wide_space(rest) > 0 => {
            (b' ', wide_space(rest))
        }
        _ => (0, 0),
    }
}

/// The length of an extension such as `x123` or ` ext. 5`.
fn extension(rest: &[u8]) -> usize {
    let word = match rest {
        [b'x' | b'X', ..] => 1,
        [b' ', b'x' | b'X', ..] => 2,
        [b' ', b'e' | b'E', b'x' | b'X', b't' | b'T', b'.', b' ', ..] => 6,
        [b' ', b'e' | b'E', b'x' | b'X', b't' | b'T', b'.' | b' ', ..] => 5,
        _ => return 0,
    };
    let digits = rest[word..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let free = !rest.get(word + digits).is_some_and(|&byte| is_word(byte));
    if (1..=6).contains(&digits) && free {
        word + digits
    } else {
        0
    }
}
