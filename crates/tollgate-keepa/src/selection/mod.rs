//! Knows the fields of finder and deal queries, so that a misspelled one is found before a token is spent.
//!
//! Invariant: what Keepa would refuse for its names, kinds or bounds is refused here, with what would do instead.

mod fields;

use serde_json::{Map, Value};
use tollgate_text::edit_distance;

use crate::{Domain, Error};
use fields::Field;

const MOST_CATEGORIES: usize = 500;
const MOST_SORTS: usize = 3;
/// Histories that deals are made of, by position.
const DEAL_TYPES: [i64; 21] = [
    0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 19, 20, 21, 22, 23, 24, 25, 26, 27, 32, 33,
];
const SALES_RANK: i64 = 3;
/// The least change in percent that makes a deal, of prices and of ranks.
const LEAST_CHANGE: i64 = 10;
const LEAST_CHANGE_OF_RANK: i64 = 80;
/// How many names an error suggests, and how far off they may be.
const SUGGESTIONS: usize = 3;
const FAR: usize = 8;

/// Refuses a finder selection with a field that does not exist, naming the nearest that do, or with a value that the
/// field cannot hold.
pub fn check_finder(selection: &Map<String, Value>) -> Result<(), Error> {
    check_fields("the finder", selection, &fields::finder())?;
    let number = |name: &str| selection.get(name).and_then(Value::as_i64);
    if number("page").is_some_and(|page| page < 0) {
        return Err(Error::argument("page counts from 0"));
    }
    if number("perPage").is_some_and(|count| !(50..=10_000).contains(&count)) {
        return Err(Error::argument("perPage must be from 50 to 10000"));
    }
    match selection.get("sort").and_then(Value::as_array) {
        Some(sorts) => check_order(sorts),
        None => Ok(()),
    }
}

fn check_order(sorts: &[Value]) -> Result<(), Error> {
    if sorts.len() > MOST_SORTS {
        return Err(Error::argument("the finder sorts by at most three fields"));
    }
    for sort in sorts {
        let pair: Option<Vec<&str>> = sort
            .as_array()
            .and_then(|pair| pair.iter().map(Value::as_str).collect());
        let Some([name, "asc" | "desc"]) = pair.as_deref() else {
            let message = format!("sort holds pairs of a field and asc or desc, not {sort}");
            return Err(Error::argument(message));
        };
        let plain = fields::finder();
        let is_bound = |field: &str| field.ends_with("_gte") || field.ends_with("_lte");
        let plain = plain.into_iter().map(|(field, _)| field);
        let known: Vec<String> = plain
            .filter(|field| !is_bound(field))
            .chain(fields::figures())
            .collect();
        if !known.iter().any(|field| field == name) {
            return Err(unknown("the order of the finder", name, known.iter()));
        }
    }
    Ok(())
}

