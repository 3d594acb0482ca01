//! Logs and counts: one span an event, one closing line, one counter. Facts are fields, not prose.

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use model::{Answer, Outcome};
use schema::CloudEvent;
use std::{
    io::{self, IsTerminal as _},
    sync::OnceLock,
    time::Duration,
};
use tracing::{Span, field::Empty, info_span};
use tracing_subscriber::{layer::SubscriberExt as _, util::SubscriberInitExt as _};

use crate::settings::{LogFormat, LogSettings};

const DELIVERIES: &str = "pilotlight_deliveries_total";

const LEAKS: &str = "pilotlight_leaks_total";

/// The upper ends of the buckets that times are counted in.
const SECONDS: [f64; 12] = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 15.0, 60.0];

static RECORDER: OnceLock<Option<PrometheusHandle>> = OnceLock::new();

/// Starts logging to standard output. A second call changes nothing.
pub fn start_logs(settings: &LogSettings) {
    let json = match settings.format {
        LogFormat::Json => true,
        LogFormat::Text => false,
        LogFormat::Auto => !io::stdout().is_terminal(),
    };
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stdout);
    let registry = tracing_subscriber::registry().with(settings.filter.clone());
    let started = if json {
        registry.with(lines.json().flatten_event(true).with_span_list(false)).try_init()
    } else {
        registry.with(lines.with_ansi(io::stdout().is_terminal())).try_init()
    };
    // Already started, by a test or an embedding program: that one wins.
    drop(started);
}

/// Starts counting. Only where somebody can come and read the counts.
pub fn start_counts() {
    let buckets = || PrometheusBuilder::new().set_buckets(&SECONDS);
    RECORDER.get_or_init(|| buckets().and_then(PrometheusBuilder::install_recorder).ok());
    metrics::describe_counter!(DELIVERIES, "Events by function and result.");
    metrics::describe_counter!(LEAKS, "What was found left behind, by kind and by what came of closing it.");
}

/// Puts times that were measured into their buckets. Whoever measures times calls it now and then: until then, or until
/// somebody reads the counts, every single one is kept.
pub fn tidy_counts() {
    if let Some(recorder) = RECORDER.get().and_then(Option::as_ref) {
        recorder.run_upkeep();
    }
}

/// The counts in the Prometheus text format.
pub fn counts() -> String {
    RECORDER.get().and_then(Option::as_ref).map(PrometheusHandle::render).unwrap_or_default()
}

/// `result` is an outcome, or what stood behind it: `unknown`, `other-function`, `panicked`, `timed-out`.
pub fn count(function: &'static str, result: &'static str) {
    metrics::counter!(DELIVERIES, "function" => function, "result" => result).increment(1);
}

/// Something that was left behind; `result` is `closed`, `under-way` or `failed`.
pub fn count_leak(kind: &'static str, result: &'static str) {
    metrics::counter!(LEAKS, "kind" => kind, "result" => result).increment(1);
}

pub fn event_span(function: &'static str, event: &CloudEvent) -> Span {
    let span = info_span!(
        "event",
        function,
        id = short(&event.id),
        r#type = short(&event.kind),
        source = short(&event.source),
        subject = Empty,
        traceparent = Empty,
    );
    if let Some(subject) = &event.subject {
        span.record("subject", short(subject));
    }
    if let Some(traceparent) = event.extensions.get("traceparent").and_then(|value| value.as_str()) {
        span.record("traceparent", short(traceparent));
    }
    span
}

/// The last word about an event.
pub fn closing_line(answer: &Answer, result: &'static str, took: Duration) {
    let (outcome, reason) = (answer.outcome().as_str(), answer.reason());
    let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    match answer.outcome() {
        Outcome::Done | Outcome::Nothing | Outcome::Later => {
            tracing::info!(outcome, result, reason, took_ms, "answered");
        }
        Outcome::Refused | Outcome::Failed => tracing::warn!(outcome, result, reason, took_ms, "answered"),
    }
}

/// What came from outside is logged, but only so much of it.
fn short(text: &str) -> &str {
    let end = text.char_indices().nth(200).map_or(text.len(), |(end, _)| end);
    &text[..end]
}
