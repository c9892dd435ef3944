//! Whether an answer is about the products that were asked for.
//!
//! Invariant: an answer about another product is never taken for the one that was wanted, however well it reads.

use serde::Deserialize;

use crate::{Error, Kind, request::Request};

/// How many products of an answer an error names, and how much of each.
const SHOWN: usize = 20;
const LONGEST: usize = 20;

#[derive(Deserialize)]
struct Named {
    asin: Option<String>,
}

/// The lists an answer may name products in; everything else is skipped.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Lists {
    #[serde(default)]
    products: Option<Vec<Option<Named>>>,
    #[serde(default)]
    trackings: Option<Vec<Option<Named>>>,
    #[serde(default)]
    lightning_deals: Option<Vec<Option<Named>>>,
}

/// The products a request asks for, each once; nothing if it names none.
pub(crate) fn asked(request: &Request) -> Vec<String> {
    let names_products = ["/product", "/tracking", "/lightningdeal"];
    let asins = request.query.get("asin");
    let asins = asins.filter(|_| names_products.contains(&request.endpoint.as_str()));
    let mut all: Vec<String> = Vec::new();
    for asin in asins.into_iter().flat_map(|asins| asins.split(',')) {
        let asin = asin.trim().to_ascii_uppercase();
        if !asin.is_empty() && !all.contains(&asin) {
            all.push(asin);
        }
    }
    all
}

/// Who an answer comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// Keepa: it answers what it was asked and nothing else.
    Keepa,
    /// A sample: it may hold more than was asked for.
    Sample,
}

/// The products an answer names, if it names any and none of them was asked for, or some that were not.
fn strangers(asked: &[String], text: &str, source: Source) -> Option<Vec<String>> {
    let lists: Lists = serde_json::from_str(text).ok()?;
    let lists = [lists.products, lists.trackings, lists.lightning_deals];
    let named = lists.into_iter().flatten().flatten().flatten();
    let answered: Vec<String> = named.filter_map(|one| one.asin).collect();
    let is_asked = |asin: &String| asked.iter().any(|one| one.eq_ignore_ascii_case(asin));
    let is_about = match source {
        Source::Keepa => answered.iter().all(is_asked),
        Source::Sample => answered.is_empty() || answered.iter().any(is_asked),
    };
    let cut = |asin: &String| asin.chars().take(LONGEST).collect::<String>();
    (!is_about).then(|| answered.iter().take(SHOWN).map(cut).collect())
}

/// Whether a sample is about none of several products that were asked for: it stands for them in a rehearsal.
pub(crate) fn stands_in(request: &Request, text: &str) -> bool {
    let asked = asked(request);
    asked.len() > 1 && strangers(&asked, text, Source::Sample).is_some()
}

/// Why an answer is not about what was asked; nothing if it is, or names no product.
pub(crate) fn mismatch(request: &Request, text: &str, source: Source) -> Option<Error> {
    let asked = asked(request);
    if asked.is_empty() || (source == Source::Sample && asked.len() > 1) {
        return None;
    }
    let answered = strangers(&asked, text, source)?;
    let who = match source {
        Source::Keepa => "Keepa's answer",
        Source::Sample => "the sample",
    };
    let message = format!(
        "{who} is about {}, not about {}",
        answered.join(", "),
        asked.join(", ")
    );
    let error = Error::new(Kind::ProductNotFound, message);
    Some(error.with("asked", asked).with("answered", answered))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Command, Params, request::build};

    fn found(command: Command, params: &serde_json::Value, source: Source) -> Option<Error> {
        let request = build(command, &Params::of(params)).unwrap();
        let body = json!({
            "tokensLeft": 1, "products": [{"asin": "B0KETTLE01", "csv": [[1, 2]]}, null, {"title": "x"}],
            "trackings": null,
        });
        mismatch(&request, &body.to_string(), source)
    }

    #[test]
    fn another_product_is_no_answer() {
        let of = |asins: &serde_json::Value, source| {
            found(Command::ProductsGet, &json!({"asin": asins}), source)
        };
        for source in [Source::Keepa, Source::Sample] {
            assert_eq!(of(&json!("b0kettle01"), source), None);
            assert_eq!(of(&json!(["B0KETTLE01", "B0GRINDER2"]), source), None);
            let error = of(&json!("B0GRINDER2"), source).unwrap();
            assert_eq!(error.kind, Kind::ProductNotFound);
            assert_eq!(error.details["asked"], json!(["B0GRINDER2"]));
            assert_eq!(error.details["answered"], json!(["B0KETTLE01"]));
        }
        assert!(
            found(
                Command::HistoryTrend,
                &json!({"asin": "B0GRINDER2"}),
                Source::Keepa
            )
            .is_some()
        );
    }

    #[test]
    fn more_than_was_asked_for_is_fine_in_a_sample_only() {
        let request = build(
            Command::ProductsGet,
            &Params::of(&json!({"asin": "B0KETTLE01"})),
        )
        .unwrap();
        let body = r#"{"products": [{"asin": "B0KETTLE01"}, {"asin": "B0GRINDER2"}]}"#;
        assert!(mismatch(&request, body, Source::Keepa).is_some());
        assert_eq!(mismatch(&request, body, Source::Sample), None);
    }

    #[test]
    fn a_sample_may_stand_for_several_products_and_for_no_single_one() {
        let body = r#"{"products": [{"asin": "B0SCALE003"}]}"#;
        let of = |asins: &[&str]| {
            let request =
                build(Command::ProductsGet, &Params::of(&json!({"asin": asins}))).unwrap();
            let error = mismatch(&request, body, Source::Sample);
            (error.is_some(), stands_in(&request, body))
        };
        assert_eq!(of(&["B0KETTLE01"]), (true, false));
        assert_eq!(of(&["B0KETTLE01", "B0GRINDER2"]), (false, true));
        assert_eq!(of(&["B0KETTLE01", "B0SCALE003"]), (false, false));
    }

    #[test]
    fn what_names_no_product_is_not_compared() {
        let code = found(
            Command::ProductsGet,
            &json!({"code": "4006381333931"}),
            Source::Keepa,
        );
        let search = found(
            Command::ProductsSearch,
            &json!({"term": "kettle"}),
            Source::Keepa,
        );
        assert_eq!((code, search), (None, None));
        let request = build(
            Command::ProductsGet,
            &Params::of(&json!({"asin": "B0KETTLE01"})),
        )
        .unwrap();
        for body in [
            "no json",
            "{}",
            r#"{"products": [null]}"#,
            r#"{"products": "x"}"#,
        ] {
            assert_eq!(mismatch(&request, body, Source::Keepa), None, "{body}");
        }
    }
}
