//! Tokens for servers that want one: OAuth client credentials (RFC 6749, section 4.4).
//!
//! Invariant: the client's secret goes to one place only, the token endpoint that the
//! operator named or that the operator's issuer names. What the server itself says can
//! refuse an issuer and never choose one.

use std::time::{Duration, Instant};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use reqwest::{
    Client, StatusCode, Url,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue},
};
use serde::Deserialize;
use tokio::sync::Mutex;

use super::{link::LinkError, settings::OAuth, wire};

/// How much of an answer about tokens is read.
const LONGEST: usize = 256 << 10;
/// How long one of them may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long before its end a token is no longer used.
const MARGIN: Duration = Duration::from_secs(30);

/// The tokens for one server.
pub(super) struct Tokens {
    settings: OAuth,
    /// The server they are for.
    resource: Url,
    client: Client,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    token: Option<Token>,
    /// How many there were.
    count: u64,
    endpoint: Option<Endpoint>,
}

/// A token as it is sent.
#[derive(Clone)]
pub(super) struct Token {
    pub(super) header: HeaderValue,
    number: u64,
    until: Option<Instant>,
}

/// Where tokens are given.
#[derive(Clone)]
struct Endpoint {
    url: Url,
    /// Whether the secret goes into the body instead of a header.
    posts_secret: bool,
}

/// What a server says when it wants a token.
#[derive(Default)]
struct Challenge {
    metadata: Option<String>,
    scope: Option<String>,
}

impl Tokens {
    pub(super) fn new(settings: OAuth, resource: &Url) -> Result<Self, LinkError> {
        let client = wire::client(&farthest(&settings, resource), HeaderMap::new());
        Ok(Self {
            settings,
            resource: resource.clone(),
            client: client.map_err(|error| LinkError::Lost(error.to_string()))?,
            held: Mutex::default(),
        })
    }

    /// The token in use, or a first one.
    pub(super) async fn token(&self) -> Result<Token, LinkError> {
        let mut held = self.held.lock().await;
        let fresh = |token: &&Token| {
            let margin = Instant::now() + MARGIN;
            token.until.is_none_or(|until| until > margin)
        };
        if let Some(token) = held.token.as_ref().filter(fresh) {
            return Ok(token.clone());
        }
        self.fetch(&mut held, &Challenge::default()).await
    }

    /// Another token in the place of one that was refused; whoever comes second gets what
    /// the first was given.
    pub(super) async fn instead_of(
        &self,
        refused: &Token,
        challenge: Option<&HeaderValue>,
    ) -> Result<Token, LinkError> {
        let mut held = self.held.lock().await;
        if let Some(token) = held.token.as_ref().filter(|it| it.number > refused.number) {
            return Ok(token.clone());
        }
        held.token = None;
        let challenge = challenge.and_then(|said| said.to_str().ok());
        let challenge = challenge.map_or_else(Challenge::default, Challenge::read);
        self.fetch(&mut held, &challenge).await
    }

    async fn fetch(&self, held: &mut Held, challenge: &Challenge) -> Result<Token, LinkError> {
        let endpoint = match &held.endpoint {
            Some(endpoint) => endpoint.clone(),
            None => self.endpoint(challenge).await?,
        };
        let (header, lasts) = self.ask(&endpoint, challenge).await?;
        held.endpoint = Some(endpoint);
        held.count += 1;
        let token = Token {
            header,
            number: held.count,
            // What lasts beyond all reckoning has no end.
            until: lasts.and_then(|lasts| Instant::now().checked_add(lasts)),
        };
        held.token = Some(token.clone());
        Ok(token)
    }

    /// Asks for a token.
    async fn ask(
        &self,
        endpoint: &Endpoint,
        challenge: &Challenge,
    ) -> Result<(HeaderValue, Option<Duration>), LinkError> {
        #[derive(Deserialize)]
        struct Given {
            access_token: String,
            #[serde(default)]
            token_type: Option<String>,
            #[serde(default)]
            expires_in: Option<u64>,
        }
        #[derive(Deserialize)]
        struct Refused {
            error: String,
        }
        let secret = (self.settings.client_secret)().map_err(LinkError::Nonsense)?;
        let (id, secret) = (&self.settings.client_id, secret.reveal());
        let mut fields = vec![("grant_type", "client_credentials")];
        let own = self.settings.scopes.join(" ");
        let scope = Some(own.as_str()).filter(|own| !own.is_empty());
        if let Some(scope) = scope.or(challenge.scope.as_deref()) {
            fields.push(("scope", scope));
        }
        fields.push(("resource", self.resource.as_str()));
        let mut request = self.client.post(endpoint.url.clone()).timeout(PATIENCE);
        if endpoint.posts_secret {
            fields.push(("client_id", id));
            fields.push(("client_secret", secret));
        } else {
            let pair = format!("{}:{}", escaped(id), escaped(secret));
            let value = format!("Basic {}", STANDARD.encode(pair));
            request = request.header(AUTHORIZATION, sensitive(&value)?);
        }
        let request = request
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(ACCEPT, "application/json")
            .body(form(&fields));
        let response = request.send().await;
        let response = response.map_err(|_| failed("its authorization server does not answer"))?;
        let status = response.status();
        let body = bounded(response).await?;
        if !status.is_success() {
            let said: Option<Refused> = serde_json::from_slice(&body).ok();
            let why = said.map_or_else(
                || format!("status {}", status.as_u16()),
                |said| said.error.chars().take(60).collect(),
            );
            let why = format!("its authorization server gives no token ({why})");
            return Err(LinkError::Credentials(why));
        }
        let given: Given = serde_json::from_slice(&body)
            .map_err(|_| failed("its authorization server answers with something else"))?;
        let kind = given.token_type.as_deref().unwrap_or("bearer");
        if !kind.eq_ignore_ascii_case("bearer") {
            return Err(failed(
                "its authorization server gives tokens that are unknown here",
            ));
        }
        let header = sensitive(&format!("Bearer {}", given.access_token))?;
        Ok((header, given.expires_in.map(Duration::from_secs)))
    }

