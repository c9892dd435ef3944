//! Samples that come with the program: made up, in the shapes Keepa publishes, so that everything works without a key.

macro_rules! samples {
    ($($name:literal,)+) => {
        const ALL: &[(&str, &str)] = &[$(($name, include_str!(concat!("../fixtures/", $name))),)+];
    };
}

samples! {
    "agent_eval_products_compare_output.json",
    "agent_eval_report_input.json",
    "bestsellers.json",
    "bestsellers_flat.json",
    "categories.json",
    "category_search.json",
    "category_search_empty.json",
    "deals.json",
    "error_tokens.json",
    "finder.json",
    "lightningdeals.json",
    "product_history.json",
    "product_history_empty.json",
    "product_kettle.json",
    "product_kettle_offers.json",
    "product_search.json",
    "product_teapot_jp.json",
    "product_unknown.json",
    "product_without_history.json",
    "products_compare.json",
    "products_compare_agent_eval.json",
    "sellers.json",
    "token_status.json",
    "topsellers.json",
    "tracking_asins.json",
    "tracking_list.json",
    "tracking_names.json",
    "tracking_notifications.json",
}

/// Their names, sorted.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|(name, _)| *name)
}

/// One of them.
pub fn find(name: &str) -> Option<&'static str> {
    ALL.iter()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_is_json_and_their_names_are_sorted() {
        let all: Vec<&str> = names().collect();
        assert!(all.is_sorted());
        for name in all {
            let text = find(name).unwrap();
            assert!(
                serde_json::from_str::<serde_json::Value>(text).is_ok(),
                "{name}"
            );
        }
    }
}
