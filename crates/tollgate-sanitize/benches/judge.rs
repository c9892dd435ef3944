//! Measures the shipped rules against labelled data and a stopwatch.
//!
//! `cargo bench -p tollgate-sanitize --bench judge -- --data DIR` with DIR holding `secrets.jsonl`, `pii.jsonl` and
//! `injection.jsonl`, or a folder with such a folder in it. Without data only what is generated and speed are measured.
//! `--misses` lists what was judged wrongly, `--only NAME` runs one of the speed measurements, `--flood TEXT`
//! measures a text alone. What is skipped is said.

#![expect(clippy::print_stdout, reason = "a bench program prints its results")]
#![expect(clippy::expect_used, reason = "a bench program may stop on bad input")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::Value;
use tollgate_sanitize::{Kind, Sanitizer, Scope};

#[path = "judge/classes.rs"]
mod classes;
#[path = "judge/formats.rs"]
mod formats;

// What the formats name by the crate they are compiled in.
use formats::{Format, format};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let misses = arguments.iter().any(|argument| argument == "--misses");
    let data = arguments
        .iter()
        .position(|argument| argument == "--data")
        .and_then(|at| arguments.get(at + 1))
        .map(PathBuf::from);
    if let Some(at) = arguments.iter().position(|argument| argument == "--flood") {
        let flood = arguments.get(at + 1).expect("--flood TEXT");
        println!("{:.0} ms/MB", per_megabyte(&repeat(flood, 1 << 20), 30));
        return;
    }
    startup();
    match data.as_deref().and_then(redaction_folder) {
        Some(folder) => {
            secrets(&read(&folder.join("secrets.jsonl")), misses);
            personal(&read(&folder.join("pii.jsonl")), misses);
            injection(&read(&folder.join("injection.jsonl")), misses);
        }
        None => skipped(
            "precision and recall of the rules",
            "secrets.jsonl, pii.jsonl and injection.jsonl",
            data.as_deref(),
        ),
    }
    match data.as_deref().and_then(golden_folder) {
        Some(folder) => golden(&folder),
        None => skipped(
            "recorded answers that must stay as they are",
            "keepa/golden/*.json",
            data.as_deref(),
        ),
    }
    classes::print();
    speed();
    worst();
}

/// How many of the slowest inputs are printed.
const SLOWEST: usize = 10;

/// The slowest of many inputs that are made to cost as much as possible: floods of each rule's literals, and of what
/// the other readings of a text begin with.
fn worst() {
    let rules = concat!(
        include_str!("../rules/vendors.toml"),
        include_str!("../rules/names.toml"),
        include_str!("../rules/instructions.toml")
    );
    let quoted = rules.split('"').skip(1).step_by(2);
    let literals = quoted.filter(|text| (3..40).contains(&text.len()) && !text.contains('\n'));
    let mut pieces: Vec<String> = literals.map(str::to_owned).collect();
    pieces.extend(
        [
            "%41",
            "&#65;",
            "\\x41",
            "\u{ff21}",
            "QUJD",
            "a ",
            "\"a\" + ",
            "a1_b2c3d\n",
            "\"+\"",
            "\" \"",
            "\"\n+ \"",
            "\"\\\n",
            "\"a\"\n\"b\"",
            "ghp_abcdefgh\n",
            "M.abcdef.",
            "\\u{41}",
            "\\101",
            "6768705f",
            "\u{1d400}",
            "a\u{440}",
            "\u{440} ",
            "\u{44f}",
            "cookie: a=b; ",
            "cookie: sid=aB3dE5gH7jK9mN1p; ",
            "a/b/",
        ]
        .map(str::to_owned),
    );
    let mut rows: Vec<(f64, String)> = Vec::new();
    for piece in pieces {
        for tail in ["", " ", "a", "=", "=aB3", "://a:"] {
            let flood = [piece.as_str(), tail].concat();
            let text = repeat(&flood, 1 << 18);
            rows.push((per_megabyte(&text, 3), flood));
        }
    }
    rows.sort_by(|one, other| other.0.total_cmp(&one.0));
    // What else ran on the machine makes some of these slow; more readings tell.
    for row in rows.iter_mut().take(SLOWEST * 4) {
        row.0 = row.0.min(per_megabyte(&repeat(&row.1, 1 << 18), 30));
    }
    rows.sort_by(|one, other| other.0.total_cmp(&one.0));
    println!("\nslowest of {} floods (target 60 ms/MB)", rows.len());
    for (milliseconds, flood) in rows.iter().take(SLOWEST) {
        println!("{milliseconds:>7.0} ms/MB   {flood:?}");
    }
}

