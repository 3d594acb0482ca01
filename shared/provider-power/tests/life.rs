//! The whole life of a machine on the world's back ends: on, confirmed, off, confirmed, and no call too many.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{KINDS, Kind, MACHINE, Stage, claim, key, provider};
use core::time::Duration;
use jiff::SignedDuration;
use model::{InstanceRequest, InstanceState, Stock, Uid};
use provider::{Change as _, Look as _, ProviderError, Retry};
use provider_power::{Holders as _, MachineConfig};
use world::power::{Effect, MachineOptions, Verb, options::WhileSettling};

fn verbs(stage: &Stage) -> Vec<Verb> {
    stage.commands().iter().map(|call| call.verb).collect()
}

#[tokio::test(start_paused = true)]
async fn a_machine_goes_on_once_and_off_once_on_every_back_end() {
    for kind in KINDS {
        let mut stage = Stage::of(kind);
        assert_eq!(stage.power.observe(&key()).await.unwrap(), None, "{kind:?}");
        let instance = stage.drive_on().await.unwrap();
        assert_eq!(instance.provider_id, "power://default/rack-1");
        assert_eq!(instance.node.as_deref(), Some(MACHINE));
        assert!(stage.record().on, "{kind:?}");
        let seen = stage.power.observe(&key()).await.unwrap().unwrap();
        assert_eq!(seen.state, InstanceState::Running, "{kind:?}");
        assert_eq!(stage.power.owned().await.unwrap()[0].key.claim, claim());
        assert_eq!(stage.power.offerings().await.unwrap()[0].stock, Stock::Shortage);
        stage.seconds(300).await;
        assert!(stage.record().joined, "{kind:?}");
        stage.drive_on().await.unwrap();
        assert_eq!(verbs(&stage), [Verb::On], "{kind:?}: asking again sends nothing");

        stage.drive_off().await.unwrap();
        assert!(!stage.record().on, "{kind:?}");
        assert_eq!(stage.commands().len(), 2, "{kind:?}: {:?}", stage.commands());
        stage.drive_off().await.unwrap();
        assert_eq!(stage.commands().len(), 2, "{kind:?}: what is gone is gone");
        assert_eq!(stage.power.observe(&key()).await.unwrap(), None, "{kind:?}");
        assert_eq!(stage.power.offerings().await.unwrap()[0].stock, Stock::Available, "{kind:?}");
        assert_eq!(stage.record().boots, 1, "{kind:?}");
        let keys: Vec<_> = stage.commands().into_iter().map(|call| call.idempotency_key.unwrap()).collect();
        assert!(keys.iter().all(|id| id.starts_with(claim().as_str())), "{keys:?}");
        assert_ne!(keys[0], keys[1]);
    }
}

#[tokio::test(start_paused = true)]
async fn the_settle_race_is_survived_when_a_shutdown_is_taken_back() {
    for kind in [Kind::Redfish, Kind::RedfishByName] {
        let mut stage = Stage::of(kind);
        stage.drive_on().await.unwrap();
        let progress = stage.power.ensure_gone(&key(), None).await.unwrap();
        assert_eq!(verbs(&stage), [Verb::On, Verb::SoftOff], "{progress:?}");
        assert!(stage.record().on && stage.record().settling, "204, and it still shows On");
        // Another process, which knows nothing of the shutdown, is asked for the machine at once.
        stage.restart();
        stage.drive_on().await.unwrap();
        stage.seconds(60).await;
        assert!(stage.record().on, "confirmed on is on for good");
        assert_eq!(verbs(&stage), [Verb::On, Verb::SoftOff, Verb::On]);
        assert!(stage.commands().iter().all(|call| call.effect == Effect::Changes), "none was lost");
    }
}

#[tokio::test(start_paused = true)]
async fn the_settle_race_is_survived_the_other_way_too() {
    let mut stage = Stage::of(Kind::Redfish);
    let request = stage.request().await;
    stage.power.ensure(&request, None).await.unwrap();
    assert!(!stage.record().on && stage.record().settling);
    stage.restart();
    stage.drive_off().await.unwrap();
    stage.seconds(60).await;
    assert!(!stage.record().on, "confirmed off is off for good");
}

