//! Times the views over answers of our own making, with growth: run it in release.
//!
//! Without arguments everything is timed; `views`, `command`, `compare`, `merge`, `summary` or `research` choose, and
//! `once` does each thing a single time at its full size, for tools that count instructions; a number beside it is how many
//! edges are merged.

#![expect(clippy::print_stdout, reason = "it is a report for people")]

use std::{
    pin::pin,
    sync::Arc,
    task::{Context, Waker},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tollgate_keepa::{
    Error, Kind, Params, Product,
    client::Failed,
    compare, compare_options,
    cost::Consent,
    graph::{MergeOptions, merge},
    request::Request,
    series::{Layout, Series},
    service::{Place, Reuse, Samples, Saved, Shelf, Target, Told, World, run},
    view::{self, Options, Profile},
};

/// The allocator of the program, so that this tells what it does.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROUNDS: u32 = 20;

/// An answer with 15 long histories; about 600 KB at 3000 points each.
fn body(points: i64) -> String {
    let csv: Vec<Vec<i64>> = (0..36).map(|index| history(index, points)).collect();
    let current: Vec<i64> = (0..36).map(|at| 100 + at).collect();
    let product = json!({
        "asin": "B0FIXTURE1", "title": "Loose leaf tea", "domainId": 1, "brand": "Hill",
        "stats": {"current": current, "avg30": current, "avg90": current}, "csv": csv,
    });
    json!({"tokensLeft": 100, "refillRate": 5, "products": [product]}).to_string()
}

fn history(index: usize, points: i64) -> Vec<i64> {
    let Some(series) =
        Series::at(index).filter(|one| one.index() < 19 && ![5, 6, 8, 14].contains(&one.index()))
    else {
        return Vec::new();
    };
    let point = |at: i64| {
        let shipping = (series.layout() == Layout::Triples).then_some(at % 5 * 100);
        [6_000_000 + at * 600, 1000 + (at * 7919) % 900]
            .into_iter()
            .chain(shipping)
    };
    (0..points).flat_map(point).collect()
}

#[inline(never)]
fn best<T>(rounds: u32, mut run: impl FnMut() -> T) -> Duration {
    let timed = |_| {
        let begun = Instant::now();
        std::hint::black_box(run());
        begun.elapsed()
    };
    (0..rounds).map(timed).min().unwrap_or_default()
}

/// The most memory this process ever held, where the system tells.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "not told".to_owned(), |text| text.trim().to_owned())
}

/// Graphs with so many edges in total, half of their nodes shared.
fn graphs(edges: usize) -> Vec<Value> {
    const GRAPHS: usize = 10;
    let each = edges / GRAPHS;
    let graph = |place: usize| {
        let id = |at: usize| format!("product:B0{:08}", place * each / 20 + at);
        let nodes: Vec<Value> = (0..each / 10)
            .map(|at| json!({"id": id(at), "type": "product", "label": id(at), "attributes": {"asin": id(at)}}))
            .collect();
        let edges: Vec<Value> = (0..each)
            .map(|at| {
                let (from, to) = (at % nodes.len(), (at * 7919 + at / nodes.len()) % nodes.len());
                json!({"source": id(from), "target": id(to), "type": "related_to", "evidence_path": "rows.0"})
            })
            .collect();
        json!({"root": id(0), "nodes": nodes, "edges": edges, "entity_counts": {"product": each / 10}})
    };
    (0..GRAPHS).map(graph).collect()
}

/// What is timed, and how thoroughly.
struct Asked {
    parts: Vec<String>,
    is_once: bool,
    edges: usize,
}

impl Asked {
    fn read() -> Self {
        let (once, parts): (Vec<String>, Vec<String>) =
            std::env::args().skip(1).partition(|one| one == "once");
        let edges = parts.iter().find_map(|one| one.parse().ok());
        Self {
            parts,
            is_once: !once.is_empty(),
            edges: edges.unwrap_or(125_000),
        }
    }

    fn wants(&self, names: &[&str]) -> bool {
        self.parts.is_empty() || self.parts.iter().any(|one| names.contains(&one.as_str()))
    }

    fn rounds(&self, most: u32) -> u32 {
        if self.is_once { 1 } else { most }
    }

    fn sizes<T>(&self, growing: Vec<T>, full: T) -> Vec<T> {
        if self.is_once { vec![full] } else { growing }
    }
}

