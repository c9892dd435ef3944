//! From a command and its parameters to a request.

use serde_json::{Map, Value, json};

use super::{Method, Request, graph};
use crate::{
    Domain, Error, Kind,
    chart::MOST_COMPARED,
    command::{Command, local_commands},
    params::Params,
    selection::{check_deals, check_finder},
};

/// What one request may ask for at once.
const MOST_PRODUCTS: usize = 100;
const MOST_PRODUCTS_WITH_OFFERS: usize = 20;
const MOST_CATEGORIES: usize = 10;
const MOST_SELLERS: usize = 100;

/// Options of products that are sent as they are given.
const PRODUCT_OPTIONS: &[&str] = &[
    "stats",
    "update",
    "history",
    "days",
    "offers",
    "code-limit",
    "only-live-offers",
    "videos",
    "aplus",
    "rating",
    "buybox",
    "stock",
    "historical-variations",
    "rental",
];
/// A longer selection is sent as a body: addresses of that length are not taken everywhere.
const LONGEST_IN_ADDRESS: usize = 2000;

/// Builds the request of a command. What stays on this machine has none.
pub fn build(command: Command, params: &Params) -> Result<Request, Error> {
    let request = Request::get(command.endpoint());
    let domain = params.domain()?;
    match command {
        Command::ProductsGet | Command::ProductsCompare => products(request, params, domain),
        Command::RequestGet => plain(params),
        Command::ChartsRender => {
            let asins = joined("asin", &params.asins(), MOST_COMPARED)?;
            let request = request.with("domain", domain.id());
            Ok(request.with("asin", asins).with("history", 1))
        }
        Command::HistoryExport | Command::HistoryTrend => {
            let asin = params.required("asin")?;
            Ok(request
                .with("domain", domain.id())
                .with("asin", asin)
                .with("history", 1))
        }
        Command::ProductsSearch => {
            let request = request.with("domain", domain.id()).with("type", "product");
            let request = request.with("term", params.required("term")?);
            Ok(options(
                request,
                params,
                &["page", "asins-only", "stats", "update", "history", "rating"],
            ))
        }
        Command::CategoriesSearch => {
            let request = request.with("domain", domain.id()).with("type", "category");
            Ok(request.with("term", params.required("term")?))
        }
        Command::CategoriesGet => {
            let ids = several(params, &["category", "categories"], MOST_CATEGORIES)?;
            let request = request.with("domain", domain.id()).with("category", ids);
            Ok(request.with("parents", u8::from(params.is_on("parents"))))
        }
        Command::CategoriesProducts | Command::BestsellersGet => {
            let request = request.with("domain", domain.id());
            let request = request.with("category", params.required("category")?);
            Ok(options(
                request,
                params,
                &["range", "month", "year", "variations", "sublist"],
            ))
        }
        Command::FinderQuery => {
            let selection = selection(command, params)?;
            let request = request.with("domain", domain.id());
            let request = selecting(request, &selection);
            Ok(options(request, params, &["stats"]))
        }
        Command::DealsQuery => {
            let mut selection = selection(command, params)?;
            let given = selection
                .entry("domainId")
                .or_insert_with(|| json!(domain.id()));
            let id = given
                .as_i64()
                .and_then(Domain::from_id)
                .unwrap_or(domain)
                .id();
            Ok(selecting(request.with("domain", id), &selection))
        }
        Command::SellersGet => sellers(request, params, domain),
        Command::TopsellersList => {
            let mut request = request.with("domain", domain.id());
            if domain == Domain::Br {
                return Err(Error::argument("there is no list of top sellers for BR"));
            }
            if params.text(&["category"]).is_some() {
                request
                    .warnings
                    .push("top sellers have no categories; `category` was not sent");
            }
            Ok(request)
        }
        Command::LightningdealsList => Ok(options(
            request.with("domain", domain.id()),
            params,
            &["asin"],
        )),
        Command::GraphsImage => {
            let mut request = request.with("domain", domain.id());
            request.is_binary = true;
            let request = request.with("asin", params.required("asin")?);
            graph::options(request, params)
        }
        Command::TokensStatus | Command::TokensPlan => Ok(request),
        Command::TrackingList => {
            let request = of_list(request, params).with("type", "list");
            let mut request = options(request, params, &["page", "perPage"]);
            if let Some(count) = params.text(&["per_page"]) {
                request = request.with("perPage", count);
            }
            Ok(if params.is_on("asins_only") {
                request.with("asins-only", 1)
            } else {
                request
            })
        }
        Command::TrackingListNames => Ok(request.with("type", "listNames")),
        Command::TrackingGet => by_asin(request, params, "get"),
        Command::TrackingNotifications => notifications(request, params),
        Command::TrackingAdd => add_tracking(writing(request), params),
        Command::TrackingRemove => by_asin(writing(request), params, "remove"),
        Command::TrackingRemoveAll => {
            Ok(of_list(writing(request), params).with("type", "removeAll"))
        }
        Command::TrackingWebhook => {
            let url = params.required("url")?;
            Ok(writing(request).with("type", "webhook").with("url", url))
        }
        local_commands!() => {
            let message = format!("{} sends nothing to Keepa", command.name());
            Err(Error::new(Kind::UnsupportedCommand, message))
        }
    }
}

