//! Results of other MCP servers, passed on as they are.
//!
//! Unknown fields and content types stay, in their order and spelling; what the gate has to
//! say about the call stands in `_meta["tollgate/result"]`, and in a last text block where a
//! model has to know it. Texts that are too long together are cut, see [`spill::upstream`].

use std::borrow::Cow;

use serde_json::value::RawValue;
use tollgate_core::{
    Failure, Fields, Payload,
    print::{self, ObjectText, Print},
};
use tollgate_engine::Outcome;

use super::{
    super::{
        Exchange, Server, call,
        era::SERVER_KEY,
        reply,
        spill::upstream::{self, CutResult},
    },
    error, notice,
    own::Compact,
};

const CONTENT: &str = "content";
const STRUCTURED: &str = "structuredContent";
const IS_ERROR: &str = "isError";
const META: &str = "_meta";
pub(super) const REPORT: &str = "tollgate/result";
const TRACE: &str = "traceparent";
const RESULT_TYPE: &str = "resultType";
/// About how long our part of the result is in print.
const OUR_PART: usize = 1536;

/// The upstream's own result with our `_meta`.
pub(super) async fn printed(server: &Server, exchange: &Exchange, outcome: &Outcome) -> String {
    let envelope = outcome.envelope.get();
    let raw = envelope.data.as_ref().map_or("{}", Payload::raw);
    let fields: Fields<'_> = serde_json::from_str(raw).unwrap_or_default();
    let cut = if upstream::may_be_too_large(server, raw) {
        // Boxed to keep the usual future small.
        Box::pin(upstream::cut(server, exchange, outcome, &fields)).await
    } else {
        None
    };
    let mut said = cut.as_ref().map(|cut| cut.envelope.clone());
    if let (Some(said), true) = (&mut said, cut.as_ref().is_some_and(|cut| cut.is_refused)) {
        call::spelled(server, exchange.caller.spelling, said);
    }
    let envelope = said.as_ref().unwrap_or(envelope);
    let theirs = fields.get(META).map(RawValue::get);
    let meta = Meta {
        theirs: theirs.and_then(|meta| serde_json::from_str(meta).ok()),
        report: Compact::about(envelope),
        traceparent: &outcome.traceparent,
        modern: exchange.is_modern(),
    };
    // Its schema promises nothing about failures, and some clients validate them all the same.
    let is_misfit = |data: &Payload| {
        let gateway = &server.gateway;
        !envelope.ok && !gateway.fits_output(&envelope.tool, data.value())
    };
    let native = Native {
        fields: &fields,
        meta,
        notice: notice::of(envelope),
        structured: match &cut {
            Some(cut) if cut.is_refused => Structured::LeftOut,
            Some(CutResult {
                digest: Some(digest),
                ..
            }) => Structured::Digest(digest.raw()),
            _ if envelope.data.as_ref().is_some_and(is_misfit) => Structured::LeftOut,
            _ => Structured::Theirs,
        },
        refusal: cut
            .as_ref()
            .filter(|cut| cut.is_refused)
            .and(envelope.error.as_ref()),
        blocks: cut.as_ref().map(|cut| cut.blocks.as_slice()),
    };
    print::printed(&native, raw.len() + OUR_PART)
}

struct Native<'a> {
    fields: &'a Fields<'a>,
    meta: Meta<'a>,
    notice: Option<String>,
    structured: Structured<'a>,
    /// Why nothing of it is sent.
    refusal: Option<&'a Failure>,
    /// The blocks that stand in the place of theirs.
    blocks: Option<&'a [String]>,
}

/// What programs are sent.
enum Structured<'a> {
    Theirs,
    Digest(&'a str),
    LeftOut,
}

struct Meta<'a> {
    theirs: Option<Fields<'a>>,
    report: Compact<'a>,
    traceparent: &'a str,
    modern: bool,
}

impl Native<'_> {
    /// Their blocks, and what we have to say behind them.
    fn content<'v>(&self, theirs: Option<&'v str>) -> Option<Cow<'v, str>> {
        if let Some(blocks) = self.blocks {
            let error = self.refusal.map(error::text);
            let ours = self.notice.iter();
            let said = |text: &String| print::printed(&Text(text), text.len() + 64);
            let all: Vec<Cow<'_, str>> = error
                .iter()
                .map(|text| Cow::Owned(said(text)))
                .chain(blocks.iter().map(|it| Cow::Borrowed(it.as_str())))
                .chain(ours.map(|text| Cow::Owned(said(text))))
                .collect();
            return Some(Cow::Owned(format!("[{}]", all.join(","))));
        }
        let Some(notice) = &self.notice else {
            return theirs.map(Cow::Borrowed);
        };
        let ours = print::printed(&Text(notice), notice.len() + 64);
        let theirs = theirs.and_then(|it| it.trim_end().strip_suffix(']'));
        let begun = theirs.map_or("[", str::trim_end);
        let comma = if begun.ends_with('[') { "" } else { "," };
        Some(Cow::Owned(format!("{begun}{comma}{ours}]")))
    }
}

impl Print for Native<'_> {
    fn print(&self, object: &mut ObjectText<'_>) {
        for (name, value) in self.fields.iter() {
            match name {
                META => object.object(META, &self.meta),
                CONTENT => {
                    if let Some(content) = self.content(Some(value.get())) {
                        object.foreign(CONTENT, &content);
                    }
                }
                STRUCTURED => match self.structured {
                    Structured::Theirs => object.foreign(STRUCTURED, value.get()),
                    Structured::Digest(digest) => object.foreign(STRUCTURED, digest),
                    Structured::LeftOut => {}
                },
                IS_ERROR if self.refusal.is_some() => {}
                _ => object.foreign(name, value.get()),
            }
        }
        if self.fields.get(CONTENT).is_none()
            && let Some(content) = self.content(None)
        {
            object.json(CONTENT, &content);
        }
        if self.refusal.is_some() {
            object.flag(IS_ERROR, true);
        }
        if self.meta.modern && self.fields.get(RESULT_TYPE).is_none() {
            object.text(RESULT_TYPE, "complete");
        }
        if self.fields.get(META).is_none() {
            object.object(META, &self.meta);
        }
    }
}

struct Text<'a>(&'a str);

impl Print for Text<'_> {
    fn print(&self, object: &mut ObjectText<'_>) {
        object.text("type", "text");
        object.text("text", self.0);
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
