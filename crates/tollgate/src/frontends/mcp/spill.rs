//! What happens to results that are too large.
//!
//! The text is shortened first; structured content stays whole up to its own limit, and
//! then holds a part that still fits what the tool promises, or the answer is an error that
//! says where it is. The whole of it is kept and can be read on.

mod digest;
mod manifest;
mod texts;
pub(super) mod upstream;

use serde_json::Value;
use tollgate_core::{Condensed, Envelope, Payload, Shape, ToolSpec, Warning};
use tollgate_engine::{TextLimits, elided};

pub(super) use self::manifest::MANIFEST;
use self::manifest::Whole;
use super::{Exchange, Server};

/// Tools that read by the piece already.
const EXEMPT: [&str; 2] = ["result.slice", "get_artifact"];
/// The part of a text that says where the rest of it is.
const MANIFEST_PART: usize = 2;

/// What stands in the place of a result that is too large.
pub(super) struct Spilled {
    /// What the text shows of it.
    pub(super) data: Payload,
    /// Where the rest is.
    pub(super) manifest: Value,
    /// The same as links.
    pub(super) links: Vec<Value>,
}

/// Cuts the text of a result, and its structured content, to what fits; `whole` is how large all
/// of it is, if the data is only a part and all of it is kept already. `around` is how long what
/// the text says beside the data is.
pub(super) async fn cut(
    server: &Server,
    exchange: &Exchange,
    envelope: &mut Envelope,
    whole: Option<usize>,
    around: usize,
) -> Option<Spilled> {
    match whole {
        Some(size) => Some(part_of_whole(server, exchange, envelope, size, around)),
        None => spill(server, exchange, envelope, around).await,
    }
}

/// How long the text of a result may be.
fn limits(
    server: &Server,
    exchange: &Exchange,
    spec: Option<&ToolSpec>,
    around: usize,
) -> TextLimits {
    let is_upstream = spec.is_some_and(|spec| spec.shape != Shape::Data);
    if is_upstream && exchange.said.control.full_text {
        return TextLimits {
            bytes: usize::MAX,
            string_bytes: usize::MAX,
        };
    }
    let open_world = spec.is_some_and(|spec| spec.annotations.open_world);
    TextLimits {
        bytes: server.results.text_bytes.saturating_sub(around),
        string_bytes: if open_world {
            server.open_world_text
        } else {
            usize::MAX
        },
    }
}

async fn spill(
    server: &Server,
    exchange: &Exchange,
    envelope: &mut Envelope,
    around: usize,
) -> Option<Spilled> {
    let data = envelope.data.clone()?;
    let catalog = server.gateway.catalog();
    let listing = catalog.find(&envelope.tool);
    let spec = listing.map(|listing| &*listing.spec);
    let name = spec.map_or("", |spec| spec.name.as_str());
    if EXEMPT.contains(&name) {
        return None;
    }
    let limits = limits(server, exchange, spec, around);
    let telling = spec.map(|spec| &spec.telling);
    let condensed = || telling.and_then(|telling| telling.condensed(data.value()));
    let is_too_large = data.raw().len() > server.results.structured_bytes;
    if !is_too_large && elided(data.raw(), limits).is_none() {
        return condensed().map(|it| referring(it, limits));
    }
    let digested = telling.and_then(|telling| telling.digested(data.value()));
    let condensed = digested.or_else(condensed);
    warn(envelope);
    let id = envelope.meta.call_id.clone();
    let kept = server
        .gateway
        .keep_result(&exchange.caller, &id, &data)
        .await;
    let whole = Whole {
        id: &id,
        bytes: data.raw().len(),
        piece: server.results.chunk_bytes,
    };
    if is_too_large {
        let fits = |part: &Value| server.gateway.fits_output(name, part);
        match digest::of(data.value(), server.results.structured_bytes, fits) {
            Some(part) => envelope.data = Some(Payload::from(part)),
            None => digest::refuse(server, envelope, &whole, kept.is_ok()),
        }
    }
    let pieces = kept.map_or_else(|_| Vec::new(), |()| whole.links());
    let readers = readers(server, exchange);
    Some(shortened(&data, condensed, &whole, pieces, readers, limits))
}

