//! Measures the tool search: how many of the relevant tools it finds, and what building and asking cost.
//!
//! `cargo bench -p tollgate-engine --bench search -- --data DIR` reads `corpus.json` (tools with their servers) and
//! `queries.json` (`steps` and `tasks`, each with a `query` and its `relevant` tool names) from DIR or its folder
//! `tool-search`. Without them only the costs are measured, and it says so.

#![expect(clippy::print_stdout, reason = "a bench reports on standard output")]

use serde_json::Value;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tollgate_engine::search::{Document, Index, documents_from_corpus};

/// What others reach on the whole public set (95 steps, 94 tasks), in the order of `KINDS`.
const BASELINES: [(&str, [&str; 7]); 3] = [
    (
        "BM25 (whole set)",
        [".463", ".642", ".716", ".737", ".278", ".389", ".512"],
    ),
    (
        "MiniLM-L6-v2 (whole set)",
        [".421", ".716", ".726", ".758", ".351", ".445", ".560"],
    ),
    (
        "both, fused (whole set)",
        [".505", ".726", ".747", ".779", ".401", ".488", ".625"],
    ),
];

/// The kinds of query and how many hits are looked at.
const KINDS: [(&str, &[usize]); 2] = [("steps", &[1, 3, 5, 10]), ("tasks", &[5, 10, 20])];

const LARGE: usize = 10_000;

fn main() {
    let data = data_directory();
    let corpus = data.as_deref().and_then(|data| read(data, "corpus.json"));
    let queries = data.as_deref().and_then(|data| read(data, "queries.json"));
    let documents = corpus.as_ref().and_then(documents_from_corpus);
    match (&documents, &queries) {
        (Some(documents), Some(queries)) => report_recall(documents, queries),
        (Some(_) | None, _) => skipped(data.as_deref()),
    }
    println!();
    println!("| catalogue | build | query, mean | slowest query |");
    println!("|---|---|---|---|");
    if let Some(documents) = &documents {
        report_cost("public servers", documents, queries.as_ref());
    }
    report_cost("synthetic", &synthetic(LARGE), queries.as_ref());
}

/// The argument of `--data`; cargo adds flags of its own, which are passed over.
fn data_directory() -> Option<PathBuf> {
    std::env::args()
        .skip_while(|argument| argument != "--data")
        .nth(1)
        .map(PathBuf::from)
}

fn read(directory: &Path, file: &str) -> Option<Value> {
    let places = [directory.to_path_buf(), directory.join("tool-search")];
    let read = |place: &PathBuf| std::fs::read_to_string(place.join(file)).ok();
    let text = places.iter().find_map(read)?;
    serde_json::from_str(&text).ok()
}

/// Says what was not judged, why, and how it is.
fn skipped(data: Option<&Path>) {
    let why = match data {
        Some(folder) => format!("{} does not hold it", folder.display()),
        None => "no --data was given".to_owned(),
    };
    println!(
        "skipped: recall of the search: it needs data that is not part of the repository, and {why};"
    );
    println!(
        "         cargo bench -p tollgate-engine --bench search -- --data DIR, where DIR holds \
         corpus.json and queries.json"
    );
}

fn report_recall(documents: &[Document], queries: &Value) {
    let index = Index::build(documents);
    let mut found = Vec::new();
    println!("| method | steps @1 | @3 | @5 | @10 | tasks @5 | @10 | @20 |");
    println!("|---|---|---|---|---|---|---|---|");
    for (kind, depths) in KINDS {
        for depth in depths {
            let recall = recall(&index, documents, items(queries, kind), *depth);
            found.push(format!("{recall:.3}"));
        }
    }
    let [steps, tasks] = KINDS.map(|(kind, _)| items(queries, kind).len());
    let cells = found.join(" | ");
    println!("| this index ({steps} steps, {tasks} tasks) | {cells} |");
    for (method, cells) in BASELINES {
        println!("| {method} | {} |", cells.join(" | "));
    }
}