/// Milliseconds for a megabyte: the best of some readings, or the mean of the time on a processor if that is less,
/// because other programs take turns with this one.
fn per_megabyte(text: &str, readings: u32) -> f64 {
    let before = processor_time();
    let seconds = (0..readings).map(|_| {
        let start = Instant::now();
        std::hint::black_box(Sanitizer::shipped().text(text, &Scope::open_world()));
        start.elapsed().as_secs_f64()
    });
    let best = seconds.fold(f64::MAX, f64::min);
    let mean = processor_time()
        .zip(before)
        .map(|(after, before)| (after - before) / f64::from(readings));
    // The kernel counts in ticks, so a few readings say nothing.
    let least = mean
        .filter(|_| readings > 10)
        .map_or(best, |mean| mean.min(best));
    least * 1e3 * f64::from(1 << 20) / text.len() as f64
}

/// Seconds this thread has run, where the system tells.
fn processor_time() -> Option<f64> {
    let line = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(nanoseconds / 1e9)
}

/// Says what was not judged, why, and how it is.
fn skipped(what: &str, files: &str, data: Option<&Path>) {
    let why = match data {
        Some(folder) => format!("{} does not hold it", folder.display()),
        None => "no --data was given".to_owned(),
    };
    println!("skipped: {what}: it needs data that is not part of the repository, and {why};");
    println!(
        "         cargo bench -p tollgate-sanitize --bench judge -- --data DIR, where DIR holds {files}\n"
    );
}

fn redaction_folder(data: &Path) -> Option<PathBuf> {
    [data.to_path_buf(), data.join("redaction")]
        .into_iter()
        .find(|folder| folder.join("secrets.jsonl").is_file())
}

fn golden_folder(data: &Path) -> Option<PathBuf> {
    [data.join("keepa/golden"), data.join("../keepa/golden")]
        .into_iter()
        .find(|folder| folder.is_dir())
}

fn read(path: &Path) -> Vec<Value> {
    std::fs::read_to_string(path)
        .expect("data file")
        .lines()
        .map(|line| serde_json::from_str(line).expect("a JSON line"))
        .collect()
}

fn startup() {
    let start = Instant::now();
    let sanitizer = Sanitizer::shipped();
    println!(
        "start-up            {:>8.2} ms   (rules {})",
        start.elapsed().as_secs_f64() * 1e3,
        sanitizer.version()
    );
    let mut best = f64::MAX;
    for _ in 0..20 {
        let start = Instant::now();
        let built = Sanitizer::from_rules(&[]).expect("shipped rules");
        best = best.min(start.elapsed().as_secs_f64() * 1e3);
        std::hint::black_box(built);
    }
    println!("start-up, best      {best:>8.2} ms   (target 3)\n");
}

#[derive(Default)]
struct Tally {
    right: usize,
    wrong: usize,
    missed: usize,
}

impl Tally {
    fn precision(&self) -> f64 {
        self.right as f64 / (self.right + self.wrong).max(1) as f64
    }

    fn recall(&self) -> f64 {
        self.right as f64 / (self.right + self.missed).max(1) as f64
    }

    fn row(&self, name: &str, anchor: &str) {
        println!(
            "{name:<16} P {:.3}  R {:.3}   ({} right, {} wrong, {} missed)   anchor {anchor}",
            self.precision(),
            self.recall(),
            self.right,
            self.wrong,
            self.missed
        );
    }
}

fn secrets(lines: &[Value], misses: bool) {
    let mut tally = Tally::default();
    for line in lines {
        let text = line["text"].as_str().unwrap_or_default();
        let cleaned = Sanitizer::shipped().text(text, &Scope::trusted());
        match (line["label"] == 1, cleaned.findings.has_secrets()) {
            (true, true) => tally.right += 1,
            (true, false) => tally.missed += 1,
            (false, true) => tally.wrong += 1,
            (false, false) => continue,
        }
        if misses && (line["label"] == 1) != cleaned.findings.has_secrets() {
            println!(
                "  {} {} {text:?}",
                line["label"],
                line["rule"].as_str().unwrap_or_default()
            );
        }
    }
    tally.row(
        "secrets",
        "gitleaks rules .999/.486, detect-secrets .648/.398, kingfisher 1.0/.129",
    );
}

