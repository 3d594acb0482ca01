//! The transport over real sockets: where it goes, where it does not, and whom it trusts.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use bytes::Bytes;
use http::Request;
use model::{InstanceKey, ObjectName, Uid};
use provider::{Look as _, ProviderError};
use provider_power::{
    Auth, HoldTable, Holders as _, HostRule, MachineConfig, Power, ReqwestTransport, Secret, Transport as _,
    TrustedAuthorities, UrlPolicy, presets,
};
use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::TcpListener,
};
use tokio_rustls::{TlsAcceptor, rustls};

struct Server {
    at: SocketAddr,
    requests: Arc<AtomicUsize>,
}

/// Answers every request with the same text.
async fn server(answer: String, tls: Option<TlsAcceptor>) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (at, requests) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
    let counter = requests.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            match &tls {
                Some(tls) => {
                    if let Ok(stream) = tls.accept(stream).await {
                        respond(stream, &answer, &counter).await;
                    }
                }
                None => respond(stream, &answer, &counter).await,
            }
        }
    });
    Server { at, requests }
}

async fn respond(mut stream: impl AsyncRead + AsyncWrite + Unpin, answer: &str, counter: &AtomicUsize) {
    let mut buffer = [0; 4096];
    if stream.read(&mut buffer).await.unwrap_or(0) > 0 {
        counter.fetch_add(1, Ordering::SeqCst);
        stream.write_all(answer.as_bytes()).await.ok();
        stream.shutdown().await.ok();
    }
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

fn policy(rules: &[&str]) -> UrlPolicy {
    UrlPolicy::new(rules.iter().map(|rule| HostRule::parse(rule).unwrap()).collect(), true)
}

fn get(url: String) -> Request<Bytes> {
    Request::get(url).body(Bytes::new()).unwrap()
}

async fn observe(url: &str) -> Result<(), ProviderError> {
    let auth = Auth::Basic { user: "admin".to_owned(), password: Secret::new("canary") };
    let machine = MachineConfig::new("rack-1", 1, presets::redfish(url, &auth));
    let policy = policy(&["127.0.0.0/8", "169.254.0.0/16", "192.0.2.0/24"]);
    let transport = Arc::new(ReqwestTransport::new(policy.clone()));
    let clock = Arc::new(jiff::Timestamp::now);
    let key = InstanceKey { claim: Uid::new("uid").unwrap(), name: ObjectName::new("a").unwrap() };
    let holders = Arc::new(HoldTable::without_nodes(clock.clone()));
    holders.take("rack-1", &key.claim, "").await.unwrap();
    let power = Power::new(vec![machine], policy, transport, holders, clock).unwrap();
    power.observe(&key).await.map(drop)
}

#[tokio::test]
async fn only_listed_addresses_are_connected_to_before_and_after_dns() {
    let server = server(ok("hello"), None).await;
    let port = server.at.port();
    let cases: [(&[&str], &str, bool); 6] = [
        (&["127.0.0.0/8"], "127.0.0.1", true),
        (&["127.0.0.0/8", "::1"], "localhost", true),
        (&[], "127.0.0.1", false),
        (&[], "localhost", false),
        (&["localhost"], "localhost", false),
        (&["10.0.0.0/8"], "localhost", false),
    ];
    for (rules, host, allowed) in cases {
        let before = server.requests.load(Ordering::SeqCst);
        let transport = ReqwestTransport::new(policy(rules));
        let answer = transport.send(get(format!("http://{host}:{port}/canary?token=canary"))).await;
        match answer {
            Ok(answer) => assert!(allowed && answer.body() == "hello", "{rules:?} {host}"),
            Err(error) => {
                assert!(!allowed && error.refused && !error.sent, "{rules:?} {host}: {error:?}");
                assert!(!error.to_string().contains("canary"), "{error}");
            }
        }
        let came = server.requests.load(Ordering::SeqCst) - before;
        assert_eq!(came, usize::from(allowed), "{rules:?} {host}");
    }
}

#[tokio::test]
async fn nobody_there_means_that_nothing_was_sent() {
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let transport = ReqwestTransport::new(policy(&["127.0.0.0/8"]));
    let error = transport.send(get(format!("http://127.0.0.1:{port}/canary"))).await.unwrap_err();
    assert!(!error.sent && !error.refused, "{error:?}");
    assert!(!error.to_string().contains("canary"), "{error}");
}

#[tokio::test]
async fn credentials_do_not_follow_a_redirect_to_another_host() {
    let elsewhere = server(ok("{}"), None).await;
    let targets = [
        format!("http://127.0.0.1:{}/redfish/v1/Systems/1", elsewhere.at.port()),
        format!("http://127.0.0.2:{}/", elsewhere.at.port()),
        "http://169.254.169.254/latest/meta-data".to_owned(),
        "//192.0.2.1/".to_owned(),
    ];
    for target in targets {
        let answer = format!(
            "HTTP/1.1 307 Temporary Redirect\r\nlocation: {target}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        );
        let first = server(answer, None).await;
        let error = observe(&format!("http://{}/redfish/v1/Systems/1", first.at)).await.unwrap_err();
        assert_eq!(error.reason(), "InvalidRequest", "{target}: {error}");
        assert!(!error.to_string().contains("canary"), "{error}");
        assert_eq!(first.requests.load(Ordering::SeqCst), 1, "{target}");
    }
    assert_eq!(elsewhere.requests.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn credentials_do_not_follow_a_link_of_an_answer_to_another_host() {
    let elsewhere = server(ok("{}"), None).await;
    let there = format!("http://{}/reset", elsewhere.at);
    let links = [format!(r#""target": "{there}""#), format!(r#""target": "/reset", "@Redfish.ActionInfo": "{there}""#)];
    for link in links {
        let system = format!(r##"{{"PowerState": "Off", "Actions": {{"#ComputerSystem.Reset": {{{link}}}}}}}"##);
        let first = server(ok(&system), None).await;
        let error = observe(&format!("http://{}/redfish/v1/Systems/1", first.at)).await.unwrap_err();
        assert_eq!(error.reason(), "InvalidRequest", "{link}: {error}");
        assert!(error.to_string().contains("to another host"), "{error}");
        assert_eq!(first.requests.load(Ordering::SeqCst), 1, "{link}");
    }
    assert_eq!(elsewhere.requests.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_redirect_that_does_not_end_is_left() {
    let answer =
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: /again\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let server = server(answer.to_owned(), None).await;
    let error = observe(&format!("http://{}/", server.at)).await.unwrap_err();
    assert!(error.to_string().contains("redirects more than 3 times"), "{error}");
    assert_eq!(server.requests.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn a_private_authority_is_trusted_only_where_it_is_given() {
    let certified = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .unwrap();
    let server = server(ok("secret"), Some(TlsAcceptor::from(Arc::new(config)))).await;
    let transport = ReqwestTransport::new(policy(&["127.0.0.0/8", "::1"]));
    let url = format!("https://localhost:{}/", server.at.port());
    let mut request = get(url.clone());
    request.extensions_mut().insert(TrustedAuthorities(certified.cert.pem().into()));
    assert_eq!(transport.send(request).await.unwrap().body(), "secret");
    let error = transport.send(get(url)).await.unwrap_err();
    assert!(!error.sent, "{error:?}");
    assert_eq!(server.requests.load(Ordering::SeqCst), 1);
}
