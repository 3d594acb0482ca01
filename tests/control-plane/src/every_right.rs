//! Lives that together need every right of every function.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::{Value, json};
use world::arm::{Effect, Fault, Shortage, Target, When};

use crate::{
    account::NAMESPACE,
    lives::{self, Life},
    site::Site,
    stagehand::claim_path,
};

/// All of them side by side: most of the time each waits for its cloud.
pub async fn use_everything(site: &Site) {
    a_class_whose_machines_need_a_secret(site).await;
    tokio::join!(
        lives::from_claim_to_nothing(site, Life::of_karpenter("rights1")),
        lives::from_claim_to_nothing(site, Life::webhook("rights2")),
        a_class_with_a_join_secret(site),
        no_stock_twice(site),
        too_late(site),
        past_its_deadline(site),
        a_person_deletes_the_node(site),
        a_volume_is_attached(site),
        a_claim_that_nobody_has(site),
    );
}

/// Its machine is never asked for, but whoever looks through the rack has to read it.
async fn a_class_whose_machines_need_a_secret(site: &Site) {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "spare", "namespace": NAMESPACE },
        "stringData": { "password": "word", "join-token": "world1.0123456789abcdef" },
    });
    let class = json!({
        "apiVersion": "pilotlight.dev/v1alpha1", "kind": "PowerNodeClass", "metadata": { "name": "spare" },
        "spec": { "machines": [{
            "name": "spare-1", "gpu": { "count": 8 },
            "backEnd": {
                "redfish": { "system": "https://bmc.rack.example/redfish/v1/Systems/1" },
                "auth": { "basic": { "user": "power", "secretRef": { "name": "spare", "key": "password" } } },
            },
        }] },
    });
    site.apply_json(&secret).await.unwrap();
    site.apply_json(&class).await.unwrap();
}

async fn a_class_with_a_join_secret(site: &Site) {
    let class = json!({
        "apiVersion": "pilotlight.dev/v1alpha1", "kind": "ScalewayNodeClass", "metadata": { "name": "joins" },
        "spec": { "join": { "method": "k3s", "endpoint": "https://10.0.0.1:6443",
            "secretRef": { "name": "spare", "key": "join-token" } } },
    });
    let mut life = Life::scaleway("rights3");
    life.claim["spec"]["nodeClassRef"]["name"] = json!("joins");
    life.beside = vec![class];
    lives::from_claim_to_nothing(site, life).await;
}

/// The first refusal makes the memory of stock, the second changes it.
async fn no_stock_twice(site: &Site) {
    for size in ["Standard_NC12s_v3", "Standard_NC24s_v3"] {
        let on = Target { size: Some(size.to_owned()), ..Target::default() };
        let effect = Effect::Refuse { why: Shortage::SkuNotAvailable, when: When::AtOnce };
        site.world.arm.add_fault(Fault { on, times: None, effect });
        let name = format!("wsstock{}", size.trim_start_matches("Standard_NC").trim_end_matches("s_v3"));
        let mut life = Life::of_kaito(&name);
        life.claim["spec"]["requirements"][1]["values"] = json!([size]);
        site.apply_json(&life.claim).await.unwrap();
        let waits = || async {
            let memory = site.get(&format!("/api/v1/namespaces/{NAMESPACE}/configmaps")).await?;
            memory["items"].to_string().contains(size).then_some(())
        };
        site.until(&format!("the shortage of {size} is remembered"), waits).await;
        site.delete(&claim_path(&name)).await;
        site.until_gone(&claim_path(&name)).await;
    }
}

/// Its machine never joins, so the claim is given up.
async fn too_late(site: &Site) {
    let on = Target { pool: Some("wslate".to_owned()), ..Target::default() };
    site.world.arm.add_fault(Fault { on, times: None, effect: Effect::NodeNeverJoins });
    let mut life = Life::of_kaito("wslate");
    life.claim["metadata"]["annotations"] = json!({ "pilotlight.dev/registration-timeout": "5s" });
    site.apply_json(&life.claim).await.unwrap();
    let there = || async { site.claim("wslate").await.map(drop) };
    site.until("the claim that will be late is there", there).await;
    site.until_gone(&claim_path("wslate")).await;
}

/// A budget would hold its pod for ever; the deadline that the user set does not wait for it.
async fn past_its_deadline(site: &Site) {
    let mut life = Life::scaleway("rights4");
    life.claim["spec"]["terminationGracePeriod"] = json!("10s");
    let budget = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": { "name": "rights4", "namespace": "default" },
        "spec": { "minAvailable": 1, "selector": { "matchLabels": { "work": "rights4" } } },
    });
    life.beside = vec![budget];
    lives::from_claim_to_nothing(site, life).await;
}

