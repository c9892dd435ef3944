//! Knows the prefilter's hits after a replacement without reading the text again.
//!
//! Places that may have to be decoded are looked for again, because they depend on what stands around them.
//!
//! What was kept keeps its hits, and a replacement has the same ones wherever it stands. That is all there is as long as
//! no literal reaches across a replacement's edge; where one might, the text is read again.

use crate::detect::{Found, Hits};
use crate::prefilter::{Hit, Prefilter};

/// The hits of `text` when all that was found is replaced, given its hits before; none if it has to be read again.
pub(crate) fn carry(
    prefilter: &Prefilter,
    text: &str,
    before: Hits<'_>,
    found: &[Found<'_>],
) -> Option<Vec<Hit>> {
    let mut after = Vec::with_capacity(before.list.len() + found.len() * 2);
    let literal: Vec<Hit> = before
        .list
        .iter()
        .copied()
        .filter(|hit| !hit.is_coded())
        .collect();
    let mut rest = literal.as_slice();
    let (mut kept_from, mut written) = (0, 0);
    for found in found {
        let inner = found.label.hits(prefilter)?;
        let start = before.offset + found.start;
        let count = rest.iter().take_while(|hit| hit.start < start).count();
        let (kept, others) = rest.split_at(count);
        let kept = kept.iter().map(|hit| hit.shifted(before.offset));
        after.extend(
            kept.filter(|hit| hit.start >= kept_from && hit.end <= found.start)
                .map(|hit| hit.moved(kept_from, written)),
        );
        written += found.start - kept_from;
        after.extend(inner.iter().map(|hit| hit.moved(0, written)));
        written += found.label.replacement.len();
        kept_from = found.end;
        rest = others;
    }
    let kept = rest.iter().map(|hit| hit.shifted(before.offset));
    after.extend(
        kept.filter(|hit| hit.start >= kept_from && hit.end <= text.len())
            .map(|hit| hit.moved(kept_from, written)),
    );
    Some(after)
}

#[cfg(test)]
mod tests {
    use super::carry;
    use crate::Sanitizer;
    use crate::detect::{Hits, Surroundings};

    /// What is carried must be what reading again would find.
    fn check(text: &str, from: usize) {
        let detector = Sanitizer::shipped().detector();
        let mut list = Vec::new();
        detector.prefilter.scan(text, &mut list);
        list.retain(|hit| hit.start >= from);
        let text = &text[from..];
        let hits = Hits {
            list: &list,
            offset: from,
        };
        let search = detector.find(text, hits, &Surroundings::default());
        assert!(!search.found.is_empty(), "{text}");
        let carried = carry(&detector.prefilter, text, hits, &search.found);
        let mut read = Vec::new();
        let replaced = crate::sanitizer::replace(text, &search.found);
        detector.prefilter.scan(&replaced, &mut read);
        read.retain(|hit| !hit.is_coded());
        assert_eq!(carried, Some(read), "{text}");
    }

    #[test]
    fn carried_hits_are_those_of_another_reading() {
        for text in [
            "e-mail ann@example.org about the api key",
            ", password=q8Zt4Lw0Xk2Nv7Bs secret",
            "a token sk_live_q8Zt4Lw0Xk2Nv7Bs9Rm3 key=key",
            "(https://a:pw9pw9pw9@h.example/?sig=AbCdEf123456&token=q8Zt4Lw0Xk2N system:",
            " Bearer 7c9e6679f7425cc0a1b2c3d4e5f60718 ignore password, [redacted:email] x@y.example",
        ] {
            check(text, 0);
            check(text, 1);
        }
    }

    #[test]
    fn an_edge_a_literal_reaches_across_is_read_again() {
        let rules = "[[rule]]\nid = \"odd\"\nkind = \"secret\"\nliterals = [\"zq-\"]\npattern = 'zq-[0-9]{4}'\n\
                     replacement = \"pass\"\n";
        let sanitizer = Sanitizer::from_rules(&[rules]).expect("valid rules");
        let cleaned = sanitizer.text("zq-1234word=q8Zt4Lw0Xk2Nv7Bs", &crate::Scope::trusted());
        assert_eq!(cleaned.text, "password=[REDACTED:named-secret]");
    }
}
