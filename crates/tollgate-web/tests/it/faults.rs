//! What servers do wrong, by accident or on purpose.

use std::{io::Write, time::Duration};

use flate2::{
    Compression,
    write::{DeflateEncoder, GzEncoder, ZlibEncoder},
};
use tokio::net::TcpStream;
use tollgate_web::{Fetcher, Kind, Limits, Method, extract};

use crate::server::{self, Reply, Server, Then, answer};

const TEXT: &str = "Content-Type: text/plain\r\n";

/// Limits that only what never ends can reach.
const PATIENT: Limits = Limits {
    connect: Duration::from_secs(60),
    first_byte: Duration::from_secs(60),
    idle: Duration::from_secs(60),
    total: Duration::from_secs(60),
    bytes: 100_000,
    redirects: 5,
};

async fn fetched(
    reply: impl Fn() -> Reply + Send + Sync + 'static,
) -> Result<(String, bool), Kind> {
    fetched_within(PATIENT, reply).await
}

async fn fetched_within(
    limits: Limits,
    reply: impl Fn() -> Reply + Send + Sync + 'static,
) -> Result<(String, bool), Kind> {
    let server = Server::start(move |_| reply()).await;
    let fetcher = server.fetcher(|settings| settings.limits = limits);
    let page = fetcher.fetch(&server.url("/")).await;
    page.map(|page| (page.text, page.truncated))
        .map_err(|error| error.kind)
}

fn packed(how: &str, body: Vec<u8>) -> Reply {
    answer(200, &format!("{TEXT}Content-Encoding: {how}\r\n"), body)
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// A stream of one stored block, and its end.
fn brotli(text: &[u8]) -> Vec<u8> {
    let head = ((text.len() as u32 - 1) << 4) | 1 << 20;
    [&head.to_le_bytes()[..3], text, &[3]].concat()
}

/// Fifty megabytes of one letter.
const BROTLI_BOMB: [u8; 93] = [
    203, 255, 255, 63, 248, 37, 194, 226, 177, 64, 32, 247, 254, 143, 255, 255, 127, 240, 75, 0,
    196, 97, 17, 128, 238, 253, 31, 255, 255, 255, 224, 151, 0, 136, 195, 2, 0, 221, 251, 63, 254,
    255, 255, 193, 47, 1, 16, 135, 5, 0, 186, 247, 127, 252, 255, 255, 131, 95, 2, 32, 14, 11, 0,
    116, 239, 255, 248, 255, 255, 7, 191, 4, 64, 28, 22, 0, 232, 222, 255, 229, 255, 255, 7, 126,
    9, 128, 56, 44, 0, 208, 189, 255, 0,
];

#[tokio::test]
async fn every_packing_we_ask_for_is_unpacked() {
    let deflated = {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(b"words").unwrap();
        encoder.finish().unwrap()
    };
    let zlib = {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(b"words").unwrap();
        encoder.finish().unwrap()
    };
    let twice = [gzip(b"wor"), gzip(b"ds")].concat();
    for (how, body) in [
        ("gzip", gzip(b"words")),
        ("x-gzip", twice),
        ("deflate", zlib),
        ("deflate", deflated),
        ("br", brotli(b"words")),
        ("identity", b"words".to_vec()),
    ] {
        let found = fetched(move || packed(how, body.clone())).await;
        assert_eq!(found, Ok(("words".to_owned(), false)), "{how}");
    }
    let empty = fetched(|| packed("gzip", Vec::new())).await;
    assert_eq!(empty, Ok((String::new(), false)));
}

#[tokio::test]
async fn broken_packing_is_an_error() {
    let cut = |mut bytes: Vec<u8>| {
        bytes.truncate(bytes.len() - 6);
        bytes
    };
    let noise: Vec<u8> = (0..2000_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    for (how, body) in [
        ("gzip", b"not packed at all".to_vec()),
        ("gzip", cut(gzip(b"some words to be cut off"))),
        ("deflate", vec![0x78, 0x9c, 0xff, 0xff, 0xff]),
        ("br", cut(brotli(b"some words to be cut off"))),
        ("br", noise),
        ("zstd", b"anything".to_vec()),
        ("gzip, gzip", gzip(&gzip(b"words"))),
    ] {
        let found = fetched(move || packed(how, body.clone())).await;
        assert_eq!(found, Err(Kind::Parse), "{how}");
    }
}

#[tokio::test]
async fn a_bomb_is_cut_at_the_limit() {
    let bomb = gzip(&vec![b'a'; 50 << 20]);
    assert!(bomb.len() < 100_000);
    let (text, truncated) = fetched(move || packed("gzip", bomb.clone())).await.unwrap();
    assert_eq!((text.len(), truncated), (100_000, true));
}

#[tokio::test]
async fn bombs_of_every_packing_are_cut_at_the_limit() {
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::best());
    zlib.write_all(&vec![b'a'; 50 << 20]).unwrap();
    let mut raw = DeflateEncoder::new(Vec::new(), Compression::best());
    raw.write_all(&vec![b'a'; 50 << 20]).unwrap();
    for (how, bomb) in [
        ("deflate", zlib.finish().unwrap()),
        ("deflate", raw.finish().unwrap()),
        ("br", BROTLI_BOMB.to_vec()),
    ] {
        assert!(bomb.len() < 100_000);
        let (text, truncated) = fetched(move || packed(how, bomb.clone())).await.unwrap();
        assert_eq!((text.len(), truncated), (100_000, true), "{how}");
        assert!(text.bytes().all(|byte| byte == b'a'), "{how}");
    }
}

#[tokio::test]
async fn a_type_we_do_not_read_is_refused_before_its_body_comes() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 100000\r\n\r\n";
    let found = fetched(|| (head.as_bytes().to_vec(), Then::Hang)).await;
    assert_eq!(found, Err(Kind::ContentType));
    // What sends us on, or is no page, may be of any type.
    let server = Server::start(|request| match request.target.as_str() {
        "/" => answer(302, "Location: /next\r\nContent-Type: image/gif\r\n", "x"),
        "/403" => answer(403, "Content-Type: image/gif\r\n", "x"),
        _ => answer(200, TEXT, "words"),
    })
    .await;
    let fetcher = server.fetcher(|_| {});
    assert_eq!(fetcher.fetch(&server.url("/")).await.unwrap().text, "words");
    let refused = fetcher.fetch(&server.url("/403")).await.unwrap_err();
    assert_eq!(refused.kind, Kind::Forbidden);
}

