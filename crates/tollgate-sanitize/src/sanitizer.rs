//! The front door: rules in, clean text out.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use sha2::{Digest, Sha256};

use crate::detect::{Detector, Found, Hits, Surroundings};
use crate::placeholder::{self, Seals};
use crate::prefilter::Hit;
use crate::rules::{Rules, RulesError, SHIPPED};
use crate::{Cleaned, Findings, JsonError, Kind, Scope, TaintSpan, carry, json, strip, taint, url};

/// Counts up whenever the code finds something else with the same rules, because caches depend on it.
const REVISION: &str = "7";

/// How often a text is looked at again after a replacement; real text is settled after one.
const MOST_ROUNDS: usize = 12;

/// Cleans text, JSON and URLs by rules that are data.
#[derive(Debug)]
pub struct Sanitizer {
    detector: Detector,
    version: String,
}

/// A place `text` would replace, for tests and explanations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighting {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// The rule's id.
    pub rule: Arc<str>,
    /// What sort of thing it is.
    pub kind: Kind,
}

/// One string, cleaned.
pub(crate) struct Passed<'a> {
    pub(crate) text: Cow<'a, str>,
    pub(crate) findings: Findings,
    pub(crate) changed: bool,
    /// The text contains a word that may begin an instruction-like phrase.
    pub(crate) phrases: bool,
}

