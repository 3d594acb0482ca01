//! The answer on the wire, the event that carries it back, and the rehearsal that asks for one.

use core::time::Duration;
use model::{Answer, Outcome, answer::DEFAULT_RETRY_AFTER};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

use crate::{
    cloud_event::{BadEvent, CloudEvent, EventData},
    registry::from_json,
};

/// The type of the event that carries an answer back.
pub const ANSWER_TYPE: &str = "dev.pilotlight.answer.v1";

/// The type of the event that asks any function for a certain answer, where that is allowed.
pub const REHEARSAL_TYPE: &str = "dev.pilotlight.rehearsal.v1";

/// The answer, as every platform shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnswerBody {
    pub outcome: OutcomeName,
    pub reason: String,
    /// Only with `later` and `failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OutcomeName {
    Done,
    Nothing,
    Later,
    Refused,
    Failed,
}

/// The data of a rehearsal: the answer that is wanted, and how long to take over it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RehearsalData {
    pub outcome: OutcomeName,
    #[serde(default)]
    pub reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u32>,
    /// Answer only after this long: for trying time-outs and draining.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_milliseconds: Option<u32>,
}

/// A rehearsal, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rehearsal {
    pub answer: Answer,
    pub after: Duration,
}

impl From<&Answer> for AnswerBody {
    fn from(answer: &Answer) -> Self {
        let outcome = match answer.outcome() {
            Outcome::Done => OutcomeName::Done,
            Outcome::Nothing => OutcomeName::Nothing,
            Outcome::Later => OutcomeName::Later,
            Outcome::Refused => OutcomeName::Refused,
            Outcome::Failed => OutcomeName::Failed,
        };
        // Rounded up: calling again too early finds the same thing.
        let seconds = |after: Duration| after.as_secs() + u64::from(after.subsec_nanos() > 0);
        let retry_after_seconds = answer.retry_after().map(seconds);
        AnswerBody { outcome, reason: answer.reason().to_owned(), retry_after_seconds }
    }
}

/// For those who ask. Without a time, the usual one.
impl From<AnswerBody> for Answer {
    fn from(body: AnswerBody) -> Self {
        let AnswerBody { outcome, reason, retry_after_seconds } = body;
        let after = retry_after_seconds.map_or(DEFAULT_RETRY_AFTER, Duration::from_secs);
        match outcome {
            OutcomeName::Done => Answer::Done { reason },
            OutcomeName::Nothing => Answer::Nothing { reason },
            OutcomeName::Later => Answer::Later { reason, after },
            OutcomeName::Refused => Answer::Refused { reason },
            OutcomeName::Failed => Answer::Failed { reason, after },
        }
    }
}

impl AnswerBody {
    pub fn to_json(&self) -> Value {
        let mut object = json!({ "outcome": self.outcome, "reason": self.reason });
        if let Some(seconds) = self.retry_after_seconds {
            object["retryAfterSeconds"] = seconds.into();
        }
        object
    }
}

/// The event that carries an answer back. It has the asked event's id: the same question has the same answer.
pub fn answer_event(function: &str, asked: &CloudEvent, answer: &Answer) -> CloudEvent {
    CloudEvent {
        id: asked.id.clone(),
        source: format!("/pilotlight/{function}"),
        kind: ANSWER_TYPE.to_owned(),
        subject: asked.subject.clone(),
        time: None,
        data_content_type: Some("application/json".to_owned()),
        data_schema: None,
        extensions: BTreeMap::new(),
        data: EventData::Json(AnswerBody::from(answer).to_json()),
    }
}

/// Reads a rehearsal.
pub fn rehearsal(event: &CloudEvent) -> Result<Rehearsal, BadEvent> {
    let data: RehearsalData = from_json(event.json_data()?, REHEARSAL_TYPE, "")?;
    let RehearsalData { outcome, reason, retry_after_seconds, after_milliseconds } = data;
    let answer = AnswerBody { outcome, reason, retry_after_seconds: retry_after_seconds.map(u64::from) }.into();
    Ok(Rehearsal { answer, after: Duration::from_millis(after_milliseconds.unwrap_or(0).into()) })
}
