//! How long a server is waited for, by a clock that moves only when everybody waits.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{json, value::RawValue};
use tokio::time::{Instant, sleep};
use tollgate_core::{CallContext, ErrorCode, InputResponses, Payload, ProviderError};
use tollgate_testkit::fakes::context;

use super::{
    Journal, Server, Settings, Transport, Upstream,
    ask::Reached,
    call::{Question, Running, Step},
    chatter,
    garbage::Garbage,
    http::Http,
    link::{Exchange, Link},
    peer::Peer,
    rpc::Heard,
    stdio::{self, Pretended},
    upstreams,
};

const SILENCE: Duration = Duration::from_secs(10);
const WHOLE: Duration = Duration::from_secs(60);

/// A server that a test speaks for, and a request to it.
async fn request(id: u64) -> (Arc<Upstream>, Running, Pretended) {
    let url = "http://127.0.0.1:9/".to_owned();
    let chatter = chatter::channel().0;
    let link = Http::new(&url, &[], None, 1 << 20, chatter, Garbage::new(None, "s")).unwrap();
    let transport = Transport::Http {
        url,
        headers: Vec::new(),
        oauth: None,
    };
    let server = Server {
        max_timeout: WHOLE,
        ..Server::new("s", transport)
    };
    let mut upstreams = upstreams(Settings {
        servers: vec![server],
        ..Settings::default()
    });
    let upstream = upstreams.remove(0);
    let (exchange, pretended) = stdio::Exchange::pretended(id);
    let running = Running {
        peer: Arc::new(Peer::modern(
            Arc::new(Link::Http(Arc::new(link))),
            &Payload::empty_object(),
        )),
        id,
        exchange: Exchange::Stdio(exchange),
        turn: upstream.turn(&context()).await.unwrap(),
        task: None,
    };
    (upstream, running, pretended)
}

/// Follows a request to a server that a test speaks for; says how long that took.
async fn follow<F: Future<Output = ()> + Send + 'static>(
    speak: impl FnOnce(Pretended) -> F,
) -> (Result<Step, ProviderError>, Duration) {
    let (upstream, running, pretended) = request(7).await;
    let begun = Instant::now();
    let speaks = tokio::spawn(speak(pretended));
    let step = upstream.follow(running, SILENCE, &context()).await;
    let took = begun.elapsed();
    speaks.abort();
    (step, took)
}

#[tokio::test(start_paused = true)]
async fn a_question_is_kept_open_for_ten_minutes() {
    for (waited, is_open) in [(590, true), (610, false)] {
        let (upstream, running, _server) = request(7).await;
        let question = Question {
            id: RawValue::from_string("1".to_owned()).unwrap(),
            method: "elicitation/create".to_owned(),
            params: Payload::empty_object(),
        };
        let Ok(Reached::Asks(asked)) = upstream.hold(running, question).await else {
            panic!("a question");
        };
        assert!(upstream.is_idle(), "it takes no turn");
        sleep(Duration::from_secs(waited)).await;
        let cx = CallContext {
            responses: Some(InputResponses {
                state: asked.state,
                ..InputResponses::default()
            }),
            ..context()
        };
        let error = upstream.resume(&cx).await.err().unwrap();
        // Nobody listens at the server's address, which only shows if it is spoken to.
        let expected = if is_open {
            ErrorCode::ConnectionLost
        } else {
            ErrorCode::StateRejected
        };
        assert_eq!(error.code, expected, "{error}");
    }
}

fn progress() -> Heard {
    let params = Payload::from(json!({"progressToken": 7, "progress": 1}));
    Heard::Told("notifications/progress".to_owned(), params)
}

#[tokio::test(start_paused = true)]
async fn progress_extends_the_wait() {
    let (step, took) = follow(|server| async move {
        for _ in 0..5 {
            sleep(Duration::from_secs(8)).await;
            server.say(progress());
        }
        sleep(Duration::from_secs(8)).await;
        server.answer(Payload::empty_object());
    })
    .await;
    assert!(matches!(step, Ok(Step::Answered(..))));
    assert_eq!(took.as_secs(), 48);
}

#[tokio::test(start_paused = true)]
async fn silence_ends_the_wait_and_other_words_do_not_extend_it() {
    let (step, took) = follow(|server| async move {
        sleep(Duration::from_secs(8)).await;
        let said = Payload::from(json!({"level": "info", "data": "still here"}));
        let told = Heard::Told("notifications/message".to_owned(), said);
        server.say(told);
        sleep(WHOLE).await;
    })
    .await;
    let error = step.err().unwrap();
    assert_eq!(error.code, ErrorCode::TimedOut);
    assert!(error.message.contains("10000 ms"), "{error}");
    assert_eq!(took.as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn no_progress_extends_the_wait_beyond_the_cap() {
    let (step, took) = follow(|server| async move {
        loop {
            sleep(Duration::from_secs(7)).await;
            server.say(progress());
        }
    })
    .await;
    let error = step.err().unwrap();
    assert_eq!(error.code, ErrorCode::TimedOut);
    assert!(error.message.contains("60000 ms"), "{error}");
    assert_eq!(took, WHOLE);
}

/// When something was noted.
#[derive(Default)]
struct Notes(Mutex<Vec<Instant>>);

impl Journal for Notes {
    fn failed(&self, _server: &str, _settings: &str, _reason: &str) {}

    fn recovered(&self, _server: &str) {}

    fn last_failure(&self, _server: &str, _settings: &str) -> Option<String> {
        None
    }

    fn note(&self, event: &'static str, _: &str, message: &str) {
        assert_eq!(event, "mcp.spawn.failed", "{message}");
        self.0.lock().unwrap().push(Instant::now());
    }

    fn said(&self, _: &str, _: u32, _: u64, _: &str) {}
}

/// When a server at an address was found to have failed, in seconds.
async fn failures(url: String, seconds: u64) -> Vec<u64> {
    let transport = Transport::Http {
        url,
        headers: Vec::new(),
        oauth: None,
    };
    let server = Server {
        start_timeout: Duration::from_secs(30),
        ..Server::new("s", transport)
    };
    let notes = Arc::new(Notes::default());
    let journal: Arc<dyn Journal> = notes.clone();
    let upstream = upstreams(Settings {
        servers: vec![server],
        journal: Some(journal),
        ..Settings::default()
    });
    let begun = Instant::now();
    upstream[0].begin();
    sleep(Duration::from_secs(seconds)).await;
    let tried = notes.0.lock().unwrap();
    let since = |at: &Instant| at.duration_since(begun).as_secs();
    tried.iter().map(since).collect()
}

#[tokio::test(start_paused = true)]
async fn a_server_that_keeps_failing_is_tried_less_and_less_but_never_given_up() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", closed.local_addr().unwrap());
    drop(closed);
    let tried = failures(url, 1200).await;
    assert_eq!(tried[..5], [0, 0, 0, 2, 10], "{tried:?}");
    // From the fifth time on it waits for somebody who wants it, or for a long while.
    assert_eq!(tried[5..], [340, 670, 1000], "{tried:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_fails_slowly_is_tried_less_and_less_as_well() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", silent.local_addr().unwrap());
    let tried = failures(url, 1000).await;
    assert_eq!(tried, [30, 60, 90, 122, 160, 520, 880], "{tried:?}");
}