/// What is shown of an answer that was cut, and all links to the rest of it.
fn shortened(
    data: &Payload,
    condensed: Option<Condensed>,
    whole: &Whole<'_>,
    pieces: Vec<Value>,
    readers: [String; 2],
    limits: TextLimits,
) -> Spilled {
    let (short, files) = condensed.map_or((None, Vec::new()), |it| (Some(it.data), it.resources));
    // One that only names its files is as long as before.
    let short = short.filter(|short| short != data.value());
    let resources: Vec<Value> = files
        .iter()
        .cloned()
        .chain(manifest::entries(&pieces))
        .collect();
    let manifest = manifest::manifest(Some(whole), Some(readers), &resources, room(limits));
    let limits = beside(limits, &manifest);
    let shown = match short {
        Some(short) => fitting(&short.to_string(), limits),
        None => fitting(data.raw(), limits),
    };
    Spilled {
        data: Payload::parse(shown).unwrap_or_else(|_| data.clone()),
        manifest,
        links: files
            .iter()
            .map(manifest::file_link)
            .chain(pieces)
            .collect(),
    }
}

/// Says that a text was cut.
fn warn(envelope: &mut Envelope) {
    if !envelope.warnings.contains(&Warning::TruncatedOutput) {
        envelope.warnings.push(Warning::TruncatedOutput);
    }
}

/// How long the manifest of a text may be.
const fn room(limits: TextLimits) -> usize {
    limits.bytes / MANIFEST_PART
}

/// What is left for the data beside its manifest.
fn beside(limits: TextLimits, manifest: &Value) -> TextLimits {
    let bytes = limits.bytes.saturating_sub(manifest::size(manifest));
    TextLimits { bytes, ..limits }
}

/// A JSON text within its limits.
fn fitting(json: &str, limits: TextLimits) -> String {
    elided(json, limits).map_or_else(|| json.to_owned(), |cut| cut.text)
}

/// The tools that read on, as this client calls them.
fn readers(server: &Server, exchange: &Exchange) -> [String; 2] {
    let catalog = server.gateway.catalog();
    ["result.slice", "result.search"].map(|name| {
        let found = catalog.find(name);
        found.map_or_else(
            || name.to_owned(),
            |listing| catalog.name_of(&listing.spec.name, exchange.caller.spelling),
        )
    })
}

/// An answer that its tool has cut to what fits: it is shown as it is as long as there is room,
/// and says where the whole is.
fn part_of_whole(
    server: &Server,
    exchange: &Exchange,
    envelope: &mut Envelope,
    size: usize,
    around: usize,
) -> Spilled {
    warn(envelope);
    let limits = limits(server, exchange, None, around);
    let whole = Whole {
        id: &envelope.meta.call_id,
        bytes: size,
        piece: server.results.chunk_bytes,
    };
    let links = whole.links();
    let resources = manifest::entries(&links);
    let readers = readers(server, exchange);
    let manifest = manifest::manifest(Some(&whole), Some(readers), &resources, room(limits));
    let data = envelope.data.clone();
    let data = data.unwrap_or_else(|| Payload::from(Value::Null));
    let shown = fitting(data.raw(), beside(limits, &manifest));
    Spilled {
        data: Payload::parse(shown).unwrap_or(data),
        manifest,
        links,
    }
}

/// The text of a result that is short enough but refers to files: what to read first, and their addresses.
fn referring(condensed: Condensed, limits: TextLimits) -> Spilled {
    let Condensed { data, resources } = condensed;
    let links = resources.iter().map(manifest::file_link).collect();
    let manifest = manifest::manifest(None, None, &resources, room(limits));
    let shown = fitting(&data.to_string(), beside(limits, &manifest));
    Spilled {
        data: Payload::parse(shown).unwrap_or_else(|_| Payload::from(data)),
        manifest,
        links,
    }
}
