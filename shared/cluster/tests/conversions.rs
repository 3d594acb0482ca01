//! Node classes as the providers read them: nothing is lost on the way, and a missing secret is named.

#![allow(clippy::unwrap_used, clippy::panic)]

use cluster::crd::{AKSNodeClassSpec, PowerNodeClassSpec, ScalewayNodeClassSpec, SecretKeyReference, Secrets};
use provider_power::{HostRule, Machine, MachineConfig, UrlPolicy};
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn reference(name: &str, key: &str) -> SecretKeyReference {
    SecretKeyReference { name: name.to_owned(), key: key.to_owned() }
}

fn secrets() -> Secrets {
    [(reference("s", "k"), "hunter2\n".to_owned()), (reference("ca", "k"), "PEM".to_owned())].into_iter().collect()
}

fn pairs(class: &BTreeMap<String, String>) -> Vec<(&str, &str)> {
    class.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect()
}

#[test]
fn a_scaleway_class_becomes_the_keys_that_the_provider_reads() {
    let spec: ScalewayNodeClassSpec = serde_json::from_value(json!({
        "join": { "method": "kosmos", "poolID": "p", "poolRegion": "fr-par", "cloudProvider": "external",
            "secretRef": { "name": "s", "key": "k" } },
        "rootVolumeSize": "200G", "scratch": true, "publicIP": "flexible", "zones": ["fr-par-1", "fr-par-2"]
    }))
    .unwrap();
    assert_eq!(spec.needed_secrets(), [reference("s", "k")]);
    let expected = [
        ("image", "ubuntu_jammy_gpu_os_12"),
        ("join", "kosmos"),
        ("join.cloud-provider", "external"),
        ("join.pool-id", "p"),
        ("join.pool-region", "fr-par"),
        ("join.secret-key", "hunter2"),
        ("public-ip", "flexible"),
        ("root-volume-size", "200G"),
        ("scratch", "true"),
        ("zones", "fr-par-1,fr-par-2"),
    ];
    assert_eq!(pairs(&spec.to_class(&secrets()).unwrap()), expected);
    let why = spec.to_class(&Secrets::default()).unwrap_err().to_string();
    assert!(why.contains("key k of Secret s"), "{why}");
    assert!(!format!("{:?}", secrets()).contains("hunter2"), "a secret is never shown");
}

#[test]
fn an_aks_class_becomes_keys_and_its_annotations_add_what_azure_has_no_field_for() {
    let spec: AKSNodeClassSpec = serde_json::from_value(json!({
        "osDiskSizeGB": 256, "imageFamily": "AzureLinux", "maxPods": 50, "gpu": { "mode": "None" }, "tags": { "team": "ml" }
    }))
    .unwrap();
    let annotations = |name: &str| BTreeMap::from([(name.to_owned(), "1,2".to_owned()), ("other".into(), "x".into())]);
    let expected = [
        ("gpu.mode", "None"),
        ("imageFamily", "AzureLinux"),
        ("maxPods", "50"),
        ("osDiskSizeGB", "256"),
        ("tags.team", "ml"),
        ("zones", "1,2"),
    ];
    assert_eq!(pairs(&spec.to_class(&annotations("pilotlight.dev/aks-zones")).unwrap()), expected);
    let why = spec.to_class(&annotations("pilotlight.dev/aks-zonse")).unwrap_err().to_string();
    assert!(why.contains("aks-zonse") && why.contains("pilotlight.dev/aks-zones"), "{why}");
}

fn class(back_end: Value) -> PowerNodeClassSpec {
    serde_json::from_value(json!({ "machines": [{
        "name": "rack-1", "gpu": { "count": 8, "memoryMiB": 81920 }, "capacity": { "cpu": 64 },
        "energy": { "watts": 700, "pricePerKWh": "0.31", "currency": "EUR", "asOf": "2026-11-01" }, "backEnd": back_end
    }] }))
    .unwrap()
}

#[test]
fn every_back_end_of_a_power_class_is_one_that_the_provider_can_use() {
    let url = "https://bmc.rack.example/x";
    let secret = json!({ "name": "s", "key": "k" });
    let request = json!({ "url": url, "auth": { "header": { "name": "x-key", "secretRef": secret } } });
    let status = json!({ "request": request, "pointer": { "at": "/s", "onValues": ["up"], "offValues": ["down"] } });
    let bearer = json!({ "bearer": { "secretRef": secret } });
    let cases = [
        json!({ "seed": { "onURL": url, "offURL": url }, "auth": { "hmac": { "style": "bmclib", "secretRef": secret } } }),
        json!({ "maas": { "onURL": url, "offURL": url, "queryURL": url }, "auth": bearer }),
        json!({ "maasAPI": { "url": url, "systemID": "abc" }, "auth": { "maasKey": { "secretRef": secret } } }),
        json!({ "redfish": { "system": url }, "auth": { "basic": { "user": "root", "secretRef": secret } } }),
        json!({ "bmclib": { "url": url, "host": "10.0.0.9" }, "auth": bearer, "timeoutSeconds": 9 }),
        json!({ "proxmox": { "url": url, "node": "pve", "vm": 100 }, "auth": bearer }),
        json!({ "homeAssistant": { "url": url, "entity": "switch.a", "softOff": request }, "auth": bearer }),
        json!({ "templates": { "powerOn": request, "powerOff": request, "softOff": request, "status": status } }),
    ];
    let policy = UrlPolicy::new(vec![HostRule::Suffix(".rack.example".to_owned())], false);
    for case in cases {
        let spec = class(case.clone());
        assert_eq!(spec.needed_secrets(), [reference("s", "k")], "{case}");
        let value = spec.machines[0].to_config("rack", &secrets()).unwrap();
        assert_eq!(value["energy"]["millionthsPerKwh"], 310_000);
        // maasKey is consumer:token:secret, which the provider checks when it signs, not when it reads.
        let config: MachineConfig = serde_json::from_value(value).unwrap_or_else(|why| panic!("{case}: {why}"));
        let settles = if case["redfish"].is_object() { 12 } else { 0 };
        assert_eq!(config.timing.settle_seconds.unwrap_or_default(), settles, "{case}");
        if case["maasAPI"].is_null() {
            let machine = Machine::new(config, &policy).unwrap_or_else(|why| panic!("{case}: {why}"));
            assert_eq!(machine.provider_id(), "power://rack/rack-1");
        }
        let why = spec.machines[0].to_config("rack", &Secrets::default()).unwrap_err().to_string();
        assert!(why.contains("rack-1") && why.contains("Secret s"), "{why}");
    }
}
