//! The language of a text whose page does not name it, where its script tells.

const SAMPLE: usize = 4000;

/// The language, if the script leaves no doubt.
pub(super) fn of_script(text: &str) -> Option<&'static str> {
    let (mut han, mut kana, mut hangul, mut letters) = (0, 0, 0, 0);
    for c in text.chars().filter(|c| c.is_alphabetic()).take(SAMPLE) {
        letters += 1;
        match c {
            '\u{3040}'..='\u{30ff}' => kana += 1,
            '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' => han += 1,
            '\u{ac00}'..='\u{d7af}' => hangul += 1,
            _ => {}
        }
    }
    let is_much = |count: usize| letters >= 20 && count * 3 > letters;
    if kana * 10 > letters && is_much(kana + han) {
        Some("ja")
    } else if is_much(hangul) {
        Some("ko")
    } else if is_much(han) {
        Some("zh")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::of_script;

    #[test]
    fn a_script_tells_the_language_or_nothing() {
        let cases = [
            (
                "这是一个用来测试语言检测功能的中文句子，足够长。",
                Some("zh"),
            ),
            (
                "これは言語の検出を試すための日本語の文章です、十分に長い。",
                Some("ja"),
            ),
            (
                "이것은 언어 감지를 시험하기 위한 한국어 문장입니다 충분히 깁니다",
                Some("ko"),
            ),
            (
                "This could be one of many languages in Latin letters.",
                None,
            ),
            ("短", None),
        ];
        for (text, language) in cases {
            assert_eq!(of_script(text), language, "{text}");
        }
    }
}
