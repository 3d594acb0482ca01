//! What a function promises on HTTP, over a real socket.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use spec::{Received, Served, empty_cluster, sample};

fn claim() -> Vec<u8> {
    sample("on-nodeclaim", "new")
}

async fn nodeclaim(settings: &[(&str, &str)]) -> Served {
    Served::start(vec![on_nodeclaim::function(empty_cluster())], settings).await
}

fn rehearsal(data: Value) -> Vec<u8> {
    let event = json!({ "specversion": "1.0", "id": "r1", "source": "c", "type": "dev.pilotlight.rehearsal.v1",
        "subject": "s", "data": data });
    event.to_string().into_bytes()
}

const REHEARSE: (&str, &str) = ("PILOTLIGHT_ALLOW_REHEARSAL", "true");
const STRUCTURED: (&str, &str) = ("content-type", "application/cloudevents+json");
const BATCH: (&str, &str) = ("content-type", "application/cloudevents-batch+json");
const REPLY: (&str, &str) = ("Prefer", "respond-async, Reply; x=1");

/// The status, the outcome in the body, and `Retry-After`.
fn essence(received: &Received) -> (u16, Option<String>, Option<String>) {
    let outcome = (!received.body.is_empty()).then(|| received.json()["outcome"].as_str().unwrap_or("-").to_owned());
    (received.status.as_u16(), outcome, received.header("retry-after").map(str::to_owned))
}

#[tokio::test]
async fn an_event_is_accepted_with_an_empty_202() {
    let served = nodeclaim(&[]).await;
    for path in ["/", "/on-nodeclaim", "/?code=abc"] {
        let received = served.post(path, &claim()).await;
        assert_eq!((received.status.as_u16(), received.body.as_slice()), (202, &b""[..]), "{path}");
    }
}

#[tokio::test]
async fn every_outcome_has_its_status() {
    let served = nodeclaim(&[REHEARSE]).await;
    let text = |text: &str| Some(text.to_owned());
    let cases = [
        (json!({ "outcome": "done", "reason": "r" }), (202, None, None)),
        (json!({ "outcome": "nothing", "reason": "r", "retryAfterSeconds": 5 }), (202, None, None)),
        (json!({ "outcome": "later", "reason": "r", "retryAfterSeconds": 7 }), (202, None, text("7"))),
        (json!({ "outcome": "refused", "reason": "r" }), (400, text("refused"), None)),
        (json!({ "outcome": "failed", "reason": "r", "retryAfterSeconds": 9 }), (503, text("failed"), text("9"))),
        (json!({ "outcome": "failed", "reason": "r" }), (503, text("failed"), text("30"))),
        (json!({ "outcome": "perhaps", "reason": "r" }), (400, text("refused"), None)),
    ];
    for (data, expected) in cases {
        assert_eq!(essence(&served.post("/", &rehearsal(data.clone())).await), expected, "{data}");
    }
}

#[tokio::test]
async fn whoever_prefers_a_reply_gets_the_answer_as_an_event() {
    let served = nodeclaim(&[REHEARSE]).await;
    let body = rehearsal(json!({ "outcome": "later", "reason": "soon", "retryAfterSeconds": 7 }));
    let received = served.send("POST", "/", &[STRUCTURED, REPLY], &body).await;
    assert_eq!(received.status, 200);
    assert_eq!(received.header("content-type"), Some("application/cloudevents+json"));
    let expected = json!({ "specversion": "1.0", "id": "r1", "source": "/pilotlight/on-nodeclaim", "subject": "s",
        "type": "dev.pilotlight.answer.v1", "datacontenttype": "application/json",
        "data": { "outcome": "later", "reason": "soon", "retryAfterSeconds": 7 } });
    assert_eq!(received.json(), expected);
    let refused = served.send("POST", "/", &[STRUCTURED, REPLY], b"{}").await;
    assert_eq!(essence(&refused).0, 400);
}

