//! What a call costs in Keepa's tokens before it is made, by the prices Keepa publishes.
//!
//! Invariants: the worst case is never below the estimate, more of anything never costs less, and what stays on this
//! machine is free. Whether a call asks for consent depends on the command and its arguments, never on the balance.

mod products;

use serde::Serialize;

use crate::{
    Error,
    command::{Command, Effect, local_commands},
    params::Params,
};

/// The largest page of the finder.
const MOST_FOUND: u64 = 10_000;

/// The dearest list that has a published price.
const DEAREST_LIST: u64 = 500;

/// One part of an estimate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Component {
    /// What is paid for.
    pub name: &'static str,
    /// What it will probably cost.
    pub estimated_tokens: u64,
    /// What it could cost.
    pub worst_case_tokens: u64,
    /// Why.
    pub reason: &'static str,
}

/// What a call costs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Budget {
    /// What it will probably cost.
    pub estimated_tokens: u64,
    /// What it could cost.
    pub worst_case_tokens: u64,
    /// Whether the caller has to say yes first.
    pub requires_confirmation: bool,
    /// What adds up to it.
    pub components: Vec<Component>,
    /// What an estimate cannot show.
    pub notes: Vec<&'static str>,
}

impl Budget {
    fn add(&mut self, name: &'static str, estimated: u64, worst: u64, reason: &'static str) {
        let worst = worst.max(estimated);
        self.estimated_tokens = self.estimated_tokens.saturating_add(estimated);
        self.worst_case_tokens = self.worst_case_tokens.saturating_add(worst);
        self.components.push(Component {
            name,
            estimated_tokens: estimated,
            worst_case_tokens: worst,
            reason,
        });
    }

    fn of(name: &'static str, tokens: u64, reason: &'static str) -> Self {
        let mut budget = Self::default();
        budget.add(name, tokens, tokens, reason);
        budget
    }

    fn confirmed(mut self) -> Self {
        self.requires_confirmation = true;
        self
    }
}

/// Estimates a call. Fails only where an argument that decides the price cannot be read.
pub fn estimate(command: Command, params: &Params) -> Result<Budget, Error> {
    let budget = match command {
        Command::ProductsGet | Command::ProductsCompare => products::products(params)?,
        // What an earlier answer holds is drawn for nothing.
        Command::ChartsRender if !params.list(&["input"]).is_empty() => Budget::default(),
        Command::HistoryExport | Command::HistoryTrend | Command::ChartsRender => {
            let asins = count(params, &["asin"]);
            Budget::of("base_product", asins, "A product costs one token.")
        }
        Command::ProductsSearch => search(params),
        Command::CategoriesGet => categories(params),
        Command::CategoriesSearch => Budget::of(
            "category_search",
            1,
            "A search for categories costs one token.",
        ),
        Command::CategoriesProducts => category_products(params)?,
        Command::BestsellersGet => {
            Budget::of("bestsellers", 50, "A list of best sellers costs 50 tokens.").confirmed()
        }
        Command::TopsellersList => {
            Budget::of("topsellers", 50, "A list of top sellers costs 50 tokens.").confirmed()
        }
        Command::FinderQuery => finder(params)?.confirmed(),
        Command::DealsQuery => Budget::of("deals", 5, "A page of up to 150 deals costs 5 tokens."),
        Command::SellersGet => sellers(params),
        Command::LightningdealsList => lightning(params),
        Command::GraphsImage => Budget::of("graph", 1, "A graph costs one token."),
        Command::RequestGet => requested(params)?.confirmed(),
        Command::TrackingAdd => tracking(params).confirmed(),
        Command::TrackingRemove | Command::TrackingRemoveAll | Command::TrackingWebhook => {
            Budget::default().confirmed()
        }
        Command::TokensStatus
        | Command::TokensPlan
        | Command::TrackingList
        | Command::TrackingListNames
        | Command::TrackingGet
        | Command::TrackingNotifications
        | local_commands!() => Budget::default(),
    };
    Ok(budget)
}

/// What was agreed to before a command runs. It is a type and no argument, so that no caller can write it into a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// Only what the arguments say: a yes there accepts a price, never a change.
    AsSaid,
    /// A gate let the call through, so whoever has to agree has agreed.
    Given,
}

/// Whether a call has to be confirmed and is not: a yes, a dry run and a fixture each lift it.
///
/// What changes something at Keepa is never lifted by a yes; that is for a gate to ask.
pub fn needs_confirmation(
    command: Command,
    budget: &Budget,
    params: &Params,
    consent: Consent,
) -> bool {
    let accepts = params.is_on("yes") && command.effect() != Effect::Write;
    let is_lifted = params.is_free() || accepts || consent == Consent::Given;
    budget.requires_confirmation && !is_lifted
}

/// How many are asked for, at least one.
fn count(params: &Params, names: &[&str]) -> u64 {
    (params.list(names).len() as u64).max(1)
}

