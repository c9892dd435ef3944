//! What passes the proxy as it is: encrypted pages and WebSockets.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::world::{World, eventually};

/// The digest that WebSockets greet with.
fn sha1(text: &[u8]) -> Vec<u8> {
    let mut state: [u32; 5] = [
        0x6745_2301,
        0xefcd_ab89,
        0x98ba_dcfe,
        0x1032_5476,
        0xc3d2_e1f0,
    ];
    let mut message = text.to_vec();
    message.push(0x80);
    while message.len() % 64 != 56 {
        message.push(0);
    }
    message.extend((text.len() as u64 * 8).to_be_bytes());
    for block in message.chunks(64) {
        let mut words: Vec<u32> = block
            .chunks(4)
            .map(|it| u32::from_be_bytes(it.try_into().unwrap()))
            .collect();
        for at in 16..80 {
            let mixed: u32 = words[at - 3] ^ words[at - 8] ^ words[at - 14] ^ words[at - 16];
            words.push(mixed.rotate_left(1));
        }
        let [mut a, mut b, mut c, mut d, mut e] = state;
        for (at, word) in words.into_iter().enumerate() {
            let (mixed, constant) = match at {
                0..20 => ((b & c) | (!b & d), 0x5a82_7999),
                20..40 => (b ^ c ^ d, 0x6ed9_eba1),
                40..60 => ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc),
                _ => (b ^ c ^ d, 0xca62_c1d6_u32),
            };
            let next = a
                .rotate_left(5)
                .wrapping_add(mixed)
                .wrapping_add(e)
                .wrapping_add(constant)
                .wrapping_add(word);
            (e, d, c, b, a) = (d, c, b.rotate_left(30), a, next);
        }
        for (kept, new) in state.iter_mut().zip([a, b, c, d, e]) {
            *kept = kept.wrapping_add(new);
        }
    }
    state.iter().flat_map(|it| it.to_be_bytes()).collect()
}

/// Greets a WebSocket and sends its first short message back.
async fn echo(mut stream: TcpStream) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read_exact(&mut byte).await.is_err() {
            return;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).to_string();
    let key = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("sec-websocket-key")
            .then_some(value)
    });
    let Some(key) = key else { return };
    let accept = format!("{}258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key.trim());
    let accept = STANDARD.encode(sha1(accept.as_bytes()));
    let greeting = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
    );
    stream.write_all(greeting.as_bytes()).await.unwrap();
    let mut frame = [0; 6];
    if stream.read_exact(&mut frame).await.is_err() {
        return;
    }
    let mut text = vec![0; usize::from(frame[1] & 0x7f)];
    stream.read_exact(&mut text).await.unwrap();
    for (at, byte) in text.iter_mut().enumerate() {
        *byte ^= frame[2 + at % 4];
    }
    let mut answer = vec![0x81, u8::try_from(text.len()).unwrap()];
    answer.extend(text);
    stream.write_all(&answer).await.unwrap();
    // It stays open until the page goes.
    let _ = stream.read_exact(&mut byte).await;
}

#[test]
fn the_digest_is_right() {
    let hex: String = sha1(b"abc").iter().map(|it| format!("{it:02x}")).collect();
    assert_eq!(hex, "a9993e364706816aba3e25717850c26c9cd0d89d");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_websocket_that_is_admitted_carries_words_both_ways() {
    let world = World::new().await;
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0)))
        .await
        .unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(echo(stream));
        }
    });
    let (_session, tab) = world.show("/near").await;
    let script = format!(
        "const s = new WebSocket('ws://socket.test:{port}/'); s.onopen = () => s.send('through the tunnel'); \
         s.onmessage = (e) => {{ document.title = e.data; }}; s.onerror = () => {{ document.title = 'failed'; }}; 1"
    );
    tab.execute(&script, std::time::Duration::from_secs(20))
        .await
        .unwrap();
    eventually("the words come back", || async {
        let title = tab.title().await.unwrap();
        assert_ne!(title, "failed");
        title == "through the tunnel"
    })
    .await;
    assert!(
        world
            .fence
            .asked
            .lock()
            .unwrap()
            .contains(&"socket.test".to_owned())
    );
    world.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_encrypted_connection_passes_as_it_is() {
    let world = World::new().await;
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0)))
        .await
        .unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard: Arc<Mutex<Vec<u8>>> = Arc::default();
    let log = Arc::clone(&heard);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let log = Arc::clone(&log);
            tokio::spawn(async move {
                let mut hello = [0; 4096];
                let read = stream.read(&mut hello).await.unwrap_or(0);
                log.lock().unwrap().extend_from_slice(&hello[..read]);
            });
        }
    });
    let (_session, tab) = world.show("/near").await;
    // Nobody answers, so there is no page; what was said is a greeting of TLS for that very host.
    let went = tab.navigate(&format!("https://secure.test:{port}/")).await;
    assert!(went.is_err(), "{went:?}");
    let heard = heard.lock().unwrap().clone();
    assert_eq!(heard.first(), Some(&0x16));
    let name = b"secure.test";
    assert!(heard.windows(name.len()).any(|it| it == name));
    world.browser.close().await;
}