fn products(mut request: Request, params: &Params, domain: Domain) -> Result<Request, Error> {
    let asins = params.asins();
    let codes = params.list(&["code"]);
    let (name, all) = match (asins.is_empty(), codes.is_empty()) {
        (false, true) => ("asin", asins),
        (true, false) => ("code", codes),
        _ => return Err(Error::argument("give either asin or code")),
    };
    let has_offers = params.number("offers", 0)? > 0;
    let most = if has_offers {
        MOST_PRODUCTS_WITH_OFFERS
    } else {
        MOST_PRODUCTS
    };
    if all.len() > most {
        let message = format!("at most {most} products in one request, not {}", all.len());
        return Err(Error::argument(message));
    }
    request = request
        .with("domain", domain.id())
        .with(name, all.join(","));
    if params.is_on("full") {
        let window = params
            .text(&["stats_window"])
            .unwrap_or_else(|| "0".to_owned());
        request = request.with("history", 1).with("stats", window);
        request = request.with("videos", 1).with("aplus", 1);
    }
    Ok(options(request, params, PRODUCT_OPTIONS))
}

fn sellers(request: Request, params: &Params, domain: Domain) -> Result<Request, Error> {
    let ids = params.list(&["seller"]);
    let is_storefront = params.is_on("storefront");
    if is_storefront && ids.len() > 1 {
        return Err(Error::argument(
            "a storefront can be asked for one seller at a time",
        ));
    }
    let ids = several(params, &["seller"], MOST_SELLERS)?;
    let mut request = request.with("domain", domain.id()).with("seller", ids);
    if is_storefront {
        request = request.with("storefront", 1);
    }
    Ok(options(request, params, &["update"]))
}

/// A path and its parameters as they are given, for what has no command of its own.
fn plain(params: &Params) -> Result<Request, Error> {
    let path = params.required("endpoint")?;
    let path = format!("/{}", path.trim_start_matches('/')).to_ascii_lowercase();
    let is_plain = path[1..].bytes().all(|byte| byte.is_ascii_alphanumeric());
    if path.len() < 2 || !is_plain {
        return Err(Error::argument("endpoint is one word, such as product"));
    }
    let mut request = Request::get(&path);
    let given = params.get(&["query", "params"]).and_then(Value::as_object);
    for (name, value) in given.into_iter().flatten() {
        if name.eq_ignore_ascii_case("key") {
            return Err(Error::argument("the key is configured, never sent along"));
        }
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        request = request.with(name, text);
    }
    only_reading(request)
}

/// Refuses what changes trackings, by the kinds that are known to change nothing: what Keepa adds one day is refused too.
fn only_reading(mut request: Request) -> Result<Request, Error> {
    let kind = request.query.get("type").cloned();
    match (request.endpoint == "/tracking", kind.as_deref()) {
        (true, Some("notification")) => {
            request
                .query
                .retain(|name, _| !name.eq_ignore_ascii_case("readOnly"));
            Ok(request.with("readOnly", 1))
        }
        (true, Some("get" | "list" | "listNames")) => Ok(request),
        (false, kind) if !kind.is_some_and(is_change) => Ok(request),
        (_, _) => Err(Error::argument("a plain request only reads")),
    }
}

fn is_change(kind: &str) -> bool {
    let changes = ["add", "remove", "removeall", "webhook"];
    changes.contains(&kind.to_ascii_lowercase().as_str())
}

