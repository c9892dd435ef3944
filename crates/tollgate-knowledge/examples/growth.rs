//! Figures of the engine, with growth: load, index, reload, start, step, memory.
//!
//! Run it in release, alone for one size (`growth 100000`), for live sessions
//! (`growth sessions`) or for everything; memory is that of the process, so each part runs
//! in a process of its own.

#![expect(clippy::print_stdout, reason = "it is a report for people")]

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use tollgate_knowledge::{Base, Library, Limits, Session, load};

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SIZES: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];
const WAYS: usize = 4;
const SESSIONS: usize = 100_000;
/// The part that measures them.
const LIVE: &str = "sessions";

fn main() {
    let mut parts: Vec<String> = std::env::args().skip(1).collect();
    let is_alone = !parts.is_empty();
    if !is_alone {
        parts.extend(SIZES.map(|size| size.to_string()));
        parts.push(LIVE.to_owned());
        println!(
            "nodes | file MB | load ms (CPU) | index ms (CPU) | reload ms (CPU) | start p50/p99 us | step p50/p99 us | words p50/p99 us | inner words p50/p99 us | resident MB (peak) | with both versions MB (peak)"
        );
    }
    for part in parts {
        match part.parse() {
            _ if !is_alone => alone(&part),
            Ok(size) => measure(size),
            Err(_) if part == LIVE => sessions(),
            Err(_) => println!("{part}: a number of nodes, or `{LIVE}`"),
        }
    }
}

/// Measures one part in a process of its own.
fn alone(part: &str) {
    let Ok(this) = std::env::current_exe() else {
        return;
    };
    #[expect(
        clippy::disallowed_methods,
        reason = "a bench starts itself, for honest memory"
    )]
    let mut command = std::process::Command::new(this);
    // A part that fails says so itself.
    drop(command.arg(part).status());
}

/// A tree of nodes with four options each, in words of a vocabulary, half of it Chinese.
fn base(size: usize, is_changed: bool) -> String {
    let mut text = String::from(
        "{\"fallback\": \"?\", \"choose\": \"which\", \"slots\": {\"n\": {\"type\": \"number\"}}, \"nodes\": {\n",
    );
    for node in 0..size {
        if is_changed && node == size / 2 {
            text.push_str("\"new\": {\"title\": \"something new\"},\n");
        }
        let said = if is_changed && node == size / 3 {
            node + 5
        } else {
            node
        };
        let _ = write!(
            text,
            "\"n{node}\": {{\"title\": \"{} {}\", \"keywords\": [\"{}\"], \"response\": \"{} {} {} {}，{}{}。\", \"options\": [",
            word(said),
            word(node / 7 + 3),
            word(node * 31 + 11),
            word(node + 1),
            word(node * 3),
            word(node * 5 + 1),
            word(node * 11),
            han(node),
            han(node * 13 + 5),
        );
        for way in 1..=WAYS {
            let next = node * WAYS + way;
            if next < size {
                let _ = write!(
                    text,
                    "{{\"id\": \"o{way}\", \"description\": \"{} {}{way}\", \"next_node\": \"n{next}\"}},",
                    word(next * 17),
                    han(next)
                );
            }
        }
        text.push_str("{\"id\": \"end\", \"description\": \"done\", \"next_node\": null}]},\n");
    }
    text.push_str("}}");
    text
}

fn word(number: usize) -> String {
    const PARTS: [&str; 16] = [
        "net", "cloud", "chip", "fiber", "power", "market", "risk", "model", "tax", "river",
        "stone", "light", "paper", "glass", "green", "north",
    ];
    let number = number.wrapping_mul(2_654_435_761) >> 7;
    format!("{}{}", PARTS[number % 16], PARTS[(number / 16) % 16]) + PARTS[(number / 256) % 16]
}

/// One of 1500 words of two or three characters.
fn han(number: usize) -> String {
    let word = (number.wrapping_mul(2_654_435_761) >> 5) % 1500;
    let character = |at: usize| {
        let offset = u32::try_from((word * 7 + at * 311) % 3000).unwrap_or(0);
        char::from_u32(0x4e00 + offset).unwrap_or('中')
    };
    (0..2 + word % 2).map(character).collect()
}

fn file(size: usize) -> PathBuf {
    let path = std::env::temp_dir().join(format!(
        "tollgate-growth-{size}-{}.json",
        std::process::id()
    ));
    if let Err(error) = fs::write(&path, base(size, false)) {
        println!("{}: {error}", path.display());
    }
    path
}

fn read(path: &Path) -> Option<Base> {
    match load(path, Limits::default()).0 {
        Ok(base) => Some(base),
        Err(problems) => {
            println!(
                "{}",
                problems
                    .first()
                    .map(ToString::to_string)
                    .unwrap_or_default()
            );
            None
        }
    }
}

