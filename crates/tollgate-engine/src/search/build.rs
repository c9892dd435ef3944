//! Turns documents into postings. Providers are read once each, not once per tool, so that a large provider neither
//! slows the build nor makes its own vocabulary look common.

use super::action::Action;
use super::english;
use super::lexicon::Lexicon;
use super::postings::{Found, Postings};
use super::spelling::Spelling;
use super::text::{self, Piece, Style};
use super::vocabulary::Vocabulary;
use super::weights::Weights;
use super::{Document, Index};
use std::collections::HashMap;

/// The parts of a document that weigh differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Field {
    Name,
    Group,
    Description,
    Parameter,
    ParameterDescription,
}

const FIELDS: usize = 5;

impl Field {
    fn weight(self, weights: &Weights) -> f32 {
        match self {
            Self::Name => weights.name,
            Self::Group => weights.group,
            Self::Description => weights.description,
            Self::Parameter => weights.parameter,
            Self::ParameterDescription => weights.parameter_description,
        }
    }
}

/// One text with its terms, in the order they were met.
#[derive(Default)]
struct Read {
    terms: Vec<Met>,
    lengths: [f32; FIELDS],
}

/// A term met in a field, packed so that sorting brings the same terms together, fields in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Met(u32);

impl Met {
    const FIELD_BITS: u32 = 3;

    fn new(term: u32, field: Field) -> Self {
        Self(term << Self::FIELD_BITS | field as u32)
    }

    fn term(self) -> usize {
        (self.0 >> Self::FIELD_BITS) as usize
    }

    fn field(self) -> usize {
        (self.0 & ((1 << Self::FIELD_BITS) - 1)) as usize
    }
}

/// Gives terms numbers while documents are read; words seen before are not stemmed again.
#[derive(Default)]
struct Reader {
    /// `None` for stop words.
    words: HashMap<Box<str>, Option<u32>>,
    terms: HashMap<Box<str>, u32>,
}

impl Index {
    /// Reads a catalogue with other weights than the measured ones, to measure them.
    pub fn build_with(documents: &[Document], weights: Weights) -> Self {
        // Read here, so that the first search is as fast as the next.
        Lexicon::get();
        let mut reader = Reader::default();
        let tools: Vec<Read> = documents
            .iter()
            .map(|document| reader.tool(document))
            .collect();
        let mut known: HashMap<(&str, &str), u32> = HashMap::new();
        let mut providers = Vec::new();
        let mut provider_of = Vec::with_capacity(documents.len());
        for document in documents {
            let next = providers.len() as u32;
            let key = (
                document.provider.as_str(),
                document.provider_description.as_str(),
            );
            let provider = *known.entry(key).or_insert(next);
            if provider == next {
                providers.push(reader.provider(document));
            }
            provider_of.push(provider);
        }
        let (vocabulary, numbers) = reader.finish();
        let tools = postings(tools, &numbers, &weights);
        let providers = postings(providers, &numbers, &weights);
        let name_rarity = name_rarity(&tools, vocabulary.len(), documents.len());
        let names = documents
            .iter()
            .map(|document| document.name.as_str().into())
            .collect();
        let actions = documents.iter().map(Action::of_tool).collect();
        Self {
            weights,
            vocabulary,
            tools,
            spelling: Spelling::read(documents),
            providers,
            provider_of,
            name_rarity,
            names,
            actions,
            users: users(documents),
        }
    }
}

/// The tools of the user's own providers, each with the one of ours that is called the same.
fn users(documents: &[Document]) -> Vec<(usize, Option<usize>)> {
    let plain = |name: &str| name.replace(['.', '/', '-'], "_");
    let own = documents.iter().enumerate().filter(|(_, it)| !it.is_users);
    let own: HashMap<String, usize> = own.map(|(at, it)| (plain(&it.name), at)).collect();
    let theirs = documents.iter().enumerate().filter(|(_, it)| it.is_users);
    // `mcp.SERVER.NAME`, or the server's own name for it.
    let called = |name: &str| plain(name.splitn(3, '.').last().unwrap_or(name));
    let paired = theirs.map(|(at, it)| (at, own.get(&called(&it.name)).copied()));
    paired.collect()
}

impl Reader {
    fn tool(&mut self, document: &Document) -> Read {
        let mut read = Read::default();
        self.read(&document.name, Style::Identifier, Field::Name, &mut read);
        self.read(&document.title, Style::Prose, Field::Name, &mut read);
        self.read(
            &document.description,
            Style::Prose,
            Field::Description,
            &mut read,
        );
        for (name, description) in &document.parameters {
            self.read(name, Style::Identifier, Field::Parameter, &mut read);
            self.read(
                description,
                Style::Prose,
                Field::ParameterDescription,
                &mut read,
            );
        }
        for group in &document.groups {
            self.read(group, Style::Identifier, Field::Group, &mut read);
        }
        read
    }