#[tokio::test]
async fn an_endless_body_is_cut_at_the_limit() {
    let head = format!("HTTP/1.1 200 OK\r\n{TEXT}\r\n");
    let plain = head.clone();
    let found = fetched(move || (plain.clone().into_bytes(), Then::Repeat(vec![b'a'; 8192]))).await;
    assert_eq!(
        found.map(|(text, cut)| (text.len(), cut)),
        Ok((100_000, true))
    );
    // What unpacks to nothing ends as well: empty stored blocks, for ever.
    let packed = format!("HTTP/1.1 200 OK\r\n{TEXT}Content-Encoding: deflate\r\n\r\n");
    let blocks = [0_u8, 0, 0, 0xff, 0xff].repeat(1000);
    let found = fetched(move || (packed.clone().into_bytes(), Then::Repeat(blocks.clone()))).await;
    assert_eq!(found, Ok((String::new(), true)));
}

#[tokio::test]
async fn a_server_that_stops_speaking_is_left() {
    let first_byte = Limits {
        first_byte: Duration::from_millis(100),
        ..PATIENT
    };
    let silent = fetched_within(first_byte, || (Vec::new(), Then::Hang)).await;
    assert_eq!(silent, Err(Kind::Timeout));
    let half = format!("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n{TEXT}\r\nsome");
    let idle = Limits {
        idle: Duration::from_millis(100),
        ..PATIENT
    };
    let stuck = half.clone();
    let stuck = fetched_within(idle, move || (stuck.clone().into_bytes(), Then::Hang)).await;
    assert_eq!(stuck, Err(Kind::Timeout));
    // One that always says a little more is left when all of the time is up.
    let total = Limits {
        total: Duration::from_millis(300),
        ..PATIENT
    };
    let slow = fetched_within(total, move || (half.clone().into_bytes(), Then::Drip)).await;
    assert_eq!(slow, Err(Kind::Timeout));
}

#[tokio::test]
async fn wrong_lengths_and_nonsense_are_failures_of_the_network() {
    for bytes in [
        format!("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n{TEXT}\r\ntoo short"),
        format!("HTTP/1.1 200 OK\r\nContent-Length: x\r\n{TEXT}\r\nwords"),
        format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n{TEXT}\r\nzz\r\nwords"),
        "\0\0\0 not a server of the web\r\n\r\n".to_owned(),
        String::new(),
    ] {
        let sent = bytes.clone();
        let found = fetched(move || (sent.clone().into_bytes(), Then::Close)).await;
        assert_eq!(found, Err(Kind::Network), "{bytes:?}");
    }
    // More than was announced is not read.
    let long = format!("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n{TEXT}\r\nwords and more");
    let found = fetched(move || (long.clone().into_bytes(), Then::Close)).await;
    assert_eq!(found, Ok(("word".to_owned(), false)));
}

