//! What is sold is remembered for a moment.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Scripted, throttled, unavailable};
use core::time::Duration;
use provider::{Look as _, ProviderError, Remembered};
use std::sync::Arc;
use tokio::time::Instant;

#[tokio::test(start_paused = true)]
async fn what_is_sold_is_asked_once_for_all_who_want_to_know_it_at_a_time() {
    let provider = Scripted { takes: Duration::from_secs(1), ..Scripted::default() };
    let (shop, began) = (Arc::new(Remembered::new(provider.clone(), Duration::from_secs(5))), Instant::now());
    let asking: Vec<_> = (0..100)
        .map(|_| {
            let shop = shop.clone();
            tokio::spawn(async move { shop.offerings().await })
        })
        .collect();
    for asked in asking {
        assert_eq!(asked.await.unwrap(), Ok(vec![]));
    }
    for _ in 0..4 {
        tokio::time::sleep(Duration::from_secs(2)).await;
        shop.offerings().await.unwrap();
    }
    assert_eq!(provider.seconds_since(began), [0, 7], "at once, and when five seconds had passed");
}

#[tokio::test(start_paused = true)]
async fn what_is_answered_when_nobody_waits_any_more_serves_whoever_asks_next() {
    let provider = Scripted { takes: Duration::from_secs(3), ..Scripted::default() };
    let (shop, began) = (Remembered::new(provider.clone(), Duration::from_secs(5)), Instant::now());
    for waits in [1, 1] {
        assert!(tokio::time::timeout(Duration::from_secs(waits), shop.offerings()).await.is_err());
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    let asked = Instant::now();
    assert_eq!((shop.offerings().await, asked.elapsed()), (Ok(vec![]), Duration::ZERO));
    assert_eq!(provider.seconds_since(began), [0], "one question for all of them");
}

#[tokio::test(start_paused = true)]
async fn what_was_sold_is_good_enough_for_ten_minutes_where_the_cloud_does_not_answer() {
    let provider = Scripted::default();
    let shop = Remembered::new(provider.clone(), Duration::from_secs(5));
    shop.offerings().await.unwrap();
    for (after, error, is_good) in
        [(300, throttled(None), true), (200, unavailable(), true), (101, unavailable(), false)]
    {
        tokio::time::sleep(Duration::from_secs(after)).await;
        provider.errors.lock().unwrap().push_back(error);
        assert_eq!(shop.offerings().await.is_ok(), is_good, "after {after} s more");
    }
    let denied = ProviderError::Unauthorized { doing: "x".into(), why: "no".into() };
    shop.offerings().await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    provider.errors.lock().unwrap().push_back(denied);
    assert!(shop.offerings().await.is_err(), "a key that is refused is for a person to mend");
}
