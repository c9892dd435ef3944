//! `web.report`: a report from texts that were read before.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tollgate_core::{
    CallContext, ProviderError, Status, Warning,
    toolset::{Output, bounds},
};
use tollgate_sanitize::{Sanitizer, Scope};
use tollgate_web::{Gap, MAX_EVIDENCE, Report, Request, Source, report as write};

use super::tools::{Reader, shaped};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReportArgs {
    /// What the report is to answer.
    #[schemars(length(min = 1, max = 400))]
    question: String,
    /// The sources, best first; those that could not be read are listed with the reason.
    #[schemars(length(max = 50))]
    sources: Vec<SourceArgs>,
    /// How many passages are quoted at most.
    #[serde(default = "twelve")]
    #[schemars(range(min = 1, max = MAX_EVIDENCE))]
    max_evidence: usize,
}

fn twelve() -> usize {
    12
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SourceArgs {
    /// Its address.
    #[schemars(length(min = 1, max = 8192))]
    url: String,
    /// The number it is cited by; its place in the list, if it has none.
    #[serde(default)]
    #[schemars(range(min = 1, max = 10_000))]
    number: Option<usize>,
    /// Its title.
    #[serde(default)]
    #[schemars(length(max = bounds::TITLE))]
    title: Option<String>,
    /// Its text.
    #[serde(default)]
    #[schemars(length(max = bounds::TEXT))]
    text: String,
    /// When it was read.
    #[serde(default)]
    #[schemars(length(max = bounds::NAME))]
    fetched_at: Option<String>,
    /// How the server answered.
    #[serde(default)]
    status_code: Option<u16>,
    /// Whether it was longer than was read.
    #[serde(default)]
    truncated: bool,
    /// Whether it was read.
    #[serde(default)]
    success: Option<bool>,
    /// Why it was not.
    #[serde(default)]
    error: Option<Why>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Why {
    /// The code.
    #[serde(default)]
    #[schemars(length(max = bounds::NAME))]
    error_code: Option<String>,
    /// One sentence.
    #[schemars(length(max = bounds::WORDS))]
    message: String,
    /// What else is known of it.
    #[serde(default)]
    details: Details,
}

/// What a step of a run tells of its failure beside the code.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Details {
    /// The gateway's own code.
    #[serde(rename = "code")]
    #[schemars(length(max = bounds::NAME))]
    _code: Option<String>,
    /// The code of the tool that was called.
    #[schemars(length(max = bounds::NAME))]
    tool_error_code: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct ReportAnswer {
    /// The report for programs and people.
    markdown: String,
    /// The same as one page with all it needs.
    html: String,
    /// The passages, best first.
    evidence: Vec<EvidenceItem>,
    /// What became of each source.
    sources: Vec<SourceItem>,
    /// Where sources seem to differ.
    differences: Vec<DifferenceItem>,
    /// What is missing or rests on little, in sentences.
    cautions: Vec<String>,
    /// The same by name: `no_evidence`, `one_site`, `unanswered`, `said_once`, `not_read`, `silent`, `cut`, `suspect`, `sample`.
    gaps: Vec<String>,
    /// Whether it rests on too little to be relied on.
    is_thin: bool,
    /// Always true: what the sources say was not checked.
    is_unverified: bool,
}

#[derive(Serialize, JsonSchema)]
struct EvidenceItem {
    /// The number it is referred to by.
    number: usize,
    /// The number of its source.
    source_index: usize,
    /// The address of its source.
    url: String,
    /// Its words, exactly.
    quote: String,
    /// Where it begins in the source's text, in characters.
    start: usize,
    /// Where it ends.
    end: usize,
    /// How well it answers the question; the best is 1.
    score: f64,
    /// Other sources that say much the same.
    also: Vec<usize>,
    /// When the source was read.
    #[schemars(extend("x-volatile" = true))]
    fetched_at: Option<String>,
    /// The SHA-256 of the source's text.
    #[schemars(extend("x-identifier" = true))]
    digest: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct SourceItem {
    /// The number it is cited by.
    index: usize,
    /// Its address.
    url: String,
    /// Its title.
    title: Option<String>,
    /// When it was read.
    #[schemars(extend("x-volatile" = true))]
    fetched_at: Option<String>,
    /// The SHA-256 of its text.
    #[schemars(extend("x-identifier" = true))]
    digest: Option<String>,
    /// How many characters its text has.
    characters: usize,
    /// How many of its passages are quoted.
    quoted: usize,
    /// Why it could not be read.
    failure: Option<String>,
    /// Whether it was longer than was read.
    truncated: bool,
    /// Whether it holds text that reads like instructions.
    is_suspect: bool,
}

#[derive(Serialize, JsonSchema)]
struct DifferenceItem {
    /// The values that cannot both be meant; absent if one source says no.
    values: Option<[String; 2]>,
    /// The sources.
    sources: [usize; 2],
    /// Their words.
    quotes: [String; 2],
    /// Where they are, in characters.
    places: [(usize, usize); 2],
}

pub(super) async fn run(
    reader: Arc<Reader>,
    args: ReportArgs,
    _: CallContext,
) -> Result<Output<ReportAnswer>, ProviderError> {
    let compose = move || {
        let sources = args.sources.into_iter().enumerate();
        let sources: Vec<Source> = sources.map(|(place, one)| source(place, one)).collect();
        write(Request {
            question: &args.question,
            sources: &sources,
            most: args.max_evidence,
        })
    };
    let report = reader.places.work(compose).await?;
    let (status, warnings) = judged(&report);
    shaped(&answer(report), status, warnings)
}

fn source(place: usize, given: SourceArgs) -> Source {
    let told = given
        .error
        .map(|why| match why.details.tool_error_code.or(why.error_code) {
            Some(code) => format!("{code}: {}", why.message),
            None => why.message,
        });
    let refused = given.status_code.filter(|code| *code >= 400);
    let refused = refused.map(|code| format!("the server answered {code}"));
    let unsaid = (given.success == Some(false)).then(|| "it could not be read".to_owned());
    // What came through the gate is clean already, and stays as it is.
    let sanitizer = Sanitizer::shipped();
    let cleaned = sanitizer.text(&given.text, &Scope::open_world());
    // The findings list the first places only; none of them may be quoted.
    let suspect = match cleaned.findings.is_tainted() {
        true => sanitizer.instructions(&cleaned.text),
        false => Vec::new(),
    };
    Source {
        number: given.number.unwrap_or(place + 1),
        url: given.url,
        // A title that reads like instructions is none; the address names the source.
        title: given.title.and_then(|title| {
            let title = sanitizer.text(&title, &Scope::open_world());
            let is_plain = !title.findings.is_tainted();
            is_plain.then(|| title.text.into_owned())
        }),
        suspect: suspect.iter().map(|span| span.start..span.end).collect(),
        text: cleaned.text.into_owned(),
        fetched_at: given.fetched_at,
        truncated: given.truncated,
        failure: refused.or(told).or(unsaid),
    }
}

fn judged(report: &Report) -> (Status, Vec<Warning>) {
    let has = |is: fn(&Gap) -> bool| report.gaps.iter().any(is);
    let failed = has(|gap| matches!(gap, Gap::NotRead(_)));
    let suspect = has(|gap| matches!(gap, Gap::Suspect(_)));
    let mut warnings = Vec::new();
    if failed {
        warnings.push(Warning::SourcesFailed);
    }
    if report.is_thin {
        warnings.push(Warning::ThinEvidence);
    }
    if suspect {
        warnings.push(Warning::TaintedContent);
    }
    if has(|gap| matches!(gap, Gap::Sample(_))) {
        warnings.push(Warning::Fixture);
    }
    let status = match (
        report.evidence.is_empty(),
        failed || suspect || report.is_thin,
    ) {
        (true, _) => Status::Empty,
        (false, true) => Status::Degraded,
        (false, false) => Status::Ok,
    };
    (status, warnings)
}

fn answer(report: Report) -> ReportAnswer {
    let note = |number: usize| report.sources.iter().find(|one| one.number == number);
    let evidence = report.evidence.iter().map(|one| EvidenceItem {
        number: one.number,
        source_index: one.source,
        url: note(one.source).map_or_else(String::new, |source| source.url.clone()),
        quote: one.quote.clone(),
        start: one.start,
        end: one.end,
        score: one.score,
        also: one.also.clone(),
        fetched_at: note(one.source).and_then(|source| source.fetched_at.clone()),
        digest: note(one.source).and_then(|source| source.digest.clone()),
    });
    let sources = report.sources.iter().map(|one| SourceItem {
        index: one.number,
        url: one.url.clone(),
        title: one.title.clone(),
        fetched_at: one.fetched_at.clone(),
        digest: one.digest.clone(),
        characters: one.characters,
        quoted: one.quoted,
        failure: one.failure.clone(),
        truncated: one.truncated,
        is_suspect: one.is_suspect,
    });
    let differences = report.differences.iter().map(|one| DifferenceItem {
        values: one.values.clone(),
        sources: one.sources,
        quotes: one.quotes.clone(),
        places: one.places,
    });
    let (evidence, sources) = (evidence.collect(), sources.collect());
    ReportAnswer {
        evidence,
        sources,
        differences: differences.collect(),
        gaps: report
            .gaps
            .iter()
            .map(|gap| gap.name().to_owned())
            .collect(),
        markdown: report.markdown,
        html: report.html,
        cautions: report.cautions,
        is_thin: report.is_thin,
        is_unverified: true,
    }
}