const ENTITIES: &[(&str, &str, &str)] = &[
    ("EMAIL_ADDRESS", "email", "1/1"),
    ("PHONE_NUMBER", "phone", ".60/.41"),
    ("CREDIT_CARD", "payment-card", "recall .93"),
    ("US_SSN", "ssn", "1/1"),
    ("IBAN_CODE", "iban", ".95"),
];

fn personal(lines: &[Value], misses: bool) {
    for (entity, rule, anchor) in ENTITIES {
        let mut tally = Tally::default();
        for line in lines {
            let text = line["text"].as_str().unwrap_or_default();
            let offsets: Vec<usize> = text
                .char_indices()
                .map(|(at, _)| at)
                .chain([text.len()])
                .collect();
            let mut wanted: Vec<(usize, usize)> = line["spans"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|span| span[0] == *entity)
                .map(|span| (place(&span[1], &offsets), place(&span[2], &offsets)))
                .collect();
            for sighting in Sanitizer::shipped().sightings(text) {
                if *sighting.rule != **rule {
                    continue;
                }
                let hit = wanted
                    .iter()
                    .position(|&(start, end)| sighting.start < end && start < sighting.end);
                match hit {
                    Some(at) => {
                        wanted.remove(at);
                        tally.right += 1;
                    }
                    None => {
                        tally.wrong += 1;
                        if misses {
                            println!(
                                "  wrong {rule} {:?} in {text:?}",
                                &text[sighting.start..sighting.end]
                            );
                        }
                    }
                }
            }
            for &(start, end) in &wanted {
                if misses {
                    println!("  missed {rule} {:?} in {text:?}", &text[start..end]);
                }
            }
            tally.missed += wanted.len();
        }
        tally.row(rule, anchor);
    }
}

fn place(value: &Value, offsets: &[usize]) -> usize {
    let index = value
        .as_u64()
        .and_then(|value| usize::try_from(value).ok())
        .unwrap_or(0);
    offsets.get(index).copied().unwrap_or(0)
}

fn injection(lines: &[Value], misses: bool) {
    let mut sets: BTreeMap<(String, i64), (usize, usize)> = BTreeMap::new();
    for line in lines {
        let text = line["text"].as_str().unwrap_or_default();
        let flagged = Sanitizer::shipped()
            .text(text, &Scope::open_world())
            .findings
            .is_tainted();
        let label = line["label"].as_i64().unwrap_or_default();
        let key = (line["set"].as_str().unwrap_or_default().to_owned(), label);
        let entry = sets.entry(key).or_default();
        entry.0 += usize::from(flagged);
        entry.1 += 1;
        if misses && flagged != (label == 1) {
            println!("  {label} {text:?}");
        }
    }
    for ((set, label), (flagged, of)) in sets {
        println!("instructions     {set:<22} label {label}: {flagged}/{of} flagged");
    }
    println!("                 anchor: wrappers 151/250, BIPIA 0/150, benign 1/1150\n");
}

fn golden(folder: &Path) {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("golden folder")
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        })
        .collect();
    files.sort();
    let mut changed = 0;
    for path in &files {
        let raw = std::fs::read_to_string(path).expect("golden file");
        let cleaned = Sanitizer::shipped()
            .json(&raw, &Scope::trusted())
            .expect("golden JSON");
        if cleaned.text != raw {
            changed += 1;
            println!(
                "  changed: {} {:?}",
                path.display(),
                cleaned.findings.redactions
            );
        }
    }
    println!("golden files     {} read, {changed} changed\n", files.len());
}

