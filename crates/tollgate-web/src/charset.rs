//! From bytes to text: by a byte order mark, the header, the page's own word, or by looking.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// How far into a page its own word about its encoding is looked for.
const PRESCAN: usize = 4096;

/// The text, and the name of the encoding that was used.
pub(crate) fn decode(bytes: &[u8], content_type: Option<&str>) -> (String, &'static str) {
    let marked = Encoding::for_bom(bytes).map(|(encoding, _)| encoding);
    let encoding = marked
        .or_else(|| content_type.and_then(of_parameter))
        .or_else(|| of_page(&bytes[..bytes.len().min(PRESCAN)]))
        .unwrap_or_else(|| detected(bytes));
    let (text, _, _) = encoding.decode(bytes);
    (text.into_owned(), encoding.name())
}

fn of_parameter(content_type: &str) -> Option<&'static Encoding> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let is_charset = name.trim().eq_ignore_ascii_case("charset");
        let value = value.trim().trim_matches(['"', '\'']);
        is_charset.then(|| Encoding::for_label(value.as_bytes()))?
    })
}

/// What `<meta charset>`, `<meta http-equiv>` or an XML declaration says.
fn of_page(head: &[u8]) -> Option<&'static Encoding> {
    let text = String::from_utf8_lossy(head).to_ascii_lowercase();
    let in_meta = text.match_indices("<meta").find_map(|(start, _)| {
        let tag = &text[start..];
        let tag = &tag[..tag.find('>')?];
        label_after(tag, "charset")
    });
    let in_xml = || {
        let declaration = text.trim_start_matches('\u{feff}').trim_start();
        let declaration = declaration.strip_prefix("<?xml")?;
        label_after(&declaration[..declaration.find("?>")?], "encoding")
    };
    let found = in_meta.or_else(in_xml)?;
    // A page that could be read this far is not in UTF-16, whatever it says.
    if found == UTF_16BE || found == UTF_16LE {
        return Some(UTF_8);
    }
    Some(found)
}

fn label_after(text: &str, name: &str) -> Option<&'static Encoding> {
    let rest = text[text.find(name)? + name.len()..].trim_start();
    let rest = rest.strip_prefix('=')?.trim_start();
    let rest = rest.trim_start_matches(['"', '\'']);
    let end = rest.find(['"', '\'', ';', ' ', '/', '>']);
    Encoding::for_label(&rest.as_bytes()[..end.unwrap_or(rest.len())])
}

fn detected(bytes: &[u8]) -> &'static Encoding {
    if std::str::from_utf8(bytes).is_ok() {
        return UTF_8;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    detector.guess(None, Utf8Detection::Allow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_of_an_encoding_is_used_in_its_order() {
        let gbk = encoding_rs::GBK
            .encode("价格便宜的商品，质量很好，欢迎购买")
            .0;
        let page = |head: &str| [head.as_bytes(), &gbk].concat();
        let cases: [(Vec<u8>, Option<&str>, &str); 6] = [
            (gbk.to_vec(), Some("text/html; charset=\"gb2312\""), "GBK"),
            (page("<meta charset=gbk>"), None, "GBK"),
            (
                page("<meta http-equiv=Content-Type content='text/html; charset=gb2312'>"),
                Some("text/html"),
                "GBK",
            ),
            (page("<?xml version='1.0' encoding='gbk'?>"), None, "GBK"),
            (gbk.to_vec(), None, "GBK"),
            ("é".as_bytes().to_vec(), None, "UTF-8"),
        ];
        for (bytes, header, name) in cases {
            let (text, used) = decode(&bytes, header);
            assert_eq!(used, name);
            assert!(name == "UTF-8" || text.contains("价格便宜"), "{text}");
        }
        // A mark beats the header.
        let marked = [&[0xef, 0xbb, 0xbf][..], "é".as_bytes()].concat();
        let (text, used) = decode(&marked, Some("text/html; charset=latin1"));
        assert_eq!((text.as_str(), used), ("é", "UTF-8"));
        let (text, _) = decode(b"\xff\xfeh\0i\0", None);
        assert_eq!(text, "hi");
    }

    #[test]
    fn what_does_not_fit_its_encoding_is_replaced() {
        let (text, used) = decode(b"ok \xff\xfe ok", Some("text/plain; charset=utf-8"));
        assert_eq!((text.as_str(), used), ("ok \u{fffd}\u{fffd} ok", "UTF-8"));
    }
}
