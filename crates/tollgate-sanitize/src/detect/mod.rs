//! Confirms candidates: from the hits of the prefilter, and from digits and `@`, to the spans to be replaced.
//!
//! Nothing here changes text. Spans come back ordered and without overlap.

mod checks;
mod context;
mod cookies;
mod email;
mod identity;
mod links;
mod numbers;
mod shape;
mod telling;
mod value;
mod viewed;

use std::collections::HashSet;
use std::hash::BuildHasherDefault;
use std::sync::{Arc, OnceLock};

use regex_automata::{Anchored, Input, Span};

use crate::Kind;
use crate::placeholder::{self, Seals};
use crate::prefilter::{Hit, PLACEHOLDER, Prefilter, Target};
use crate::rules::{Check, Fnv, Rule, Rules};
pub(crate) use telling::Telling;

/// A place to be replaced.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found<'r> {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) label: &'r Label,
}

/// What a replacement is called and what it is replaced with.
#[derive(Debug)]
pub(crate) struct Label {
    pub(crate) id: Arc<str>,
    pub(crate) kind: Kind,
    pub(crate) replacement: Box<str>,
    enabled: bool,
    /// The prefilter's hits in the replacement, once somebody asked.
    hits: OnceLock<Option<Vec<Hit>>>,
}

impl Label {
    /// The prefilter's hits in the replacement; none if they depend on what stands around it.
    pub(crate) fn hits(&self, prefilter: &Prefilter) -> Option<&[Hit]> {
        self.hits
            .get_or_init(|| prefilter.own_hits(&self.replacement))
            .as_deref()
    }
}

/// What is known about a string from the JSON around it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Surroundings<'a> {
    /// The field name the string is the value of.
    pub(crate) field: Option<&'a str>,
    /// What the field's name tells about its value.
    pub(crate) telling: Option<Telling>,
    /// The field holds an identifier: no phone, card or entropy rule applies.
    pub(crate) identifier: bool,
    /// The string is itself a field name.
    pub(crate) is_name: bool,
    /// The string is known to hold no `@` and nothing that would be stripped.
    pub(crate) is_plain: bool,
    /// The text is what another one reads as.
    pub(crate) is_view: bool,
    /// Who keeps what is taken out.
    pub(crate) seals: Option<&'a dyn Seals>,
    /// What looks like a placeholder is none.
    pub(crate) escapes: bool,
}

/// The detectors that are code, by the ids their replacements carry.
const BUILT_IN: &[&str] = &[
    "named-secret",
    "discord-token",
    "email",
    "phone",
    "payment-card",
    "ssn",
    "iban",
    "cn-id-card",
    "passport",
    "my-number",
];

/// Detectors whose replacements carry an id only where they are kept.
const SEALED_ONLY: &[&str] = &["url-parameter", "url-password"];

/// Everything needed to find what must not be seen.
#[derive(Debug)]
pub(crate) struct Detector {
    pub(crate) rules: Rules,
    pub(crate) prefilter: Prefilter,
    labels: Vec<Label>,
    /// Every id a replacement can carry.
    ids: HashSet<Arc<str>, BuildHasherDefault<Fnv>>,
    named: Label,
    dotted: Label,
    key_line: Label,
    parameter: Label,
    link_password: Label,
    pub(crate) terminal: Label,
    pub(crate) invisible: Label,
    personal: Personal,
}

#[derive(Debug)]
struct Personal {
    email: Label,
    phone: Label,
    card: Label,
    ssn: Label,
    iban: Label,
    id_card: Label,
    passport: Label,
    my_number: Label,
}

