//! A site of the web on this machine.

use std::{
    io::{Read, Write},
    net::TcpListener,
    thread,
};

/// A site that answers the same at every address and has no rules for programs; it ends with
/// the test's process.
pub(crate) fn site(content_type: &'static str, body: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
                head.push(byte[0]);
            }
            let is_rules = head.starts_with(b"GET /robots.txt ");
            let (status, body) = match is_rules {
                true => ("404 Not Found", ""),
                false => ("200 OK", body.as_str()),
            };
            let answer = format!(
                "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
            drop(stream.write_all(answer.as_bytes()));
        }
    });
    host
}
