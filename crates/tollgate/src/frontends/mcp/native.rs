//! Results of other MCP servers, passed on as they are.
//!
//! Unknown fields and content types stay, in their order and spelling; what the gate has to
//! say about the call stands in `_meta["tollgate/result"]`.

use serde_json::value::RawValue;
use tollgate_core::{
    Fields, Shape,
    print::{self, ObjectText, Print},
};
use tollgate_engine::Outcome;

use super::{Exchange, era::SERVER_KEY, reply, spill::Compact};

const META: &str = "_meta";
const REPORT: &str = "tollgate/result";
const TRACE: &str = "traceparent";
const RESULT_TYPE: &str = "resultType";
/// About how long our part of the result is in print.
const OUR_PART: usize = 1536;

pub(super) fn is_native(outcome: &Outcome) -> bool {
    outcome.shape == Shape::Native && outcome.envelope.get().data.is_some()
}

/// The upstream's own result with our `_meta`.
pub(super) fn result(exchange: &Exchange, outcome: &Outcome) -> String {
    let envelope = outcome.envelope.get();
    let raw = envelope.data.as_ref().map_or("{}", |data| data.raw());
    let fields: Fields<'_> = serde_json::from_str(raw).unwrap_or_default();
    let theirs = fields.get(META).map(RawValue::get);
    let meta = Meta {
        theirs: theirs.and_then(|meta| serde_json::from_str(meta).ok()),
        report: Compact::about(envelope),
        traceparent: &outcome.traceparent,
        modern: exchange.is_modern(),
    };
    let native = Native {
        fields: &fields,
        meta,
    };
    print::printed(&native, raw.len() + OUR_PART)
}

struct Native<'a> {
    fields: &'a Fields<'a>,
    meta: Meta<'a>,
}

struct Meta<'a> {
    theirs: Option<Fields<'a>>,
    report: Compact<'a>,
    traceparent: &'a str,
    modern: bool,
}

impl Print for Native<'_> {
    fn print(&self, object: &mut ObjectText<'_>) {
        for (name, value) in self.fields.iter() {
            if name == META {
                object.object(META, &self.meta);
            } else {
                object.foreign(name, value.get());
            }
        }
        if self.meta.modern && self.fields.get(RESULT_TYPE).is_none() {
            object.text(RESULT_TYPE, "complete");
        }
        if self.fields.get(META).is_none() {
            object.object(META, &self.meta);
        }
    }
}

impl Print for Meta<'_> {
    fn print(&self, object: &mut ObjectText<'_>) {
        let ours = |name: &str| match name {
            REPORT | TRACE => true,
            SERVER_KEY => self.modern,
            _ => false,
        };
        for (name, value) in self.theirs.iter().flat_map(Fields::iter) {
            if !ours(name) {
                object.foreign(name, value.get());
            }
        }
        object.object(REPORT, &self.report);
        object.text(TRACE, self.traceparent);
        if self.modern {
            object.object(SERVER_KEY, &reply::ServerInfo);
        }
    }
}