impl Sanitizer {
    /// The sanitizer with the shipped rules.
    pub fn shipped() -> &'static Sanitizer {
        static SANITIZER: OnceLock<Sanitizer> = OnceLock::new();
        SANITIZER.get_or_init(|| match Sanitizer::build(&[]) {
            Ok(sanitizer) => sanitizer,
            // The shipped rules are compiled in and tested; there is no going on without them.
            #[expect(
                clippy::panic,
                reason = "a program without its shipped rules must not run"
            )]
            Err(error) => panic!("shipped rules: {error}"),
        })
    }

    /// The shipped rules and the given rules files after them.
    pub fn from_rules(toml: &[&str]) -> Result<Self, RulesError> {
        Sanitizer::build(toml)
    }

    fn build(added: &[&str]) -> Result<Self, RulesError> {
        let mut rules = Rules::default();
        let mut hasher = Sha256::new();
        hasher.update(REVISION);
        for (text, check) in SHIPPED
            .iter()
            .map(|text| (text, false))
            .chain(added.iter().map(|text| (text, true)))
        {
            rules.read(text, check)?;
            hasher.update([0]);
            hasher.update(text);
        }
        let version = hasher
            .finalize()
            .iter()
            .take(6)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Ok(Sanitizer {
            detector: Detector::new(rules),
            version,
        })
    }

    /// A short digest of rules and code: results cached under another version may not be clean enough.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The ids of everything that replaces something.
    pub fn rule_ids(&self) -> impl Iterator<Item = &str> {
        self.detector.labels().map(|label| &*label.id)
    }

    /// Cleans plain text.
    pub fn text<'a>(&self, text: &'a str, scope: &Scope<'_>) -> Cleaned<'a> {
        let around = Surroundings {
            seals: scope.seals,
            escapes: scope.escapes,
            ..Surroundings::default()
        };
        let passed = self.pass(Cow::Borrowed(text), None, &around);
        let mut findings = passed.findings;
        if scope.open_world && (passed.phrases || taint::has_wide_letters(&passed.text)) {
            taint::mark(
                &self.detector,
                &passed.text,
                taint::MOST_SPANS,
                &String::new,
                &mut findings.tainted,
            );
        }
        Cleaned {
            text: passed.text,
            findings,
        }
    }

    /// Every place of a clean text that reads like an instruction, where `text` lists the first ones only.
    pub fn instructions(&self, clean: &str) -> Vec<TaintSpan> {
        let mut spans = Vec::new();
        taint::mark(&self.detector, clean, usize::MAX, &String::new, &mut spans);
        spans
    }

    /// Cleans the strings of a JSON text, keys included; every other byte stays as it is.
    pub fn json<'a>(&self, raw: &'a str, scope: &Scope<'_>) -> Result<Cleaned<'a>, JsonError> {
        json::clean(self, raw, scope)
    }

    /// Cleans a URL for a log: user information and secret parameters become `***`.
    pub fn url_for_log<'a>(&self, url: &'a str) -> Cow<'a, str> {
        let parameters = &self.detector.rules.names.url_parameters;
        let mut current = Cow::Borrowed(url);
        // Masking can uncover a parameter and cleaning can form one, so both run until neither finds anything.
        for _ in 0..MOST_ROUNDS {
            let masked = url::mask(&current, parameters);
            let cleaned = self.text(&masked, &Scope::trusted()).text;
            if cleaned == current {
                break;
            }
            current = Cow::Owned(cleaned.into_owned());
        }
        current
    }

    /// Lists what `text` would replace, in the coordinates of a text without invisible characters.
    pub fn sightings(&self, text: &str) -> Vec<Sighting> {
        let mut list = Vec::new();
        self.detector.prefilter.scan(text, &mut list);
        let hits = Hits {
            list: &list,
            offset: 0,
        };
        self.detector
            .find(text, hits, &Surroundings::default())
            .found
            .iter()
            .map(|found| Sighting {
                start: found.start,
                end: found.end,
                rule: Arc::clone(&found.label.id),
                kind: found.label.kind,
            })
            .collect()
    }

    pub(crate) fn detector(&self) -> &Detector {
        &self.detector
    }

    /// Cleans one string until nothing more is found, so that cleaning it again changes nothing.
    ///
    /// `hits` are the prefilter's, if the caller has them already; they hold for the text as given.
    pub(crate) fn pass<'a>(
        &self,
        text: Cow<'a, str>,
        hits: Option<Hits<'_>>,
        around: &Surroundings<'_>,
    ) -> Passed<'a> {
        let mut passed = Passed {
            text,
            findings: Findings::default(),
            changed: false,
            phrases: false,
        };
        let mut given = hits;
        let mut around = *around;
        // What is hidden could break a placeholder up until it is taken out.
        if around.escapes && !around.is_plain && self.strip(&mut passed) {
            given = None;
        }
        if around.escapes
            && let Cow::Owned(escaped) = placeholder::escaped(&passed.text)
        {
            passed.text = Cow::Owned(escaped);
            passed.changed = true;
            given = None;
        }
        let mut carried = None;
        for _ in 0..MOST_ROUNDS {
            if !around.is_plain && self.strip(&mut passed) {
                (given, carried) = (None, None);
            }
            let list;
            let hits = match given.take() {
                Some(hits) => hits,
                None => {
                    list = self.hits(&passed.text, carried.take());
                    Hits {
                        list: &list,
                        offset: 0,
                    }
                }
            };
            let search = self.detector.find(&passed.text, hits, &around);
            passed.phrases |= search.phrases;
            if search.found.is_empty() {
                break;
            }
            for found in &search.found {
                passed.findings.add(&found.label.id, found.label.kind, 1);
            }
            let sealed = around.seals;
            passed.text = match sealed {
                Some(seals) => Cow::Owned(replace_sealed(&passed.text, &search.found, seals)),
                None => {
                    let prefilter = &self.detector.prefilter;
                    carried = carry::carry(prefilter, &passed.text, hits, &search.found);
                    Cow::Owned(replace(&passed.text, &search.found))
                }
            };
            passed.changed = true;
            around.is_plain = false;
        }
        passed
    }

    /// The hits in a text, given those of its literals if they are known.
    fn hits(&self, text: &str, carried: Option<Vec<Hit>>) -> Vec<Hit> {
        let prefilter = &self.detector.prefilter;
        let mut list = carried.unwrap_or_default();
        if list.is_empty() {
            prefilter.scan(text, &mut list);
        } else {
            prefilter.add_marks(text, &mut list);
        }
        list
    }

    fn strip(&self, passed: &mut Passed<'_>) -> bool {
        let (stripped, removed) = match strip::strip(&passed.text) {
            (Cow::Borrowed(_), _) => return false,
            (Cow::Owned(stripped), removed) => (stripped, removed),
        };
        passed.text = Cow::Owned(stripped);
        passed.changed = true;
        let (terminal, invisible) = (&self.detector.terminal, &self.detector.invisible);
        passed
            .findings
            .add(&terminal.id, Kind::Terminal, removed.terminal);
        passed
            .findings
            .add(&invisible.id, Kind::Invisible, removed.invisible);
        true
    }
}

/// The same with what is taken out kept and named.
fn replace_sealed(text: &str, found: &[Found<'_>], seals: &dyn Seals) -> String {
    let mut out = String::with_capacity(text.len() + found.len() * 32);
    let mut copied = 0;
    for found in found {
        out.push_str(&text[copied..found.start]);
        let label = found.label;
        let id = seals.seal(&label.id, text, found.start..found.end);
        out.push_str(&placeholder::named(
            &label.replacement,
            &label.id,
            id.as_deref(),
        ));
        copied = found.end;
    }
    out.push_str(&text[copied..]);
    out
}

pub(crate) fn replace(text: &str, found: &[Found<'_>]) -> String {
    let mut out = String::with_capacity(text.len() + found.len() * 16);
    let mut copied = 0;
    for found in found {
        out.push_str(&text[copied..found.start]);
        out.push_str(&found.label.replacement);
        copied = found.end;
    }
    out.push_str(&text[copied..]);
    out
}
