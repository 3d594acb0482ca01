//! The decorators, each alone and all together, around a provider that answers what the test says.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{Scripted, throttled, unavailable};
use core::time::Duration;
use model::{Gone, Progress};
use provider::contract::{Subject as _, key};
use provider::fake::FakeCloud;
use provider::{
    Change as _, Limited, Limiter, Limits, Look as _, Metering, PerOperation, ProviderError, Rate, Settings, TimeOuts,
    Tracing, Wrapped, dressed,
};
use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};
use tokio::time::Instant;

fn limits(every: u64, burst: u32, longest_wait: u64) -> Limits {
    let rate = Rate { every: Duration::from_secs(every), burst };
    let longest_wait = Duration::from_secs(longest_wait);
    Limits { rate: PerOperation::from_fn(|_| rate), longest_wait, unavailable_in_a_row: 3, ..Limits::default() }
}

/// Without chance there is no jitter, so that times are exact.
fn limited(provider: &Scripted, limits: Limits) -> Limited<Scripted> {
    Wrapped::new(provider.clone(), Limiter::new(limits, Arc::new(|| 0)))
}

#[tokio::test(start_paused = true)]
async fn a_look_that_times_out_is_unavailable_and_a_change_is_uncertain() {
    let slow = Scripted { takes: Duration::from_secs(3600), ..Scripted::default() };
    let timed = Wrapped::new(slow, TimeOuts::default());
    let request = FakeCloud::default().request(key(1), FakeCloud::default().obtainable(), 1);
    let reasons = [
        (timed.offerings().await.unwrap_err(), "Unavailable"),
        (timed.observe(&key(1)).await.unwrap_err(), "Unavailable"),
        (timed.owned().await.unwrap_err(), "Unavailable"),
        (timed.ensure(&request, None).await.unwrap_err(), "Uncertain"),
        (timed.ensure_gone(&key(1), None).await.unwrap_err(), "Uncertain"),
        (timed.reboot(&key(1), "first").await.unwrap_err(), "Uncertain"),
    ];
    for (error, reason) in reasons {
        assert_eq!(error.reason(), reason, "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_burst_passes_and_the_rest_waits_for_its_turn() {
    let provider = Scripted::default();
    let limited = limited(&provider, limits(2, 3, 60));
    let began = Instant::now();
    for _ in 0..6 {
        limited.observe(&key(1)).await.unwrap();
    }
    assert_eq!(provider.seconds_since(began), [0, 0, 0, 2, 4, 6]);
    limited.ensure_gone(&key(1), None).await.unwrap();
    assert_eq!(began.elapsed().as_secs(), 6, "another operation has a bucket of its own");
}

#[tokio::test(start_paused = true)]
async fn a_cloud_that_complains_is_asked_half_as_often_until_it_has_not_complained_for_a_while() {
    let provider = Scripted::new([throttled(Some(10))]);
    let limited = limited(&provider, limits(2, 1, 600));
    let began = Instant::now();
    limited.observe(&key(1)).await.unwrap_err();
    for _ in 0..3 {
        limited.observe(&key(1)).await.unwrap();
    }
    let asked = provider.seconds_since(began);
    assert_eq!(asked[..3], [0, 10, 14], "after the pause that was asked for, four seconds apart instead of two");
    for _ in 0..20 {
        limited.observe(&key(1)).await.unwrap();
    }
    let asked = provider.seconds_since(began);
    assert_eq!(asked[23] - asked[22], 2, "the pace it began with, and no quicker: {asked:?}");
}

#[tokio::test(start_paused = true)]
async fn calls_that_are_refused_together_are_one_complaint() {
    let refused = [None, None, None, None].map(throttled);
    let provider = Scripted { takes: Duration::from_secs(1), ..Scripted::new(refused) };
    let limited = limited(&provider, limits(2, 4, 600));
    let began = Instant::now();
    let (first, second) = (key(1), key(2));
    let together = tokio::join!(
        limited.observe(&first),
        limited.observe(&first),
        limited.observe(&second),
        limited.observe(&second)
    );
    for refused in [together.0, together.1, together.2, together.3] {
        assert_eq!(refused.unwrap_err().reason(), "Throttled");
    }
    for _ in 0..3 {
        limited.observe(&first).await.unwrap();
    }
    assert_eq!(
        provider.seconds_since(began)[4..],
        [1, 5, 8],
        "twice as slow and recovering, not sixteen times as slow"
    );
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_too_long_is_the_callers() {
    let provider = Scripted::default();
    let limited = limited(&provider, limits(10, 1, 5));
    limited.observe(&key(1)).await.unwrap();
    let error = limited.observe(&key(1)).await.unwrap_err();
    assert!(
        matches!(error, ProviderError::Throttled { retry_after: Some(after), .. } if after.as_secs() == 10),
        "{error:?}"
    );
    assert_eq!(provider.times_asked(), 1);
}

#[tokio::test(start_paused = true)]
async fn retry_after_holds_for_all_callers_of_that_operation_and_then_they_come_one_by_one() {
    let provider = Scripted::new([throttled(Some(20))]);
    let limited = limited(&provider, limits(1, 10, 60));
    let began = Instant::now();
    assert_eq!(limited.observe(&key(1)).await.unwrap_err().reason(), "Throttled");
    for _ in 0..3 {
        limited.observe(&key(1)).await.unwrap();
    }
    // At half the pace, which the first good answer begins to give back.
    assert_eq!(provider.seconds_since(began), [0, 20, 22, 23]);
}

#[tokio::test(start_paused = true)]
async fn who_already_waits_for_a_turn_obeys_a_pause_that_comes_later() {
    let mut provider = Scripted::new([throttled(Some(20))]);
    provider.takes = Duration::from_secs(1);
    let limited = Arc::new(limited(&provider, limits(3, 1, 60)));
    let began = Instant::now();
    let tasks: Vec<_> = (0..3)
        .map(|_| {
            let limited = limited.clone();
            tokio::spawn(async move { limited.observe(&key(1)).await.is_ok() })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    // Throttled at 1 s; the others had turns at 3 s and 6 s. Then they come at half the pace.
    assert_eq!(provider.seconds_since(began), [0, 21, 27]);
}

#[tokio::test(start_paused = true)]
async fn without_retry_after_the_pause_is_jittered_over_a_span_that_doubles() {
    let provider = Scripted::new((0..8).map(|_| throttled(None)));
    // The largest number there is: what is left of it after the division is all the test needs to know.
    let limiter = Limiter::new(limits(1, 100, 600), Arc::new(|| u64::MAX));
    let limited = Wrapped::new(provider, limiter);
    let mut spans = vec![];
    for _ in 0..8 {
        match limited.observe(&key(1)).await {
            Err(ProviderError::Throttled { retry_after: Some(pause), .. }) => spans.push(pause),
            other => panic!("{other:?}"),
        }
    }
    for (index, pause) in spans.iter().enumerate() {
        let most = Duration::from_secs((2 << index).min(60));
        assert!(*pause <= most, "pause {index} is {pause:?}, more than {most:?}");
    }
    assert!(spans.iter().any(|pause| !pause.is_zero()), "{spans:?}");
}

#[tokio::test(start_paused = true)]
async fn the_breaker_opens_lets_one_try_and_closes_again() {
    let provider = Scripted::new((0..4).map(|_| unavailable()));
    let limited = limited(&provider, limits(0, 1, 60));
    for _ in 0..5 {
        assert_eq!(limited.observe(&key(1)).await.unwrap_err().reason(), "Unavailable");
    }
    assert_eq!(provider.times_asked(), 3, "open after three");
    limited.ensure_gone(&key(1), None).await.unwrap_err();
    assert_eq!(provider.times_asked(), 4, "another operation has a breaker of its own");

    provider.errors.lock().unwrap().push_back(unavailable());
    tokio::time::advance(Duration::from_secs(30)).await;
    limited.observe(&key(1)).await.unwrap_err();
    limited.observe(&key(1)).await.unwrap_err();
    assert_eq!(provider.times_asked(), 5, "one tried, in vain, and it is open again");

    tokio::time::advance(Duration::from_secs(30)).await;
    for _ in 0..3 {
        limited.observe(&key(1)).await.unwrap();
    }
    assert_eq!(provider.times_asked(), 8);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_between_two_failures_keeps_the_breaker_closed() {
    let refused = ProviderError::Unauthorized { doing: "x".into(), why: "no right".into() };
    let provider = Scripted::new([unavailable(), unavailable(), refused, unavailable(), unavailable()]);
    let limited = limited(&provider, limits(0, 1, 60));
    for _ in 0..5 {
        limited.observe(&key(1)).await.unwrap_err();
    }
    limited.observe(&key(1)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_turn_is_not_timed() {
    let provider = Scripted::default();
    let settings = Settings {
        time_outs: TimeOuts(PerOperation::from_fn(|_| Duration::from_secs(1))),
        limits: limits(30, 1, 60),
        chance: Arc::new(|| 0),
        ..Settings::default()
    };
    let dressed = dressed(provider, settings);
    dressed.ensure_gone(&key(1), None).await.unwrap();
    assert_eq!(dressed.ensure_gone(&key(1), None).await, Ok(Gone::Confirmed));
}

#[tokio::test(start_paused = true)]
async fn a_cloud_that_is_silent_opens_the_breaker() {
    let silent = Scripted { takes: Duration::from_secs(3600), ..Scripted::default() };
    let dressed = dressed(silent.clone(), Settings { limits: limits(0, 1, 60), ..Settings::default() });
    for _ in 0..10 {
        dressed.observe(&key(1)).await.unwrap_err();
    }
    assert_eq!(silent.times_asked(), 3);
}

fn blocking<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(work)
}

#[test]
fn calls_are_counted_by_provider_operation_and_result() {
    let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
    metrics::with_local_recorder(&recorder, || {
        blocking(async {
            let metered = Wrapped::new(Scripted::new([unavailable()]), Metering::describe());
            metered.observe(&key(1)).await.unwrap_err();
            metered.observe(&key(1)).await.unwrap();
        });
    });
    let text = recorder.handle().render();
    let labels = r#"{provider="scripted",operation="observe",code_class="#;
    for class in ["ok", "Unavailable"] {
        let line = format!("pilotlight_provider_requests_total{labels}\"{class}\"}} 1");
        assert!(text.contains(&line), "{line} is not in\n{text}");
    }
    assert!(text.contains("pilotlight_provider_request_duration_seconds_count"), "{text}");
}

#[test]
fn who_is_turned_away_is_counted_apart_from_what_reached_the_cloud() {
    let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
    metrics::with_local_recorder(&recorder, || {
        blocking(async {
            let dressed = dressed(Scripted::default(), Settings { limits: limits(60, 1, 5), ..Settings::default() });
            dressed.observe(&key(1)).await.unwrap();
            dressed.observe(&key(1)).await.unwrap_err();
        });
    });
    let text = recorder.handle().render();
    let labels = r#"{provider="scripted",operation="observe","#;
    for line in [
        format!("pilotlight_provider_requests_total{labels}code_class=\"ok\"}} 1"),
        format!("pilotlight_provider_held_back_total{labels}reason=\"Throttled\"}} 1"),
    ] {
        assert!(text.contains(&line), "{line} is not in\n{text}");
    }
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_span_says_who_what_for_whom_and_how_it_ended_and_no_text_of_the_cloud() {
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    tracing::subscriber::with_default(subscriber, || {
        // Another test may have met this span first, when nobody listened, and that is remembered.
        tracing::callsite::rebuild_interest_cache();
        blocking(async {
            let why = "token canary-secret is expired".into();
            let refused = ProviderError::Unauthorized { doing: "x".into(), why };
            let traced = Wrapped::new(Scripted::new([refused]), Tracing);
            let progress = Progress("canary-secret".into());
            traced.ensure_gone(&key(7), Some(&progress)).await.unwrap_err();
        });
    });
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    for fact in ["provider=\"scripted\"", "operation=\"go_on\"", "key=\"claim-7\"", "outcome=\"Unauthorized\""] {
        assert!(text.contains(fact), "{fact} is not in {text}");
    }
    assert!(!text.contains("canary-secret"), "{text}");
}
