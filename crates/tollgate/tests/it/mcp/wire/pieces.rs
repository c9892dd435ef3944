//! Requests as they come over a connection: together, in pieces, and of every kind in turn.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use serde_json::{Value, json};

use super::peer::{Ask, Gate, Open, until};
use crate::support::TestEnv;

/// Reads answers until there are so many; gives their statuses and what they say.
#[track_caller]
fn answers(stream: &mut TcpStream, count: usize) -> Vec<(u16, String)> {
    let mut read = Vec::new();
    let mut all = Vec::new();
    while all.len() < count {
        match answer(&read) {
            Some((status, body, length)) => {
                all.push((status, body));
                read.drain(..length);
            }
            None => {
                let mut piece = [0; 4096];
                let length = stream.read(&mut piece).unwrap();
                assert!(length > 0, "it hung up after {all:?}");
                read.extend_from_slice(&piece[..length]);
            }
        }
    }
    assert_eq!(String::from_utf8_lossy(&read), "", "more came than that");
    all
}

/// An answer that is all there, and how long it is.
fn answer(read: &[u8]) -> Option<(u16, String, usize)> {
    let text = String::from_utf8_lossy(read);
    let (head, _) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let length = head.to_ascii_lowercase();
    let length = length.split("content-length: ").nth(1)?;
    let length: usize = length.lines().next()?.parse().ok()?;
    let end = head.len() + 4 + length;
    let body = read.get(head.len() + 4..end)?;
    Some((status, String::from_utf8(body.to_vec()).ok()?, end))
}

fn said(text: &str) -> (u64, u64) {
    let message: Value = serde_json::from_str(text).unwrap();
    let data = &message["result"]["structuredContent"];
    let words = data["words"].as_u64().unwrap_or_else(|| panic!("{text}"));
    (message["id"].as_u64().unwrap(), words)
}

fn call(id: u64) -> Ask {
    let words: String = (0..id).map(|_| "a ").collect();
    Ask::call("text.stats", json!({"text": words})).again(id)
}

#[test]
fn what_comes_together_is_answered_in_order() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let together: Vec<u8> = (1..=5)
        .flat_map(|id| call(id).bytes(gate.address))
        .collect();
    let mut stream = Open::sending(gate.address, &together);
    let all = answers(&mut stream, 5);
    let all: Vec<(u64, u64)> = all.iter().map(|(_, body)| said(body)).collect();
    assert_eq!(all, [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5)]);
}

#[test]
fn one_connection_carries_requests_of_every_kind() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let mut stream = Open::sending(gate.address, &call(1).bytes(gate.address));
    assert_eq!(said(&answers(&mut stream, 1)[0].1), (1, 1));
    // In pieces, wherever it is cut.
    for (id, cut) in [(2, 3), (3, 40), (4, 300), (5, usize::MAX)] {
        let bytes = call(id).bytes(gate.address);
        let cut = cut.min(bytes.len() - 1);
        stream.write_all(&bytes[..cut]).unwrap();
        until(|| gate.has_read(&stream));
        stream.write_all(&bytes[cut..]).unwrap();
        assert_eq!(said(&answers(&mut stream, 1)[0].1), (id, id));
    }
    let health = Ask::new("GET", "/healthz").bytes(gate.address);
    stream.write_all(&health).unwrap();
    assert_eq!(answers(&mut stream, 1), [(200, "ok\n".to_owned())]);
    stream.write_all(&call(6).bytes(gate.address)).unwrap();
    assert_eq!(said(&answers(&mut stream, 1)[0].1), (6, 6));
}

#[test]
fn a_body_in_chunks_is_read_as_one() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let bytes = call(7).bytes(gate.address);
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let head: Vec<&str> = head
        .lines()
        .filter(|line| !line.starts_with("content-length"))
        .collect();
    let (first, second) = body.split_at(9);
    let chunked = format!(
        "{}\r\ntransfer-encoding: chunked\r\n\r\n9\r\n{first}\r\n{:x}\r\n{second}\r\n0\r\n\r\n",
        head.join("\r\n"),
        second.len()
    );
    let mut stream = Open::sending(gate.address, chunked.as_bytes());
    assert_eq!(said(&answers(&mut stream, 1)[0].1), (7, 7));
}
