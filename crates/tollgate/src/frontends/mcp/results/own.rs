//! Results of our own tools, and of other servers' where the envelope is wanted.

use std::borrow::Cow;

use serde_json::Value;
use tollgate_core::{
    Block, BudgetLedger, Envelope, Payload, ResultForm, ResultView, Shape, Warning,
    envelope::Nothing,
    print::{self, Item, ObjectText, Print},
};
use tollgate_engine::Outcome;

use super::{
    super::{
        Exchange, Server, call,
        era::SERVER_KEY,
        reply,
        spill::{self, MANIFEST, Spilled},
    },
    error, notice,
};

/// About how long what stands around an answer is in print.
const AROUND: usize = 1536;

/// Prints the result of a call.
pub(super) async fn printed(
    server: &Server,
    exchange: &Exchange,
    tool: &str,
    outcome: Outcome,
) -> String {
    let Outcome {
        envelope,
        blocks,
        traceparent,
        whole,
        shape,
        ..
    } = outcome;
    let mut envelope = envelope.into_inner();
    if envelope.tool.is_empty() {
        envelope.tool = tool.to_owned();
    }
    let view = view(server, exchange, &envelope, shape);
    let is_rehearsed = exchange.said.control.dry_run && view.form == ResultForm::Native;
    let fits = !is_rehearsed || fits_listed(server, exchange, tool, &envelope);
    call::spelled(server, exchange.caller.spelling, &mut envelope);
    let around = said_around(&envelope, view.form);
    let spilled = spill::cut(server, exchange, &mut envelope, whole, around).await;
    // An error made of what was too large names tools to go on with.
    call::spelled(server, exchange.caller.spelling, &mut envelope);
    let blocks = blocks.into_inner();
    let content = content(&envelope, view, &blocks, spilled);
    let size: usize = content.iter().map(Content::size).sum();
    let result = CallResult {
        is_modern: exchange.is_modern(),
        is_error: !envelope.ok || !fits,
        structured: structured(&envelope, view).filter(|_| fits),
        content: &content,
        envelope: &envelope,
        traceparent: &traceparent,
    };
    // The text stands in it with escapes, and once more as structured content.
    print::printed(&result, size * 5 / 2 + AROUND)
}

/// How this client is shown results of the tool that was called.
fn view(server: &Server, exchange: &Exchange, envelope: &Envelope, shape: Shape) -> ResultView {
    let view = exchange.caller.results;
    if shape == Shape::Native {
        // Another server's result is wrapped as a whole, or passed on as a whole.
        return ResultView {
            form: ResultForm::Envelope,
            ..view
        };
    }
    match server.gateway.catalog().find(&envelope.tool) {
        Some(listing) => view.of_tool(&listing.spec),
        None => view.of_result(shape, envelope.command.is_some()),
    }
}

/// Whether a verdict about a call fits what this client was listed that the call returns.
fn fits_listed(server: &Server, exchange: &Exchange, tool: &str, envelope: &Envelope) -> bool {
    let catalog = server.gateway.catalog();
    let Some(listing) = catalog.find(tool) else {
        return true;
    };
    let spec = &listing.spec;
    let fits = |data: &Payload| {
        spec.shape == Shape::Data && server.gateway.fits_output(tool, data.value())
    };
    super::listed_schema(spec, exchange.caller.results).is_none()
        || envelope.data.as_ref().is_some_and(fits)
}

/// How long the text is apart from its data and what a cut adds.
fn said_around(envelope: &Envelope, form: ResultForm) -> usize {
    match form {
        ResultForm::Native => 0,
        ResultForm::Envelope => {
            let compact = Compact::text(envelope, None, None);
            let around = print::printed(&compact, AROUND).len();
            around + r#","data":"#.len() + Warning::TruncatedOutput.as_str().len() + 3
        }
    }
}

fn content<'a>(
    envelope: &Envelope,
    view: ResultView,
    blocks: &'a [Block],
    spilled: Option<Spilled>,
) -> Vec<Content<'a>> {
    let mut content = vec![Content::Text(text(envelope, view, spilled.as_ref()))];
    let blocks = blocks.iter();
    content.extend(blocks.map(|Block(block)| Content::Block(block.raw())));
    let links = spilled.into_iter().flat_map(|it| it.links);
    content.extend(links.map(Content::Link));
    if view.form == ResultForm::Native {
        content.extend(notice::of(envelope).map(Content::Text));
    }
    content
}

/// The same result as text.
fn text(envelope: &Envelope, view: ResultView, spilled: Option<&Spilled>) -> String {
    // The data of a failed call stands in the structured content, where there is some.
    let is_beside = view.form == ResultForm::Envelope && !view.content_only;
    if let Some(failure) = &envelope.error
        && (envelope.data.is_none() || is_beside)
    {
        return error::text(failure);
    }
    let (data, manifest) = match spilled {
        Some(spilled) => (Some(&spilled.data), Some(&spilled.manifest)),
        None => (envelope.data.as_ref(), None),
    };
    match view.form {
        ResultForm::Native => with_manifest(data.map_or("{}", Payload::raw), manifest),
        ResultForm::Envelope => {
            let compact = Compact::text(envelope, data, manifest);
            print::printed(&compact, data.map_or(0, |data| data.raw().len()) + AROUND)
        }
    }
}

