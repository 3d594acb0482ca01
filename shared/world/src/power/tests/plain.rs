//! Webhooks, maaspower, and the MAAS API.

use super::*;
use crate::power::{Effect, Verb, options::Auth};

const JSON: (&str, &str) = ("Content-Type", "application/json");

#[tokio::test(start_paused = true)]
async fn a_webhook_powers_a_machine_on_it_joins_after_its_boot_and_leaves_when_powered_off() {
    let mut machine = MachineOptions::new("rack-1", BackEnd::Webhook, 4);
    machine.labels.insert("rack".to_owned(), "1".to_owned());
    machine.taints.push(("sku".to_owned(), "gpu".to_owned(), "NoSchedule".to_owned()));
    let stage = Stage::with(Options { machines: vec![machine], ..Options::default() });
    assert_eq!(stage.send("POST", "/webhook/rack-1/up", &[JSON], "{}").await.status, 200);
    assert_eq!(stage.send("GET", "/webhook/rack-1/status", &[], "").await.json["power"], "on");
    stage.seconds(80).await;
    assert_eq!(stage.joined(), 0);
    stage.seconds(161).await;
    assert_eq!(stage.send("GET", "/webhook/rack-1/status", &[], "").await.json["ready"], true);
    {
        let joined = stage.fleet.joined.lock().unwrap();
        assert_eq!((joined[0].node.as_str(), joined[0].provider_id.as_str()), ("rack-1", "power://default/rack-1"));
        assert_eq!(joined[0].accelerator, Some(("nvidia.com/gpu".to_owned(), 4)));
        assert_eq!((joined[0].labels["rack"].as_str(), joined[0].taints.len()), ("1", 1));
    }
    stage.send("POST", "/webhook/rack-1/down", &[JSON], "{}").await;
    assert_eq!(*stage.fleet.left.lock().unwrap(), [("rack-1".to_owned(), false)], "the Node object stays");
}

#[tokio::test(start_paused = true)]
async fn every_call_is_kept_with_its_effect_and_idempotency_key() {
    let stage = Stage::one(BackEnd::Webhook);
    for key in ["claim-1-on-1", "claim-1-on-1", "claim-1-on-2"] {
        stage.send("POST", "/webhook/rack-1/up", &[JSON, ("Idempotency-Key", key)], "{}").await;
    }
    stage.send("POST", "/webhook/other/up", &[JSON], "{}").await;
    let calls = stage.power.calls();
    let seen: Vec<_> = calls.iter().map(|call| (call.verb, call.effect, call.repeated, call.status)).collect();
    assert_eq!(seen[0], (Verb::On, Effect::Changes, false, 200));
    assert_eq!(seen[1], (Verb::On, Effect::AlreadySo, true, 200));
    assert_eq!(seen[2], (Verb::On, Effect::AlreadySo, false, 200));
    assert_eq!(seen[3], (Verb::On, Effect::Refused, false, 404));
    assert_eq!((calls[0].body.as_str(), calls[0].idempotency_key.as_deref()), ("{}", Some("claim-1-on-1")));
}

