//! Gets the answer a command works on: from nowhere, from a sample, or from Keepa.

use serde_json::{Map, Value, json};

use super::{Failure, Outcome, Place, Reuse, World, bucket_json, save};
use crate::{
    Command, Error, KeepaMinute, Kind, Params, Product,
    client::{Body, Bucket, Envelope, Source, asked, mismatch, stands_in},
    cost::estimate,
    request::{Request, build},
};

/// An answer on its way to a view.
pub(super) struct Fetched {
    pub(super) request: Value,
    pub(super) token_bucket: Value,
    pub(super) consumed: Option<u64>,
    pub(super) provenance: Value,
    pub(super) fixture: Option<String>,
    /// The body as it came; nothing in a dry run.
    pub(super) text: Option<String>,
    /// A picture, where one was asked for.
    pub(super) picture: Option<(Vec<u8>, String)>,
    pub(super) warnings: Vec<&'static str>,
    /// The products asked for by ASIN.
    asked: Vec<String>,
}

impl Fetched {
    pub(super) fn is_dry_run(&self) -> bool {
        self.text.is_none() && self.picture.is_none()
    }

    /// What every view of an answer begins with.
    pub(super) fn base(&self) -> Map<String, Value> {
        let mut base = Map::new();
        if self.is_dry_run() {
            base.insert("dry_run".to_owned(), Value::Bool(true));
        } else {
            let is_offline = self.fixture.is_some();
            base.insert("offline".to_owned(), Value::Bool(is_offline));
            if let Some(fixture) = &self.fixture {
                base.insert("fixture".to_owned(), Value::from(fixture.as_str()));
            }
        }
        if !self.warnings.is_empty() {
            base.insert("warnings".to_owned(), json!(self.warnings));
        }
        base.insert("cache_provenance".to_owned(), self.provenance.clone());
        base
    }

    /// The body as a tree; nothing in a dry run.
    pub(super) fn body(&self) -> Result<Value, Error> {
        match &self.text {
            None => Ok(Value::Null),
            Some(text) => serde_json::from_str(text).map_err(|error| {
                let message = format!("the answer cannot be read: {error}");
                Error::new(Kind::NetworkOrParseError, message)
            }),
        }
    }

    /// The products of the answer that were asked for: a sample may hold more.
    pub(super) fn products(&self) -> Result<Vec<Product>, Failure> {
        let text = self.text.as_deref().unwrap_or("{}");
        let mut products = Product::read_all(text).map_err(|error| self.failed(error))?;
        if !self.asked.is_empty() {
            products.retain(|product| self.asked.iter().any(|asin| asin == product.asin()));
        }
        Ok(products)
    }

    pub(super) fn outcome(self, data: Value) -> Outcome {
        Outcome {
            request: self.request,
            token_bucket: self.token_bucket,
            data,
            consumed: self.consumed,
            is_fixture: self.fixture.is_some(),
        }
    }

    /// The same, failed after the answer came.
    pub(super) fn failed(&self, error: Error) -> Failure {
        Failure {
            error,
            token_bucket: self.token_bucket.clone(),
            consumed: self.consumed,
        }
    }
}

