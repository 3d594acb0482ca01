//! What comes from outside and is wrong: each gets its answer, and the server stays up.

#![allow(clippy::unwrap_used, clippy::panic)]

use base64::{Engine as _, prelude::BASE64_STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use host::{Function, in_process};
use jiff::Timestamp;
use model::{Answer, NodeClaimChanged, Outcome};
use proptest::{prelude::*, strategy::ValueTree as _, test_runner::TestRunner};
use sha2::Sha256;
use spec::{Served, deliverer, empty_cluster, no_cluster, sample};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

fn claim() -> Vec<u8> {
    sample("on-nodeclaim", "new")
}

fn signature(secret: &str, timestamp: i64, body: &[u8]) -> String {
    let key = BASE64_STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
    mac.update(format!("msg_1.{timestamp}.").as_bytes());
    mac.update(body);
    format!("v1,{}", BASE64_STANDARD.encode(mac.finalize().into_bytes()))
}

async fn post_signed(served: &Served, secret: &str, seconds_off: i64, headers: &[(&str, &str)], body: &[u8]) -> u16 {
    let timestamp = Timestamp::now().as_second() + seconds_off;
    let (signature, timestamp) = (signature(secret, timestamp, body), timestamp.to_string());
    let signed = [("webhook-id", "msg_1"), ("webhook-timestamp", &timestamp), ("webhook-signature", &signature)];
    let headers = [headers, &signed].concat();
    served.send("POST", "/", &headers, body).await.status.as_u16()
}

#[tokio::test]
async fn with_secrets_only_a_signed_structured_event_is_believed() {
    let two = format!("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA {SECRET}");
    let served =
        Served::start(vec![on_nodeclaim::function(empty_cluster())], &[("PILOTLIGHT_SIGNING_SECRETS", &two)]).await;
    let structured = [("content-type", "application/cloudevents+json")];
    let binary = [("content-type", "application/json"), ("ce-specversion", "1.0"), ("ce-id", "1")];
    let json = [("content-type", "application/json")];
    let body = &claim();
    assert_eq!(post_signed(&served, SECRET, 0, &structured, body).await, 202);
    assert_eq!(post_signed(&served, SECRET, 0, &structured, body).await, 202, "a replay is answered again");
    assert_eq!(post_signed(&served, "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", 0, &structured, body).await, 202);
    assert_eq!(post_signed(&served, "whsec_BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB", 0, &structured, body).await, 401);
    assert_eq!(post_signed(&served, SECRET, -600, &structured, body).await, 401, "ten minutes late");
    assert_eq!(post_signed(&served, SECRET, 600, &structured, body).await, 401, "ten minutes early");
    assert_eq!(post_signed(&served, SECRET, 0, &binary, body).await, 401, "headers are not covered");
    assert_eq!(post_signed(&served, SECRET, 0, &json, body).await, 415, "signed, but no CloudEvent");
    assert_eq!(served.post("/", body).await.status, 401);
    assert_eq!(served.post("/", &vec![b'x'; 2 * 1024 * 1024]).await.status, 413, "size comes first");
}

#[tokio::test]
async fn a_thousand_random_bodies_and_requests_never_hurt() {
    let served = Served::start(vec![on_nodeclaim::function(empty_cluster())], &[]).await;
    let mut runner = TestRunner::deterministic();
    let bytes = proptest::collection::vec(any::<u8>(), 0..2048);
    for turn in 0..1000 {
        let body = bytes.new_tree(&mut runner).unwrap().current();
        if turn % 2 == 0 {
            let received = served.post("/", &body).await;
            assert_eq!(received.status, 400, "{body:?}");
            assert_eq!(received.json()["outcome"], "refused");
        } else {
            let answer = served.raw(&body).await;
            assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 4"), "{}", String::from_utf8_lossy(&answer));
        }
    }
    assert_eq!(served.post("/", &claim()).await.status, 202);
}

#[test]
fn a_sample_with_any_byte_changed_gets_an_answer() {
    // Paused, because thousands of calls to a cloud are held back to its pace.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let function = runtime.block_on(async { on_nodeclaim::function(empty_cluster()) });
    let deliverer = deliverer(vec![function], &[]);
    let text = claim();
    let strategy = (0..text.len(), any::<u8>(), 0..text.len());
    let mut runner = TestRunner::deterministic();
    for _ in 0..2000 {
        let (position, byte, end) = strategy.new_tree(&mut runner).unwrap().current();
        let mut changed = text.clone();
        changed[position] = byte;
        changed.truncate(changed.len().max(1) - if position % 7 == 0 { end % 50 } else { 0 });
        let answer = runtime.block_on(in_process::call(&deliverer, "on-nodeclaim", &changed));
        assert!([Outcome::Nothing, Outcome::Refused].contains(&answer.outcome()), "{answer:?}");
    }
}

/// Paused time: the clock jumps whenever everything waits, so a minute costs nothing.
#[tokio::test(start_paused = true)]
async fn a_client_that_never_finishes_is_ended_after_a_minute() {
    let served = Served::start(vec![on_nodeclaim::function(no_cluster())], &[]).await;
    let mut stream = served.connect().await;
    let head =
        b"POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/cloudevents+json\r\ncontent-length: 100\r\n\r\n{";
    stream.write_all(head).await.unwrap();
    let started = tokio::time::Instant::now();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 408"), "{}", String::from_utf8_lossy(&answer));
    assert_eq!(started.elapsed().as_secs(), 60);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_sends_no_headers_is_ended_too() {
    let served = Served::start(vec![on_nodeclaim::function(no_cluster())], &[]).await;
    let mut stream = served.connect().await;
    stream.write_all(b"POST / HTTP/1.1\r\nhost:").await.unwrap();
    let started = tokio::time::Instant::now();
    let mut answer = Vec::new();
    drop(stream.read_to_end(&mut answer).await);
    assert!(started.elapsed() <= Duration::from_secs(60));
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_hangs_or_panics_has_failed_and_the_next_event_is_served() {
    async fn handle(event: NodeClaimChanged) -> Answer {
        match event.subject.as_str() {
            "hang" => std::future::pending().await,
            "panic" => panic!("a bug"),
            _ => Answer::Done { reason: "fine".to_owned() },
        }
    }
    let served = Served::start(vec![Function::new("on-nodeclaim", handle)], &[]).await;
    let with_subject = |subject: &str| {
        let mut event: serde_json::Value = serde_json::from_slice(&claim()).unwrap();
        event["subject"] = subject.into();
        event.to_string().into_bytes()
    };
    let hung = served.post("/", &with_subject("hang")).await;
    assert_eq!(
        (hung.status.as_u16(), hung.reason().as_str()),
        (503, "on-nodeclaim did not finish in time and was stopped")
    );
    let panicked = served.post("/", &with_subject("panic")).await;
    assert_eq!(panicked.status, 503);
    assert_eq!(panicked.reason(), "on-nodeclaim panicked on this event; this is a bug in it");
    assert_eq!(served.post("/", &with_subject("fine")).await.status, 202);
}
