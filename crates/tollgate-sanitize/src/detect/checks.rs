//! Checksums and other arithmetic that tells a real number from any number.

/// The Luhn checksum of payment cards.
pub(super) fn luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, &digit)| {
            let digit = u32::from(digit - b'0');
            match (place % 2, digit) {
                (0, digit) => digit,
                (_, digit @ 5..) => digit * 2 - 9,
                (_, digit) => digit * 2,
            }
        })
        .sum();
    sum.is_multiple_of(10) && digits.iter().any(|&digit| digit != b'0')
}

/// How an issuer's number begins, and how long its card numbers are.
pub(super) fn is_card_prefix(digits: &[u8]) -> bool {
    let prefix = |length: usize| {
        digits
            .iter()
            .take(length)
            .fold(0_u32, |value, &digit| value * 10 + u32::from(digit - b'0'))
    };
    let (two, three, four) = (prefix(2), prefix(3), prefix(4));
    match digits.len() {
        14 => matches!(three, 300..=305 | 309) || matches!(two, 36 | 38 | 39),
        15 => matches!(two, 34 | 37) || matches!(four, 1800 | 2131),
        16 => {
            matches!(two, 40..=49 | 51..=55 | 60 | 62 | 64 | 65 | 35 | 36 | 30 | 50 | 56..=58 | 63 | 67 | 68)
                || matches!(four, 2221..=2720 | 2200..=2204)
        }
        17..=19 => matches!(two, 40..=49 | 62 | 60 | 50 | 56..=58 | 63 | 64 | 65 | 67 | 35),
        _ => false,
    }
}

/// The 18-character Chinese resident identity number: region, date of birth and check character.
pub(super) fn is_cn_id_card(number: &[u8]) -> bool {
    const WEIGHTS: [u32; 17] = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2];
    const CHECKS: &[u8; 11] = b"10X98765432";
    let (Some((digits, [last])), 18) = (number.split_at_checked(17), number.len()) else {
        return false;
    };
    if !digits.iter().all(u8::is_ascii_digit) || !(b'1'..=b'8').contains(&digits[0]) {
        return false;
    }
    let part = |from: usize, to: usize| {
        digits[from..to]
            .iter()
            .fold(0_u32, |value, &digit| value * 10 + u32::from(digit - b'0'))
    };
    let date = (1850..=2100).contains(&part(6, 10))
        && (1..=12).contains(&part(10, 12))
        && (1..=31).contains(&part(12, 14));
    let sum: u32 = digits
        .iter()
        .zip(WEIGHTS)
        .map(|(&digit, weight)| u32::from(digit - b'0') * weight)
        .sum();
    date && CHECKS.get(sum as usize % 11) == Some(&last.to_ascii_uppercase())
}

/// A US social security number by its three groups.
pub(super) fn is_ssn(area: &[u8], group: &[u8], serial: &[u8]) -> bool {
    area.len() == 3
        && group.len() == 2
        && serial.len() == 4
        && area != b"000"
        && area != b"666"
        && area[0] != b'9'
        && group != b"00"
        && serial != b"0000"
}

/// The twelve-digit individual number of Japan, by its last digit.
pub(super) fn is_my_number(digits: &[u8]) -> bool {
    const WEIGHTS: [u32; 11] = [6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2];
    let Some((&last, [..])) = digits.split_last().filter(|_| digits.len() == 12) else {
        return false;
    };
    let sum: u32 = digits
        .iter()
        .zip(WEIGHTS)
        .map(|(&digit, weight)| u32::from(digit - b'0') * weight)
        .sum();
    let check = match sum % 11 {
        0 | 1 => 0,
        rest => 11 - rest,
    };
    u32::from(last - b'0') == check
}

