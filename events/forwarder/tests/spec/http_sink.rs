//! Signed CloudEvents over real HTTP, to the server that functions are served by.

use async_trait::async_trait;
use forwarder::{
    event::Letter,
    settings::Settings,
    sink::{EntraSettings, FUNCTIONS, HttpSettings, HttpSink, Sink as _, Told},
    sinks,
};
use host::{Deliverer, Function, SettingSource, platform::http::Http};
use jiff::Timestamp;
use model::{Answer, NodeClaimChanged};
use provider_aks::{TokenError, Tokens};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

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

/// Tokens of Entra ID, numbered: whoever forgets one gets the next.
#[derive(Default)]
struct Numbered(AtomicUsize);

#[async_trait]
impl Tokens for Numbered {
    async fn token(&self, scope: &str) -> Result<String, TokenError> {
        Ok(format!("{scope}-{}", self.0.load(Ordering::SeqCst)))
    }

    fn forget(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// What was sent as whom to a server that answers so, and what is made of that.
async fn as_somebody(status: u16) -> (Told, Vec<String>) {
    let double = crate::lambda_sink::Double::start(status, &[], "").await;
    let entra = EntraSettings { scope: "api://app".to_owned(), tokens: Arc::new(Numbered::default()) };
    let settings = HttpSettings { entra: Some(entra), ..HttpSettings::default() };
    let sink = HttpSink::new(double.url.parse().unwrap(), settings, Arc::default(), Arc::new(Timestamp::now));
    let told = sink.deliver("on-nodeclaim", &letter("done")).await;
    let bearer =
        |request: crate::lambda_sink::Arrived| request.headers.get("authorization").cloned().unwrap_or_default();
    (told, double.requests().into_iter().map(bearer).collect())
}

#[tokio::test]
async fn azure_functions_get_a_token_and_one_that_is_not_taken_is_replaced_once() {
    assert_eq!(as_somebody(202).await, (Told::Accepted, vec!["Bearer api://app-0".to_owned()]));
    let (told, sent) = as_somebody(401).await;
    assert_eq!(sent, ["Bearer api://app-0", "Bearer api://app-1"]);
    assert!(matches!(&told, Told::Answered(Answer::Refused { reason }) if reason.contains("401")), "{told:?}");
    assert_eq!(as_somebody(403).await.1.len(), 1, "who may not, may not with another token either");
}

#[tokio::test]
async fn without_a_token_nothing_is_sent_and_it_is_tried_again() {
    let double = crate::lambda_sink::Double::start(202, &[], "").await;
    let nobody = [
        ("PILOTLIGHT_SINK", double.url.as_str()),
        ("PILOTLIGHT_ALLOW_UNSIGNED", "true"),
        ("PILOTLIGHT_ENTRA_SCOPE", "api://app/.default"),
        ("AZURE_TENANT_ID", "tenant"),
        ("AZURE_CLIENT_ID", "client"),
        ("AZURE_CLIENT_SECRET", "secret"),
        ("AZURE_AUTHORITY_HOST", "https://127.0.0.1:1/"),
    ];
    let told = deliver(&nobody, "done").await;
    assert!(matches!(&told, Told::Unheard { why, .. } if why.contains("no token from Entra ID")), "{told:?}");
    assert_eq!(double.requests().len(), 0);
}
