//! One request and its answer, within limits. Nothing is followed, and nothing comes from the environment.

use std::{
    error::Error,
    sync::{Arc, OnceLock},
    time::{Duration, SystemTime},
};

use reqwest::{
    Certificate, Client, Method, Url,
    header::{
        ACCEPT_ENCODING, CONTENT_ENCODING, DATE, HeaderMap, HeaderName, HeaderValue, LOCATION,
        RETRY_AFTER,
    },
    redirect::Policy,
};
use tokio::time::timeout;

use crate::{
    body::Body,
    error::{Kind, WebError},
    guard::{Guard, Reach},
    offline,
};

/// How we are named to servers; `robots.txt` knows us as `tollgate`.
pub const USER_AGENT: &str = concat!("Tollgate/", env!("CARGO_PKG_VERSION"));

/// How much one fetch may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Until there is a connection.
    pub connect: Duration,
    /// From the request to the first line of the answer.
    pub first_byte: Duration,
    /// Between two pieces of the body.
    pub idle: Duration,
    /// All of it, with everything that is followed.
    pub total: Duration,
    /// The most that is kept of a body, unpacked.
    pub bytes: usize,
    /// How often a server may send us on.
    pub redirects: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            first_byte: Duration::from_secs(10),
            idle: Duration::from_secs(5),
            total: Duration::from_secs(25),
            bytes: 5 << 20,
            redirects: 5,
        }
    }
}

/// A request.
pub(crate) struct Outgoing {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) bytes: usize,
    /// Whether an answer with this status and these headers is worth its body.
    pub(crate) wants: Option<Wants>,
}

/// Refuses an answer by its head.
pub(crate) type Wants = fn(u16, &HeaderMap) -> Result<(), WebError>;

impl Outgoing {
    pub(crate) fn get(url: Url, bytes: usize) -> Self {
        Self {
            method: Method::GET,
            url,
            headers: Vec::new(),
            body: None,
            bytes,
            wants: None,
        }
    }
}

/// An answer.
pub(crate) struct Incoming {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    pub(crate) truncated: bool,
}

impl Incoming {
    pub(crate) fn header(&self, name: HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// For how long the server wants to be left alone. A date counts from the server's own, or from ours if it has none.
    pub(crate) fn retry_after(&self, now: Option<SystemTime>) -> Option<Duration> {
        let said = self.header(RETRY_AFTER)?.trim();
        if let Ok(seconds) = said.parse() {
            return Some(Duration::from_secs(seconds));
        }
        let until = httpdate::parse_http_date(said).ok()?;
        let theirs = self.header(DATE).map(httpdate::parse_http_date);
        let from = theirs.and_then(Result::ok).or(now)?;
        Some(until.duration_since(from).unwrap_or_default())
    }
}

/// The connections, made when they are first needed: apart by how far they may lead and whether they are encrypted.
pub(crate) struct Wire {
    guard: Arc<Guard>,
    limits: Limits,
    clients: [OnceLock<Client>; 4],
}

impl Wire {
    pub(crate) fn new(guard: Guard, limits: Limits) -> Self {
        Self {
            guard: Arc::new(guard),
            limits,
            clients: Default::default(),
        }
    }