fn search(params: &Params) -> Budget {
    match params.text(&["page"]) {
        Some(_) => Budget::of("search_page", 10, "A page of ten results costs 10 tokens."),
        None => Budget::of(
            "search_pages",
            40,
            "Without a page number the first four pages of results are sent, at 10 tokens each.",
        ),
    }
}

fn categories(params: &Params) -> Budget {
    let mut budget = Budget::of("category", 1, "Looking categories up costs one token.");
    if params.is_on("parents") {
        budget.add("parents", 0, 1, "Parents may cost one more token.");
        budget.requires_confirmation = true;
    }
    budget
}

fn category_products(params: &Params) -> Result<Budget, Error> {
    let hydrate = u64::try_from(params.number("hydrate_top", 0)?).unwrap_or(0);
    let mut budget = Budget::of("bestsellers", 50, "A list of best sellers costs 50 tokens.");
    if hydrate > 0 {
        budget.add(
            "hydrate_top",
            hydrate,
            hydrate,
            "Each product read afterwards costs one token.",
        );
    }
    Ok(budget.confirmed())
}

fn finder(params: &Params) -> Result<Budget, Error> {
    let selection = params.get(&["selection"]);
    let parsed = selection
        .and_then(|value| value.as_str())
        .map(serde_json::from_str);
    let parsed: Option<serde_json::Value> = parsed.and_then(Result::ok);
    let selection = parsed.as_ref().or(selection);
    let per_page = selection
        .and_then(|one| one["perPage"].as_u64())
        .unwrap_or(50);
    let mut budget = Budget::of("finder", 10, "A finder query costs 10 tokens.");
    let found = per_page.div_ceil(100);
    // What is still in a file may ask for the largest page there is.
    let is_unread = selection.is_none() && params.text(&["selection_file"]).is_some();
    let most = if is_unread {
        MOST_FOUND.div_ceil(100)
    } else {
        found
    };
    budget.add(
        "results",
        found,
        most,
        "Every 100 products found cost one more token.",
    );
    if params.is_on("stats") {
        budget.add("insights", 30, 30, "Search insights cost 30 tokens.");
    }
    let limit = u64::try_from(params.number("max_tokens", 0)?).unwrap_or(0);
    budget.worst_case_tokens = budget.worst_case_tokens.max(limit);
    Ok(budget)
}

fn sellers(params: &Params) -> Budget {
    let sellers = count(params, &["seller"]);
    let mut budget = Budget::of("seller", sellers, "A seller costs one token.");
    if params.is_on("storefront") {
        let reason = "A storefront costs 9 tokens more, and up to 49 when it is refreshed.";
        let each = if params.text(&["update"]).is_some() {
            49
        } else {
            9
        };
        let (usual, most) = (sellers.saturating_mul(9), sellers.saturating_mul(each));
        budget.add("storefront", usual, most, reason);
    }
    budget
}

fn lightning(params: &Params) -> Budget {
    if params.list(&["asin"]).is_empty() {
        Budget::of("lightning_deals", 500, "The whole list costs 500 tokens.").confirmed()
    } else {
        Budget::of(
            "lightning_deal",
            1,
            "One product's lightning deal costs one token.",
        )
    }
}

/// A plain request costs what the command for its path would; what nobody has a price for may be as dear as anything.
fn requested(params: &Params) -> Result<Budget, Error> {
    let path = params.text(&["endpoint"]).unwrap_or_default();
    let path = path.trim_start_matches('/').to_ascii_lowercase();
    let inner = params.get(&["query", "params"]).cloned();
    let inner = Params::of(&inner.unwrap_or_default());
    let is_category = inner.text(&["type"]).as_deref() == Some("category");
    let command = match path.as_str() {
        "product" => Command::ProductsGet,
        "search" if is_category => Command::CategoriesSearch,
        "search" => Command::ProductsSearch,
        "category" => Command::CategoriesGet,
        "bestsellers" => Command::BestsellersGet,
        "topseller" => Command::TopsellersList,
        "query" => Command::FinderQuery,
        "deal" => Command::DealsQuery,
        "seller" => Command::SellersGet,
        "lightningdeal" => Command::LightningdealsList,
        "graphimage" => Command::GraphsImage,
        "token" => Command::TokensStatus,
        "tracking" => Command::TrackingList,
        _ => {
            let mut budget = Budget::default();
            let reason = "Nobody has published what this path costs; the dearest list is assumed.";
            budget.add("request", 1, DEAREST_LIST, reason);
            return Ok(budget);
        }
    };
    estimate(command, &inner)
}

fn tracking(params: &Params) -> Budget {
    let added = params.get(&["trackings", "tracking"]);
    let added = added.and_then(|value| value.as_array()).map_or(1, Vec::len) as u64;
    let mut budget = Budget::of("tracking", added.max(1), "A tracking costs one token.");
    budget
        .notes
        .push("Every tracking also slows the refill down for as long as it lives.");
    budget
}

#[cfg(test)]
mod tests;