#[tokio::test(start_paused = true)]
async fn a_machine_powered_off_while_it_boots_never_joins() {
    let stage = Stage::one(BackEnd::Webhook);
    stage.send("POST", "/webhook/rack-1/up", &[JSON], "{}").await;
    stage.seconds(30).await;
    stage.send("POST", "/webhook/rack-1/down", &[JSON], "{}").await;
    stage.seconds(3600).await;
    assert_eq!((stage.joined(), stage.fleet.left.lock().unwrap().len()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn faults_of_a_machine_are_data() {
    let stage = Stage::one(BackEnd::Webhook);
    stage.power.adjust("rack-1", |machine| machine.faults.ignores_power_on = true);
    assert_eq!(stage.send("POST", "/webhook/rack-1/up", &[JSON], "{}").await.status, 200);
    assert_eq!(stage.power.calls()[0].effect, Effect::Ignored);
    assert!(!stage.power.snapshot()[0].on);
    stage.power.adjust("rack-1", |machine| {
        machine.faults.ignores_power_on = false;
        machine.faults.answers = Some(500);
    });
    assert_eq!(stage.send("POST", "/webhook/rack-1/up", &[JSON], "{}").await.status, 500);
    stage.power.adjust("rack-1", |machine| {
        machine.faults.answers = None;
        machine.faults.never_joins = true;
    });
    stage.send("POST", "/webhook/rack-1/up", &[JSON], "{}").await;
    stage.seconds(3600).await;
    assert_eq!((stage.joined(), stage.power.snapshot()[0].on), (0, true));
    stage.power.adjust("rack-1", |machine| {
        machine.faults.never_joins = false;
        machine.faults.accelerator_never_appears = true;
        machine.faults.ignores_soft_off = true;
    });
    stage.send("POST", "/webhook/rack-1/soft-off", &[JSON], "{}").await;
    assert!(stage.power.snapshot()[0].on);
    stage.send("POST", "/webhook/rack-1/down", &[JSON], "{}").await;
    stage.send("POST", "/webhook/rack-1/up", &[JSON], "{}").await;
    stage.seconds(3600).await;
    assert_eq!(stage.fleet.joined.lock().unwrap()[0].accelerator_after, None);
}

#[tokio::test(start_paused = true)]
async fn a_webhook_asks_for_its_credentials() {
    let auth = Auth::Bearer("secret".to_owned());
    let machines = vec![MachineOptions::new("rack-1", BackEnd::Webhook, 4)];
    let stage = Stage::with(Options { machines, webhook_auth: auth, ..Options::default() });
    assert_eq!(stage.send("POST", "/webhook/rack-1/up", &[JSON], "{}").await.status, 401);
    let bearer = ("Authorization", "Bearer secret");
    assert_eq!(stage.send("POST", "/webhook/rack-1/up", &[JSON, bearer], "{}").await.status, 200);
    assert_eq!(stage.send("GET", "/webhook/rack-1/up", &[bearer], "").await.status, 405, "what a redirect makes of it");
}

#[tokio::test(start_paused = true)]
async fn maaspower_answers_empty_200_text_states_and_500_for_what_it_does_not_know() {
    let machines = vec![MachineOptions::new("rack-1", BackEnd::MaasPower, 4)];
    let account = Some(("admin".to_owned(), "password".to_owned()));
    let stage = Stage::with(Options { machines, account, ..Options::default() });
    let basic = ("Authorization", "Basic YWRtaW46cGFzc3dvcmQ=");
    assert_eq!(stage.send("GET", "/maaspower/rack-1/query", &[], "").await.status, 401);
    assert_eq!(stage.send("GET", "/maaspower/rack-1/query", &[basic], "").await.text, "status : stopped");
    let on = stage.send("POST", "/maaspower/rack-1/on", &[basic], "{}").await;
    assert_eq!((on.status.as_u16(), on.text.as_str()), (200, ""));
    assert_eq!(stage.send("GET", "/maaspower/rack-1/query", &[basic], "").await.text, "status : running");
    assert_eq!(stage.send("POST", "/maaspower/rack-1/off", &[basic], "").await.status, 200);
    assert_eq!(stage.send("GET", "/maaspower/rack-1/query", &[basic], "").await.text, "status : stopped");
    assert_eq!(stage.send("POST", "/maaspower/unknown/on", &[basic], "").await.status, 500);
    assert_eq!(stage.send("POST", "/maaspower/rack-1/fly", &[basic], "").await.status, 500);
}

#[tokio::test(start_paused = true)]
async fn maas_takes_both_ways_to_write_an_operation_and_checks_the_plaintext_signature() {
    let machines = vec![MachineOptions::new("rack-1", BackEnd::Maas, 4)];
    let stage = Stage::with(Options { machines, maas_key: Some("a:b:c".to_owned()), ..Options::default() });
    let good = "OAuth oauth_version=\"1.0\", oauth_signature_method=\"PLAINTEXT\", oauth_consumer_key=\"a\", oauth_token=\"b\", oauth_signature=\"%26c\"";
    let auth = [("Authorization", good)];
    let wrong = good.replace("%26c", "%26d");
    let base = "/MAAS/api/2.0/machines/rack-1";
    assert_eq!(stage.send("POST", &format!("{base}/op-power_on"), &[("Authorization", &wrong)], "").await.status, 401);
    let on = stage.send("POST", &format!("{base}/op-power_on"), &auth, "").await;
    assert_eq!((on.status.as_u16(), on.json["power_state"].as_str()), (200, Some("on")));
    let state = stage.send("GET", &format!("{base}/op-query_power_state"), &auth, "").await;
    assert_eq!(state.text, "{\"state\":\"on\"}");
    stage.power.adjust("rack-1", |machine| machine.faults.ignores_soft_off = true);
    stage.send("POST", &format!("{base}/?op=power_off"), &auth, "stop_mode=soft").await;
    assert!(stage.power.snapshot()[0].on, "the operating system ignored it");
    stage.send("POST", &format!("{base}/?op=power_off"), &auth, "stop_mode=hard").await;
    assert!(!stage.power.snapshot()[0].on);
    assert_eq!(stage.send("GET", "/MAAS/api/2.0/machines/", &auth, "").await.json[0]["system_id"], "rack-1");
    assert_eq!(stage.send("POST", "/MAAS/api/2.0/machines/none/op-power_on", &auth, "").await.status, 404);
}

#[tokio::test(start_paused = true)]
async fn energy_is_counted_on_and_off() {
    let stage = Stage::one(BackEnd::Webhook);
    stage.power.adjust("rack-1", |machine| (machine.watts_off, machine.watts_on) = (10.0, 400.0));
    stage.seconds(3600).await;
    stage.send("POST", "/webhook/rack-1/up", &[JSON], "{}").await;
    stage.seconds(1800).await;
    let record = &stage.power.snapshot()[0];
    assert!((record.watt_hours - 210.0).abs() < 0.1, "{record:?}");
    assert_eq!((record.on_for.as_secs(), record.watts, record.boots), (1800, 400.0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_starts_on_has_joined_when_the_world_begins() {
    let machine = MachineOptions { starts_on: true, ..MachineOptions::new("rack-1", BackEnd::Redfish, 4) };
    let stage = Stage::with(Options { machines: vec![machine], ..Options::default() });
    assert_eq!(stage.joined(), 1);
}