    /// Finds out where tokens are given.
    async fn endpoint(&self, challenge: &Challenge) -> Result<Endpoint, LinkError> {
        #[derive(Deserialize)]
        struct About {
            issuer: String,
            token_endpoint: String,
            #[serde(default)]
            token_endpoint_auth_methods_supported: Vec<String>,
        }
        if let Some(url) = &self.settings.token_url {
            return Ok(Endpoint {
                url: safe(url)?,
                posts_secret: false,
            });
        }
        let issuer = self.settings.issuer.as_deref().unwrap_or_default();
        let base = safe(issuer)?;
        self.check_resource(issuer, challenge).await?;
        let path = base.path().trim_end_matches('/');
        let places = [
            format!("/.well-known/oauth-authorization-server{path}"),
            format!("/.well-known/openid-configuration{path}"),
            format!("{path}/.well-known/openid-configuration"),
        ];
        for place in places {
            let mut url = base.clone();
            url.set_path(&place);
            let Some(about) = self.read::<About>(url).await? else {
                continue;
            };
            if !is_same(&about.issuer, issuer) {
                return Err(failed(
                    "its authorization server calls itself something else",
                ));
            }
            let methods = &about.token_endpoint_auth_methods_supported;
            let takes = |method: &str| methods.iter().any(|own| own == method);
            return Ok(Endpoint {
                url: safe(&about.token_endpoint)?,
                posts_secret: !takes("client_secret_basic") && takes("client_secret_post"),
            });
        }
        Err(failed(
            "its authorization server does not say where tokens are given",
        ))
    }

    /// Reads what the server says about its tokens, if it says anything: it must be for this
    /// server, and name the issuer.
    async fn check_resource(&self, issuer: &str, challenge: &Challenge) -> Result<(), LinkError> {
        #[derive(Deserialize)]
        struct About {
            #[serde(default)]
            resource: Option<String>,
            #[serde(default)]
            authorization_servers: Vec<String>,
        }
        let mut places = Vec::new();
        if let Some(url) = &challenge.metadata {
            let url = Url::parse(url).ok();
            let url = url.filter(|url| url.origin() == self.resource.origin());
            places.push(url.ok_or_else(|| failed("it says elsewhere what tokens it wants"))?);
        } else {
            let path = self.resource.path().trim_end_matches('/');
            for path in [path, ""] {
                let mut url = self.resource.clone();
                url.set_query(None);
                url.set_path(&format!("/.well-known/oauth-protected-resource{path}"));
                places.push(url);
            }
        }
        for url in places {
            let Some(about) = self.read::<About>(url).await? else {
                continue;
            };
            let own = self.resource.as_str();
            if about.resource.is_some_and(|named| !is_above(&named, own)) {
                return Err(failed("what it says about tokens is for another server"));
            }
            let servers = &about.authorization_servers;
            if servers.is_empty() || servers.iter().any(|server| is_same(server, issuer)) {
                return Ok(());
            }
            return Err(failed("it wants tokens of another issuer"));
        }
        Ok(())
    }

    /// Reads a document; `None` if it is not there.
    async fn read<T: for<'de> Deserialize<'de>>(&self, url: Url) -> Result<Option<T>, LinkError> {
        let request = self.client.get(url).header(ACCEPT, "application/json");
        let response = request.timeout(PATIENCE).send().await;
        let response = response.map_err(|_| failed("a document about tokens cannot be read"))?;
        if response.status() != StatusCode::OK {
            return Ok(None);
        }
        let body = bounded(response).await?;
        let read = serde_json::from_slice(&body);
        read.map(Some)
            .map_err(|_| failed("a document about tokens makes no sense"))
    }
}