impl Detector {
    pub(crate) fn new(rules: Rules) -> Self {
        let prefilter = Prefilter::new(&rules);
        let label = |id: &str, kind: Kind, replacement: Option<&str>| Label {
            id: Arc::from(id),
            kind,
            replacement: replacement
                .map_or_else(|| format!("[REDACTED:{id}]"), str::to_owned)
                .into(),
            enabled: rules.enabled(id),
            hits: OnceLock::new(),
        };
        let labels = rules
            .rules
            .iter()
            .map(|rule| label(&rule.id, rule.kind, Some(&rule.replacement)))
            .collect();
        let ids = BUILT_IN
            .iter()
            .map(|id| Arc::from(*id))
            .chain(SEALED_ONLY.iter().map(|id| Arc::from(*id)))
            .chain(rules.rules.iter().map(|rule| Arc::clone(&rule.id)))
            .collect();
        Detector {
            named: label("named-secret", Kind::Secret, None),
            key_line: label("private-key", Kind::Secret, None),
            dotted: label("discord-token", Kind::Secret, None),
            parameter: label("url-parameter", Kind::Secret, Some("***")),
            link_password: label("url-password", Kind::Secret, Some("***")),
            terminal: label("terminal-escape", Kind::Terminal, Some("")),
            invisible: label("invisible-character", Kind::Invisible, Some("")),
            personal: Personal {
                email: label("email", Kind::Pii, None),
                phone: label("phone", Kind::Pii, None),
                card: label("payment-card", Kind::Pii, None),
                ssn: label("ssn", Kind::Pii, None),
                iban: label("iban", Kind::Pii, None),
                id_card: label("cn-id-card", Kind::Pii, None),
                passport: label("passport", Kind::Pii, None),
                my_number: label("my-number", Kind::Pii, None),
            },
            labels,
            ids,
            prefilter,
            rules,
        }
    }

    /// The labels of everything that replaces something.
    pub(crate) fn labels(&self) -> impl Iterator<Item = &Label> {
        let personal = &self.personal;
        let built_in = [
            &self.named,
            &self.dotted,
            &self.parameter,
            &self.link_password,
            &personal.email,
            &personal.phone,
            &personal.card,
            &personal.ssn,
            &personal.iban,
            &personal.id_card,
            &personal.passport,
            &personal.my_number,
        ];
        self.labels.iter().chain(built_in)
    }

    /// The label of a line of a private key.
    pub(crate) fn private_key(&self) -> &Label {
        &self.key_line
    }

    /// Finds everything to be replaced in `text`, given the prefilter's hits in it.
    pub(crate) fn find<'r>(
        &'r self,
        text: &str,
        hits: Hits<'_>,
        around: &Surroundings<'_>,
    ) -> Search<'r> {
        let mut finder = Finder::new(self, text, around);
        for hit in hits.list {
            let hit = hit.shifted(hits.offset);
            if hit.end <= text.len() {
                finder.hit(hit);
            }
        }
        finder.whole_value();
        if !around.is_plain {
            finder.emails();
        }
        finder.numbers();
        finder.views();
        Search {
            phrases: finder.phrases,
            found: finder.finish(),
        }
    }

    /// Whether a text has numbers to be replaced; of a plain text without hits beside no telling name, nothing else is.
    pub(crate) fn has_numbers(&self, text: &str, around: &Surroundings<'_>) -> bool {
        let mut finder = Finder::new(self, text, around);
        finder.numbers();
        !finder.found.is_empty()
    }
}

/// The prefilter's hits in a text that begins at `offset` of what was scanned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hits<'h> {
    pub(crate) list: &'h [Hit],
    pub(crate) offset: usize,
}

/// What one search found.
pub(crate) struct Search<'r> {
    pub(crate) found: Vec<Found<'r>>,
    /// The text contains a word that may begin an instruction-like phrase.
    pub(crate) phrases: bool,
}

/// Where a rule's last match ended, so that a flood of its literals costs no more than the text is long.
#[derive(Debug)]
struct Tried {
    rule: usize,
    until: usize,
    /// How many matches that began before that did not pass the rule's check; as many as there may be if one passed.
    failures: usize,
}

/// How often matches within the first one are looked at.
const MOST_FAILURES: usize = 4;

/// One search in one text.
struct Finder<'r, 't> {
    detector: &'r Detector,
    text: &'t str,
    around: &'t Surroundings<'t>,
    found: Vec<Found<'r>>,
    masked: Vec<(usize, usize)>,
    /// Where the last value beside a telling name ended, so that a second name for it is not followed again.
    named_until: usize,
    /// Where the last cookie ended that was read.
    cookies_until: usize,
    /// Per rule, the last match that was followed beyond the rule's reach, so that none is followed twice.
    followed: Vec<(usize, usize, usize)>,
    tried: Vec<Tried>,
    judged: telling::Judged,
    /// The host parts of links that carry user information, in which an `@` is no e-mail address.
    authorities: Vec<(usize, usize)>,
    phrases: bool,
    /// Something in the text may read differently when it is decoded.
    is_coded: bool,
}

