//! What a link to a product, a category or a seller names, and in which marketplace.
//!
//! Invariant: nothing is opened or resolved; a link is read as text.

use super::{CATEGORY_DIGITS, is_asin, is_number, is_seller};
use crate::Domain;

/// What a link names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Link {
    /// Its marketplace, if it is one of Keepa's.
    pub(super) domain: Option<Domain>,
    /// Kind and id of everything that it names.
    pub(super) names: Vec<(&'static str, String)>,
}

/// Reads a word as a link; nothing if it is none of Amazon's or Keepa's.
pub(super) fn read(word: &str) -> Option<Link> {
    let lower = word.to_ascii_lowercase();
    let rest = lower.split_once("://").map_or(word, |(scheme, _)| {
        word.get(scheme.len() + 3..).unwrap_or_default()
    });
    let (host, path) = match rest.find(['/', '?', '#']) {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let host = host.split(':').next().unwrap_or_default();
    let host = host.to_ascii_lowercase();
    if host == "keepa.com" || host.ends_with(".keepa.com") {
        return Some(of_keepa(path));
    }
    let at = host.find("amazon.")?;
    let is_whole = at == 0 || host.as_bytes().get(at - 1) == Some(&b'.');
    if !is_whole {
        return None;
    }
    let mut link = of_amazon(path);
    link.domain = host.get(at..).and_then(|host| host.parse().ok());
    Some(link)
}

/// `#!product/3-B0…`: the number of a marketplace and an ASIN.
fn of_keepa(path: &str) -> Link {
    let named = path.split('/').find_map(|part| part.split_once('-'));
    let mut link = Link::default();
    if let Some((id, asin)) = named {
        let asin = asin.to_ascii_uppercase();
        link.domain = id.parse().ok().and_then(Domain::from_id);
        if is_asin(&asin) {
            link.names.push(("asin", asin));
        }
    }
    link
}

fn of_amazon(path: &str) -> Link {
    let mut link = Link::default();
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let query = query.split('#').next().unwrap_or_default();
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let mut add = |kind, id: String| {
        if !link.names.contains(&(kind, id.clone())) {
            link.names.push((kind, id));
        }
    };
    let is_list = parts.iter().any(|part| LISTS.contains(part));
    for (at, part) in parts.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| parts.get(at));
        let asin = part.to_ascii_uppercase();
        if before.is_some_and(|before| PRODUCTS.contains(before)) && is_asin(&asin) {
            add("asin", asin);
        } else if is_list && is_number(part, CATEGORY_DIGITS) {
            add("category", (*part).to_owned());
        }
    }
    for pair in query.split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if ["node", "bbn"].contains(&name) && is_number(value, CATEGORY_DIGITS) {
            add("category", value.to_owned());
        } else if ["me", "seller", "merchant", "m"].contains(&name) && is_seller(value) {
            add("seller", value.to_owned());
        } else if ["k", "field-keywords"].contains(&name) && !value.is_empty() {
            add("keyword", value.replace("%20", " ").replace('+', " "));
        }
    }
    link
}

/// What a product's ASIN follows.
const PRODUCTS: [&str; 4] = ["dp", "product", "d", "ASIN"];
/// Pages of lists, with the number of a category in their path.
const LISTS: [&str; 4] = ["zgbs", "bestsellers", "new-releases", "movers-and-shakers"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_name_products_categories_and_sellers() {
        let cases = [
            (
                "https://www.amazon.de/Kettle-Steel/dp/B0KETTLE01/ref=sr_1_1?th=1",
                Some(Domain::De),
                &[("asin", "B0KETTLE01")][..],
            ),
            (
                "amazon.co.uk/gp/product/b0kettle01",
                Some(Domain::Gb),
                &[("asin", "B0KETTLE01")],
            ),
            (
                "https://m.amazon.co.jp/gp/aw/d/B0KETTLE01",
                Some(Domain::Jp),
                &[("asin", "B0KETTLE01")],
            ),
            (
                "https://www.amazon.com/b?node=172282",
                Some(Domain::Us),
                &[("category", "172282")],
            ),
            (
                "https://www.amazon.it/gp/bestsellers/kitchen/289754/",
                Some(Domain::It),
                &[("category", "289754")],
            ),
            (
                "https://www.amazon.it/s?me=A2L77EE7U53NWQ&k=steel+kettle",
                Some(Domain::It),
                &[("seller", "A2L77EE7U53NWQ"), ("keyword", "steel kettle")],
            ),
            (
                "https://amazon.com.au/dp/B0KETTLE01",
                None,
                &[("asin", "B0KETTLE01")],
            ),
            (
                "https://keepa.com/#!product/3-B0KETTLE01",
                Some(Domain::De),
                &[("asin", "B0KETTLE01")],
            ),
        ];
        for (word, domain, names) in cases {
            let link = read(word).unwrap();
            assert_eq!(link.domain, domain, "{word}");
            let found: Vec<_> = link
                .names
                .iter()
                .map(|(kind, id)| (*kind, id.as_str()))
                .collect();
            assert_eq!(found, names, "{word}");
        }
    }

    #[test]
    fn other_words_are_no_links() {
        for word in [
            "kettle",
            "amazon",
            "B0KETTLE01",
            "https://example.com/dp/B0KETTLE01",
            "notamazon.de/dp/B0KETTLE01",
            "://",
            "amazon",
        ] {
            assert_eq!(read(word), None, "{word}");
        }
    }
}