impl Challenge {
    /// Reads a header `WWW-Authenticate`, as far as it is about bearer tokens.
    fn read(text: &str) -> Self {
        let parameter = |name: &str| {
            let at = text.find(&format!("{name}="))? + name.len() + 1;
            let rest = &text[at..];
            match rest.strip_prefix('"') {
                Some(quoted) => quoted.split('"').next().map(str::to_owned),
                None => rest.split([',', ' ']).next().map(str::to_owned),
            }
        };
        Self {
            metadata: parameter("resource_metadata"),
            scope: parameter("scope"),
        }
    }
}

fn failed(why: &str) -> LinkError {
    LinkError::Credentials(why.to_owned())
}

fn sensitive(value: &str) -> Result<HeaderValue, LinkError> {
    let mut value = HeaderValue::try_from(value).map_err(|_| failed("a secret cannot be sent"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// The address that decides what a client must be able to do: tokens for a server on this
/// machine may be given over TLS.
fn farthest(settings: &OAuth, resource: &Url) -> Url {
    let places = [&settings.token_url, &settings.issuer]
        .into_iter()
        .flatten();
    let mut places = places.filter_map(|place| Url::parse(place).ok());
    let over_tls = places.find(|place| place.scheme() == "https");
    over_tls.unwrap_or_else(|| resource.clone())
}

/// An address that a secret may be sent to.
fn safe(text: &str) -> Result<Url, LinkError> {
    let url = Url::parse(text).map_err(|_| failed("an address about tokens cannot be read"))?;
    if url.scheme() == "https" || wire::is_loopback(&url) {
        return Ok(url);
    }
    Err(failed("tokens are only asked for over https"))
}

fn is_same(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}

/// Whether one address is the other, or stands above it.
fn is_above(one: &str, other: &str) -> bool {
    let one = one.trim_end_matches('/');
    match other.strip_prefix(one) {
        Some(rest) => rest.is_empty() || rest.starts_with('/') || rest.starts_with('?'),
        None => false,
    }
}

/// Reads an answer, if it is not too long.
async fn bounded(mut response: reqwest::Response) -> Result<Vec<u8>, LinkError> {
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(piece)) if body.len() + piece.len() > LONGEST => {
                return Err(failed("an answer about tokens is too long"));
            }
            Ok(Some(piece)) => body.extend_from_slice(&piece),
            Ok(None) => return Ok(body),
            Err(_) => return Err(failed("an answer about tokens broke off")),
        }
    }
}

/// Fields as forms are sent.
fn form(fields: &[(&str, &str)]) -> String {
    let pairs: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{}={}", escaped(name), escaped(value)))
        .collect();
    pairs.join("&")
}

fn escaped(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => {
                all.push(char::from(byte));
            }
            b' ' => all.push('+'),
            other => all.push_str(&format!("%{other:02X}")),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tollgate_core::Secret;

    use super::*;

    #[test]
    fn tokens_for_a_server_on_this_machine_may_be_given_over_tls() {
        let oauth = |token_url: Option<&str>, issuer: Option<&str>| OAuth {
            client_id: "c".to_owned(),
            client_secret: Arc::new(|| Ok(Secret::new("s".to_owned()))),
            token_url: token_url.map(str::to_owned),
            issuer: issuer.map(str::to_owned),
            scopes: Vec::new(),
        };
        let here = Url::parse("http://127.0.0.1:1/mcp").unwrap();
        let far = |oauth: &OAuth| farthest(oauth, &here).to_string();
        assert_eq!(
            far(&oauth(Some("http://127.0.0.1:2/"), None)),
            here.as_str()
        );
        assert_eq!(
            far(&oauth(None, Some("https://a.example"))),
            "https://a.example/"
        );
        assert_eq!(
            far(&oauth(Some("https://b.example/t"), None)),
            "https://b.example/t"
        );
    }

    #[test]
    fn a_challenge_names_documents_and_scopes() {
        let text = r#"Bearer realm="x", resource_metadata="https://s/.well-known/x", scope="a b""#;
        let challenge = Challenge::read(text);
        assert_eq!(
            challenge.metadata.as_deref(),
            Some("https://s/.well-known/x")
        );
        assert_eq!(challenge.scope.as_deref(), Some("a b"));
        assert!(Challenge::read("Basic").metadata.is_none());
    }

    #[test]
    fn secrets_go_to_safe_places_only() {
        assert!(safe("https://a.example/token").is_ok());
        assert!(safe("http://127.0.0.1:9/token").is_ok());
        assert!(safe("http://a.example/token").is_err());
        assert!(safe("nonsense").is_err());
        assert!(is_above("https://a/mcp/", "https://a/mcp"));
        assert!(is_above("https://a", "https://a/mcp"));
        assert!(!is_above("https://a/m", "https://a/mcp"));
    }

    #[test]
    fn forms_are_escaped() {
        assert_eq!(form(&[("a", "b c&d"), ("e", "ü")]), "a=b+c%26d&e=%C3%BC");
    }
}