impl<'r, 't> Finder<'r, 't> {
    fn new(detector: &'r Detector, text: &'t str, around: &'t Surroundings<'t>) -> Self {
        Finder {
            detector,
            text,
            around,
            found: Vec::new(),
            masked: Vec::new(),
            named_until: 0,
            cookies_until: 0,
            followed: Vec::new(),
            tried: Vec::new(),
            judged: telling::Judged::default(),
            authorities: Vec::new(),
            phrases: false,
            is_coded: false,
        }
    }
}

impl<'r> Finder<'r, '_> {
    fn hit(&mut self, hit: Hit) {
        for target in self.detector.prefilter.targets(hit) {
            match *target {
                Target::Rule(index) => self.rule(index, hit),
                Target::Word(word) => self.word(word, hit),
                Target::Parameter => self.parameter(hit),
                Target::Cookie => self.cookies(hit),
                Target::Link => self.link(hit),
                Target::Placeholder => self.mask(hit),
                Target::Phrase(_) => self.phrases = true,
                Target::Coded => self.coded(hit),
            }
        }
    }

    fn add(&mut self, start: usize, end: usize, label: &'r Label) {
        if label.enabled && start < end {
            self.found.push(Found { start, end, label });
        }
    }

    /// Remembers a replacement made earlier; only ids of ours count, so that nothing can hide in brackets.
    fn mask(&mut self, hit: Hit) {
        // The prefilter knows no case and takes the colon as well.
        let colon = hit.end - 1;
        if let Some((found, length)) = placeholder::read(&self.text[colon..])
            && self.detector.knows(found.rule)
        {
            self.masked.push((hit.start, colon + length));
        }
    }

    fn rule(&mut self, index: usize, hit: Hit) {
        let detector = self.detector;
        let (Some(rule), Some(label)) =
            (detector.rules.rules.get(index), detector.labels.get(index))
        else {
            return;
        };
        if rule.before == 0 && starts_inside_word(self.text, hit.start) {
            return;
        }
        if self.is_tried(index, hit) {
            return;
        }
        let reach = self
            .text
            .floor_char_boundary((hit.end + rule.after).min(self.text.len()));
        let Some((start, end)) = self.confirm(rule, hit, reach) else {
            return;
        };
        let value = &self.text[start..end];
        let passes = match rule.check {
            Check::None => true,
            Check::Random => shape::Shape::of(value).is_random(16),
            Check::Token => shape::Shape::of(value).is_token(),
            Check::Digit => value.bytes().any(|byte| byte.is_ascii_digit()),
            Check::BasicAuth => checks::is_basic_auth(value),
        };
        let passes = passes && *value != *rule.replacement && !is_example(rule.kind, value);
        let cut = end == reach && reach < self.text.len();
        let end = if passes && cut {
            self.follow(index, rule, hit, (start, end))
        } else {
            end
        };
        if passes {
            self.add(start, end, label);
        }
        self.note_tried(index, (start, end), passes);
    }

    /// Whether a hit lies in what the rule has matched already, or has failed on often enough.
    fn is_tried(&self, rule: usize, hit: Hit) -> bool {
        let tried = self.tried.iter().find(|tried| tried.rule == rule);
        tried.is_some_and(|tried| hit.start < tried.until && tried.failures >= MOST_FAILURES)
    }

    fn note_tried(&mut self, rule: usize, (start, until): (usize, usize), passes: bool) {
        let failures = if passes { MOST_FAILURES } else { 1 };
        match self.tried.iter_mut().find(|tried| tried.rule == rule) {
            Some(tried) if !passes && start < tried.until => tried.failures += 1,
            Some(tried) => (tried.until, tried.failures) = (until, failures),
            None => self.tried.push(Tried {
                rule,
                until,
                failures,
            }),
        }
    }

    /// Where a match that reached the end of what was searched really ends.
    fn follow(&mut self, index: usize, rule: &Rule, hit: Hit, cut: (usize, usize)) -> usize {
        let last = self.followed.iter().position(|&(rule, ..)| rule == index);
        if let Some(&(_, start, end)) = last.and_then(|last| self.followed.get(last))
            && start <= cut.0
            && cut.1 <= end
        {
            return end;
        }
        let end = self
            .confirm(rule, hit, self.text.len())
            .filter(|whole| whole.0 <= cut.0)
            .map_or(cut.1, |whole| whole.1.max(cut.1));
        let entry = (index, cut.0, end);
        match last.and_then(|last| self.followed.get_mut(last)) {
            Some(last) => *last = entry,
            None => self.followed.push(entry),
        }
        end
    }

    /// The span the rule's pattern matches around the hit and before `to`: its first group, or all of it.
    fn confirm(&self, rule: &Rule, hit: Hit, to: usize) -> Option<(usize, usize)> {
        let regex = rule.regex()?;
        let from = self
            .text
            .ceil_char_boundary(hit.start.saturating_sub(rule.before));
        let anchored = if rule.before == 0 {
            Anchored::Yes
        } else {
            Anchored::No
        };
        // Looking around the range keeps word boundaries honest at its edges.
        let input = Input::new(self.text).range(from..to).anchored(anchored);
        let span = if regex.captures_len() > 1 {
            // The bounds of every group, the whole match first.
            let mut slots = vec![None; regex.captures_len() * 2];
            regex.search_slots(&input, &mut slots)?;
            let mut groups = slots.chunks_exact(2).filter_map(|group| match group {
                [Some(start), Some(end)] => Some(Span::from(start.get()..end.get())),
                _ => None,
            });
            let whole = groups.next()?;
            groups.next().unwrap_or(whole)
        } else {
            regex.search(&input)?.span()
        };
        let touches = span.start <= hit.end.max(from) || rule.before == 0;
        let whole = self.text.is_char_boundary(span.start) && self.text.is_char_boundary(span.end);
        (touches && whole && !span.is_empty()).then_some((span.start, span.end))
    }

    /// Whether a hit lies in a replacement made earlier; hits come in order, so only the last can hold it.
    fn is_masked(&self, at: usize) -> bool {
        self.masked
            .last()
            .is_some_and(|&(start, end)| start <= at && at < end)
    }

    /// Orders the spans, joins those that overlap, and leaves earlier replacements alone.
    fn finish(mut self) -> Vec<Found<'r>> {
        if self.found.is_empty() {
            return self.found;
        }
        let masked = std::mem::take(&mut self.masked);
        self.found
            .retain(|found| !overlaps(&masked, found.start, found.end));
        // Of spans that begin together, the one from a rule of its own names it; a named secret is the last resort.
        self.found.sort_by_key(|found| {
            let generic = std::ptr::eq(found.label, &raw const self.detector.named);
            (
                found.start,
                found.label.kind,
                generic,
                usize::MAX - found.end,
            )
        });
        let mut joined: Vec<Found<'r>> = Vec::with_capacity(self.found.len());
        for found in self.found {
            match joined.last_mut() {
                Some(last) if found.start < last.end => {
                    last.end = last.end.max(found.end);
                    if found.label.kind < last.label.kind {
                        last.label = found.label;
                    }
                }
                _ => joined.push(found),
            }
        }
        joined
    }
}

impl Detector {
    fn knows(&self, id: &str) -> bool {
        self.ids.contains(id)
    }
}

/// Whether a span touches one of the ordered spans.
fn overlaps(ordered: &[(usize, usize)], start: usize, end: usize) -> bool {
    let next = ordered.partition_point(|span| span.1 <= start);
    ordered.get(next).is_some_and(|span| span.0 < end)
}

/// Whether the text continues a word to the left of `at`.
fn starts_inside_word(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    match (
        at.checked_sub(1).and_then(|before| bytes.get(before)),
        bytes.get(at),
    ) {
        (Some(before), Some(first)) => {
            before.is_ascii_alphanumeric() && first.is_ascii_alphanumeric()
        }
        _ => false,
    }
}

/// Whether a token is the one that documentation shows in place of a secret.
fn is_example(kind: Kind, value: &str) -> bool {
    kind == Kind::Secret && value::is_example(value)
}

/// Whether a value is a replacement made earlier.
fn is_placeholder(value: &str) -> bool {
    let start = value.as_bytes().get(..PLACEHOLDER.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(PLACEHOLDER.as_bytes()))
}
