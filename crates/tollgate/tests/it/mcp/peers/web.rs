//! A real client fetches a page that is too long for one answer and reads the rest of it.

use super::{Peers, Transport, reached, script};
use crate::support::{TestEnv, site};

#[track_caller]
fn reads_on(transport: Transport) {
    let line = "The ferry leaves the old pier at noon, and it comes back before the sun is down.\n";
    let body = line.repeat(5000);
    let host = site("text/plain; charset=utf-8", body.clone());
    let env = TestEnv::with_config(&format!("[web]\nallow_hosts = [\"{host}\"]\n"));
    let address = format!("http://{host}/ferries.txt");
    let peers = Peers::installed();
    let answer = reached(&env, transport, |server| {
        let all = [&[address.as_str(), "--"], server].concat();
        peers.python(&env, &script("page.py"), &all).exits(0).json()
    });
    let data = &answer["data"];
    assert_eq!(data["text"].as_str().map(str::len), Some(500), "{data}");
    assert_eq!(data["truncated"], true);
    let pieces = answer["pieces"].as_array().unwrap();
    assert!(pieces.len() > 1, "{data}");
    let whole: String = pieces.iter().filter_map(|piece| piece.as_str()).collect();
    assert!(whole == body, "{} bytes of {}", whole.len(), body.len());
    let templates = answer["templates"].as_array().unwrap();
    assert!(
        templates.iter().any(|known| known == "web://pages/{id}"),
        "{templates:?}"
    );
}

#[test]
fn python_reads_on_over_stdio() {
    reads_on(Transport::Stdio);
}

#[test]
fn python_reads_on_over_http() {
    reads_on(Transport::Http);
}