#[tokio::test]
async fn a_rehearsal_is_an_unknown_event_unless_it_is_allowed() {
    let served = nodeclaim(&[]).await;
    let body = rehearsal(json!({ "outcome": "failed", "reason": "r" }));
    let received = served.send("POST", "/", &[STRUCTURED, REPLY], &body).await;
    assert_eq!(received.json()["data"]["outcome"], "nothing");
}

#[tokio::test]
async fn binary_mode_means_what_structured_mode_means() {
    let served = Served::start(vec![on_pending_pod::function(spec::empty_cluster())], &[]).await;
    let text = sample("on-pending-pod", "subject-not-ascii");
    let structured = served.send("POST", "/", &[STRUCTURED, REPLY], &text).await.json();
    let event: Value = serde_json::from_slice(&text).unwrap();
    let (id, source, kind) =
        (event["id"].as_str().unwrap(), event["source"].as_str().unwrap(), event["type"].as_str().unwrap());
    let headers = [
        ("Content-Type", "application/json; charset=utf-8"),
        ("CE-SpecVersion", "1.0"),
        ("ce-id", id),
        ("ce-source", source),
        ("ce-type", kind),
        ("ce-subject", "team-a/tr%C3%A1in%20n%C3%A4me%20%221%22%20100%25"),
        REPLY,
    ];
    let binary = served.send("POST", "/", &headers, event["data"].to_string().as_bytes()).await.json();
    assert_eq!(binary, structured);
}

#[tokio::test]
async fn a_batch_is_all_or_nothing() {
    let served = nodeclaim(&[REHEARSE]).await;
    let event = |data: Value| serde_json::from_slice::<Value>(&rehearsal(data)).unwrap();
    let done = event(json!({ "outcome": "done", "reason": "a" }));
    let later = |seconds: u32| event(json!({ "outcome": "later", "reason": "b", "retryAfterSeconds": seconds }));
    let failed = event(json!({ "outcome": "failed", "reason": "c", "retryAfterSeconds": 4 }));
    let send = async |events: Value, headers: &[(&str, &str)]| {
        served.send("POST", "/", headers, events.to_string().as_bytes()).await
    };
    assert_eq!(essence(&send(json!([]), &[BATCH]).await), (202, None, None));
    assert_eq!(essence(&send(json!([]), &[BATCH, REPLY]).await), (202, None, None));
    let several = send(json!([done, later(9), later(5)]), &[BATCH]).await;
    assert_eq!(essence(&several), (202, None, Some("5".to_owned())));
    let replies = send(json!([done, later(9)]), &[BATCH, REPLY]).await;
    assert_eq!(replies.header("content-type"), Some("application/cloudevents-batch+json"));
    let outcomes: Vec<Value> =
        replies.json().as_array().unwrap().iter().map(|one| one["data"]["outcome"].clone()).collect();
    assert_eq!(outcomes, ["done", "later"]);
    let bad = send(json!([done, { "specversion": "1.0" }]), &[BATCH]).await;
    assert_eq!(bad.status, 400);
    assert_eq!(bad.reason(), "event at index 1 of the batch: the CloudEvents attribute \"id\" is missing");
    assert_eq!(essence(&send(json!([done, failed]), &[BATCH, REPLY]).await).0, 503);
    assert_eq!(essence(&send(done.clone(), &[BATCH]).await).0, 400, "one event is no batch");
    assert_eq!(essence(&send(json!([done]), &[STRUCTURED]).await).0, 400, "a batch is not one event");
}

