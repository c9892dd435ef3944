//! How fast pages are read: `--data DIR` names a folder of folders with a `source.html` each, for extraction alone.
//!
//! Prints a table: megabytes of HTML a second of processor time, which other work on the machine does not change, and pages
//! a second from a server on loopback, with everything a page costs (checks of the address, `robots.txt`, politeness,
//! decoding, extraction).

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for people; what it cannot read it should stop at"
)]

mod loopback;

use std::{fs, sync::Arc, time::Instant};

use loopback::{AT_ONCE, fetcher};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    runtime::Runtime,
    task::JoinSet,
};
use tollgate_web::extract;

const PAGES: usize = 200;
const ROUNDS: usize = 5;

fn main() {
    println!("| what | size | best | median |");
    println!("|---|---|---|---|");
    let mut arguments = std::env::args().skip(1);
    if let (Some("--data"), Some(folder)) = (arguments.next().as_deref(), arguments.next()) {
        extraction(&folder);
    }
    nesting();
    let runtime = Runtime::new().unwrap();
    fetching(&runtime);
}

/// The processor time of this thread so far, in seconds, as the kernel counts it.
fn spent() -> f64 {
    let counted = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let nanos: f64 = counted.split(' ').next().unwrap().parse().unwrap();
    nanos / 1e9
}

fn extraction(folder: &str) {
    let folders = fs::read_dir(folder).unwrap();
    let sources = folders
        .filter_map(|entry| fs::read_to_string(entry.unwrap().path().join("source.html")).ok());
    let sources: Vec<String> = sources.collect();
    let megabytes = sources.iter().map(String::len).sum::<usize>() as f64 / 1e6;
    let rounds = (0..ROUNDS).map(|_| {
        let start = spent();
        for source in &sources {
            std::hint::black_box(extract(source, Some("http://fakehost/test/page.html")));
        }
        megabytes / (spent() - start)
    });
    let size = format!("{} pages, {megabytes:.1} MB", sources.len());
    row("extraction", &size, rounds.collect(), "MB/s");
}

/// A page made to hurt whoever builds a tree of it.
fn nesting() {
    let html = format!("{}words", "<div>".repeat(20_000_000));
    let megabytes = html.len() as f64 / 1e6;
    let start = spent();
    assert_eq!(extract(&html, None).text, "words");
    let rate = megabytes / (spent() - start);
    row(
        "extraction of nested tags",
        &format!("{megabytes:.0} MB"),
        vec![rate],
        "MB/s",
    );
}

fn fetching(runtime: &Runtime) {
    let body = Arc::new(page());
    let size = format!(
        "{PAGES} pages of {:.1} KB, {AT_ONCE} at once",
        body.len() as f64 / 1e3
    );
    let host = runtime.block_on(serve(body));
    let rounds = (0..ROUNDS).map(|_| runtime.block_on(round(&host)));
    row(
        "fetching and extraction, loopback",
        &size,
        rounds.collect(),
        "pages/s",
    );
}

/// Reads all pages once with a fetcher that knows none of them.
async fn round(host: &str) -> f64 {
    let fetcher = Arc::new(fetcher(host, true));
    let start = Instant::now();
    let mut readers = JoinSet::new();
    for reader in 0..AT_ONCE {
        let (fetcher, host) = (Arc::clone(&fetcher), host.to_owned());
        readers.spawn(async move {
            for number in (reader..PAGES).step_by(AT_ONCE) {
                let page = fetcher
                    .fetch(&format!("http://{host}/{number}"))
                    .await
                    .unwrap();
                let work =
                    tokio::task::spawn_blocking(move || extract(&page.text, Some(&page.final_url)));
                assert!(work.await.unwrap().text.contains("Twelve tasters"));
            }
        });
    }
    while let Some(done) = readers.join_next().await {
        done.unwrap();
    }
    PAGES as f64 / start.elapsed().as_secs_f64()
}

fn page() -> Vec<u8> {
    include_bytes!("../offline/en-news.html").to_vec()
}

async fn serve(body: Arc<Vec<u8>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, Arc::clone(&body)));
        }
    });
    host
}

/// Answers request after request on one connection.
async fn answer(mut stream: TcpStream, body: Arc<Vec<u8>>) {
    drop(stream.set_nodelay(true));
    let mut seen = Vec::new();
    let mut piece = [0; 4096];
    loop {
        while let Some(end) = seen.windows(4).position(|four| four == b"\r\n\r\n") {
            let is_rules = seen.starts_with(b"GET /robots.txt ");
            seen.drain(..end + 4);
            let (status, content): (&str, &[u8]) = if is_rules {
                ("404 Not Found", b"")
            } else {
                ("200 OK", &body)
            };
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\r\n",
                content.len()
            );
            if stream
                .write_all(&[head.as_bytes(), content].concat())
                .await
                .is_err()
            {
                return;
            }
        }
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => return,
            Ok(count) => seen.extend_from_slice(&piece[..count]),
        }
    }
}

fn row(what: &str, size: &str, mut rates: Vec<f64>, unit: &str) {
    rates.sort_by(f64::total_cmp);
    let best = rates.last().copied().unwrap_or_default();
    let median = rates.get(rates.len() / 2).copied().unwrap_or_default();
    println!("| {what} | {size} | {best:.0} {unit} | {median:.0} {unit} |");
}
