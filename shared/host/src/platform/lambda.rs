//! AWS Lambda: direct invokes, function URLs and API Gateway, EventBridge, and SQS with partial batch failures.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::Response;
use lambda_runtime::{Diagnostic, LambdaEvent, LambdaInvocation, Runtime, service_fn, tower::util::MapRequestLayer};
use model::{Answer, Outcome};
use schema::{BadEvent, strict_json};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tokio::{sync::watch, time::Instant};

use super::{
    http::{Asked, Http},
    json_headers,
    lambda_envelope::{HttpRequest, Invocation, SqsRecord, from_event_bridge, from_sqs_body, invocation},
};
use crate::{
    deliver::{Delivered, REQUEST_TIME, Target},
    server::DRAIN_TIME,
};

/// Time to say "failed" before Lambda ends the process without a word.
const BEFORE_DEADLINE: Duration = Duration::from_millis(200);

/// What the caller sees as a function error.
#[derive(Debug)]
pub struct FunctionFailed(Answer);

impl From<FunctionFailed> for Diagnostic {
    fn from(FunctionFailed(answer): FunctionFailed) -> Self {
        Diagnostic { error_type: "Failed".to_owned(), error_message: answer.reason().to_owned() }
    }
}

/// Polls the Runtime API until it or a signal ends the process.
pub async fn serve(http: Http, stop: impl Future<Output = ()>) -> Result<(), String> {
    let lambda = Arc::new(Lambda { http });
    let (busy, mut idle) = watch::channel(false);
    let busy = Arc::new(busy);
    let handler = service_fn(move |event: LambdaEvent<String>| {
        let (lambda, busy) = (lambda.clone(), busy.clone());
        async move {
            busy.send_replace(true);
            let payload = BASE64_STANDARD.decode(event.payload).unwrap_or_default();
            let answered = lambda.answer(&payload, deadline(event.context.deadline)).await;
            busy.send_replace(false);
            answered
        }
    });
    let running = Runtime::new(handler).layer(MapRequestLayer::new(keep_bytes)).run();
    tracing::info!("serving AWS Lambda");
    tokio::pin!(running);
    tokio::select! {
        ended = &mut running => return ended.map_err(|error| error.to_string()),
        () = stop => {}
    }
    // The invocation under way finishes, and its answer gets out.
    let finished = async {
        drop(idle.wait_for(|busy| !busy).await);
        tokio::time::sleep(BEFORE_DEADLINE).await;
    };
    tokio::select! {
        _ = running => {}
        _ = tokio::time::timeout(DRAIN_TIME, finished) => {}
    }
    Ok(())
}

/// The runtime parses the payload before anybody may look at it, and fails on what is not JSON. Wrapped as a JSON
/// text it always parses, and the event gets the same answer here as everywhere else.
fn keep_bytes(mut invocation: LambdaInvocation) -> LambdaInvocation {
    invocation.body = Bytes::from(format!("\"{}\"", BASE64_STANDARD.encode(&invocation.body)));
    invocation
}

/// Lambda's deadline is a time of day in milliseconds; ours is the earlier of it and the usual request time.
fn deadline(epoch_ms: u64) -> Instant {
    let at = UNIX_EPOCH + Duration::from_millis(epoch_ms);
    let left = at.duration_since(SystemTime::now()).unwrap_or(REQUEST_TIME);
    Instant::now() + left.saturating_sub(BEFORE_DEADLINE).min(REQUEST_TIME)
}

struct Lambda {
    http: Http,
}

impl Lambda {
    async fn answer(&self, payload: &[u8], deadline: Instant) -> Result<Value, FunctionFailed> {
        let deliverer = &self.http.deliverer;
        match invocation(payload) {
            Invocation::Http(request) => Ok(self.speak(request, deadline).await),
            Invocation::Sqs(records) => self.sqs(records, deadline).await,
            Invocation::Direct => as_value(deliverer.deliver_text(self.target(), payload, deadline).await),
            Invocation::EventBridge(envelope) => {
                if let Err(too_large) = deliverer.check_size(envelope["detail"].to_string().len()) {
                    return as_value(deliverer.refuse(self.target(), too_large));
                }
                let content = from_event_bridge(envelope, &deliverer.cluster);
                as_value(deliverer.deliver(self.target(), content, deadline).await)
            }
        }
    }

    /// Lambda names a deployment, not a function of ours: with several in one process the event's type decides.
    fn target(&self) -> Target<'_> {
        self.http.deliverer.only().map_or(Target::ByType, Target::One)
    }

    /// A function URL is HTTP in an envelope: a failure is a 503 there, not a function error.
    async fn speak(&self, request: HttpRequest, deadline: Instant) -> Value {
        let HttpRequest { method, path, headers, body } = request;
        let spoken = match self.http.asked(&method, &path) {
            Asked::Settled(spoken) => spoken,
            Asked::Function(function) => {
                // What is not base64 is no event either; the empty body says so in the usual words.
                self.http.speak(function, &method, &headers, body.unwrap_or_default(), deadline).await
            }
        };
        gateway_response(&spoken.response)
    }

    /// Only failures are reported, so only they come back. In a FIFO group everything after a failure has to wait.
    async fn sqs(&self, records: Vec<SqsRecord>, deadline: Instant) -> Result<Value, FunctionFailed> {
        let mut held_groups = BTreeSet::new();
        let mut failures = Vec::new();
        for record in records {
            let group = record.ordered_group();
            let held = group.as_ref().is_some_and(|group| held_groups.contains(group));
            let answer = if held {
                Answer::failed("a message before this one in its group failed")
            } else {
                self.message(record.body.as_deref().unwrap_or_default(), deadline).await.summary()
            };
            if answer.outcome() != Outcome::Failed {
                continue;
            }
            held_groups.extend(group);
            match record.message_id {
                Some(id) => failures.push(json!({ "itemIdentifier": id })),
                // It cannot be reported alone, and losing it would be worse than a second delivery of the others.
                None => return Err(FunctionFailed(answer)),
            }
        }
        Ok(json!({ "batchItemFailures": failures }))
    }

    async fn message(&self, text: &str, deadline: Instant) -> Delivered {
        let deliverer = &self.http.deliverer;
        if let Err(too_large) = deliverer.check_size(text.len()) {
            return deliverer.refuse(self.target(), too_large);
        }
        match strict_json::parse(text.as_bytes()) {
            Ok(value) => {
                let content = from_sqs_body(value, &deliverer.cluster);
                deliverer.deliver(self.target(), content, deadline).await
            }
            Err(bad) => deliverer.refuse(self.target(), Answer::refused(BadEvent::from(bad).to_string())),
        }
    }
}

/// The answer is the return value; only a failure is a function error, so only that is tried again.
fn as_value(delivered: Delivered) -> Result<Value, FunctionFailed> {
    let answer = delivered.summary();
    if answer.outcome() == Outcome::Failed { Err(FunctionFailed(answer)) } else { Ok(delivered.to_json()) }
}

fn gateway_response(response: &Response<Bytes>) -> Value {
    json!({
        "statusCode": response.status().as_u16(),
        "headers": json_headers::to_json(response.headers()),
        "body": String::from_utf8_lossy(response.body()),
        "isBase64Encoded": false,
        // Lambda does not ask for it; `cargo lambda watch` does.
        "cookies": [],
    })
}
