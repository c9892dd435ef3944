//! Keys that change while the server runs.

use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use super::{
    issuer::{Key, document},
    *,
};

#[tokio::test]
async fn a_changed_file_is_read_again() {
    let (old, new) = (Key::ed25519(), Key::p256());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("jwks.json");
    std::fs::write(&file, document(&[old.jwk("old")])).unwrap();
    let door = Door::with_issuer(KeySource::File(file.clone())).await;
    let open = door.open();
    let (first, second) = (old.token("old"), new.token("new"));
    assert!(from_elsewhere(&open, &first).await.is_ok());
    assert!(from_elsewhere(&open, &second).await.is_err());

    std::fs::write(&file, document(&[new.jwk("new"), new.jwk("spare")])).unwrap();
    door.later(Duration::from_secs(2));
    assert!(from_elsewhere(&open, &second).await.is_ok());
    assert_eq!(
        from_elsewhere(&open, &first).await,
        Err(Refused::Invalid("the issuer has no such key"))
    );

    for broken in ["{", "{\"keys\": []}"] {
        std::fs::write(&file, broken).unwrap();
        door.later(Duration::from_secs(2));
        let answer = from_elsewhere(&open, &second).await;
        assert!(matches!(answer, Err(Refused::Unavailable(_))), "{answer:?}");
    }
    std::fs::remove_file(&file).unwrap();
    let answer = from_elsewhere(&open, &second).await;
    assert!(matches!(answer, Err(Refused::Unavailable(_))), "{answer:?}");
}

#[tokio::test]
async fn without_keys_the_server_does_not_start() {
    let folder = tempfile::tempdir().unwrap();
    let missing = KeySource::File(folder.path().join("jwks.json"));
    let door = Door::with_issuer(missing).await;
    let error = Authenticator::new(&door.config, door.gateway.clone()).err();
    assert!(error.is_some_and(|error| error.contains("there is no such file")));
    let plain = KeySource::Url("http://login.example/keys".to_owned());
    let door = Door::with_issuer(plain).await;
    let error = Authenticator::new(&door.config, door.gateway.clone()).err();
    assert_eq!(
        error.as_deref(),
        Some("the address of the keys must be https")
    );
}

/// An issuer's web server: answers what it is told to, and counts.
struct Web {
    answer: Mutex<(u16, String)>,
    asked: AtomicUsize,
}

impl Web {
    async fn start(body: String) -> (Arc<Self>, KeySource) {
        let web = Arc::new(Self {
            answer: Mutex::new((200, body)),
            asked: AtomicUsize::new(0),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/keys", listener.local_addr().unwrap());
        let serving = Arc::clone(&web);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = [0; 4096];
                let _ = stream.read(&mut request).await;
                serving.asked.fetch_add(1, Ordering::SeqCst);
                let (status, body) = serving.answer.lock().unwrap().clone();
                let length = body.len();
                let head = format!(
                    "HTTP/1.1 {status} X\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
                );
                let _ = stream.write_all((head + &body).as_bytes()).await;
            }
        });
        (web, KeySource::Url(url))
    }

    fn say(&self, status: u16, body: String) {
        *self.answer.lock().unwrap() = (status, body);
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

#[tokio::test]
async fn an_address_is_asked_for_new_keys_but_not_by_everybody() {
    let (old, new, stranger) = (Key::ed25519(), Key::p256(), Key::ed25519());
    let (web, keys) = Web::start(document(&[old.jwk("old")])).await;
    let door = Door::with_issuer(keys).await;
    let open = door.open();
    assert_eq!(web.asked(), 0);
    let (first, second) = (old.token("old"), new.token("new"));
    assert!(from_elsewhere(&open, &first).await.is_ok());
    assert_eq!(web.asked(), 1);

    web.say(200, document(&[old.jwk("old"), new.jwk("new")]));
    let too_soon = from_elsewhere(&open, &second).await;
    assert_eq!(
        too_soon,
        Err(Refused::Invalid("the issuer has no such key"))
    );
    door.later(Duration::from_secs(30));
    assert!(from_elsewhere(&open, &second).await.is_ok());
    assert_eq!(web.asked(), 2);
    for kid in ["x", "y", "z"] {
        let answer = from_elsewhere(&open, &stranger.token(kid)).await;
        assert_eq!(answer, Err(Refused::Invalid("the issuer has no such key")));
    }
    // A wrong signature under a known name is no reason to ask.
    door.later(Duration::from_secs(30));
    assert!(from_elsewhere(&open, &stranger.token("old")).await.is_err());
    assert_eq!(web.asked(), 2);
}

#[tokio::test]
async fn a_removed_key_ends_and_an_issuer_that_is_away_is_waited_for() {
    let key = Key::ed25519();
    let (web, keys) = Web::start(String::new()).await;
    let door = Door::with_issuer(keys).await;
    let open = door.open();
    let token = long_lived(&key);
    let show = || from_elsewhere(&open, &token);
    web.say(503, String::new());
    assert!(matches!(show().await, Err(Refused::Unavailable(_))));
    assert!(matches!(show().await, Err(Refused::Unavailable(_))));
    assert_eq!(web.asked(), 1);

    web.say(200, document(&[key.jwk("key")]));
    door.later(Duration::from_secs(5));
    assert!(show().await.is_ok());
    web.say(503, String::new());
    door.later(Duration::from_secs(1200));
    assert!(show().await.is_ok());
    door.later(Duration::from_secs(3600));
    assert!(matches!(show().await, Err(Refused::Unavailable(_))));

    web.say(200, document(&[key.jwk("key")]));
    door.later(Duration::from_secs(30));
    assert!(show().await.is_ok());
    web.say(200, document(&[Key::p256().jwk("key")]));
    door.later(Duration::from_secs(600));
    assert_eq!(
        show().await,
        Err(Refused::Invalid("the issuer has no such key"))
    );
}

#[tokio::test]
async fn an_address_cannot_send_elsewhere_or_flood() {
    let key = Key::ed25519();
    let (web, keys) = Web::start(" ".repeat(300_000)).await;
    let door = Door::with_issuer(keys).await;
    let open = door.open();
    let mut said = Vec::new();
    for status in [200, 302] {
        match from_elsewhere(&open, &key.token("key")).await {
            Err(Refused::Unavailable(why)) => said.push(why),
            other => panic!("{status}: {other:?}"),
        }
        web.say(302, document(&[key.jwk("key")]));
        door.later(Duration::from_secs(5));
    }
    insta::assert_snapshot!(said.join("\n"), @"
    the issuer's keys cannot be fetched: the answer is too large
    the issuer's keys cannot be fetched: the answer is no success
    ");
}

fn long_lived(key: &Key) -> String {
    let claims = issuer::claims_with(json!({"exp": NOW.0 / 1000 + 86_400}));
    key.sign(&key.header("key"), &claims)
}