fn items<'json>(queries: &'json Value, kind: &str) -> &'json [Value] {
    let items = queries.get(kind).and_then(Value::as_array);
    items.map(Vec::as_slice).unwrap_or_default()
}

/// The share of relevant tool names among the first `depth` hits, averaged over the queries.
fn recall(index: &Index, documents: &[Document], queries: &[Value], depth: usize) -> f64 {
    let share = |item: &Value| {
        let relevant: HashSet<&str> = items(item, "relevant")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let query = item.get("query").and_then(Value::as_str);
        let hits = index.search(query.unwrap_or_default(), depth);
        let names = hits.iter().filter_map(|hit| documents.get(hit.document));
        let names: HashSet<&str> = names.map(|document| document.name.as_str()).collect();
        names.intersection(&relevant).count() as f64 / relevant.len().max(1) as f64
    };
    queries.iter().map(share).sum::<f64>() / queries.len().max(1) as f64
}

fn report_cost(title: &str, documents: &[Document], queries: Option<&Value>) {
    let build = (0..5).map(|_| time(|| Index::build(documents)));
    let build = build.min().unwrap_or_default();
    let index = Index::build(documents);
    let asked = questions(queries);
    // The best of ten runs of each question, so that a busy machine does not pass for a slow index.
    let best = |question: &String| (0..10).map(|_| time(|| index.search(question, 10))).min();
    let times: Vec<Duration> = asked.iter().filter_map(best).collect();
    let mean = times.iter().sum::<Duration>() / times.len().max(1) as u32;
    let slowest = times.iter().max().copied().unwrap_or_default();
    println!(
        "| {title}, {} tools | {build:.1?} | {mean:.1?} | {slowest:.1?} |",
        documents.len()
    );
}

fn time<Output>(work: impl FnOnce() -> Output) -> Duration {
    let start = Instant::now();
    std::hint::black_box(work());
    start.elapsed()
}

fn questions(queries: Option<&Value>) -> Vec<String> {
    let all = queries
        .into_iter()
        .flat_map(|queries| KINDS.map(|(kind, _)| items(queries, kind)));
    let mut questions: Vec<String> = all
        .flatten()
        .filter_map(|item| item.get("query").and_then(Value::as_str))
        .map(str::to_owned)
        .collect();
    questions.extend(
        [
            "send an email to the team",
            "查询明天的天气",
            "find the lastest invoces and export them to a spreadsheet",
        ]
        .map(str::to_owned),
    );
    questions
}

/// A catalogue of made-up tools with the word counts of real ones.
fn synthetic(tools: usize) -> Vec<Document> {
    let mut random = Random(7);
    let words: Vec<String> = (0..8_000).map(|_| random.word()).collect();
    let mut phrase = |length: usize| -> String {
        let picked: Vec<&str> = (0..length).map(|_| random.pick(&words)).collect();
        picked.join(" ")
    };
    (0..tools)
        .map(|number| Document {
            name: phrase(3).replace(' ', "_"),
            title: phrase(3),
            description: phrase(35),
            parameters: (0..4).map(|_| (phrase(1), phrase(8))).collect(),
            groups: vec![format!("group{}", number / 50)],
            provider: format!("provider{}", number / 20),
            provider_description: format!("Serves everything of number {}.", number / 20),
            is_users: false,
        })
        .collect()
}

/// A small generator of repeatable numbers, so that runs can be compared.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below.max(1) as u64) as usize
    }

    fn word(&mut self) -> String {
        const COMMON: [&str; 12] = [
            "get", "list", "create", "file", "search", "data", "user", "name", "page", "email",
            "weather", "report",
        ];
        if self.next(20) == 0 {
            return COMMON[self.next(COMMON.len())].to_owned();
        }
        let length = 3 + self.next(7);
        (0..length)
            .map(|_| char::from(b'a' + self.next(26) as u8))
            .collect()
    }

    /// Picks early words more often, as language does.
    fn pick<'words>(&mut self, words: &'words [String]) -> &'words str {
        let bound = 1 + self.next(words.len());
        words.get(self.next(bound)).map_or("", String::as_str)
    }
}