fn of_list(request: Request, params: &Params) -> Request {
    options(request, params, &["list"])
}

fn writing(mut request: Request) -> Request {
    request.is_read = false;
    request
}

fn by_asin(request: Request, params: &Params, what: &str) -> Result<Request, Error> {
    let request = of_list(request, params).with("type", what);
    Ok(request.with("asin", params.required("asin")?))
}

/// Without `readOnly` Keepa marks what it sends as read, and reading must not change anything.
fn notifications(request: Request, params: &Params) -> Result<Request, Error> {
    let since = params.number("since", 0)?;
    let revise = u8::from(params.is_on("revise"));
    let request = of_list(request, params).with("type", "notification");
    let request = options(request, params, &["all"]);
    Ok(request
        .with("readOnly", 1)
        .with("since", since)
        .with("revise", revise))
}

fn add_tracking(request: Request, params: &Params) -> Result<Request, Error> {
    let all = params.get(&["trackings", "tracking"]).cloned();
    let all = all.ok_or_else(|| Error::argument("trackings is required"))?;
    let mut request = of_list(request, params).with("type", "add");
    request.method = Method::Post;
    request.body = Some(if all.is_array() {
        all
    } else {
        Value::Array(vec![all])
    });
    Ok(request)
}

/// Adds the options that are given.
fn options(mut request: Request, params: &Params, names: &[&str]) -> Request {
    for name in names {
        if let Some(value) = params.text(&[name.replace('-', "_").as_str()]) {
            request = request.with(name, value);
        }
    }
    request
}

/// The request with its selection, in the address while it is short.
fn selecting(mut request: Request, selection: &Map<String, Value>) -> Request {
    let text = compact(selection);
    if text.len() <= LONGEST_IN_ADDRESS {
        return request.with("selection", text);
    }
    request.method = Method::Post;
    request.body = Some(sorted(&Value::Object(selection.clone())));
    request
}

/// A comma text of at least one and not too many.
fn several(params: &Params, names: &[&str], most: usize) -> Result<String, Error> {
    let name = names.first().copied().unwrap_or_default();
    joined(name, &params.list(names), most)
}

fn joined(name: &str, all: &[String], most: usize) -> Result<String, Error> {
    match all.len() {
        0 => Err(Error::argument(format!("{name} is required"))),
        len if len > most => Err(Error::argument(format!(
            "at most {most} of {name}, not {len}"
        ))),
        _ => Ok(all.join(",")),
    }
}

/// Refuses the selection of a command that has one, if it names a field that does not exist.
pub fn check_selection(command: Command, params: &Params) -> Result<(), Error> {
    if matches!(command, Command::FinderQuery | Command::DealsQuery) {
        if params.get(&["selection"]).is_some() && params.get(&["selection_file"]).is_some() {
            return Err(two_selections());
        }
        selection(command, params)?;
    }
    Ok(())
}

/// Of two selections one would be priced and the other asked for.
pub(crate) fn two_selections() -> Error {
    Error::argument("give either selection or selection_file")
}

/// The selection of a finder or deal query: an object, or the text of one.
fn selection(command: Command, params: &Params) -> Result<Map<String, Value>, Error> {
    let wrong = || Error::argument("selection must be an object, or a text that holds one");
    let selection = match params.get(&["selection"]) {
        Some(Value::Object(map)) => map.clone(),
        Some(Value::String(text)) => serde_json::from_str(text).map_err(|_| wrong())?,
        Some(_) => return Err(wrong()),
        None => return Err(Error::argument("selection is required")),
    };
    if command == Command::DealsQuery {
        // What is answered by a sample need not be complete.
        check_deals(&selection, params.text(&["fixture"]).is_none())?;
    } else {
        check_finder(&selection)?;
    }
    Ok(selection)
}

/// Compact JSON with sorted names, so that equal selections are equal requests.
fn compact(selection: &Map<String, Value>) -> String {
    sorted(&Value::Object(selection.clone())).to_string()
}

/// The value with names in order, at every depth.
pub(super) fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut all: Vec<_> = map.iter().collect();
            all.sort_by(|a, b| a.0.cmp(b.0));
            all.into_iter()
                .map(|(name, value)| (name.clone(), sorted(value)))
                .collect()
        }
        Value::Array(all) => all.iter().map(sorted).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}