/// Refuses a deal selection with a field that does not exist, naming the nearest that do, or with a value that the field
/// cannot hold. What is sent has to be complete, too.
pub fn check_deals(selection: &Map<String, Value>, is_sent: bool) -> Result<(), Error> {
    check_fields("a deal query", selection, &fields::deals())?;
    let number = |name: &str| selection.get(name).and_then(Value::as_i64);
    let list = |name: &str| selection.get(name).and_then(Value::as_array);
    let price_type = match selection.get("priceTypes") {
        None if !is_sent => None,
        given => {
            let given = given.and_then(Value::as_array).map(Vec::as_slice);
            let one = match given {
                Some([one]) => one.as_i64(),
                _ => None,
            };
            let Some(one) = one.filter(|one| DEAL_TYPES.contains(one)) else {
                let message = format!(
                    "a deal query has exactly one of priceTypes, such as [0]; there are {DEAL_TYPES:?}"
                );
                return Err(Error::argument(message).with("field", "priceTypes"));
            };
            Some(one)
        }
    };
    for name in ["includeCategories", "excludeCategories"] {
        if list(name).is_some_and(|all| all.len() > MOST_CATEGORIES) {
            let message = format!("{name} holds at most {MOST_CATEGORIES} categories");
            return Err(Error::argument(message));
        }
    }
    if number("page").is_some_and(|page| page < 0) {
        return Err(Error::argument("page counts from 0"));
    }
    if number("dateRange").is_some_and(|range| !(0..=3).contains(&range)) {
        return Err(Error::argument("dateRange is 0 to 3"));
    }
    if number("sortType").is_some_and(|order| !(1..=4).contains(&order.unsigned_abs())) {
        let message =
            "sortType is 1 (age), 2 (change), 3 (rank) or 4 (percent), negative to turn it around";
        return Err(Error::argument(message));
    }
    if number("domainId").is_some_and(|id| Domain::from_id(id).is_none()) {
        return Err(Error::argument(
            "there is no marketplace with this domainId",
        ));
    }
    let least = if price_type == Some(SALES_RANK) {
        LEAST_CHANGE_OF_RANK
    } else {
        LEAST_CHANGE
    };
    let change = list("deltaPercentRange").and_then(|bounds| bounds.first()?.as_i64());
    if change.is_some_and(|change| change.saturating_abs() < least) {
        let message = format!("deltaPercentRange begins at {least} or more");
        return Err(Error::argument(message).with("field", "deltaPercentRange"));
    }
    Ok(())
}

/// Refuses a field that does not exist, or that holds what it cannot.
fn check_fields(
    whose: &str,
    selection: &Map<String, Value>,
    fields: &[Field],
) -> Result<(), Error> {
    for (name, value) in selection {
        let Some((_, holds)) = fields.iter().find(|(field, _)| field == name) else {
            return Err(unknown(whose, name, fields.iter().map(|(field, _)| field)));
        };
        if !holds.accepts(value) {
            let message = format!("{name} holds {}, not {value}", holds.about());
            return Err(Error::argument(message).with("field", name.as_str()));
        }
    }
    Ok(())
}

fn unknown<'a>(whose: &str, name: &str, fields: impl Iterator<Item = &'a String>) -> Error {
    let near = nearest(name, fields);
    let message = format!(
        "{whose} has no field {name:?}; near it are: {}",
        near.join(", ")
    );
    Error::argument(message)
        .with("field", name)
        .with("nearest", near)
}