#[tokio::test]
async fn a_hostile_robots_txt_costs_its_limit_and_no_more() {
    let server = Server::start(|request| match request.target.as_str() {
        "/robots.txt" => (
            b"HTTP/1.1 200 OK\r\n\r\nUser-agent: *\n".to_vec(),
            Then::Repeat(b"Disallow: /a*a*a*a*a*b$\n".to_vec()),
        ),
        _ => answer(200, TEXT, "words"),
    })
    .await;
    let fetcher = server.fetcher(|settings| settings.robots = true);
    let page = fetcher
        .fetch(&server.url(&format!("/{}", "a".repeat(4000))))
        .await
        .unwrap();
    assert_eq!(page.text, "words");
}

#[tokio::test]
async fn nobody_listening_is_a_failure_of_the_network() {
    let server = Server::start(|_| answer(200, TEXT, "")).await;
    let free = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let fetcher = server.fetcher(|settings| {
        settings.guard.allow_hosts = vec!["127.0.0.1".to_owned()];
    });
    let error = fetcher.fetch(&format!("http://{free}/")).await.unwrap_err();
    assert_eq!(error.kind, Kind::Network);
    assert!(!error.to_string().contains("127.0.0.1"));
}

#[tokio::test]
async fn nested_tags_without_end_cost_the_limit_and_no_more() {
    let server = Server::start(|_| {
        let head =
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100000000\r\n\r\n";
        (
            head.as_bytes().to_vec(),
            Then::Repeat(b"<div>".repeat(4096)),
        )
    })
    .await;
    let fetcher = server.fetcher(|settings| settings.limits.bytes = 1_000_000);
    let page = fetcher.fetch(&server.url("/")).await.unwrap();
    assert_eq!((page.text.len(), page.truncated), (1_000_000, true));
    let found = extract(&page.text, Some(&page.final_url));
    assert_eq!((found.text.as_str(), found.method), ("", Method::Whole));
}

#[tokio::test]
async fn what_contradicts_itself_is_read_by_the_first_that_is_sure() {
    // The header goes before the page, and a mark before both; what does not fit is replaced.
    let page = "<meta charset=gb2312><title>\u{7eff}\u{8336}</title>";
    let declared = "Content-Type: text/html; charset=utf-8\r\n";
    let server = Server::start(move |request| match request.target.as_str() {
        "/header" => answer(200, declared, page),
        "/mark" => answer(
            200,
            "Content-Type: text/html; charset=gb2312\r\n",
            format!("\u{feff}{page}"),
        ),
        _ => answer(
            200,
            declared,
            [b"<p>caf\xe9 ".as_slice(), "\u{8336}</p>".as_bytes()].concat(),
        ),
    })
    .await;
    let fetcher = server.fetcher(|_| {});
    for path in ["/header", "/mark"] {
        let page = fetcher.fetch(&server.url(path)).await.unwrap();
        assert!(
            page.text.contains("\u{7eff}\u{8336}") && page.charset == "UTF-8",
            "{path}: {page:?}"
        );
    }
    let mixed = fetcher.fetch(&server.url("/mixed")).await.unwrap();
    assert_eq!(mixed.text, "<p>caf\u{fffd} \u{8336}</p>");
}

/// A server whose queue is full lets nobody connect, and does not say so.
#[tokio::test]
async fn a_server_that_accepts_nobody_is_given_up_when_connecting_takes_too_long() {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(0).unwrap();
    let address = listener.local_addr().unwrap();
    let mut queue = Vec::new();
    let short = Duration::from_millis(200);
    while let Ok(Ok(stream)) = tokio::time::timeout(short, TcpStream::connect(address)).await {
        queue.push(stream);
    }
    let mut settings = server::settings();
    settings.guard.allow_hosts = vec![address.to_string()];
    settings.limits = Limits {
        connect: short,
        ..PATIENT
    };
    let fetcher = Fetcher::new(settings);
    let url = format!("http://{address}/");
    let ended = tokio::time::timeout(PATIENT.connect / 2, fetcher.fetch(&url)).await;
    let error = ended.expect("it is given up early").unwrap_err();
    assert_eq!(error.kind, Kind::Timeout);
    assert_eq!(error.message, "the connection took too long");
    drop(queue);
}
