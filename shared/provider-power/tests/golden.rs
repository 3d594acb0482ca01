//! The exact requests of each preset, as JSON that a person can compare with the specification.
//!
//! `UPDATE_GOLDEN=1 cargo test -p provider-power --test golden` writes them anew.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use async_trait::async_trait;
use bytes::Bytes;
use common::{key, time};
use http::{Request, Response};
use jiff::{SignedDuration, Timestamp};
use model::InstanceRequest;
use provider::{Change as _, Look as _};
use provider_power::{
    Auth, BackEndConfig, HmacStyle, HoldTable, MachineConfig, Power, Secret, Transport, TransportError, UrlPolicy,
    presets,
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex},
};

/// Writes down what is sent, and shows the power that the script says.
struct Script {
    sent: Mutex<Vec<Value>>,
    shows: Mutex<Value>,
}

#[async_trait]
impl Transport for Script {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let headers: BTreeMap<String, String> =
            request.headers().iter().map(|(name, value)| (name.to_string(), text(value.as_bytes()))).collect();
        let line = json!({ "method": request.method().as_str(), "url": request.uri().to_string(), "headers": headers,
            "body": text(request.body()) });
        self.sent.lock().unwrap().push(line);
        let shows = self.shows.lock().unwrap().clone();
        let body = shows.as_str().map_or_else(|| shows.to_string(), str::to_owned);
        Ok(Response::new(Bytes::from(body)))
    }
}

/// On, then off; nothing happens, so that force has to follow. Readings that repeat themselves are shown once.
async fn requests(back_end: BackEndConfig, off: Value, on: Value) -> Vec<Value> {
    let script = Arc::new(Script { sent: Mutex::default(), shows: Mutex::new(off) });
    let now = Arc::new(Mutex::new(time("2026-01-01T00:00:00Z")));
    let clock = now.clone();
    let machine = MachineConfig::new("rack-1", 4, back_end);
    let policy = UrlPolicy::new(vec![], true);
    let clock: Arc<dyn Fn() -> Timestamp + Send + Sync> = Arc::new(move || *clock.lock().unwrap());
    let holders = Arc::new(HoldTable::without_nodes(clock.clone()));
    let power = Power::new(vec![machine], policy, script.clone(), holders, clock).unwrap();
    let request = InstanceRequest {
        key: key(),
        offering: power.offerings().await.unwrap().remove(0),
        epoch: 1,
        labels: BTreeMap::new(),
        annotations: BTreeMap::new(),
        taints: vec![],
        startup_taints: vec![],
        requests: model::Resources::new(),
        class: BTreeMap::new(),
    };
    power.ensure(&request, None).await.unwrap();
    *script.shows.lock().unwrap() = on;
    power.ensure_gone(&key(), None).await.unwrap();
    *now.lock().unwrap() += SignedDuration::from_secs(181);
    power.ensure_gone(&key(), None).await.unwrap();
    let mut shown: Vec<Value> = Vec::new();
    for line in script.sent.lock().unwrap().drain(..) {
        let reading = line["headers"].get("idempotency-key").is_none();
        if !reading || !shown.iter().any(|known| known["method"] == line["method"] && known["url"] == line["url"]) {
            shown.push(line);
        }
    }
    shown
}

#[tokio::test]
async fn each_preset_sends_just_what_its_golden_file_says() {
    let secret = || Secret::new("not-a-secret");
    let basic = Auth::Basic { user: "admin".to_owned(), password: secret() };
    let bearer = Auth::Bearer(secret());
    let token = Auth::Header {
        name: "authorization".to_owned(),
        value: Secret::new("PVEAPIToken=pilot@pve!power=not-a-secret"),
    };
    let hmac = |style| Auth::Hmac { style, key: secret() };
    let url = |path: &str| format!("http://rack.example{path}");
    let (up, down, query) = (url("/on"), url("/off"), url("/query"));
    let mut signed = presets::seed(&up, &down);
    if let BackEndConfig::Templates { on, off, .. } = &mut signed {
        on.auth = hmac(HmacStyle::StandardWebhooks);
        off.auth = hmac(HmacStyle::StandardWebhooks);
        on.body = r#"{"machine":"${machine}","claim":"${claim}","id":"${requestId}"}"#.to_owned();
    }
    let maas_key = Auth::MaasKey(Secret::new("consumer:token:not-a-secret"));
    let reset = |power: &str, target: &str, allowable: &[&str]| {
        json!({ "PowerState": power, "Actions": { "#ComputerSystem.Reset": {
            "target": target, "ResetType@Redfish.AllowableValues": allowable } } })
    };
    let system = |power: &str| {
        let target = "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset";
        reset(power, target, &["On", "ForceOff", "GracefulShutdown"])
    };
    let vendor = |power: &str| reset(power, "/redfish/v1/Oem/Power?slot=7", &["ForceOn", "ForceOff"]);
    let cases: [(&str, BackEndConfig, Value, Value); 10] = [
        ("seed", presets::seed(&up, &down), json!(""), json!("")),
        ("seed-signed", signed, json!(""), json!("")),
        ("maas", presets::maas(&up, &down, &query, &basic), json!("status : stopped"), json!("status : running")),
        (
            "maas-api",
            presets::maas_api("http://maas.example:5240/MAAS", "4y3h7n", &maas_key),
            json!({"state": "off"}),
            json!({"state": "on"}),
        ),
        ("redfish", presets::redfish("https://bmc.example/redfish/v1/Systems/1", &basic), system("Off"), system("On")),
        (
            "redfish-vendor",
            presets::redfish("https://bmc.example/redfish/v1/Systems/System.Embedded.1", &basic),
            vendor("Off"),
            vendor("On"),
        ),
        (
            "bmclib",
            presets::bmclib(&url("/rpc"), "10.0.0.9", &hmac(HmacStyle::Bmclib)),
            json!({"result": "off"}),
            json!({"result": "on"}),
        ),
        (
            "proxmox",
            presets::proxmox("https://pve.example:8006", "pve1", 101, &token),
            json!({"data": {"status": "stopped"}}),
            json!({"data": {"status": "running"}}),
        ),
        (
            "home-assistant",
            presets::home_assistant("http://ha.example:8123", "switch.rack_1", &bearer),
            json!({"state": "off"}),
            json!({"state": "on"}),
        ),
        (
            "home-assistant-unavailable",
            presets::home_assistant("http://ha.example:8123", "switch.rack_1", &bearer),
            json!({"state": "unavailable"}),
            json!({"state": "unavailable"}),
        ),
    ];
    for (name, back_end, off, on) in cases {
        let sent = serde_json::to_string_pretty(&requests(back_end, off, on).await).unwrap() + "\n";
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.json"));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&file, &sent).unwrap();
        }
        let golden = std::fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(sent, golden, "{name}");
    }
}