fn main() {
    let asked = Asked::read();
    views(&asked);
    if asked.wants(&["command"]) {
        commands(&asked);
    }
    if asked.wants(&["compare"]) {
        comparisons(&asked);
    }
    if asked.wants(&["merge"]) {
        merges(&asked);
    }
}

fn views(asked: &Asked) {
    for points in asked.sizes(vec![750, 1500, 3000, 6000], 3000) {
        let body = body(points);
        for profile in [Profile::Research, Profile::Summary] {
            if !asked.wants(&["views", profile.name()]) {
                continue;
            }
            let options = Options {
                profile,
                ..Options::default()
            };
            let time = best(asked.rounds(ROUNDS), || {
                Product::read_all(&body).map(|all| view::products(&all, &options))
            });
            println!(
                "{} KB, {}: {:.2} ms",
                body.len() / 1000,
                profile.name(),
                time.as_secs_f64() * 1e3
            );
        }
    }
}

/// One sample and nothing else.
struct Sample(String);

impl World for Sample {
    async fn ask(&self, _: &Request, _: Reuse) -> Result<Told, Failed> {
        let error = Error::new(Kind::AuthMissing, "there is no key here");
        Err(Failed {
            error,
            bucket: None,
        })
    }

    fn load(&self, _: Place<'_>) -> Result<String, Error> {
        Ok(self.0.clone())
    }

    fn names(&self, _: Shelf) -> Vec<String> {
        Vec::new()
    }

    fn samples(&self, _: &str) -> Result<Samples, Error> {
        Ok(Samples::new())
    }

    fn save(&self, _: Target<'_>, _: &[u8]) -> Result<Saved, Error> {
        Err(Error::new(Kind::FileRefused, "nothing is written here"))
    }

    fn recall(&self, _: &str) -> Option<Arc<Value>> {
        None
    }

    fn recalled(&self) -> Vec<String> {
        Vec::new()
    }

    fn now_ms(&self) -> i64 {
        0
    }

    fn has_key(&self) -> bool {
        false
    }
}

/// The whole of `products.get` on a sample: with reading what stands around the answer, and copying it once.
fn commands(asked: &Asked) {
    let world = Sample(body(3000));
    for profile in [Profile::Research, Profile::Summary] {
        let params = json!({"asin": "B0FIXTURE1", "fixture": "it", "view": profile.name()});
        let params = Params::from(params.as_object().cloned().unwrap_or_default());
        let mut is_ready = true;
        let time = best(asked.rounds(ROUNDS), || {
            let running = pin!(run(&world, "products.get", &params, Consent::AsSaid));
            let ended = running.poll(&mut Context::from_waker(Waker::noop()));
            is_ready &= matches!(&ended, std::task::Poll::Ready(Ok(_)));
            ended.is_ready()
        });
        println!(
            "products.get of {} KB, {}: {:.2} ms{}",
            world.0.len() / 1000,
            profile.name(),
            time.as_secs_f64() * 1e3,
            if is_ready { "" } else { ", but it failed" }
        );
    }
}

fn comparisons(asked: &Asked) {
    let one = body(3000);
    for count in asked.sizes(vec![25, 50, 100], 25) {
        let products = one
            .split_once("\"products\":[")
            .and_then(|(_, rest)| rest.strip_suffix("]}"))
            .unwrap_or_default();
        // In one piece, so that nothing but the answer itself counts as its memory.
        let mut text = String::with_capacity((products.len() + 1) * count + 20);
        text.push_str("{\"products\":[");
        for at in 0..count {
            text.push_str(if at == 0 { "" } else { "," });
            text.push_str(products);
        }
        text.push_str("]}");
        let time = best(asked.rounds(ROUNDS / 4), || {
            Product::read_all(&text).map(|all| compare(&all, &compare_options()))
        });
        println!(
            "compare of {count}: {:.3} s, at most {} so far",
            time.as_secs_f64(),
            peak()
        );
    }
}

fn merges(asked: &Asked) {
    for edges in asked.sizes(vec![125_000, 250_000, 500_000, 1_000_000], asked.edges) {
        let all = graphs(edges);
        let time = (0..asked.rounds(3))
            .map(|_| {
                let all = all.clone();
                let begun = Instant::now();
                let merged = merge(all, &MergeOptions::default());
                let time = begun.elapsed();
                drop(std::hint::black_box(merged));
                time
            })
            .min()
            .unwrap_or_default();
        println!(
            "merge of {edges} edges: {:.2} s, {:.0} ns an edge",
            time.as_secs_f64(),
            time.as_secs_f64() * 1e9 / edges as f64
        );
    }
}