fn nearest<'a>(name: &str, fields: impl Iterator<Item = &'a String>) -> Vec<String> {
    let wanted = name.to_lowercase();
    let mut near: Vec<(usize, &String)> = fields
        .map(|field| (edit_distance(&wanted, &field.to_lowercase()), field))
        .filter(|(far, _)| *far <= FAR)
        .collect();
    near.sort_unstable();
    near.into_iter()
        .take(SUGGESTIONS)
        .map(|(_, field)| field.clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    fn check(selection: Value) -> Result<(), Error> {
        check_finder(selection.as_object().unwrap())
    }

    #[test]
    fn there_are_as_many_fields_as_published() {
        let fields = fields::finder();
        let distinct: BTreeSet<&String> = fields.iter().map(|(name, _)| name).collect();
        assert_eq!((fields.len(), distinct.len()), (1363, 1363));
        assert!(!distinct.iter().any(|name| name.contains("COUNT_NEW_FBA")));
        // Of the published names, sorted, one a line.
        let names: Vec<&str> = distinct.into_iter().map(String::as_str).collect();
        assert_eq!(
            crate::request::hex(names.join("\n").as_bytes()),
            "c3543af0f93c58139fde1d6825e44fc6445e56fbf4b3a766f7b635bd3f19f56b"
        );
    }

    #[test]
    fn a_misspelled_field_is_named_with_its_neighbours() {
        let error = check(json!({"current_SALE_lte": 5})).unwrap_err();
        assert_eq!(error.details["nearest"][0], "current_SALES_lte");
        assert_eq!(error.details["field"], "current_SALE_lte");
        assert!(check(json!({"zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz": 1})).is_err());
    }

    #[test]
    fn bounds_are_checked() {
        assert!(check(json!({"perPage": 50, "page": 0, "sort": [["current_SALES", "asc"]], "categories_include": [1]})).is_ok());
        assert!(check(json!({"perPage": 10})).is_err());
        assert!(check(json!({"sort": [[], [], [], []]})).is_err());
    }

    #[test]
    fn a_field_holds_what_it_can() {
        for right in [
            json!({"current_SALES_lte": 5, "isLowest_NEW": true, "title": "tea", "brand": ["a", "b"]}),
            json!({"brand": "a", "rootCategory": [172_282], "unitValue_gte": 0.5, "productType": 0}),
            json!({"categories_include": ["172282", 5], "page": 3}),
            json!({"sort": [["current_SALES", "asc"], ["monthlySold", "desc"]]}),
        ] {
            assert_eq!(check(right.clone()), Ok(()), "{right}");
        }
        for wrong in [
            json!({"current_SALES_lte": "5"}),
            json!({"current_SALES_lte": 0.5}),
            json!({"current_SALES_lte": null}),
            json!({"isLowest_NEW": 1}),
            json!({"hasReviews": "true"}),
            json!({"title": ["tea"]}),
            json!({"brand": [{}]}),
            json!({"categories_include": ["tea"]}),
            json!({"page": -1}),
            json!({"perPage": "50"}),
        ] {
            let error = check(wrong.clone()).expect_err(&wrong.to_string());
            let (name, _) = wrong.as_object().unwrap().iter().next().unwrap();
            assert!(error.message.contains(name.as_str()), "{error}");
        }
    }

    #[test]
    fn an_order_names_fields_and_directions() {
        for wrong in [
            json!({"sort": "current_SALES"}),
            json!({"sort": ["current_SALES", "asc"]}),
            json!({"sort": [["current_SALES"]]}),
            json!({"sort": [["current_SALES", "up"]]}),
            json!({"sort": [["current_SALES", "asc", 1]]}),
            json!({"sort": [[5, "asc"]]}),
        ] {
            assert!(check(wrong.clone()).is_err(), "{wrong}");
        }
        let near = check(json!({"sort": [["current_SALE", "asc"]]})).unwrap_err();
        assert_eq!(near.details["nearest"][0], "current_SALES");
    }

    #[test]
    fn deals_are_checked_too() {
        let check = |selection: Value| check_deals(selection.as_object().unwrap(), true);
        assert!(
            check(json!({"page": 0, "priceTypes": [0], "deltaPercentRange": [20, 80]})).is_ok()
        );
        assert_eq!(
            check(json!({"pages": 0})).unwrap_err().details["nearest"][0],
            "page"
        );
        for wrong in [
            json!({"priceTypes": [0, 1]}),
            json!({"priceTypes": 0}),
            json!({"priceTypes": [4]}),
            json!({"priceTypes": [0], "dateRange": 9}),
            json!({"priceTypes": [0], "includeCategories": vec![1; 501]}),
            json!({"priceTypes": [0], "sortType": 0}),
            json!({"priceTypes": [0], "sortType": -5}),
            json!({"priceTypes": [0], "deltaPercentRange": [5, 80]}),
            json!({"priceTypes": [3], "deltaPercentRange": [20, 100]}),
            json!({"priceTypes": [0], "deltaPercentRange": [20]}),
            json!({"priceTypes": [0], "deltaPercentRangeEnabled": true}),
            json!({"priceTypes": [0], "isLowest": 1}),
            json!({"priceTypes": [0], "domainId": 7}),
            json!({"page": 0}),
        ] {
            assert!(check(wrong.clone()).is_err(), "{wrong}");
        }
        for right in [
            json!({"priceTypes": [3], "deltaPercentRange": [80, 100], "sortType": -4, "domainId": 5}),
            json!({"priceTypes": [33], "brand": ["a"], "salesRankRange": [0, -1]}),
        ] {
            assert_eq!(check(right.clone()), Ok(()), "{right}");
        }
        // A sample answers whatever is asked; only what is sent has to be complete.
        let open = json!({"page": 0});
        assert_eq!(check_deals(open.as_object().unwrap(), false), Ok(()));
    }
}
