//! From CloudEvents to answers: understand every event of a delivery, then carry them out one after the other.
//!
//! The only place that calls a handler. Whatever the handler does (panics, hangs), there is an answer, one span,
//! one count and one closing log line an event.

use futures_util::FutureExt as _;
use model::{Answer, ClusterId, Event, Outcome};
use schema::{
    AnswerBody, BadEvent, CloudEvent, Content, Known,
    answer::{REHEARSAL_TYPE, Rehearsal, rehearsal},
    timer_idle,
};
use std::{panic::AssertUnwindSafe, time::Duration};
use tokio::time::Instant;
use tracing::Instrument as _;

use crate::{Function, Settings, telemetry};

/// A request that is not finished after this long is ended.
pub const REQUEST_TIME: Duration = Duration::from_secs(60);

/// Knative's PingSource, the timer of a platform that can only say this.
const KNATIVE_PING: &str = "dev.knative.sources.ping";

/// The functions of this process and what they need to know about deliveries.
#[derive(Debug, Clone)]
pub struct Deliverer {
    functions: Vec<Function>,
    pub(crate) cluster: ClusterId,
    pub(crate) max_body_bytes: usize,
    allow_rehearsal: bool,
}

/// Whom a delivery is for.
#[derive(Debug, Clone, Copy)]
pub enum Target<'a> {
    One(&'a Function),
    /// The envelope names nobody (Lambda): the event's type decides.
    ByType,
}

/// One event, answered.
#[derive(Debug, Clone)]
pub struct Reply {
    pub function: &'static str,
    pub asked: CloudEvent,
    pub answer: Answer,
}

/// A delivery, answered.
#[derive(Debug, Clone)]
pub enum Delivered {
    One(Box<Reply>),
    Batch(Vec<Reply>),
    /// Something in it is wrong, so nothing of it was done.
    Refused(Answer),
}