#[tokio::test]
async fn what_is_wrong_is_checked_in_order_and_answered_as_json() {
    let served = nodeclaim(&[("PILOTLIGHT_MAX_BODY_BYTES", "4096")]).await;
    let check = async |expected: u16, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]| {
        let received = served.send(method, path, headers, body).await;
        assert_eq!(received.status.as_u16(), expected, "{method} {path} {headers:?}: {received:?}");
        assert_eq!(received.json()["outcome"], "refused");
        received
    };
    check(413, "POST", "/", &[("content-type", "text/plain")], &[b'x'; 5000]).await;
    check(415, "POST", "/", &[("content-type", "application/json")], &claim()).await;
    check(415, "POST", "/", &[("content-type", "application/cloudevents+xml")], &claim()).await;
    check(415, "POST", "/", &[], &claim()).await;
    check(400, "POST", "/", &[STRUCTURED], b"{\"specversion\": \"1.0\",").await;
    check(404, "POST", "/on-delete", &[STRUCTURED], &claim()).await;
    check(404, "GET", "/nowhere", &[], b"").await;
    let wrong_method = check(405, "GET", "/", &[], b"").await;
    assert_eq!(wrong_method.header("allow"), Some("POST, OPTIONS"));
    let truncated = check(400, "POST", "/", &[STRUCTURED], &claim()[..100]).await;
    assert!(truncated.reason().contains("line 4 column"), "{}", truncated.reason());
}

#[tokio::test]
async fn a_body_over_the_limit_is_answered_even_if_it_is_sent_in_pieces() {
    let served = nodeclaim(&[]).await;
    let large = vec![b'x'; 2 * 1024 * 1024];
    assert_eq!(served.post("/", &large).await.status, 413);
    let mut chunked = b"POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    for piece in large.chunks(65_536) {
        chunked.extend(format!("{:x}\r\n", piece.len()).bytes().chain(piece.iter().copied()).chain(*b"\r\n"));
    }
    chunked.extend(b"0\r\n\r\n");
    assert!(served.raw(&chunked).await.starts_with(b"HTTP/1.1 413"));
    let exactly = [claim(), vec![b' '; 1024 * 1024 - claim().len()]].concat();
    assert_eq!(served.post("/", &exactly).await.status, 202, "the limit itself is allowed");
}

#[tokio::test]
async fn all_in_one_serves_each_function_at_its_name() {
    let served =
        Served::start(vec![on_nodeclaim::function(empty_cluster()), on_idle_timer::function(empty_cluster())], &[])
            .await;
    assert_eq!(served.post("/on-nodeclaim", &claim()).await.status, 202);
    assert_eq!(served.post("/on-idle-timer", &sample("on-idle-timer", "tick")).await.status, 202);
    assert_eq!(served.post("/", &claim()).await.status, 404);
    assert_eq!(served.send("GET", "/", &[], b"").await.status, 405);
}

#[tokio::test]
async fn health_handshake_and_counts_are_there() {
    let served = nodeclaim(&[]).await;
    for path in ["/health/liveness", "/health/readiness", "/metrics"] {
        assert_eq!(served.send("GET", path, &[], b"").await.status, 200, "{path}");
    }
    let asked = [("WebHook-Request-Origin", "eventgrid.azure.net"), ("WebHook-Request-Rate", "120")];
    let handshake = served.send("OPTIONS", "/", &asked, b"").await;
    assert_eq!(handshake.status, 200);
    assert_eq!(handshake.header("webhook-allowed-origin"), Some("eventgrid.azure.net"));
    assert_eq!(handshake.header("webhook-allowed-rate"), Some("120"));
    assert_eq!(handshake.header("allow"), Some("POST, OPTIONS"));
}

#[tokio::test]
async fn the_timer_of_knative_is_a_tick() {
    let served =
        Served::start(vec![on_idle_timer::function(empty_cluster())], &[("PILOTLIGHT_CLUSTER_ID", "eu")]).await;
    let ping = json!({ "specversion": "1.0", "id": "1", "source": "/apis/v1/namespaces/x/pingsources/p",
        "type": "dev.knative.sources.ping", "time": "2026-11-16T09:00:00Z", "data": {} });
    let received = served.send("POST", "/", &[STRUCTURED, REPLY], ping.to_string().as_bytes()).await;
    assert!(received.json()["data"]["reason"].as_str().unwrap().starts_with("the idle timer of cluster eu ticked"));
}
