//! The exact requests, as files a person can compare with the spec. `UPDATE_GOLDEN=1` writes them anew.

use crate::common::*;
use model::{CapacityType, InstanceRequest};
use provider::Change as _;
use serde_json::{Value, json};
use std::path::Path;
use world::arm::ArmOptions;

type Case = (&'static str, &'static str, fn(&mut InstanceRequest));

fn class(request: &mut InstanceRequest, pairs: &[(&str, &str)]) {
    request.class.extend(pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
}

const CASES: &[Case] = &[
    ("create-default", "ws0a1b2c3d4", |_| {}),
    ("create-azure-linux", "ws0a1b2c3d4", |one| {
        one.annotations.insert("kaito.sh/node-image-family".into(), "AzureLinux".into());
    }),
    ("create-cpu", "ws0a1b2c3d4", |one| {
        (one.offering.id.instance_type, one.offering.gpu) = ("Standard_D4s_v5".into(), None);
        one.taints.clear();
    }),
    ("create-spot-in-zone", "ws0a1b2c3d4", |one| one.offering = offering(A100, Some("2"), CapacityType::Spot)),
    ("create-derived-name", "default-x7k2p", |_| {}),
    ("create-everything", "ws0a1b2c3d4", |one| {
        one.offering.id.capacity_type = CapacityType::Reserved;
        class(
            one,
            &[
                (
                    "vnetSubnetID",
                    "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/n",
                ),
                (
                    "podSubnetID",
                    "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/p",
                ),
                (
                    "capacityReservationGroupID",
                    "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/capacityReservationGroups/c",
                ),
                ("tags.team", "research"),
                ("zones", "1,3"),
                ("maxPods", "60"),
                ("gpuInstanceProfile", "MIG1g"),
                ("gpu.mode", "None"),
                ("imageFamily", "Ubuntu2204"),
                ("osDiskSizeGB", "512"),
                ("osDiskType", "Ephemeral"),
                ("enableNodePublicIP", "true"),
            ],
        );
    }),
];

fn check(name: &str, request: &Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.json"));
    let text = format!("{}\n", serde_json::to_string_pretty(request).unwrap());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(text, golden, "{name}: what is sent is not what {} says", path.display());
}

#[tokio::test(start_paused = true)]
async fn creations_are_sent_exactly_so() {
    for (name, claim, change) in CASES {
        let (aks, script) = scripted(settings(&ArmOptions::default()), empty_cluster);
        let mut request = request(claim);
        change(&mut request);
        aks.ensure(&request, None).await.unwrap();
        let sent = script.sent("PUT");
        assert_eq!(sent.len(), 1, "{name}");
        check(name, &sent[0]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_deletion_is_sent_exactly_so() {
    let pool = json!({"name": "gpu1", "properties": {"provisioningState": "Succeeded", "eTag": "e-1",
        "nodeLabels": {"pilotlight.dev/claim-uid": UID}}});
    let (aks, script) = scripted(settings(&ArmOptions::default()), move |_, _| (200, pool.clone()));
    aks.ensure_gone(&key("gpu1", UID), None).await.unwrap();
    check("delete", &json!(*script.asked.lock().unwrap()));
}

/// Spec §2.2: one key, and exactly these members.
#[tokio::test(start_paused = true)]
async fn the_default_pool_has_the_members_gpu_provisioner_sends_and_no_other() {
    let golden = include_str!("../golden/create-default.json");
    let golden: Value = serde_json::from_str(golden).unwrap();
    let properties = golden["body"]["properties"].as_object().unwrap();
    let members: Vec<&str> = properties.keys().map(String::as_str).collect();
    assert_eq!(golden["body"].as_object().unwrap().len(), 1);
    let expected = ["count", "nodeLabels", "nodeTaints", "osDiskSizeGB", "osSKU", "osType", "type", "vmSize"];
    assert_eq!(members, expected);
    assert_eq!(golden["headers"]["if-none-match"], "*");
}