/// How long an IBAN of a country is.
pub(super) fn iban_length(country: [u8; 2]) -> Option<usize> {
    const LENGTHS: &[(&[u8; 2], usize)] = &[
        (b"AD", 24),
        (b"AE", 23),
        (b"AL", 28),
        (b"AT", 20),
        (b"AZ", 28),
        (b"BA", 20),
        (b"BE", 16),
        (b"BG", 22),
        (b"BH", 22),
        (b"BI", 27),
        (b"BR", 29),
        (b"BY", 28),
        (b"CH", 21),
        (b"CR", 22),
        (b"CY", 28),
        (b"CZ", 24),
        (b"DE", 22),
        (b"DJ", 27),
        (b"DK", 18),
        (b"DO", 28),
        (b"EE", 20),
        (b"EG", 29),
        (b"ES", 24),
        (b"FI", 18),
        (b"FK", 18),
        (b"FO", 18),
        (b"FR", 27),
        (b"GB", 22),
        (b"GE", 22),
        (b"GI", 23),
        (b"GL", 18),
        (b"GR", 27),
        (b"GT", 28),
        (b"HR", 21),
        (b"HU", 28),
        (b"IE", 22),
        (b"IL", 23),
        (b"IQ", 23),
        (b"IS", 26),
        (b"IT", 27),
        (b"JO", 30),
        (b"KW", 30),
        (b"KZ", 20),
        (b"LB", 28),
        (b"LC", 32),
        (b"LI", 21),
        (b"LT", 20),
        (b"LU", 20),
        (b"LV", 21),
        (b"LY", 25),
        (b"MC", 27),
        (b"MD", 24),
        (b"ME", 22),
        (b"MK", 19),
        (b"MN", 20),
        (b"MR", 27),
        (b"MT", 31),
        (b"MU", 30),
        (b"NI", 28),
        (b"NL", 18),
        (b"NO", 15),
        (b"OM", 23),
        (b"PK", 24),
        (b"PL", 28),
        (b"PS", 29),
        (b"PT", 25),
        (b"QA", 29),
        (b"RO", 24),
        (b"RS", 22),
        (b"RU", 33),
        (b"SA", 24),
        (b"SC", 31),
        (b"SD", 18),
        (b"SE", 24),
        (b"SI", 19),
        (b"SK", 24),
        (b"SM", 27),
        (b"SO", 23),
        (b"ST", 25),
        (b"SV", 28),
        (b"TL", 23),
        (b"TN", 24),
        (b"TR", 26),
        (b"UA", 29),
        (b"VA", 22),
        (b"VG", 24),
        (b"XK", 20),
        (b"YE", 30),
    ];
    let country = [
        country[0].to_ascii_uppercase(),
        country[1].to_ascii_uppercase(),
    ];
    LENGTHS
        .iter()
        .find(|(code, _)| **code == country)
        .map(|&(_, length)| length)
}

/// The mod-97 checksum of an IBAN without spaces.
pub(super) fn is_iban(iban: &[u8]) -> bool {
    if iban.len() < 5 {
        return false;
    }
    let rest = iban[4..]
        .iter()
        .chain(&iban[..4])
        .try_fold(0_u32, |rest, &byte| match byte {
            b'0'..=b'9' => Some((rest * 10 + u32::from(byte - b'0')) % 97),
            b'a'..=b'z' => Some((rest * 100 + u32::from(byte - b'a') + 10) % 97),
            b'A'..=b'Z' => Some((rest * 100 + u32::from(byte - b'A') + 10) % 97),
            _ => None,
        });
    rest == Some(1)
}

/// Whether a value is base64 of `user:password`.
pub(super) fn is_basic_auth(value: &str) -> bool {
    let mut decoded = Vec::with_capacity(value.len());
    let (mut bits, mut width) = (0_u32, 0_u32);
    for byte in value.bytes().take_while(|&byte| byte != b'=') {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return false,
        };
        bits = (bits << 6 | u32::from(six)) & 0xffff;
        width += 6;
        if width >= 8 {
            width -= 8;
            decoded.push((bits >> width) as u8);
        }
    }
    decoded.len() >= 3
        && decoded.contains(&b':')
        && decoded.iter().all(|byte| (0x20..0x7f).contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums() {
        assert!(luhn(b"4111111111111111") && !luhn(b"4111111111111112") && !luhn(b"0000000000000"));
        assert!(is_cn_id_card(b"11010519491231002X") && !is_cn_id_card(b"110105194912310021"));
        assert!(is_iban(b"GB82WEST12345698765432") && is_iban(b"de89370400440532013000"));
        assert!(!is_iban(b"GB82WEST12345698765433"));
        assert_eq!(iban_length(*b"gb"), Some(22));
        assert!(is_my_number(b"123456789018") && !is_my_number(b"123456789019"));
        assert!(is_ssn(b"123", b"45", b"6789") && !is_ssn(b"666", b"45", b"6789"));
    }

    #[test]
    fn basic_auth_is_a_pair() {
        assert!(is_basic_auth("dXNlcjpwYXNz"));
        assert!(!is_basic_auth("authentication"));
    }
}