    pub(crate) fn guard(&self) -> &Guard {
        &self.guard
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    fn client(&self, url: &Url, reach: Reach) -> Result<&Client, WebError> {
        let is_secure = url.scheme() == "https";
        let place = usize::from(is_secure) + 2 * usize::from(reach == Reach::Named);
        let cell = &self.clients[place];
        if let Some(client) = cell.get() {
            return Ok(client);
        }
        // It fails if there is one already, which is as good.
        drop(rustls::crypto::ring::default_provider().install_default());
        let mut builder = Client::builder()
            .user_agent(USER_AGENT)
            .redirect(Policy::none())
            .no_proxy()
            .referer(false)
            .connect_timeout(self.limits.connect)
            .pool_idle_timeout(Duration::from_secs(30))
            .pool_max_idle_per_host(8)
            .tcp_nodelay(true)
            .dns_resolver(self.guard.resolver(reach));
        if is_secure {
            let known = Certificate::from_pem_bundle(&self.guard.authorities);
            let known = known.map_err(unusable)?;
            builder = builder.tls_certs_merge(known);
        } else {
            builder = builder.tls_certs_only([]);
        }
        let made = builder
            .build()
            .map_err(|error| match self.guard.authorities.is_empty() {
                true => {
                    WebError::new(Kind::Network, "connections cannot be made here").because(error)
                }
                false => unusable(error),
            })?;
        Ok(cell.get_or_init(|| made))
    }

    /// Sends a request and reads its answer.
    pub(crate) async fn send(&self, outgoing: Outgoing) -> Result<Incoming, WebError> {
        let reach = self.guard.check(&outgoing.url)?;
        if let Some(incoming) = offline::answer(&outgoing.url) {
            return Ok(incoming);
        }
        let client = self.client(&outgoing.url, reach)?;
        let mut request = client
            .request(outgoing.method, outgoing.url)
            .header(ACCEPT_ENCODING, "gzip, deflate, br");
        for (name, value) in outgoing.headers {
            request = request.header(name, value);
        }
        if let Some(body) = outgoing.body {
            request = request.body(body);
        }
        let answer = timeout(self.limits.first_byte, request.send()).await;
        let mut answer = answer
            .map_err(|_| WebError::timeout("the first line of the answer"))?
            .map_err(failed)?;
        let headers = std::mem::take(answer.headers_mut());
        if let Some(wants) = outgoing.wants {
            wants(answer.status().as_u16(), &headers)?;
        }
        let encoding = headers.get(CONTENT_ENCODING);
        let encoding = encoding.and_then(|value| value.to_str().ok());
        let mut body = Body::new(encoding, outgoing.bytes)?;
        let mut truncated = false;
        loop {
            let piece = timeout(self.limits.idle, answer.chunk()).await;
            let piece = piece.map_err(|_| WebError::timeout("the next piece of the answer"))?;
            let Some(piece) = piece.map_err(failed)? else {
                break;
            };
            if !body.push(&piece)? {
                truncated = true;
                break;
            }
        }
        Ok(Incoming {
            status: answer.status().as_u16(),
            headers,
            body: body.finish(truncated)?,
            truncated,
        })
    }
}

/// Where an answer sends us, if it does; never from an encrypted address to a plain one.
pub(crate) fn next(from: &Url, incoming: &Incoming) -> Result<Option<Url>, WebError> {
    if !matches!(incoming.status, 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = incoming.header(LOCATION) else {
        return Ok(None);
    };
    let to = from.join(location).map_err(|error| {
        WebError::new(Kind::BadGateway, "the server sends us to no address").because(error)
    })?;
    if from.scheme() == "https" && to.scheme() != "https" {
        let message = "the server sends us from an encrypted address to a plain one";
        return Err(WebError::new(Kind::AddressRefused, message));
    }
    Ok(Some(to))
}

fn unusable(error: reqwest::Error) -> WebError {
    WebError::invalid("the file of authorities cannot be read").because(error)
}

/// What went wrong; our own refusals come back as themselves.
fn failed(error: reqwest::Error) -> WebError {
    let mut cause: Option<&(dyn Error + 'static)> = error.source();
    while let Some(inner) = cause {
        if let Some(ours) = inner.downcast_ref::<WebError>() {
            return WebError::new(ours.kind, ours.message.clone());
        }
        cause = inner.source();
    }
    let (kind, message) = if error.is_timeout() {
        (Kind::Timeout, "the connection took too long")
    } else if error.is_connect() {
        (Kind::Network, "the server cannot be reached")
    } else {
        (
            Kind::Network,
            "the connection broke before the answer was complete",
        )
    };
    WebError::new(kind, message).because(error.without_url())
}

#[cfg(test)]
mod tests {
    use std::{
        net::{IpAddr, SocketAddr},
        sync::{
            Mutex,
            atomic::{AtomicUsize, Ordering},
        },
    };

    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    use super::*;
    use crate::guard::{Lookup, Resolver};

    fn sent_on(from: &str, status: u16, location: &str) -> Result<Option<String>, Kind> {
        let mut headers = HeaderMap::new();
        headers.insert(LOCATION, location.parse().unwrap());
        let incoming = Incoming {
            status,
            headers,
            body: Vec::new(),
            truncated: false,
        };
        let next = next(&from.parse().unwrap(), &incoming);
        next.map(|url| url.map(String::from))
            .map_err(|error| error.kind)
    }

    #[test]
    fn an_encrypted_address_never_leads_to_a_plain_one() {
        let to = |text: &str| Ok(Some(text.to_owned()));
        assert_eq!(
            sent_on("https://a.test/x", 302, "http://a.test/y"),
            Err(Kind::AddressRefused)
        );
        assert_eq!(
            sent_on("https://a.test/", 301, "ftp://a.test/y"),
            Err(Kind::AddressRefused)
        );
        assert_eq!(
            sent_on("https://a.test/x", 307, "y"),
            to("https://a.test/y")
        );
        assert_eq!(
            sent_on("http://a.test/", 308, "//b.test"),
            to("http://b.test/")
        );
        assert_eq!(sent_on("http://a.test/", 200, "/y"), Ok(None));
        assert_eq!(sent_on("http://a.test/", 304, "/y"), Ok(None));
        assert_eq!(
            sent_on("http://a.test/", 302, "http://[x"),
            Err(Kind::BadGateway)
        );
    }

    #[test]
    fn a_pause_is_told_in_seconds_or_as_a_date() {
        let told = |pairs: &[(HeaderName, &str)]| {
            let pair = |(name, value): &(HeaderName, &str)| (name.clone(), value.parse().unwrap());
            Incoming {
                status: 429,
                headers: pairs.iter().map(pair).collect(),
                body: Vec::new(),
                truncated: false,
            }
        };
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        let later = (RETRY_AFTER, "Sun, 06 Nov 1994 08:51:37 GMT");
        let seconds = |count| Some(Duration::from_secs(count));
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:51:07 GMT").ok();
        assert_eq!(told(&[(RETRY_AFTER, " 7 ")]).retry_after(None), seconds(7));
        let both = told(&[(DATE, date), later.clone()]);
        assert_eq!(both.retry_after(now), seconds(120), "their clock counts");
        let alone = told(std::slice::from_ref(&later));
        assert_eq!(alone.retry_after(now), seconds(30));
        assert_eq!(alone.retry_after(None), None);
        let past = told(&[(DATE, later.1), (RETRY_AFTER, date)]);
        assert_eq!(past.retry_after(now), seconds(0));
        assert_eq!(told(&[(RETRY_AFTER, "soon")]).retry_after(now), None);
    }

    /// Answers differently each time it is asked, as a host does that changes between check and use.
    struct Turning(Mutex<Vec<IpAddr>>, AtomicUsize);

    impl Resolver for Turning {
        fn lookup(&self, _: String) -> Lookup {
            self.1.fetch_add(1, Ordering::SeqCst);
            let next = self.0.lock().unwrap().pop();
            Box::pin(async move { Ok(next.into_iter().collect()) })
        }
    }

    /// Answers every connection once, and counts them.
    async fn counting(address: &str) -> (SocketAddr, Arc<AtomicUsize>) {
        let listener = TcpListener::bind(address).await.unwrap();
        let local = listener.local_addr().unwrap();
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                let mut request = [0; 1024];
                drop(stream.read(&mut request).await);
                let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi";
                drop(stream.write_all(answer).await);
            }
        });
        (local, count)
    }

