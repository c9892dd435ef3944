//! Connections that want nothing but room, over real sockets.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    os::fd::AsFd,
    time::{Duration, Instant},
};

use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use serde_json::json;

use super::{good, undisturbed};
use crate::{
    mcp::wire::peer::{Ask, Gate, Open, PATIENCE, until},
    support::TestEnv,
};

/// Far less than the time of an idle connection, and more than that of a head.
const SOON: Duration = Duration::from_secs(20);

/// A connection from another address of this machine.
fn from(own: [u8; 4], gate: &Gate) -> TcpStream {
    let made = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(made.as_fd(), &SocketAddr::from((own, 0))).unwrap();
    connect(made.as_fd(), &gate.address).unwrap();
    let stream = TcpStream::from(made);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Whether the other side hangs up soon, whatever it says before.
fn is_let_go(mut stream: &TcpStream) -> bool {
    stream.set_read_timeout(Some(SOON)).unwrap();
    let mut heard = Vec::new();
    match stream.read_to_end(&mut heard) {
        Ok(_) => true,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

/// Sends a request on this connection and reads the answer.
#[track_caller]
fn asked(stream: &mut TcpStream, gate: &Gate, ask: &Ask) {
    stream.write_all(&ask.bytes(gate.address)).unwrap();
    let heard = Open::answering(stream.try_clone().unwrap());
    heard.expect("no answer came").whole().has(200);
}

fn open_connections(gate: &Gate) -> usize {
    let figures = gate.ask(&Ask::new("GET", "/metrics")).has(200).body;
    let line = figures
        .lines()
        .find_map(|line| line.strip_prefix("tollgate_connections "));
    line.unwrap().parse().unwrap()
}

#[test]
fn who_sends_nothing_has_the_time_of_a_head() {
    let env = TestEnv::with_config("[serve]\nheader_timeout_seconds = 1\n");
    let gate = Gate::open(&env);
    let silent: Vec<TcpStream> = (0..20).map(|_| Open::sending(gate.address, b"")).collect();
    let at = Instant::now();
    assert!(silent.iter().all(is_let_go), "{:?}", at.elapsed());
    assert!(at.elapsed() < SOON);
    undisturbed(&gate);
}

#[test]
fn who_has_asked_once_may_be_idle_for_longer() {
    let env =
        TestEnv::with_config("[serve]\nheader_timeout_seconds = 1\nidle_timeout_seconds = 5\n");
    let gate = Gate::open(&env);
    let mut stream = Open::sending(gate.address, b"");
    asked(&mut stream, &gate, &good());
    std::thread::sleep(Duration::from_millis(2200));
    asked(&mut stream, &gate, &good());
    assert!(is_let_go(&stream), "an idle connection ends at last");
}

#[test]
fn a_head_that_drips_is_let_go() {
    let env = TestEnv::with_config("[serve]\nheader_timeout_seconds = 1\n");
    let gate = Gate::open(&env);
    let mut stream = Open::sending(gate.address, b"");
    let at = Instant::now();
    let whole = good().bytes(gate.address);
    let mut sent = whole.chunks(1).take(60).take_while(|byte| {
        std::thread::sleep(Duration::from_millis(100));
        stream.write_all(byte).is_ok()
    });
    let sent = sent.by_ref().count();
    assert!(is_let_go(&stream) && sent < 60, "{sent}");
    assert!(at.elapsed() < SOON);
    undisturbed(&gate);
}

#[test]
fn one_address_does_not_shut_out_others() {
    let env = TestEnv::with_config("[serve]\nconnections = 60\nconnections_per_peer = 20\n");
    let gate = Gate::open(&env);
    let flood: Vec<TcpStream> = (0..100).map(|_| Open::sending(gate.address, b"")).collect();
    // Another address is served, and so is this one: the longest idle of it goes.
    let mut other = from([127, 0, 0, 2], &gate);
    asked(&mut other, &gate, &good());
    undisturbed(&gate);
    until(|| open_connections(&gate) <= 23);
    assert!(is_let_go(&flood[0]), "the longest idle goes first");
}

#[test]
fn a_full_gate_lets_the_longest_idle_go() {
    let env = TestEnv::with_config(
        "[serve]\nanonymous = true\nconnections = 30\nconnections_per_peer = 30\n",
    );
    let token = super::super::access::bearer(&env, &[]);
    let gate = Gate::open(&env);
    let mut held = from([127, 0, 0, 9], &gate);
    asked(&mut held, &gate, &good().bearing(&token));
    let mut flood = Vec::new();
    for last in 3..8 {
        for _ in 0..20 {
            flood.push(from([127, 0, 0, last], &gate));
        }
    }
    undisturbed(&gate);
    assert!(is_let_go(&held), "it was idle for longer than all others");
    drop(flood);
}

#[test]
fn an_open_stream_of_a_known_caller_stays() {
    let env = TestEnv::with_config(
        "[serve]\nanonymous = true\nconnections = 30\nconnections_per_peer = 10\n",
    );
    let token = super::super::access::bearer(&env, &[]);
    let gate = Gate::open(&env);
    let listen = || {
        let wanted = json!({"notifications": {"toolsListChanged": true}});
        Ask::modern("subscriptions/listen", wanted).bearing(&token)
    };
    // More streams than an address may have without a token.
    let mut streams: Vec<Open> = (0..15).map(|_| gate.begin(&listen())).collect();
    assert!(streams.iter_mut().all(|stream| stream.event().is_some()));
    let flood: Vec<TcpStream> = (0..60).map(|_| Open::sending(gate.address, b"")).collect();
    undisturbed(&gate);
    until(|| open_connections(&gate) <= 30);
    assert!(open_connections(&gate) >= 15);
    drop(flood);
    gate.signal(rustix::process::Signal::TERM);
    for stream in streams {
        drop(stream.events());
    }
}

#[test]
fn a_flood_of_requests_at_once_is_answered_in_order() {
    let env = TestEnv::with_config("[serve]\nburst = 50\nrequests_per_second = 50\n");
    let gate = Gate::open(&env);
    let one = good().bytes(gate.address);
    let stream = Open::sending(gate.address, b"");
    let mut writing = stream.try_clone().unwrap();
    let flood = std::thread::spawn(move || {
        (0..3000)
            .take_while(|_| writing.write_all(&one).is_ok())
            .count()
    });
    let mut reading = stream.try_clone().unwrap();
    // When everything was answered, nothing more comes.
    reading
        .set_read_timeout(Some(Duration::from_secs(1)))
        .unwrap();
    let mut heard = vec![0; 1 << 16];
    let at = Instant::now();
    let mut bytes = 0;
    while at.elapsed() < Duration::from_secs(2) {
        match reading.read(&mut heard) {
            Ok(read) => bytes += read,
            Err(_) => break,
        }
    }
    assert!(bytes > 0);
    let mut other = from([127, 0, 0, 2], &gate);
    let ready = Ask::new("GET", "/healthz");
    asked(&mut other, &gate, &ready);
    drop(stream.shutdown(std::net::Shutdown::Both));
    assert!(flood.join().unwrap() > 0);
}

#[test]
fn connections_leave_room_for_other_files() {
    let env = TestEnv::new();
    let gate = Gate::under(&env, "ulimit -Sn 128; ulimit -Hn 400");
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", gate.id())).unwrap();
    let files = limits
        .lines()
        .find(|line| line.starts_with("Max open files"))
        .unwrap();
    let words: Vec<&str> = files.split_whitespace().collect();
    assert_eq!(
        &words[3..5],
        ["400", "400"],
        "the soft limit is the hard one"
    );
    let flood: Vec<TcpStream> = (1..6_u8)
        .flat_map(|last| (0..120).map(move |_| last))
        .map(|last| from([127, 0, 1, last], &gate))
        .collect();
    undisturbed(&gate);
    gate.ask(&Ask::new("GET", "/readyz")).has(200);
    assert!(open_connections(&gate) < 300);
    drop(flood);
}