/// `kubectl delete node`: the claim goes with it.
async fn a_person_deletes_the_node(site: &Site) {
    let life = Life::of_kaito("wsperson");
    let node = lives::until_usable(site, &life).await;
    let path = format!("/api/v1/nodes/{node}");
    site.delete(&path).await;
    let object = site.get(&path).await.unwrap();
    let deletion = event("dev.pilotlight.deletion.requested.v1", &object, |named| {
        let mut named = named;
        named["kind"] = json!("Node");
        json!({ "object": named })
    });
    site.tell("on-delete", &deletion).await;
    lives::until_nothing_is_left(site, &life, &node).await;
}

/// Of a pod that stays as long as the machine does: nobody waits for it.
async fn a_volume_is_attached(site: &Site) {
    let life = Life::scaleway("rights5");
    let node = lives::until_usable(site, &life).await;
    for object in volume_of_a_staying_pod(&node) {
        site.apply_json(&object).await.unwrap();
    }
    let running = || async {
        let pod = site.get("/api/v1/namespaces/default/pods/stays").await?;
        (pod["status"]["phase"] == "Running").then_some(())
    };
    site.until("the pod with a volume runs", running).await;
    site.delete(&claim_path("rights5")).await;
    lives::until_nothing_is_left(site, &life, &node).await;
}

fn volume_of_a_staying_pod(node: &str) -> Vec<Value> {
    let volume = json!({ "accessModes": ["ReadWriteOnce"], "storageClassName": "" });
    let mut persistent = volume.clone();
    persistent["capacity"] = json!({ "storage": "1Gi" });
    persistent["csi"] = json!({ "driver": "disk.example.com", "volumeHandle": "disk-1" });
    persistent["claimRef"] = json!({ "namespace": "default", "name": "stays" });
    let mut claim = volume;
    claim["resources"] = json!({ "requests": { "storage": "1Gi" } });
    claim["volumeName"] = json!("stays");
    vec![
        json!({ "apiVersion": "v1", "kind": "PersistentVolume", "metadata": { "name": "stays" }, "spec": persistent }),
        json!({ "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": { "name": "stays", "namespace": "default" }, "spec": claim }),
        json!({ "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": { "name": "stays" },
            "spec": { "attacher": "disk.example.com", "nodeName": node,
                "source": { "persistentVolumeName": "stays" } } }),
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "stays", "namespace": "default" },
            "spec": {
                "nodeName": node, "terminationGracePeriodSeconds": 1,
                "tolerations": [{ "operator": "Exists" }],
                "containers": [{ "name": "main", "image": "agent" }],
                "volumes": [{ "name": "disk", "persistentVolumeClaim": { "claimName": "stays" } }],
            } }),
    ]
}

/// An event about a claim that was gone before anybody looked: what carries its UID has no use any more.
async fn a_claim_that_nobody_has(site: &Site) {
    let mut claim = Life::scaleway("never").claim;
    claim["metadata"]["uid"] = json!("00000000-0000-4000-8000-000000000000");
    claim["metadata"]["resourceVersion"] = json!("1");
    site.tell("on-nodeclaim", &stage::event("on-nodeclaim", &claim)).await;
}

/// A claim owns its Node and holds it back. Who may not update the finalizers of claims may not write that.
pub async fn without_what_admission_asks_for(site: &Site) {
    let account = "without-finalizers";
    let manifest = crate::account::manifest("on-nodeclaim").unwrap();
    let less = manifest.replace("on-nodeclaim", account).replace("nodeclaims/finalizers", "nodeclaims/nothing");
    site.apply(&less).await.unwrap();
    let kubeconfig = crate::account::kubeconfig_of(&site.control_plane, &site.client, account).await.unwrap();
    let client = crate::client_of(&kubeconfig).await.unwrap();
    let mut life = Life::scaleway("rights6");
    life.claim["spec"]["requirements"] = json!([{ "key": "example.com/none", "operator": "Exists" }]);
    site.apply_json(&life.claim).await.unwrap();
    site.apply_json(&lives::plain_node("rights6")).await.unwrap();
    let uid = site.claim("rights6").await.unwrap()["metadata"]["uid"].clone();
    let owned = json!({ "metadata": { "ownerReferences": [{ "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
        "name": "rights6", "uid": uid, "blockOwnerDeletion": true }] } });
    let request = http::Request::patch("/api/v1/nodes/rights6").header("content-type", "application/merge-patch+json");
    let request = request.body(serde_json::to_vec(&owned).unwrap()).unwrap();
    let why = client.request::<Value>(request).await.unwrap_err().to_string();
    assert!(why.contains("cannot set blockOwnerDeletion"), "{why}");
}

fn event(kind: &str, object: &Value, data: impl FnOnce(Value) -> Value) -> String {
    let metadata = &object["metadata"];
    let named =
        json!({ "name": metadata["name"], "uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"] });
    json!({ "specversion": "1.0", "id": "1", "source": "person", "type": kind, "subject": metadata["name"],
        "datacontenttype": "application/json", "data": data(named) })
    .to_string()
}