fn measure(size: usize) {
    let path = file(size);
    let megabytes = fs::metadata(&path).map_or(0, |metadata| metadata.len()) as f64 / 1e6;
    let begun = Stopwatch::start();
    let Some(base) = read(&path) else {
        return;
    };
    let loaded = begun.read();
    let begun = Stopwatch::start();
    base.prepare(None);
    let indexed = begun.read();
    let loading = (resident(), peak());
    let mut library = Library::new(vec![Arc::new(base)]);
    drop(fs::write(&path, self::base(size, true)));
    let begun = Stopwatch::start();
    if let Some(changed) = read(&path) {
        changed.prepare(library.bases().first().map(AsRef::as_ref));
        library.replace(Arc::new(changed));
    }
    let reloaded = begun.read();
    let questions: Vec<String> = (0..2000)
        .map(|at| match at % 3 {
            0 => format!("{} {}", word(at * 97), word(at * 31 + 11)),
            1 => format!(
                "how do I handle {} and {} with {}",
                word(at),
                word(at * 3),
                word(at * 5)
            ),
            _ => format!("请问{}和{}怎么办", han(at * 7), han(at * 13 + 5)),
        })
        .collect();
    // The dictionary is loaded by the first Chinese question, and that is not what is measured.
    drop(library.start("请问人工智能硬件怎么选"));
    let starts = timed(questions.len(), |at| drop(library.start(&questions[at])));
    let Ok((first, _)) = library.start("zzzz") else {
        return;
    };
    let steps = timed(20_000, |at| {
        drop(library.step(&first, &format!("o{}", at % WAYS + 1), None));
    });
    let words = timed(questions.len(), |at| {
        drop(library.step(&first, "provide_more_info", Some(&questions[at])));
    });
    let Ok((inner, _)) = library.step(&first, "o2", None) else {
        return;
    };
    let inner = timed(questions.len(), |at| {
        drop(library.step(&inner, "provide_more_info", Some(&questions[at])));
    });
    println!(
        "{size} | {megabytes:.0} | {} | {} | {} | {} | {} | {} | {} | {:.0} ({:.0}) | {:.0} ({:.0})",
        loaded,
        indexed,
        reloaded,
        starts,
        steps,
        words,
        inner,
        loading.0,
        loading.1,
        resident(),
        peak(),
    );
    drop(fs::remove_file(path));
}

/// Time that passes, and time that this process really runs: on a busy machine they differ.
struct Stopwatch {
    begun: Instant,
    ran: u64,
}

impl Stopwatch {
    fn start() -> Self {
        Self {
            begun: Instant::now(),
            ran: ran(),
        }
    }

    fn read(&self) -> String {
        let passed = self.begun.elapsed().as_millis();
        format!("{passed} ({})", (ran() - self.ran) * 10)
    }
}

/// Hundredths of a second that all threads of the process have run.
fn ran() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit(')').next().unwrap_or_default();
    let fields: Vec<&str> = after.split_whitespace().collect();
    let field = |at: usize| -> u64 {
        fields
            .get(at)
            .and_then(|field| field.parse().ok())
            .unwrap_or(0)
    };
    field(11) + field(12)
}

fn timed(times: usize, mut run: impl FnMut(usize)) -> String {
    let mut all: Vec<Duration> = (0..times)
        .map(|at| {
            let begun = Instant::now();
            run(at);
            begun.elapsed()
        })
        .collect();
    all.sort_unstable();
    let at = |share: f64| {
        let place = (share * (times - 1) as f64) as usize;
        all[place].as_nanos() as f64 / 1000.0
    };
    format!("{:.1}/{:.1}", at(0.5), at(0.99))
}

/// Sessions of six steps each, kept as values and as what is stored of them.
fn sessions() {
    let path = file(10_000);
    let Some(base) = read(&path) else {
        return;
    };
    let library = Library::new(vec![Arc::new(base)]);
    let before = resident();
    let mut live: Vec<Session> = Vec::with_capacity(SESSIONS);
    for number in 0..SESSIONS {
        let Ok((mut session, _)) = library.start("zzzz") else {
            return;
        };
        for step in 0..6 {
            let option = format!("o{}", (number + step) % WAYS + 1);
            if let Ok((next, _)) = library.step(&session, &option, None) {
                session = next;
            }
        }
        live.push(session);
    }
    let values = resident() - before;
    let stored: usize = live
        .iter()
        .map(|one| serde_json::to_vec(one).map_or(0, |text| text.len()))
        .sum();
    println!(
        "{SESSIONS} live sessions of six steps: {:.0} MB as they are kept (target: <= 100 MB); {values:.0} MB if all were held as values at once",
        stored as f64 / 1e6
    );
    drop(fs::remove_file(path));
}

/// What the process has in memory, in megabytes.
fn resident() -> f64 {
    memory("VmRSS:")
}

/// The most that it ever had.
fn peak() -> f64 {
    memory("VmHWM:")
}

fn memory(what: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(what));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kilobytes.unwrap_or(0.0) / 1000.0
}