    #[tokio::test]
    async fn an_answer_that_changes_between_check_and_use_gains_nothing() {
        let (outside, reached) = counting("127.0.0.2:0").await;
        let (inside, betrayed) = counting(&format!("127.0.0.1:{}", outside.port())).await;
        // The last is asked first: one good answer, then bad ones.
        let answers = vec![inside.ip(), inside.ip(), outside.ip()];
        let resolver = Arc::new(Turning(Mutex::new(answers), AtomicUsize::new(0)));
        let guard = Guard {
            ports: vec![outside.port()],
            resolver: Arc::<Turning>::clone(&resolver),
            counts_as_public: vec![outside.ip()],
            ..Guard::default()
        };
        let wire = Wire::new(guard, Limits::default());
        let url: Url = format!("http://turning.test:{}/", outside.port())
            .parse()
            .unwrap();
        let ask = || wire.send(Outgoing::get(url.clone(), 100));
        assert_eq!(ask().await.unwrap().body, b"hi");
        assert_eq!(
            resolver.1.load(Ordering::SeqCst),
            1,
            "looked up once, used as checked"
        );
        for _ in 0..2 {
            assert_eq!(ask().await.err().unwrap().kind, Kind::AddressRefused);
        }
        // A host without addresses is a failure of the network.
        assert_eq!(ask().await.err().unwrap().kind, Kind::Network);
        assert_eq!(reached.load(Ordering::SeqCst), 1);
        assert_eq!(betrayed.load(Ordering::SeqCst), 0);
    }

    #[tokio::test]
    async fn one_private_address_among_public_ones_is_enough_to_refuse() {
        struct Mixed;
        impl Resolver for Mixed {
            fn lookup(&self, _: String) -> Lookup {
                Box::pin(async {
                    Ok(vec![
                        "127.0.0.2".parse().unwrap(),
                        "10.0.0.1".parse().unwrap(),
                    ])
                })
            }
        }
        let guard = Guard {
            resolver: Arc::new(Mixed),
            counts_as_public: vec!["127.0.0.2".parse().unwrap()],
            ..Guard::default()
        };
        let wire = Wire::new(guard, Limits::default());
        let asked = wire.send(Outgoing::get("http://mixed.test/".parse().unwrap(), 100));
        assert_eq!(asked.await.err().unwrap().kind, Kind::AddressRefused);
    }
}
