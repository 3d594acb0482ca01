//! Back ends that nobody here wrote: sushy-emulator (Redfish, TLS, basic auth) and maaspower, over real sockets.
//!
//! `make power-peers` installs them under `target/power-peers` and runs this. They need real time: sushy-emulator lets a
//! command take hold after 1 to 11 s, and nothing is believed before that is over. So its machines live side by side.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use bytes::Bytes;
use http::Request;
use model::{Ensured, Gone, InstanceKey, InstanceRequest, ObjectName, Uid};
use provider::{Change as _, Look as _};
use provider_power::{
    Auth, BackEndConfig, HoldTable, Holders as _, HostRule, MachineConfig, Power, ReqwestTransport, Secret,
    Transport as _, TrustedAuthorities, UrlPolicy, presets,
};
use spec::{
    free_address,
    power_peers::{Sushy, start},
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// Longer than anything that was accepted can still be on its way.
const SETTLED: u32 = 12;

fn policy() -> UrlPolicy {
    UrlPolicy::new(vec![HostRule::parse("127.0.0.0/8").unwrap(), HostRule::parse("::1").unwrap()], true)
}

fn key() -> InstanceKey {
    InstanceKey { claim: Uid::new("uid").unwrap(), name: ObjectName::new("train-0").unwrap() }
}

/// A machine that our claim has; whoever makes a provider with the same holds is another process.
async fn holds() -> HoldTable {
    let holds = HoldTable::without_nodes(Arc::new(jiff::Timestamp::now));
    holds.take("rack-1", &key().claim, "").await.unwrap();
    holds
}

fn provider(back_end: BackEndConfig, holds: &HoldTable) -> Power {
    let machine = MachineConfig::new("rack-1", 1, back_end);
    let transport = Arc::new(ReqwestTransport::new(policy()));
    Power::new(vec![machine], policy(), transport, Arc::new(holds.clone()), Arc::new(jiff::Timestamp::now)).unwrap()
}

async fn request(power: &Power) -> InstanceRequest {
    InstanceRequest {
        key: key(),
        offering: power.offerings().await.unwrap().remove(0),
        epoch: 1,
        labels: BTreeMap::new(),
        annotations: BTreeMap::new(),
        taints: vec![],
        startup_taints: vec![],
        requests: model::Resources::new(),
        class: BTreeMap::new(),
    }
}

async fn seconds(seconds: u32) {
    tokio::time::sleep(Duration::from_secs(u64::from(seconds))).await;
}

async fn drive_on(power: &Power) {
    let request = request(power).await;
    for _ in 0..60 {
        match power.ensure(&request, None).await.unwrap() {
            Ensured::Running(_) => return,
            Ensured::InProgress { look_again_seconds, .. } => seconds(look_again_seconds).await,
        }
    }
    panic!("it did not come on");
}

async fn drive_off(power: &Power) {
    for _ in 0..60 {
        match power.ensure_gone(&key(), None).await.unwrap() {
            Gone::Confirmed => return,
            Gone::InProgress { look_again_seconds, .. } => seconds(look_again_seconds).await,
        }
    }
    panic!("it did not go off");
}

async fn until_it_answers(power: &Power) {
    for _ in 0..150 {
        match power.observe(&key()).await {
            Ok(_) => return,
            Err(error) if error.reason() == "Unavailable" => tokio::time::sleep(Duration::from_millis(200)).await,
            Err(error) => panic!("{error}"),
        }
    }
    panic!("the peer does not answer");
}

/// What the tests ask of it.
trait Asked {
    fn machine(&self, system: &str, password: &str, holds: &HoldTable) -> Power;
    async fn send(&self, request: Request<Bytes>) -> serde_json::Value;
    async fn is_on(&self, uuid: &str) -> bool;
    async fn reset(&self, uuid: &str, kind: &str);
}

impl Asked for Sushy {
    fn machine(&self, system: &str, password: &str, holds: &HoldTable) -> Power {
        let auth = Auth::Basic { user: "admin".to_owned(), password: Secret::new(password) };
        let mut back_end = presets::redfish(&self.url(system), &auth);
        if let BackEndConfig::Redfish { ca, .. } = &mut back_end {
            *ca = Some(self.certificate.clone());
        }
        provider(back_end, holds)
    }

    async fn send(&self, mut request: Request<Bytes>) -> serde_json::Value {
        request.extensions_mut().insert(TrustedAuthorities(self.certificate.as_str().into()));
        // admin:word
        request.headers_mut().insert("authorization", "Basic YWRtaW46d29yZA==".parse().unwrap());
        request.headers_mut().insert("content-type", "application/json".parse().unwrap());
        let answer = ReqwestTransport::new(policy()).send(request).await.unwrap();
        assert!(answer.status().is_success(), "{}", answer.status());
        serde_json::from_slice(answer.body()).unwrap_or_default()
    }

    /// Asked by hand, not by way of the provider.
    async fn is_on(&self, uuid: &str) -> bool {
        self.send(Request::get(self.url(uuid)).body(Bytes::new()).unwrap()).await["PowerState"] == "On"
    }

    async fn reset(&self, uuid: &str, kind: &str) {
        let url = format!("{}/Actions/ComputerSystem.Reset", self.url(uuid));
        let body = serde_json::json!({ "ResetType": kind }).to_string();
        self.send(Request::post(url).body(Bytes::from(body)).unwrap()).await;
    }
}

/// What a client does that takes 204 and `On` for a proof. This is the race that the next one survives.
async fn a_naive_client_loses_the_machine(sushy: &Sushy, uuid: &str) {
    sushy.reset(uuid, "GracefulShutdown").await;
    sushy.reset(uuid, "On").await;
    assert!(sushy.is_on(uuid).await, "204, and it shows On");
    seconds(SETTLED).await;
    assert!(!sushy.is_on(uuid).await, "the shutdown won: the race is not there any more, so nothing here is proved");
}

async fn a_shutdown_is_taken_back(sushy: &Sushy, name: &str, uuid: &str) {
    let holds = holds().await;
    sushy.machine(uuid, "word", &holds).ensure_gone(&key(), None).await.unwrap();
    assert!(sushy.is_on(uuid).await, "204, and it still shows On");
    // Another process, by the system's name: a redirect that has to be followed with body and password.
    drive_on(&sushy.machine(name, "word", &holds)).await;
    assert!(sushy.is_on(uuid).await);
    seconds(SETTLED).await;
    assert!(sushy.is_on(uuid).await, "confirmed on is on for good");
}

async fn a_machine_comes_and_goes(sushy: &Sushy, uuid: &str) {
    let holds = holds().await;
    let refused = sushy.machine(uuid, "wrong", &holds).observe(&key()).await.unwrap_err();
    assert_eq!(refused.reason(), "Unauthorized");
    let power = sushy.machine(uuid, "word", &holds);
    drive_on(&power).await;
    assert!(sushy.is_on(uuid).await);
    drive_off(&power).await;
    assert!(!sushy.is_on(uuid).await);
    seconds(SETTLED).await;
    assert!(!sushy.is_on(uuid).await, "confirmed off is off for good");
}

#[tokio::test]
#[ignore = "needs sushy-tools: make power-peers"]
async fn sushy_emulator_is_driven_over_tls_and_its_race_survived() {
    let uuid = |number: u32| format!("6f1c0d3e-1111-4222-8333-94444444444{number}");
    let (one, two, three) = (uuid(1), uuid(2), uuid(3));
    let sushy = Sushy::start(&[("naive", &one, true), ("rack-1", &two, true), ("rack-2", &three, false)]).await;
    until_it_answers(&sushy.machine(&one, "word", &holds().await)).await;
    tokio::join!(
        a_naive_client_loses_the_machine(&sushy, &one),
        a_shutdown_is_taken_back(&sushy, "rack-1", &two),
        a_machine_comes_and_goes(&sushy, &three),
    );
}

#[tokio::test]
#[ignore = "needs maaspower: make power-peers"]
async fn maaspower_is_driven() {
    let folder = tempfile::tempdir().unwrap();
    let (port, state) = (free_address().unwrap().port(), folder.path().join("state"));
    for (file, word) in [("running", "running"), ("stopped", "stopped"), ("state", "stopped")] {
        std::fs::write(folder.path().join(file), word).unwrap();
    }
    let config = format!(
        "name: test\nip_address: 127.0.0.1\nport: {port}\nusername: admin\npassword: word\ndevices:\n\
         - type: CommandLine\n  name: rack-1\n  on: cp {0}/running {0}/state\n  off: cp {0}/stopped {0}/state\n\
         \x20 query: cat {0}/state\n  query_on_regex: running\n  query_off_regex: stopped\n",
        folder.path().display()
    );
    std::fs::write(folder.path().join("config.yaml"), config).unwrap();
    let _maaspower = start("maaspower", &["run", "config.yaml"], folder.path());
    let url = |verb: &str| format!("http://127.0.0.1:{port}/maaspower/rack-1/{verb}");
    let auth = Auth::Basic { user: "admin".to_owned(), password: Secret::new("word") };
    let power = provider(presets::maas(&url("on"), &url("off"), &url("query"), &auth), &holds().await);
    until_it_answers(&power).await;
    drive_on(&power).await;
    assert_eq!(std::fs::read_to_string(&state).unwrap().trim(), "running");
    drive_off(&power).await;
    assert_eq!(std::fs::read_to_string(&state).unwrap().trim(), "stopped");
}