/// An event that has been understood: what to do about it.
enum Task<'a> {
    Call(&'a Function, Box<Event>),
    Rehearse(&'a Function, Rehearsal),
    /// Answered already; the result is what is counted.
    Settled {
        function: &'static str,
        result: &'static str,
        reason: String,
    },
}

impl Deliverer {
    pub fn new(functions: Vec<Function>, settings: &Settings) -> Self {
        Deliverer {
            functions,
            cluster: settings.cluster.clone(),
            max_body_bytes: settings.max_body_bytes,
            allow_rehearsal: settings.allow_rehearsal,
        }
    }

    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    pub fn by_name(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.name() == name)
    }

    /// The function, where this process has just one.
    pub fn only(&self) -> Option<&Function> {
        match self.functions.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// The limit that every envelope keeps: it is the event that is measured, not what it came in.
    pub fn check_size(&self, bytes: usize) -> Result<(), Answer> {
        if bytes <= self.max_body_bytes { Ok(()) } else { Err(self.too_large()) }
    }

    pub fn too_large(&self) -> Answer {
        let most = self.max_body_bytes;
        Answer::refused(format!("the event is larger than {most} bytes, the limit set by PILOTLIGHT_MAX_BODY_BYTES"))
    }

    /// Reads the JSON format and delivers it.
    pub async fn deliver_text(&self, target: Target<'_>, text: &[u8], deadline: Instant) -> Delivered {
        if let Err(too_large) = self.check_size(text.len()) {
            return self.refuse(target, too_large);
        }
        match Content::from_text(text) {
            Ok(content) => self.deliver(target, content, deadline).await,
            Err(bad) => self.refuse(target, Answer::refused(bad.to_string())),
        }
    }

    /// All of a delivery is understood before any of it is done: a batch with a bad event in it changes nothing.
    pub async fn deliver(&self, target: Target<'_>, content: Content, deadline: Instant) -> Delivered {
        let (events, batch) = match content {
            Content::Event(event) => (vec![*event], false),
            Content::Batch(events) => (events, true),
        };
        let mut tasks = Vec::with_capacity(events.len());
        for (index, event) in events.into_iter().enumerate() {
            match event.and_then(|event| self.understand(target, &event).map(|task| (event, task))) {
                Ok(understood) => tasks.push(understood),
                Err(bad) if batch => {
                    let reason = format!("event at index {index} of the batch: {bad}");
                    return self.refuse(target, Answer::refused(reason));
                }
                Err(bad) => return self.refuse(target, Answer::refused(bad.to_string())),
            }
        }
        let mut replies = Vec::with_capacity(tasks.len());
        for (event, task) in tasks {
            replies.push(carry_out(event, task, deadline).await);
        }
        match (batch, replies.pop()) {
            (false, Some(reply)) => Delivered::One(Box::new(reply)),
            (_, last) => Delivered::Batch(replies.into_iter().chain(last).collect()),
        }
    }

    fn understand<'a>(&'a self, target: Target<'a>, event: &CloudEvent) -> Result<Task<'a>, BadEvent> {
        if event.kind == REHEARSAL_TYPE && self.allow_rehearsal {
            let function = match target {
                Target::One(function) => Some(function),
                Target::ByType => self.functions.first(),
            };
            if let Some(function) = function {
                return rehearsal(event).map(|rehearsal| Task::Rehearse(function, rehearsal));
            }
        }
        let tick = self.tick_of_ping(event);
        let event = tick.as_ref().unwrap_or(event);
        let known = schema::known(&event.kind);
        let kind = match known {
            Known::Event(kind) | Known::OtherVersion(kind) => Some(kind),
            Known::No => None,
        };
        let function = match target {
            Target::One(function) => Some(function),
            Target::ByType => self.functions.iter().find(|function| Some(function.kind()) == kind),
        };
        let name = function.map_or("pilotlight", Function::name);
        let shown: String = event.kind.chars().take(120).collect();
        let settled = |result, reason| Ok(Task::Settled { function: name, result, reason });
        match known {
            Known::Event(kind) => match function.filter(|function| function.kind() == kind) {
                Some(function) => Ok(Task::Call(function, Box::new(schema::read(event, kind)?))),
                None => settled("other-function", format!("events of type {shown:?} are for another function")),
            },
            Known::OtherVersion(_) => settled("unknown", format!("this version of the event is not known: {shown:?}")),
            Known::No => settled("unknown", format!("events of type {shown:?} are not known")),
        }
    }

    fn tick_of_ping(&self, event: &CloudEvent) -> Option<CloudEvent> {
        let due = event.time.filter(|_| event.kind == KNATIVE_PING)?;
        Some(timer_idle::tick(&self.cluster, due))
    }

    /// Counts and logs a delivery that was never an event.
    pub(crate) fn refuse(&self, target: Target<'_>, answer: Answer) -> Delivered {
        let function = match target {
            Target::One(function) => function.name(),
            Target::ByType => self.only().map_or("pilotlight", Function::name),
        };
        telemetry::count(function, "refused");
        tracing::warn!(function, outcome = "refused", reason = answer.reason(), "refused a delivery");
        Delivered::Refused(answer)
    }
}

async fn carry_out(asked: CloudEvent, task: Task<'_>, deadline: Instant) -> Reply {
    let function = match &task {
        Task::Call(function, _) | Task::Rehearse(function, _) => function.name(),
        Task::Settled { function, .. } => function,
    };
    let span = telemetry::event_span(function, &asked);
    let (answer, result) = async {
        let started = Instant::now();
        let (answer, result) = match task {
            Task::Settled { result, reason, .. } => (Answer::Nothing { reason }, result),
            Task::Call(function, event) => guarded(function.name(), function.call(*event), deadline).await,
            Task::Rehearse(function, Rehearsal { answer, after }) => {
                let rehearsed = async move {
                    tokio::time::sleep(after).await;
                    Some(answer)
                };
                guarded(function.name(), rehearsed, deadline).await
            }
        };
        telemetry::closing_line(&answer, result, started.elapsed());
        (answer, result)
    }
    .instrument(span)
    .await;
    telemetry::count(function, result);
    Reply { function, asked, answer }
}

/// Runs a handler so that it cannot take the process or the request with it.
async fn guarded(
    function: &'static str,
    handling: impl Future<Output = Option<Answer>>,
    deadline: Instant,
) -> (Answer, &'static str) {
    match tokio::time::timeout_at(deadline, AssertUnwindSafe(handling).catch_unwind()).await {
        Ok(Ok(Some(answer))) => {
            let result = answer.outcome().as_str();
            (answer, result)
        }
        // `understand` compares the kinds, so a handler never sees another function's event.
        Ok(Ok(None)) => (Answer::nothing("events of this type are for another function"), "other-function"),
        Ok(Err(_)) => (Answer::failed(format!("{function} panicked on this event; this is a bug in it")), "panicked"),
        Err(_) => (Answer::failed(format!("{function} did not finish in time and was stopped")), "timed-out"),
    }
}

impl Delivered {
    /// One answer for all of it: the first refusal, else the longest failure, else the soonest "later", else done.
    pub fn summary(&self) -> Answer {
        let replies = match self {
            Delivered::Refused(answer) => return answer.clone(),
            Delivered::One(reply) => return reply.answer.clone(),
            Delivered::Batch(replies) => replies,
        };
        let of = |outcome: Outcome| {
            let matching = move |(_, reply): &(usize, &Reply)| reply.answer.outcome() == outcome;
            replies.iter().enumerate().filter(matching)
        };
        let after = |reply: &Reply| reply.answer.retry_after().unwrap_or_default();
        if let Some((index, reply)) = of(Outcome::Refused).next() {
            return Answer::refused(format!("event at index {index} of the batch: {}", reply.answer.reason()));
        }
        if let Some((index, reply)) = of(Outcome::Failed).max_by_key(|(_, reply)| after(reply)) {
            let reason = format!("event at index {index} of the batch: {}", reply.answer.reason());
            return Answer::Failed { reason, after: after(reply) };
        }
        if let Some((index, reply)) = of(Outcome::Later).min_by_key(|(_, reply)| after(reply)) {
            let reason = format!("event at index {index} of the batch: {}", reply.answer.reason());
            return Answer::Later { reason, after: after(reply) };
        }
        let reason = format!("a batch of {} events", replies.len());
        if of(Outcome::Done).next().is_some() { Answer::Done { reason } } else { Answer::Nothing { reason } }
    }

    /// What a caller gets as a value: the answer, or the answers of a batch in order.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Delivered::Batch(replies) => {
                replies.iter().map(|reply| AnswerBody::from(&reply.answer).to_json()).collect()
            }
            Delivered::One(_) | Delivered::Refused(_) => AnswerBody::from(&self.summary()).to_json(),
        }
    }
}
