//! Small things of our own: seen whole, taken away only as they were seen, and never somebody else's.

use crate::stage::{NAMESPACE, stage};
use cluster::{Deleted, PROVISIONING, Turn};
use jiff::SignedDuration;
use model::{Entry, LeaseOf, Ledger, Scope, Uid, Unavailable};
use serde_json::json;
use std::collections::BTreeMap;

#[tokio::test(start_paused = true)]
async fn leases_of_ours_are_seen_and_nobody_elses() {
    let stage = stage().await;
    let (cluster, now) = (&stage.cluster, stage.world.clock.now());
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases");
    stage.post(&path, json!({ "metadata": { "name": "somebodys" }, "spec": { "holderIdentity": "x" } })).await;
    cluster.take_machine("rack-1", &Uid::new("u").unwrap(), "n").await.unwrap();
    let Ok(Turn::Ours(_)) = cluster.take_turn(PROVISIONING, "a", now).await else { panic!("nobody else is there") };
    let mut seen = cluster.leases_of_ours().await.unwrap();
    seen.sort_by(|left, right| left.name.cmp(&right.name));
    let names: Vec<&str> = seen.iter().map(|lease| lease.name.as_str()).collect();
    assert_eq!(names, ["pilotlight-machine-rack-1", "pilotlight-provisioning"]);
    assert_eq!(seen[0].holder.as_deref(), Some("u"));
    assert_eq!(seen[1].of, LeaseOf::Turn { until: Some(now + PROVISIONING.length) });
    // The dead lose it, and whoever took it meanwhile does not.
    cluster.free_lease(&seen[1]).await.unwrap();
    let Ok(Turn::Ours(_)) = cluster.take_turn(PROVISIONING, "b", now).await else { panic!("it is free") };
    cluster.free_lease(&seen[1]).await.unwrap();
    assert!(matches!(cluster.take_turn(PROVISIONING, "c", now).await, Ok(Turn::Others { .. })));
    // One that was given to somebody since is not deleted.
    cluster.note_machine("rack-1", &Uid::new("u").unwrap(), "on").await.unwrap();
    assert_eq!(cluster.delete_lease(&seen[0]).await, Ok(Deleted::WasGone));
    assert_eq!(cluster.machines_held().await.unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn lines_of_the_stock_memory_are_forgotten_unless_somebody_wrote_there_since() {
    let stage = stage().await;
    let (cluster, now) = (&stage.cluster, stage.world.clock.now());
    assert_eq!(cluster.stock_lines().await, Ok(None));
    let line = |provider: &str| Unavailable {
        scope: Scope::Provider { provider: provider.into() },
        until: now + SignedDuration::from_hours(1),
        reason: "x".into(),
    };
    cluster.remember(&[line("aks")], now).await.unwrap();
    let (lines, version) = cluster.stock_lines().await.unwrap().unwrap();
    cluster.remember(&[line("scaleway")], now).await.unwrap();
    let keys: Vec<String> = lines.into_iter().map(|line| line.key).collect();
    cluster.forget(&keys, &version).await.unwrap();
    let (lines, version) = cluster.stock_lines().await.unwrap().unwrap();
    assert_eq!(lines.len(), 2, "somebody wrote meanwhile");
    cluster.forget(&keys, &version).await.unwrap();
    assert_eq!(cluster.stock().await.unwrap().lines, [line("scaleway")]);
}

#[tokio::test(start_paused = true)]
async fn of_two_who_write_the_ledger_one_wins() {
    let stage = stage().await;
    let (cluster, now) = (&stage.cluster, stage.world.clock.now());
    assert_eq!(cluster.spending().await, Ok(None));
    let entry =
        |amount| Entry { millionths_per_hour: amount, currency: "EUR".into(), pool: Some("gpu".into()), at: now };
    let ledger = |all: &[(&str, u64)]| {
        Ledger(all.iter().map(|(uid, amount)| (Uid::new(*uid).unwrap(), entry(*amount))).collect::<BTreeMap<_, _>>())
    };
    let empty = Ledger::default();
    cluster.write_spending(&empty, None, &ledger(&[("a", 1)])).await.unwrap();
    assert!(cluster.write_spending(&empty, None, &ledger(&[("b", 2)])).await.unwrap_err().is_conflict());
    let (read, version) = cluster.spending().await.unwrap().unwrap();
    assert_eq!(read, ledger(&[("a", 1)]));
    let both = ledger(&[("a", 1), ("b", 2)]);
    cluster.write_spending(&read, Some(&version), &both).await.unwrap();
    let other = ledger(&[("a", 1), ("c", 3)]);
    assert!(cluster.write_spending(&read, Some(&version), &other).await.unwrap_err().is_conflict());
    let (read, version) = cluster.spending().await.unwrap().unwrap();
    cluster.write_spending(&read, Some(&version), &ledger(&[("b", 2)])).await.unwrap();
    assert_eq!(cluster.spending().await.unwrap().unwrap().0, ledger(&[("b", 2)]));
}

#[tokio::test(start_paused = true)]
async fn money_that_cannot_be_counted_is_an_error() {
    let stage = stage().await;
    let path = format!("/api/v1/namespaces/{NAMESPACE}/configmaps");
    stage.post(&path, json!({ "metadata": { "name": "pilotlight-spending" }, "data": { "a": "much" } })).await;
    let error = stage.cluster.spending().await.unwrap_err().to_string();
    assert!(error.contains("the entry a cannot be read"), "{error}");
}
