//! Signed CloudEvents over real HTTP, to the server that functions are served by.

use forwarder::{
    event::Letter,
    settings::Settings,
    sink::{FUNCTIONS, Told},
    sinks,
};
use host::{Deliverer, Function, SettingSource, platform::http::Http};
use jiff::Timestamp;
use model::{Answer, NodeClaimChanged};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const OTHER: &str = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// on-nodeclaim, answering by the name of the claim. Where it is.
async fn serve() -> String {
    let function = Function::new("on-nodeclaim", |event: NodeClaimChanged| async move {
        let reason = "as asked".to_owned();
        let after = Duration::from_secs(7);
        match event.claim.object.name.as_str() {
            "done" => Answer::Done { reason },
            "nothing" => Answer::Nothing { reason },
            "later" => Answer::Later { reason, after },
            "refused" => Answer::Refused { reason },
            _ => Answer::Failed { reason, after },
        }
    });
    let source = SettingSource::from_pairs([("PILOTLIGHT_SIGNING_SECRETS", SECRET)]);
    let settings = host::Settings::from_source(source).unwrap();
    let listening = host::listen(Some("127.0.0.1".parse().unwrap()), 0).await.unwrap();
    let address = listening.address().unwrap();
    let http = Http::new(Deliverer::new(vec![function], &settings), settings.signing);
    tokio::spawn(listening.serve(http, std::future::pending()));
    format!("http://{address}")
}

fn letter(claim: &str) -> Letter {
    let event = json!({ "specversion": "1.0", "id": "u/1", "source": "here", "subject": claim,
        "type": "dev.pilotlight.nodeclaim.changed.v1", "datacontenttype": "application/json",
        "data": { "claim": { "name": claim, "uid": "u", "resourceVersion": "1",
            "nodeClassRef": { "group": "kaito.sh", "kind": "KaitoNodeClass", "name": "default" } } } });
    Letter { id: "u/1".to_owned(), subject: claim.to_owned(), text: event.to_string() }
}

async fn deliver(pairs: &[(&str, &str)], claim: &str) -> Told {
    let (_, _, told) = Settings::read_with_sinks(SettingSource::from_pairs(pairs.iter().copied())).unwrap();
    let sinks = sinks(told, Arc::new(Timestamp::now));
    assert_eq!(sinks.functions().count(), FUNCTIONS.len());
    sinks.of("on-nodeclaim").unwrap().deliver("on-nodeclaim", &letter(claim)).await
}

#[tokio::test]
async fn every_answer_comes_back_as_it_was_given() {
    let url = serve().await;
    let after = Duration::from_secs(7);
    let reason = || "as asked".to_owned();
    for (claim, answer) in [
        ("done", Answer::Done { reason: reason() }),
        ("nothing", Answer::Nothing { reason: reason() }),
        ("later", Answer::Later { reason: reason(), after }),
        ("refused", Answer::Refused { reason: reason() }),
        ("failed", Answer::Failed { reason: reason(), after }),
    ] {
        for sink in ["PILOTLIGHT_SINK", "K_SINK"] {
            let secrets = format!("{SECRET} {OTHER}");
            let pairs = [(sink, url.as_str()), ("PILOTLIGHT_SIGNING_SECRETS", secrets.as_str())];
            assert_eq!(deliver(&pairs, claim).await, Told::Answered(answer.clone()), "{sink} {claim}");
        }
    }
}

#[tokio::test]
async fn a_delivery_that_is_not_believed_is_refused_with_the_reason() {
    let url = serve().await;
    let wrong = [("PILOTLIGHT_SINK", url.as_str()), ("PILOTLIGHT_SIGNING_SECRETS", OTHER)];
    let Told::Answered(Answer::Refused { reason }) = deliver(&wrong, "done").await else { panic!("it is refused") };
    assert!(reason.contains("no signature matches"), "{reason}");
    let unsigned = [("PILOTLIGHT_SINK", url.as_str()), ("PILOTLIGHT_ALLOW_UNSIGNED", "true")];
    let Told::Answered(Answer::Refused { reason }) = deliver(&unsigned, "done").await else { panic!("it is refused") };
    assert!(reason.contains("not signed"), "{reason}");
}

#[tokio::test]
async fn nobody_there_is_heard_as_nothing() {
    let pairs = [("PILOTLIGHT_SINK", "http://127.0.0.1:1"), ("PILOTLIGHT_ALLOW_UNSIGNED", "true")];
    assert!(matches!(deliver(&pairs, "done").await, Told::Unheard { .. }));
}

/// What a foreign server answers, and what is made of it. It also sees what was sent.
async fn foreign(status: u16, headers: &[(&str, &str)], body: &str, pairs: &[(&str, &str)]) -> (Told, Value) {
    let double = crate::lambda_sink::Double::start(status, headers, body).await;
    let url = format!("{}/ns/broker", double.url);
    let all: Vec<(&str, &str)> =
        pairs.iter().copied().chain([("K_SINK", url.as_str()), ("PILOTLIGHT_SIGNING_SECRETS", SECRET)]).collect();
    let told = deliver(&all, "done").await;
    let request = double.requests().pop().expect("a request");
    let headers: Value = request.headers.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    (
        told,
        json!({ "path": request.path, "headers": headers, "body": serde_json::from_slice::<Value>(&request.body).unwrap() }),
    )
}

#[tokio::test]
async fn a_broker_takes_an_event_at_its_own_path_and_keeps_the_answer_to_itself() {
    let (told, sent) = foreign(202, &[], "", &[]).await;
    assert_eq!((told, &sent["path"]), (Told::Accepted, &json!("/ns/broker")));
    assert_eq!(sent["headers"]["prefer"], "reply");
    assert_eq!(sent["headers"]["content-type"], "application/cloudevents+json; charset=utf-8");
    assert_eq!(sent["headers"]["webhook-id"], sent["body"]["id"]);
}

#[tokio::test]
async fn statuses_mean_what_brokers_mean_by_them() {
    let retried = |told: &Told| matches!(told, Told::Unheard { .. });
    for status in [404, 408, 409, 429, 500, 502, 503] {
        let (told, _) = foreign(status, &[("retry-after", "9")], "busy", &[]).await;
        assert!(retried(&told), "{status} {told:?}");
        let Told::Unheard { retry_after, .. } = told else { panic!() };
        assert_eq!(retry_after, Some(Duration::from_secs(9)));
    }
    for status in [301, 400, 403, 413, 415] {
        let (told, _) = foreign(status, &[("location", "/elsewhere")], "no", &[]).await;
        assert!(matches!(told, Told::Answered(Answer::Refused { .. })), "{status} {told:?}");
    }
    let (told, _) = foreign(202, &[("retry-after", "4")], "", &[]).await;
    assert!(matches!(told, Told::Answered(Answer::Later { after, .. }) if after == Duration::from_secs(4)), "{told:?}");
}

#[tokio::test]
async fn azure_functions_get_their_key() {
    let (_, sent) = foreign(202, &[], "", &[("PILOTLIGHT_FUNCTIONS_KEY", "a-key")]).await;
    assert_eq!(sent["headers"]["x-functions-key"], "a-key");
}