/// Gets it.
pub(super) async fn fetch<W: World>(
    world: &W,
    command: Command,
    params: &Params,
) -> Result<Fetched, Failure> {
    // The price depends on the selection, so it is read first.
    let params = &with_selection_file(world, params)?;
    let budget = estimate(command, params)?;
    let request = build(command, params)?;
    let is_dry_run = params.is_on("dry_run");
    let mut fetched = Fetched {
        request: shown(&request, is_dry_run),
        token_bucket: bucket_json(&budget, None),
        consumed: None,
        provenance: provenance("dry-run", &request),
        fixture: None,
        text: None,
        picture: None,
        warnings: request.warnings.clone(),
        asked: asked(&request),
    };
    if is_dry_run {
        return Ok(fetched);
    }
    if let Some(name) = params.text(&["fixture"]).filter(|name| !name.is_empty()) {
        if request.is_binary {
            let message = "a picture has no fixture";
            return Err(Error::new(Kind::FixtureUnavailable, message).into());
        }
        let text = world.load(Place::Fixture(&name))?;
        // A sample of an error is an error.
        let envelope = Envelope::read(text.as_bytes()).unwrap_or_default();
        let bucket = envelope.bucket();
        fetched.consumed = consumed(bucket.as_ref());
        world.spent(fetched.consumed);
        fetched.token_bucket = bucket_json(&budget, bucket.as_ref());
        fetched.provenance = provenance("fixture", &request);
        fetched.provenance["fixture"] = Value::from(name.as_str());
        fetched.fixture = Some(name);
        let error = envelope.error(200, envelope.refill());
        if let Some(error) = error.or_else(|| mismatch(&request, &text, Source::Sample)) {
            return Err(fetched.failed(error));
        }
        if stands_in(&request, &text) {
            // It rehearses the call with other products, and says so.
            fetched.provenance["stands_for"] = json!(std::mem::take(&mut fetched.asked));
        }
        fetched.text = Some(text);
        return Ok(fetched);
    }
    let reuse = Reuse {
        ttl_seconds: params.cache_ttl()?,
        is_off: params.is_on("no_cache") || !request.may_be_kept(),
    };
    let told = world.ask(&request, reuse).await.map_err(|failed| {
        let consumed = match failed.error.kind.is_after_asking() {
            true => consumed(failed.bucket.as_ref()),
            false => Some(0),
        };
        world.spent(consumed);
        Failure {
            consumed,
            token_bucket: bucket_json(&budget, failed.bucket.as_ref()),
            error: failed.error,
        }
    })?;
    fetched.token_bucket = bucket_json(&budget, told.answer.bucket.as_ref());
    fetched.consumed = consumed(told.answer.bucket.as_ref());
    if let Some(waited) = told.answer.waited {
        let ms = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
        fetched.token_bucket["waited_for_refill_ms"] = Value::from(ms);
    }
    fetched.provenance = provenance("live", &request);
    if let Some(key) = told.kept_as {
        fetched.provenance["cache_key"] = Value::from(key);
    }
    if let Some((at, until)) = told.kept {
        // What was kept costs nothing again.
        fetched.provenance["source"] = Value::from("store");
        fetched.provenance["cache_hit"] = Value::Bool(true);
        for (name, ms) in [("created_at", at), ("expires_at", until)] {
            fetched.provenance[name] = Value::from(KeepaMinute::from_unix_ms(ms).to_string());
        }
        let before = fetched.consumed.replace(0);
        fetched.token_bucket =
            json!({"estimated": budget, "cache_hit": true, "tokens_consumed": 0});
        if let Some(before) = before {
            fetched.token_bucket["cached_tokens_consumed"] = Value::from(before);
        }
    }
    world.spent(fetched.consumed);
    match told.answer.body {
        Body::Json(text) => fetched.text = Some(text),
        Body::Picture {
            bytes,
            content_type,
        } => fetched.picture = Some((bytes, content_type)),
    }
    Ok(fetched)
}

/// A command whose answer is shown as it comes.
pub(super) async fn plain<W: World>(
    world: &W,
    command: Command,
    params: &Params,
) -> Result<Outcome, Failure> {
    let fetched = fetch(world, command, params).await?;
    let mut data = fetched.base();
    put_body(world, command, params, &fetched, &mut data)?;
    Ok(fetched.outcome(Value::Object(data)))
}

/// Shows the body, or writes it where the caller wants it.
pub(super) fn put_body<W: World>(
    world: &W,
    command: Command,
    params: &Params,
    fetched: &Fetched,
    data: &mut Map<String, Value>,
) -> Result<(), Error> {
    let Some(text) = &fetched.text else {
        return Ok(());
    };
    match params.text(&["out"]) {
        Some(path) => {
            let name = format!("{}.json", command.name());
            let saved = save(world, Some(&path), &name, text.as_bytes())?;
            data.insert("body_omitted".to_owned(), Value::Bool(true));
            data.insert("output".to_owned(), saved);
        }
        None => {
            data.insert("body".to_owned(), fetched.body()?);
        }
    }
    Ok(())
}

/// The request as it is shown: without the key, which it does not hold, and without secrets in addresses.
fn shown(request: &Request, is_dry_run: bool) -> Value {
    let mut query = request.query.clone();
    if let Some(url) = query.get_mut("url") {
        *url = crate::secrets::address(url);
    }
    let mut shown = json!({
        "method": request.method,
        "endpoint": request.endpoint,
        "params_redacted": query,
        "dry_run": is_dry_run,
    });
    if let Some(body) = &request.body {
        shown["json_body_redacted"] = crate::secrets::redacted(body);
    }
    shown
}

fn provenance(source: &str, request: &Request) -> Value {
    json!({
        "source": source,
        "endpoint": request.endpoint,
        "params_hash": request.params_hash(),
        "cache_hit": false,
    })
}

fn consumed(bucket: Option<&Bucket>) -> Option<u64> {
    u64::try_from(bucket?.tokens_consumed?).ok()
}

/// Refuses a selection with fields that do not exist, also one in a file, before anyone is asked to pay for it.
pub fn check_selection<W: World>(
    world: &W,
    command: Command,
    params: &Params,
) -> Result<(), Error> {
    crate::request::check_selection(command, &with_selection_file(world, params)?)
}

/// A selection may be in a file.
fn with_selection_file<W: World>(world: &W, params: &Params) -> Result<Params, Error> {
    let Some(path) = params.text(&["selection_file"]) else {
        return Ok(params.clone());
    };
    if params.get(&["selection"]).is_some() {
        return Err(crate::request::two_selections());
    }
    let text = world.load(Place::Input(&path))?;
    let mut all = params.canonical().clone();
    all.shift_remove("selection_file");
    all.insert("selection".to_owned(), Value::from(text));
    Ok(all.into())
}
