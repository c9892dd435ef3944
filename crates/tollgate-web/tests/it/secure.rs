//! Encrypted pages: read if somebody known vouches for the server, and for this name.
//!
//! The certificates are our own and good for a hundred years; nobody else trusts them.

use std::{net::IpAddr, sync::Arc};

use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;
use tollgate_web::{Fetcher, Guard, Kind, Lookup, Resolver, Settings};

use crate::server::settings;

const AUTHORITY: &[u8] = include_bytes!("../tls/authority.pem");
const CERTIFICATE: &[u8] = include_bytes!("../tls/server.pem");
const KEY: &[u8] = include_bytes!("../tls/server-key.pem");

/// Every name is this machine.
struct Here;

impl Resolver for Here {
    fn lookup(&self, _: String) -> Lookup {
        Box::pin(async { Ok(vec![IpAddr::from([127, 0, 0, 1])]) })
    }
}

/// A server whose certificate is for `secure.test`; `/down` sends to a plain address.
async fn server() -> u16 {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let chain = vec![CertificateDer::from_pem_slice(CERTIFICATE).unwrap()];
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::from_pem_slice(KEY).unwrap())
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut stream) = acceptor.accept(stream).await else {
                    return;
                };
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n")
                    && stream.read(&mut byte).await.is_ok_and(|n| n == 1)
                {
                    head.push(byte[0]);
                }
                let answer: &[u8] = if head.starts_with(b"GET /down ") {
                    b"HTTP/1.1 302 Found\r\nLocation: http://secure.test/plain\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                } else {
                    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 7\r\nConnection: close\r\n\r\nsecret!"
                };
                drop(stream.write_all(answer).await);
                drop(stream.shutdown().await);
            });
        }
    });
    port
}

fn fetcher(authorities: &[u8]) -> Fetcher {
    Fetcher::new(Settings {
        guard: Guard {
            allow_hosts: vec!["secure.test".to_owned(), "other.test".to_owned()],
            resolver: Arc::new(Here),
            authorities: authorities.to_vec(),
            ..Guard::default()
        },
        ..settings()
    })
}

#[tokio::test]
async fn a_page_is_read_if_the_operator_knows_its_authority() {
    let port = server().await;
    let page = fetcher(AUTHORITY)
        .fetch(&format!("https://secure.test:{port}/"))
        .await
        .unwrap();
    assert_eq!((page.text.as_str(), page.status), ("secret!", 200));
}

#[tokio::test]
async fn a_server_nobody_vouches_for_is_not_read() {
    let port = server().await;
    let error = fetcher(&[])
        .fetch(&format!("https://secure.test:{port}/"))
        .await
        .unwrap_err();
    assert_eq!(error.kind, Kind::Network);
    // The certificate is good, but for another name.
    let error = fetcher(AUTHORITY)
        .fetch(&format!("https://other.test:{port}/"))
        .await
        .unwrap_err();
    assert_eq!(error.kind, Kind::Network);
}

#[tokio::test]
async fn nobody_is_sent_from_an_encrypted_address_to_a_plain_one() {
    let port = server().await;
    let error = fetcher(AUTHORITY)
        .fetch(&format!("https://secure.test:{port}/down"))
        .await
        .unwrap_err();
    assert_eq!(error.kind, Kind::AddressRefused);
}

#[tokio::test]
async fn authorities_that_cannot_be_read_are_said() {
    let port = server().await;
    let nonsense = b"-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n";
    let error = fetcher(nonsense)
        .fetch(&format!("https://secure.test:{port}/"))
        .await
        .unwrap_err();
    assert_eq!(error.kind, Kind::InvalidInput);
}