#[tokio::test(start_paused = true)]
async fn a_soft_off_that_is_ignored_ends_in_force_if_the_policy_says_so() {
    for kind in [Kind::WebhookWithStatus, Kind::MaasApi, Kind::Redfish] {
        let ignores = |rack: &mut world::power::Options| rack.machines[0].faults.ignores_soft_off = true;
        let mut stage = Stage::with(kind, ignores, |_| {});
        stage.drive_on().await.unwrap();
        let before = stage.world.clock.now();
        stage.drive_off().await.unwrap();
        assert_eq!(verbs(&stage), [Verb::On, Verb::SoftOff, Verb::Off], "{kind:?}");
        let took = stage.world.clock.now().duration_since(before);
        assert!(took >= SignedDuration::from_secs(180), "{kind:?}: the operating system had its time: {took}");

        let mut stage = Stage::with(kind, ignores, |config| config.timing.force_off = false);
        stage.drive_on().await.unwrap();
        let driving = tokio::time::timeout(std::time::Duration::from_secs(1000), stage.drive_off()).await;
        assert!(driving.is_err(), "{kind:?}: it was never off");
        assert!(!verbs(&stage).contains(&Verb::Off), "{kind:?}: no force without leave");
    }
}

#[tokio::test(start_paused = true)]
async fn redfish_works_with_what_the_system_allows_and_however_it_answers() {
    type Manner = fn(&mut world::power::options::RedfishManner);
    let cases: [(&str, Manner, &[&str]); 6] = [
        ("no graceful shutdown", |m| m.allowable = vec!["On", "ForceOff"], &["On", "ForceOff"]),
        ("only ForceOn", |m| m.allowable = vec!["ForceOn", "GracefulShutdown"], &["ForceOn", "GracefulShutdown"]),
        ("values behind a link", |m| m.action_info = true, &["On", "GracefulShutdown"]),
        ("a task", |m| m.accepted = 202, &["On", "GracefulShutdown"]),
        ("transitions are shown", |m| m.shows_transitions = true, &["On", "GracefulShutdown"]),
        ("409 for already so", |m| m.already_so = 409, &["On", "GracefulShutdown"]),
    ];
    for (name, manner, sent) in cases {
        let mut stage = Stage::with(Kind::Redfish, |rack| manner(&mut rack.redfish), |_| {});
        stage.drive_on().await.unwrap();
        stage.drive_off().await.unwrap();
        let bodies: Vec<String> = stage.commands().into_iter().map(|call| call.body).collect();
        let expected: Vec<String> = sent.iter().map(|kind| format!(r#"{{"ResetType":"{kind}"}}"#)).collect();
        assert_eq!(bodies, expected, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_busy_controller_is_asked_again_later() {
    for manner in [WhileSettling::Busy, WhileSettling::Conflicts] {
        let mut stage = Stage::with(Kind::Redfish, |rack| rack.redfish.while_settling = manner, |_| {});
        let request = stage.request().await;
        let lost = r#"{"to": "power", "method": "POST", "fault": "reset", "done": true}"#;
        stage.world.faults.add(serde_json::from_str(lost).unwrap());
        assert_eq!(stage.power.ensure(&request, None).await.unwrap_err().retry(), Retry::ReadBack);
        // It was done and nobody knows, so it is sent again, while the first one settles.
        let error = stage.power.ensure(&request, None).await.unwrap_err();
        assert!(matches!(error.retry(), Retry::SameAfter(_)), "{manner:?}: {error}");
        stage.drive_on().await.unwrap();
        assert_eq!(stage.record().boots, 1, "{manner:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_does_not_come_up_is_given_up_and_left_off() {
    for kind in KINDS {
        let deaf = |rack: &mut world::power::Options| {
            rack.machines[0].faults.ignores_power_on = true;
        };
        let mut stage = Stage::with(kind, deaf, |_| {});
        let error = stage.drive_on().await.unwrap_err();
        assert!(matches!(error, ProviderError::InsufficientCapacity { .. }), "{kind:?}: {error}");
        assert!(!stage.record().on, "{kind:?}");
        let tries = verbs(&stage).iter().filter(|verb| **verb == Verb::On).count();
        assert_eq!(tries, 3, "{kind:?}");
    }
    let silent = |rack: &mut world::power::Options| rack.machines[0].faults.never_joins = true;
    let mut stage = Stage::with(Kind::Seed, silent, |_| {});
    let error = stage.drive_on().await.unwrap_err();
    assert_eq!(error.reason(), "InsufficientCapacity");
    assert!(!stage.record().on, "nothing is left of the attempt");
}

#[tokio::test(start_paused = true)]
async fn cool_down_and_minimum_on_time_are_kept() {
    let mut stage = Stage::with(Kind::WebhookWithStatus, |_| {}, |config| config.timing.cool_down_seconds = 90);
    let start = stage.world.clock.now();
    stage.since.lock().unwrap().off_since = Some(start);
    stage.drive_on().await.unwrap();
    let on = stage.commands()[0].at;
    assert!(on.duration_since(start) >= SignedDuration::from_secs(90));
    stage.since.lock().unwrap().on_since = Some(on);
    stage.drive_off().await.unwrap();
    assert!(stage.commands()[1].at.duration_since(on) >= SignedDuration::from_secs(120));
}

#[tokio::test(start_paused = true)]
async fn a_machine_of_another_claim_is_not_touched() {
    let stage = Stage::with(Kind::WebhookWithStatus, |rack| rack.machines[0].starts_on = true, |_| {});
    let other = Uid::new("another").unwrap();
    stage.holders.take(MACHINE, &other, "").await.unwrap();
    let request = stage.request().await;
    let error = stage.power.ensure(&request, None).await.unwrap_err();
    assert_eq!((error.reason(), error.retry()), ("InsufficientCapacity", Retry::NextOffering), "{error}");
    assert_eq!(stage.power.observe(&key()).await.unwrap(), None);
    assert_eq!(stage.power.ensure_gone(&key(), None).await.unwrap(), model::Gone::Confirmed);
    assert!(stage.world.power.calls().is_empty(), "not even a look");
    assert_eq!(stage.holders.held().await.unwrap()[MACHINE].claim, other);
}

#[tokio::test(start_paused = true)]
async fn a_late_call_of_an_earlier_attempt_does_not_take_the_later_machine_away() {
    let second = MachineOptions::new("rack-2", Kind::WebhookWithStatus.world(), 4);
    let stage = Stage::with(Kind::WebhookWithStatus, |rack| rack.machines.push(second), |_| {});
    let machines = [MACHINE, "rack-2"];
    let config = |name: &str| MachineConfig::new(name, 4, stage.kind.config(&stage.world, name));
    let power = provider(&stage.world, &stage.holders, machines.map(config).to_vec());
    let attempt = async |epoch: u32, machine: usize| {
        let offering = power.offerings().await.unwrap().remove(machine);
        power.ensure(&InstanceRequest { epoch, offering, ..stage.request().await }, None).await
    };
    for machine in [0, 1] {
        // A machine that is taken and was never told anything is of its attempt all the same.
        attempt(2, 1).await.unwrap();
        let late = attempt(1, machine).await.unwrap_err();
        assert_eq!((late.reason(), late.retry()), ("Busy", Retry::SameAfter(Duration::from_secs(1))), "{late}");
        let way = power.make_way(&key(), 1).await.unwrap_err();
        assert_eq!(way.reason(), "Busy", "nor by way of another group of machines");
    }
    let told: Vec<_> = stage.commands().into_iter().map(|call| (call.machine, call.verb)).collect();
    assert_eq!(told, [("rack-2".to_owned(), Verb::On)]);
    attempt(3, 0).await.unwrap();
    let told: Vec<_> = stage.commands().into_iter().map(|call| (call.machine, call.verb)).collect();
    assert_eq!(told[1], ("rack-2".to_owned(), Verb::SoftOff), "the next attempt puts it away");
}