    fn provider(&mut self, document: &Document) -> Read {
        let mut read = Read::default();
        self.read(
            &document.provider,
            Style::Identifier,
            Field::Name,
            &mut read,
        );
        self.read(
            &document.provider_description,
            Style::Prose,
            Field::Description,
            &mut read,
        );
        read
    }

    fn read(&mut self, text: &str, style: Style, field: Field, into: &mut Read) {
        let before = into.terms.len();
        text::pieces(text, style, &mut |piece| match piece {
            Piece::Word(word) => {
                into.terms
                    .extend(self.word(word).map(|term| Met::new(term, field)));
            }
            Piece::Ideographs(run) => {
                text::pairs(run, |pair| {
                    into.terms.push(Met::new(self.term(pair), field));
                });
            }
            Piece::Break => {}
        });
        if let Some(length) = into.lengths.get_mut(field as usize) {
            *length += (into.terms.len() - before) as f32;
        }
    }

    fn word(&mut self, word: &str) -> Option<u32> {
        if let Some(number) = self.words.get(word) {
            return *number;
        }
        let number = (!english::is_stop_word(word)).then(|| self.term(&english::stem(word)));
        self.words.insert(word.into(), number);
        number
    }

    fn term(&mut self, term: &str) -> u32 {
        if let Some(number) = self.terms.get(term) {
            return *number;
        }
        let number = self.terms.len() as u32;
        self.terms.insert(term.into(), number);
        number
    }

    /// The sorted vocabulary, and for each number given out the term's position in it.
    fn finish(self) -> (Vocabulary, Vec<u32>) {
        let mut sorted: Vec<(Box<str>, u32)> = self.terms.into_iter().collect();
        sorted.sort_unstable();
        let mut numbers = vec![0; sorted.len()];
        for (position, (_, number)) in sorted.iter().enumerate() {
            if let Some(slot) = numbers.get_mut(*number as usize) {
                *slot = position as u32;
            }
        }
        (
            Vocabulary::from_sorted(sorted.iter().map(|(term, _)| term.as_ref())),
            numbers,
        )
    }
}

fn postings(mut reads: Vec<Read>, numbers: &[u32], weights: &Weights) -> Postings {
    let average = average_lengths(&reads);
    let mut found = Vec::with_capacity(reads.iter().map(|read| read.terms.len()).sum());
    for (document, read) in reads.iter_mut().enumerate() {
        let norms = norms(read, &average, weights);
        read.terms.sort_unstable();
        for same in read.terms.chunk_by(|a, b| a.term() == b.term()) {
            let Some(first) = same.first() else { continue };
            let worth = |met: &Met| norms.get(met.field()).copied().unwrap_or_default();
            let count: f32 = same.iter().map(worth).sum();
            found.push(Found {
                term: numbers.get(first.term()).copied().unwrap_or_default(),
                document: document as u32,
                impact: count / (count + weights.saturation),
                in_name: first.field() == Field::Name as usize,
            });
        }
    }
    Postings::collect(&found, numbers.len(), reads.len())
}

fn average_lengths(reads: &[Read]) -> [f32; FIELDS] {
    let mut sums = [0.0; FIELDS];
    for read in reads {
        for (sum, length) in sums.iter_mut().zip(read.lengths) {
            *sum += length;
        }
    }
    sums.map(|sum| (sum / reads.len().max(1) as f32).max(1.0))
}

/// What one occurrence in each field of a document is worth, long fields being worth less a word.
fn norms(read: &Read, average: &[f32; FIELDS], weights: &Weights) -> [f32; FIELDS] {
    let mut norms = [0.0; FIELDS];
    for field in [
        Field::Name,
        Field::Group,
        Field::Description,
        Field::Parameter,
        Field::ParameterDescription,
    ] {
        let at = field as usize;
        let relative = read.lengths.get(at).copied().unwrap_or_default()
            / average.get(at).copied().unwrap_or(1.0);
        let held_back = match field {
            Field::Name | Field::Group => 1.0,
            Field::Description | Field::Parameter | Field::ParameterDescription => {
                1.0 - weights.length + weights.length * relative
            }
        };
        if let Some(norm) = norms.get_mut(at) {
            *norm = field.weight(weights) / held_back;
        }
    }
    norms
}

/// For each tool, the rarity of all terms of its name together.
fn name_rarity(tools: &Postings, terms: usize, documents: usize) -> Vec<f32> {
    let mut sums = vec![0.0; documents];
    for term in 0..terms {
        let rarity = tools.rarity(term);
        for occurrence in tools
            .of(term)
            .iter()
            .filter(|occurrence| occurrence.is_in_name())
        {
            if let Some(sum) = sums.get_mut(occurrence.document()) {
                *sum += rarity;
            }
        }
    }
    sums
}
