//! Percent escapes in addresses, read once and written where they are needed.

/// The text behind escapes; nothing if one of them is broken or it is no UTF-8.
pub(crate) fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            let digits = std::str::from_utf8(&digits).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

/// A text as one part of an address.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_come_back() {
        for text in ["plain-id_1", "家庭 网络/100%?#", ""] {
            assert_eq!(unescaped(&escaped(text)).as_deref(), Some(text));
        }
        assert_eq!(escaped("a b/ä"), "a%20b%2F%C3%A4");
        for broken in ["%", "%4", "%zz", "%ff"] {
            assert_eq!(unescaped(broken), None, "{broken}");
        }
    }
}