fn speed() {
    let prose = repeat(PROSE, 1 << 20);
    let code = repeat(CODE, 1 << 20);
    let json = format!("[{}]", vec![JSON; (1 << 20) / JSON.len()].join(","));
    let hits = repeat(HITS, 1 << 20);
    let chinese = repeat(CHINESE, 1 << 20);
    let trusted = Scope::trusted();
    let open = Scope::open_world();
    let sanitizer = Sanitizer::shipped();
    stopwatch("clean prose", prose.len(), "300", || {
        sanitizer.text(&prose, &trusted).findings.total()
    });
    stopwatch("clean prose, open", prose.len(), "300", || {
        sanitizer.text(&prose, &open).findings.total()
    });
    stopwatch("clean code", code.len(), "300", || {
        sanitizer.text(&code, &trusted).findings.total()
    });
    stopwatch("clean Chinese", chinese.len(), "300", || {
        sanitizer.text(&chinese, &trusted).findings.total()
    });
    stopwatch("clean JSON", json.len(), "300", || {
        sanitizer
            .json(&json, &trusted)
            .expect("valid")
            .findings
            .total()
    });
    stopwatch("full of hits", hits.len(), "50", || {
        sanitizer.text(&hits, &trusted).findings.count(Kind::Secret)
    });
}

fn stopwatch(name: &str, bytes: usize, target: &str, mut work: impl FnMut() -> usize) {
    let mut arguments = std::env::args();
    if arguments.any(|argument| argument == "--only")
        && arguments.next().is_some_and(|only| only != name)
    {
        return;
    }
    let mut best = f64::MAX;
    let mut found = 0;
    for _ in 0..60 {
        let start = Instant::now();
        found = work();
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!(
        "{name:<18} {:>7.0} MB/s   (target {target}, {found} found)",
        bytes as f64 / best / 1e6
    );
}

fn repeat(text: &str, bytes: usize) -> String {
    text.repeat(bytes / text.len() + 1)
}

const PROSE: &str = "The harbour was quiet when the ferry came in from the islands, and the two men on the pier \
turned up their collars. They had waited since noon. In 1987 the old lighthouse had still been lit by hand, and the \
keeper, who passed the long evenings with a chess board and a radio, used to say that a key move early in the game \
costs more than a token sacrifice later on. Nobody asked him what he meant. The access road has been paved since, \
the authorities have put up signs, and in summer some 12,000 visitors walk the 3.4 km to the point.\n\n";

const CODE: &str = "fn resolve(&self, name: &str) -> Result<Arc<Entry>, LookupError> {\n    let key = self.index.get(name)\
.ok_or(LookupError::Missing)?;\n    let entry = self.entries.get(key.offset()).cloned();\n    \
// Entries are shared, so the lock is released before the caller sees one.\n    match entry {\n        Some(entry) if \
entry.generation == self.generation => Ok(entry),\n        Some(_) | None => Err(LookupError::Stale { at: 0x1f4e, \
limit: 4096 }),\n    }\n}\n\n";

const JSON: &str = r#"{"title":"Stainless steel bottle, 750 ml","rank":1482,"price":[19.99,18.49,21.0],"brand":"Norwell",
"features":["Keeps drinks cold for a day","Fits most cup holders"],"categories":[{"name":"Kitchen","node":"284507"},
{"name":"Bottles","node":"13217501"}],"reviews":{"count":2210,"rating":4.6},"cache_key":"products.get:4e3c0123456789abcdef",
"updated":"2025-03-11T08:15:30Z","in_stock":true,"url":"https://shop.example/p/bottle?color=steel&size=750"}"#;

const CHINESE: &str = "港口很安静，渡轮从岛上驶来，码头上的两个人竖起了衣领。他们从中午就开始等。1987年的时候，\
那座老灯塔还是用手点亮的，守塔人常说，开局的一步要紧的棋，比后来牺牲一个卒子更贵。没有人问过他是什么意思。\n";

const HITS: &str = "contact ann.lee@example.org or +44 20 7946 0958 about card 4111 1111 1111 1111\n\
export SERVICE_API_KEY=q8Zt4Lw0Xk2Nv7Bs9Rm3Jd6F\nAuthorization: Bearer 7c9e6679f7425cc0a1b2c3d4e5f60718\n\
postgres://app:hunter2hunter2@db.example.com:5432/main and https://files.example.com/a?sig=AbCdEf123456&x=1\n\
{\"password\": \"correct-horse-9\", \"user\": \"ann\"}\n";
