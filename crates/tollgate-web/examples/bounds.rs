//! How much memory hostile servers can make a reader take, as the most the process ever had resident.
//!
//! Ten readers at once read from servers that never stop sending, that send a packed gigabyte, or nothing but nested tags.
//! Everything is cut at the limit of a body, and as many pages are taken apart at once as there are cores, like in the gate.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for people; what it cannot read it should stop at"
)]

mod loopback;

use std::{
    fs,
    io::{Read, Write},
    sync::Arc,
};

use flate2::{Compression, write::GzEncoder};
use loopback::{AT_ONCE, fetcher};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinSet,
};
use tollgate_web::{Limits, extract};

/// What a server sends after its head.
#[derive(Clone)]
enum Sent {
    Endless(&'static [u8]),
    Packed(Arc<Vec<u8>>),
}

#[tokio::main]
async fn main() {
    println!("| what each of {AT_ONCE} servers sends | read | peak, above what it was before |");
    println!("|---|---|---|");
    let limit = Limits::default().bytes;
    println!(
        "| (the limit of a body: {} MB) | | |",
        megabytes(limit as f64)
    );
    let gigabyte = Arc::new(packed(1 << 30));
    measure("words without end", Sent::Endless(b"<p>word word word</p>")).await;
    measure("nested tags without end", Sent::Endless(b"<div>")).await;
    measure("a gigabyte in 1 MB of gzip", Sent::Packed(gigabyte)).await;
}

async fn measure(what: &str, sent: Sent) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let server = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, sent.clone()));
        }
    });
    let fetcher = Arc::new(fetcher(&host, false));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let places = Arc::new(Semaphore::new(cores));
    // The kernel forgets the peak so far.
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = memory("VmRSS:");
    let mut readers = JoinSet::new();
    for number in 0..AT_ONCE {
        let (fetcher, url) = (Arc::clone(&fetcher), format!("http://{host}/{number}"));
        let places = Arc::clone(&places);
        readers.spawn(async move {
            let page = fetcher.fetch(&url).await.unwrap();
            assert!(page.truncated);
            let length = page.text.len();
            let _place = places.acquire().await.unwrap();
            let work = move || extract(&page.text, Some(&page.final_url));
            std::hint::black_box(tokio::task::spawn_blocking(work).await.unwrap());
            length
        });
    }
    let mut read = 0;
    while let Some(done) = readers.join_next().await {
        read += done.unwrap();
    }
    let more = memory("VmHWM:") - before;
    println!(
        "| {what} | {} MB | {} MB |",
        megabytes(read as f64),
        megabytes(more)
    );
    server.abort();
}

async fn answer(mut stream: TcpStream, sent: Sent) {
    let mut head = [0; 4096];
    if stream.read(&mut head).await.is_err() {
        return;
    }
    let packed = match &sent {
        Sent::Endless(_) => "",
        Sent::Packed(_) => "Content-Encoding: gzip\r\n",
    };
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{packed}\r\n");
    if stream.write_all(head.as_bytes()).await.is_err() {
        return;
    }
    match sent {
        Sent::Endless(piece) => {
            let pieces = piece.repeat(10_000);
            while stream.write_all(&pieces).await.is_ok() {}
        }
        // It fails when the reader has had enough, which is what is wanted.
        Sent::Packed(bytes) => drop(stream.write_all(&bytes).await),
    }
}

fn packed(size: u64) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    let mut source = std::io::repeat(b'a').take(size);
    std::io::copy(&mut source, &mut packer).unwrap();
    packer.flush().unwrap();
    packer.finish().unwrap()
}

fn memory(what: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(what)).unwrap();
    let kilobytes: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kilobytes * 1024.0
}

fn megabytes(bytes: f64) -> String {
    format!("{:.0}", bytes / 1e6)
}