/// What is left of an answer, and where the rest of it is.
fn with_manifest(data: &str, manifest: Option<&Value>) -> String {
    let Some(manifest) = manifest else {
        return data.to_owned();
    };
    match data.strip_prefix('{').and_then(|it| it.strip_suffix('}')) {
        Some("") => format!(r#"{{"{MANIFEST}":{manifest}}}"#),
        Some(fields) => format!(r#"{{{fields},"{MANIFEST}":{manifest}}}"#),
        None => format!(r#"{{"data":{data},"{MANIFEST}":{manifest}}}"#),
    }
}

fn structured(envelope: &Envelope, view: ResultView) -> Option<Structured<'_>> {
    match view.form {
        _ if view.content_only => None,
        ResultForm::Envelope => Some(Structured::Envelope(envelope)),
        ResultForm::Native => {
            let data = envelope.data.as_ref().map(Payload::raw);
            // Anything but an object is something that clients of older versions cannot read.
            data.filter(|raw| raw.starts_with('{'))
                .map(Structured::Data)
        }
    }
}

enum Structured<'a> {
    Envelope(&'a Envelope),
    Data(&'a str),
}

struct CallResult<'a> {
    is_modern: bool,
    is_error: bool,
    content: &'a [Content<'a>],
    structured: Option<Structured<'a>>,
    envelope: &'a Envelope,
    traceparent: &'a str,
}

impl Print for CallResult<'_> {
    fn print(&self, object: &mut ObjectText<'_>) {
        if self.is_modern {
            object.text("resultType", "complete");
        }
        object.list("content", self.content);
        match &self.structured {
            Some(Structured::Envelope(envelope)) => object.object("structuredContent", *envelope),
            Some(Structured::Data(data)) => object.json("structuredContent", data),
            None => {}
        }
        object.flag("isError", self.is_error);
        object.object("_meta", &ResultMeta(self));
    }
}

struct ResultMeta<'a>(&'a CallResult<'a>);

impl Print for ResultMeta<'_> {
    fn print(&self, object: &mut ObjectText<'_>) {
        if !matches!(self.0.structured, Some(Structured::Envelope(_))) {
            object.object(super::upstream::REPORT, &Compact::about(self.0.envelope));
        }
        object.text("traceparent", self.0.traceparent);
        if self.0.is_modern {
            object.object(SERVER_KEY, &reply::ServerInfo);
        }
    }
}

enum Content<'a> {
    Text(String),
    Block(&'a str),
    Link(Value),
}

impl Content<'_> {
    /// About how long it is in print.
    fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Block(block) => block.len(),
            Self::Link(_) => 256,
        }
    }
}

impl Item for Content<'_> {
    fn print(&self, text: &mut String) {
        match self {
            Self::Text(said) => ObjectText::write(text, |object| {
                object.text("type", "text");
                object.text("text", said);
            }),
            Self::Block(block) => text.push_str(block),
            Self::Link(link) => text.push_str(&link.to_string()),
        }
    }
}

/// An envelope as text: compact, without `null` at the top.
pub(super) struct Compact<'a> {
    envelope: &'a Envelope,
    ledger: Cow<'a, BudgetLedger>,
    data: Option<&'a Payload>,
    manifest: Option<&'a Value>,
}

impl<'a> Compact<'a> {
    /// What a model reads: of the ledger's blocked actions only those of this call.
    fn text(
        envelope: &'a Envelope,
        data: Option<&'a Payload>,
        manifest: Option<&'a Value>,
    ) -> Self {
        let ledger = envelope
            .budget_ledger
            .of_call(envelope.cache_key.as_deref());
        Self {
            envelope,
            ledger: Cow::Owned(ledger),
            data,
            manifest,
        }
    }

    /// All of an envelope but its data.
    pub(super) fn about(envelope: &'a Envelope) -> Self {
        Self {
            envelope,
            ledger: Cow::Borrowed(&envelope.budget_ledger),
            data: None,
            manifest: None,
        }
    }
}

impl Print for Compact<'_> {
    fn print(&self, object: &mut ObjectText<'_>) {
        self.envelope
            .print_around(self.data, &self.ledger, Nothing::LeftOut, object);
        if let Some(manifest) = self.manifest {
            object.value(MANIFEST, manifest);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_manifest_stands_within_the_object_that_was_cut() {
        let manifest = json!({"total_bytes": 9});
        for (data, text) in [
            (
                r#"{"a":1}"#,
                r#"{"a":1,"mcp_resource_manifest":{"total_bytes":9}}"#,
            ),
            ("{}", r#"{"mcp_resource_manifest":{"total_bytes":9}}"#),
            (
                "[1]",
                r#"{"data":[1],"mcp_resource_manifest":{"total_bytes":9}}"#,
            ),
        ] {
            assert_eq!(with_manifest(data, Some(&manifest)), text);
            assert_eq!(with_manifest(data, None), data);
        }
    }
}
