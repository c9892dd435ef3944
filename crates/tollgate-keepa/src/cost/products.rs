//! The price of products, which depends on what is asked about them.

use super::Budget;
use crate::{Error, params::Params};

/// Estimates a request for products.
pub(super) fn products(params: &Params) -> Result<Budget, Error> {
    let by_code = params.list(&["code"]).len() as u64;
    let products = (params.asins().len() as u64).max(by_code).max(1);
    let mut budget = Budget::default();
    let matches = u64::try_from(params.number("code_limit", 1)?)
        .unwrap_or(1)
        .max(1);
    let most = if by_code > 0 {
        products.saturating_mul(matches)
    } else {
        products
    };
    budget.add("base_product", products, most, "A product costs one token.");

    let offers = params.number("offers", 0)?;
    if offers > 0 {
        let pages = u64::try_from(offers.clamp(20, 100))
            .unwrap_or(100)
            .div_ceil(10);
        let tokens = most.saturating_mul(pages).saturating_mul(6);
        budget.add(
            "offers",
            tokens,
            tokens,
            "Every page of ten offers costs 6 tokens.",
        );
        budget.requires_confirmation = true;
    }
    if params.is_on("buybox") {
        let reason = "The buy box costs two tokens a product.";
        budget.add("buybox", 2 * products, most.saturating_mul(2), reason);
    }
    if params.is_on("rating") {
        let reason = "Ratings cost one token a product while they are fresh.";
        budget.add("rating", products, most, reason);
    }
    if params.is_on("stock") {
        let reason = "Stock costs two tokens a product.";
        budget.add("stock", 2 * products, most.saturating_mul(2), reason);
    }
    if params.is_on("historical_variations") {
        let reason = "Past variations cost one token a product.";
        budget.add("historical_variations", products, most, reason);
    }
    if params.text(&["update"]).as_deref() == Some("0") {
        let reason = "A live refresh can cost one more token a product.";
        budget.add("update_refresh", 0, most, reason);
        budget.requires_confirmation = true;
    }
    budget
        .notes
        .push("Statistics, history, days, videos and A+ content are free.");
    Ok(budget)
}
