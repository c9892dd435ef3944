//! HTTP for the client: one pool of connections, no redirects, nothing that prints an address.

use std::{
    sync::OnceLock,
    time::{Duration, Instant},
};

use reqwest::{
    Client, Url,
    header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, RETRY_AFTER},
    redirect::Policy,
};
use tollgate_keepa::{
    client::{Incoming, Outgoing, Wire, WireError},
    request::Method,
};

const CONNECT: Duration = Duration::from_secs(30);
/// The most that is read of one answer, packed as it comes.
const MOST_BYTES: usize = 96 << 20;

/// The connections, made when they are first needed.
#[derive(Default)]
pub(super) struct Http {
    client: OnceLock<Client>,
    started: OnceLock<Instant>,
}

impl Http {
    fn client(&self, url: &Url) -> Result<&Client, WireError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let made = client(url).map_err(|error| WireError(error.to_string()))?;
        Ok(self.client.get_or_init(|| made))
    }
}

impl Wire for &Http {
    async fn send(&self, outgoing: Outgoing) -> Result<Incoming, WireError> {
        let wrong = || WireError("the address of Keepa cannot be read".to_owned());
        let url = Url::parse(outgoing.url.expose()).map_err(|_| wrong())?;
        let client = self.client(&url)?;
        let mut request = match outgoing.method {
            Method::Get => client.get(url),
            Method::Post => client.post(url),
        };
        request = request
            .header(ACCEPT, "application/json, image/png")
            .header(ACCEPT_ENCODING, "gzip")
            .timeout(outgoing.time_left);
        if let Some(body) = outgoing.body {
            request = request.header(CONTENT_TYPE, "application/json").body(body);
        }
        let response = request.send().await.map_err(broken)?;
        let header = |name| {
            let value = response.headers().get(name)?;
            value.to_str().ok().map(str::to_owned)
        };
        let mut incoming = Incoming {
            status: response.status().as_u16(),
            content_type: header(CONTENT_TYPE),
            retry_after: header(RETRY_AFTER).and_then(|text| text.parse().ok()),
            body: Vec::new(),
        };
        let mut response = response;
        while let Some(piece) = response.chunk().await.map_err(broken)? {
            if incoming.body.len() + piece.len() > MOST_BYTES {
                return Err(WireError("the answer is larger than we take".to_owned()));
            }
            incoming.body.extend_from_slice(&piece);
        }
        Ok(incoming)
    }

    async fn pause(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    fn now(&self) -> Duration {
        self.started.get_or_init(Instant::now).elapsed()
    }
}

/// What went wrong, without the address, which holds the key.
fn broken(error: reqwest::Error) -> WireError {
    WireError(if error.is_timeout() {
        "Keepa did not answer in time".to_owned()
    } else if error.is_connect() {
        "Keepa cannot be reached".to_owned()
    } else {
        "the connection to Keepa broke".to_owned()
    })
}

fn client(url: &Url) -> reqwest::Result<Client> {
    drop(rustls::crypto::ring::default_provider().install_default());
    let mut builder = Client::builder()
        .user_agent(concat!("tollgate/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::none())
        .connect_timeout(CONNECT)
        .tcp_nodelay(true);
    if url.scheme() == "http" {
        builder = builder.tls_certs_only([]).no_proxy();
    }
    builder.build()
}
