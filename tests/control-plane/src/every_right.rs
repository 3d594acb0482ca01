//! Lives that together need every right of every function.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use faults::{Kind, gpu_pod};
use serde_json::{Value, json};
use std::time::Duration;
use world::arm::{Effect, Fault, Shortage, Target, When};

use crate::{
    account::{self, NAMESPACE},
    audit, going,
    lives::{self, Life},
    pods::{self, PodLife},
    site::{Site, kubectl},
    stagehand::{claim_path, path_of},
    troupe::Cast,
};

/// Older than a snapshot may be, with time for the event to be sent.
const TOO_OLD: Duration = Duration::from_secs(15);

/// What each function needs at its own events; then, where processes are apart, the same once more with nobody left but the timer.
pub async fn use_everything(site: &Site) {
    a_class_whose_machines_need_a_secret(site).await;
    match site.troupe.cast {
        Cast::Apart => {
            ticks(site, "1h").await;
            live_everything(site, "rights").await;
            only_the_timer_is_left(site).await;
            tokio::join!(live_everything(site, "ticks"), what_only_a_tick_does(site));
        }
        Cast::Together => {
            tokio::join!(live_everything(site, "rights"), what_only_a_tick_does(site));
        }
    }
    where_lists_are_not_streamed(site).await;
}

/// All of them side by side: most of the time each waits for its cloud.
async fn live_everything(site: &Site, tag: &str) {
    let names: Vec<String> = (0..9).map(|number| format!("{tag}{number}")).collect();
    tokio::join!(
        lives::from_claim_to_nothing(site, Life::of_karpenter(&names[1])),
        lives::from_claim_to_nothing(site, Life::webhook(site, &names[2], 1)),
        a_class_with_a_join_secret(site, &names[3]),
        no_stock_twice(site, tag),
        too_late(site, tag),
        past_its_deadline(site, &names[4]),
        a_person_deletes_the_node(site, tag),
        a_volume_is_attached(site, &names[5]),
        never_launched(site, &names[7]),
        gone_before_anybody_looked(site, &names[8]),
        pods_of_every_provider(site, tag),
        a_pod_that_needs_everything_looked_up(site, tag),
    );
}

/// From now on so often.
async fn ticks(site: &Site, every: &str) {
    site.troupe.start_with(site.troupe.cast.listener(), "PILOTLIGHT_TICK", every).await.unwrap();
}

/// Every event is lost, and so is what was remembered.
async fn only_the_timer_is_left(site: &Site) {
    for function in site.troupe.cast.functions_with_events() {
        site.troupe.kill(function);
    }
    let path = format!("/api/v1/namespaces/{NAMESPACE}/configmaps");
    let memory = site.get(&path).await.unwrap();
    for name in memory["items"].as_array().unwrap().iter().filter_map(|one| one["metadata"]["name"].as_str()) {
        site.delete(&format!("{path}/{name}")).await;
    }
    ticks(site, "2s").await;
}

/// What no event of anything asks for.
async fn what_only_a_tick_does(site: &Site) {
    tokio::join!(a_replacement_that_does_not_come(site), a_machine_that_nobody_describes_any_more(site));
}

/// The pool is left alone for a while, and says so.
async fn a_replacement_that_does_not_come(site: &Site) {
    let life = PodLife::new(site, Kind::Scaleway, "drifted", 0).may_go();
    life.begin(site).await;
    let (claim, node) = life.until_running(site).await;
    let pool = "/apis/karpenter.sh/v1/nodepools/drifted";
    site.patch(pool, &json!({ "spec": { "template": { "metadata": { "labels": { "team": "b" } } } } })).await;
    let other = || async {
        let claims = life.claims(site).await?;
        claims.into_iter().find(|one| one["metadata"]["uid"] != claim["metadata"]["uid"])
    };
    let replacement = site.until("a drifted node gets a replacement", other).await;
    site.delete(&claim_path(going::name(&replacement))).await;
    let said = || async {
        let annotations = site.get(pool).await?["metadata"]["annotations"].clone();
        annotations["pilotlight.dev/replacement-back-off"].is_string().then_some(())
    };
    site.until("the pool whose replacement did not come is left alone", said).await;
    site.delete(&lives::pod_path(&life.name)).await;
    site.delete(&claim_path(going::name(&claim))).await;
    going::until_all_is_gone(site, &life, &claim, &node).await;
}

/// Its Lease goes after it.
async fn a_machine_that_nobody_describes_any_more(site: &Site) {
    let life = Life::webhook(site, "scrapped", 6);
    let class = path_of(&life.beside[0]);
    lives::from_claim_to_nothing(site, life).await;
    site.delete(&class).await;
    let leases = format!("/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases");
    site.until_gone(&format!("{leases}/pilotlight-machine-rack-6")).await;
}

/// Older servers cannot send a list as a watch.
async fn where_lists_are_not_streamed(site: &Site) {
    let listener = site.troupe.cast.listener();
    site.troupe.start_with(listener, "PILOTLIGHT_STREAMING_LISTS", "false").await.unwrap();
    let log = &site.control_plane.facts.audit_log;
    let listed = || async {
        let used = audit::of_account(log, NAMESPACE, listener).unwrap().used;
        used.iter().any(|one| one.verb == "list" && one.resource == "workspaces").then_some(())
    };
    site.until("everything is listed", listed).await;
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
    site.apply(&secret).await;
    site.apply(&class).await;
}

async fn a_class_with_a_join_secret(site: &Site, name: &str) {
    let mut life = Life::scaleway(name);
    life.claim["spec"]["nodeClassRef"]["name"] = json!(name);
    life.beside = vec![class_with_a_join_secret(name)];
    lives::from_claim_to_nothing(site, life).await;
}

fn class_with_a_join_secret(name: &str) -> Value {
    json!({
        "apiVersion": "pilotlight.dev/v1alpha1", "kind": "ScalewayNodeClass", "metadata": { "name": name },
        "spec": { "join": { "method": "k3s", "endpoint": "https://10.0.0.1:6443",
            "secretRef": { "name": "spare", "key": "join-token" } } },
    })
}

/// The first refusal makes the memory of stock, the second changes it.
async fn no_stock_twice(site: &Site, tag: &str) {
    for size in ["Standard_NC12s_v3", "Standard_NC24s_v3"] {
        let on = Target { size: Some(size.to_owned()), ..Target::default() };
        let effect = Effect::Refuse { why: Shortage::SkuNotAvailable, when: When::AtOnce };
        site.world.arm.add_fault(Fault { on, times: None, effect });
        let name = of_kaito(tag, size.trim_start_matches("Standard_NC").trim_end_matches("s_v3"));
        let mut life = Life::of_kaito(&name);
        life.claim["spec"]["requirements"][1]["values"] = json!([size]);
        site.apply(&life.claim).await;
        let waits = || async {
            let memory = site.get(&format!("/api/v1/namespaces/{NAMESPACE}/configmaps")).await?;
            memory["items"].to_string().contains(size).then_some(())
        };
        site.until(&format!("the shortage of {size} is remembered"), waits).await;
        site.delete(&claim_path(&name)).await;
        site.until_gone(&claim_path(&name)).await;
    }
}

/// KAITO's names are short: the pool is called so.
fn of_kaito(tag: &str, name: &str) -> String {
    format!("ws{}{name}", &tag[..1])
}

/// Its machine never joins, so the claim is given up.
async fn too_late(site: &Site, tag: &str) {
    let name = of_kaito(tag, "late");
    let on = Target { pool: Some(name.clone()), ..Target::default() };
    site.world.arm.add_fault(Fault { on, times: None, effect: Effect::NodeNeverJoins });
    let mut life = Life::of_kaito(&name);
    life.claim["metadata"]["annotations"] = json!({ "pilotlight.dev/registration-timeout": "5s" });
    site.apply(&life.claim).await;
    let there = || async { site.claim(&name).await.map(drop) };
    site.until("the claim that will be late is there", there).await;
    site.until_gone(&claim_path(&name)).await;
}

/// A budget would hold its pod for ever; the deadline that the user set does not wait for it.
async fn past_its_deadline(site: &Site, name: &str) {
    let mut life = Life::scaleway(name);
    life.claim["spec"]["terminationGracePeriod"] = json!("10s");
    let budget = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": { "name": name, "namespace": "default" },
        "spec": { "minAvailable": 1, "selector": { "matchLabels": { "work": name } } },
    });
    life.beside = vec![budget];
    lives::from_claim_to_nothing(site, life).await;
}

/// `kubectl delete node`: the claim goes with it. A pod that begins to wait meanwhile may not count on what runs there.
async fn a_person_deletes_the_node(site: &Site, tag: &str) {
    let life = Life::of_kaito(&of_kaito(tag, "person"));
    let node = lives::until_usable(site, &life).await;
    site.delete(&format!("/api/v1/nodes/{node}")).await;
    let waits = format!("{tag}-waits-meanwhile");
    let mut pod = gpu_pod(&waits, 64);
    pod["spec"]["nodeSelector"] = json!({ "karpenter.sh/nodepool": "none" });
    site.apply(&pod).await;
    life.until_nothing_is_left(site, &node).await;
    site.delete(&lives::pod_path(&waits)).await;
}

/// Of a pod that stays as long as the machine does: nobody waits for it.
async fn a_volume_is_attached(site: &Site, name: &str) {
    let life = Life::scaleway(name);
    let node = lives::until_usable(site, &life).await;
    for object in volume_of_a_staying_pod(name, &node) {
        site.apply(&object).await;
    }
    let running = || async {
        let pod = site.get(&lives::pod_path(name)).await?;
        (pod["status"]["phase"] == "Running").then_some(())
    };
    site.until("the pod with a volume runs", running).await;
    site.delete(&claim_path(name)).await;
    life.until_nothing_is_left(site, &node).await;
}

fn volume_of_a_staying_pod(name: &str, node: &str) -> Vec<Value> {
    let volume = json!({ "accessModes": ["ReadWriteOnce"], "storageClassName": "" });
    let mut persistent = volume.clone();
    persistent["capacity"] = json!({ "storage": "1Gi" });
    persistent["csi"] = json!({ "driver": "disk.example.com", "volumeHandle": name });
    persistent["claimRef"] = json!({ "namespace": "default", "name": name });
    let mut claim = volume;
    claim["resources"] = json!({ "requests": { "storage": "1Gi" } });
    claim["volumeName"] = json!(name);
    vec![
        json!({ "apiVersion": "v1", "kind": "PersistentVolume", "metadata": { "name": name }, "spec": persistent }),
        json!({ "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": { "name": name, "namespace": "default" }, "spec": claim }),
        json!({ "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": { "name": name },
            "spec": { "attacher": "disk.example.com", "nodeName": node,
                "source": { "persistentVolumeName": name } } }),
        // A pod of the node's own: no drain makes it go.
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name, "namespace": "default",
                "annotations": { "kubernetes.io/config.mirror": name } },
            "spec": {
                "nodeName": node, "terminationGracePeriodSeconds": 1,
                "tolerations": [{ "operator": "Exists" }],
                "containers": [{ "name": "main", "image": "agent" }],
                "volumes": [{ "name": "disk", "persistentVolumeClaim": { "claimName": name } }],
            } }),
    ]
}

/// Nothing was ever ordered for it, so only its pool tells whether it is ours: a Karpenter could have it.
async fn never_launched(site: &Site, name: &str) {
    let mut life = Life::of_karpenter(name);
    life.claim["metadata"]["finalizers"] = json!(["karpenter.sh/termination"]);
    life.claim["spec"]["requirements"][1]["values"] = json!(["Standard_Nothing"]);
    life.begin(site).await;
    let said = || async {
        let claim = site.claim(name).await?;
        claim["status"]["conditions"].to_string().contains("NoOfferingFits").then_some(())
    };
    site.until("nothing fits the claim", said).await;
    site.delete(&claim_path(name)).await;
    site.until_gone(&claim_path(name)).await;
}

/// A claim of somebody else's that goes again: what carries its UID would have no use any more.
async fn gone_before_anybody_looked(site: &Site, name: &str) {
    let mut life = Life::scaleway(name);
    life.claim["spec"]["nodeClassRef"] = json!({ "group": "example.com", "kind": "OthersClass", "name": "x" });
    site.apply(&life.claim).await;
    site.delete(&claim_path(name)).await;
    site.until_gone(&claim_path(name)).await;
}

/// With node classes that have to be read, one of them with a Secret.
async fn pods_of_every_provider(site: &Site, tag: &str) {
    let name = |number: usize| format!("{tag}-pod{number}");
    // A machine has one life here: it is switched on once.
    let machine = if tag == "ticks" { 3 } else { 2 };
    let mut azure = PodLife::new(site, Kind::Aks, &name(1), 0);
    let class = json!({ "apiVersion": "karpenter.azure.com/v1beta1", "kind": "AKSNodeClass",
        "metadata": { "name": name(1) }, "spec": { "osDiskSizeGB": 128 } });
    azure.use_class(class);
    // Whoever asks whether it can be paid counts all claims.
    let cap = json!({ "pilotlight.dev/max-price-per-hour": "100" });
    azure.beside.last_mut().unwrap()["metadata"]["annotations"] = cap;
    let mut scaleway = PodLife::new(site, Kind::Scaleway, &name(2), 0);
    scaleway.use_class(class_with_a_join_secret(&name(2)));
    tokio::join!(
        pods::from_pod_to_nothing(site, azure),
        pods::from_pod_to_nothing(site, scaleway),
        pods::from_pod_to_nothing(site, PodLife::new(site, Kind::Power, &name(3), machine)),
    );
}

/// Volumes, namespaces by their labels, and everything else too: by the time that the function goes on, what the forwarder told it of
/// the cluster is too old to be believed. In one process nothing ages so, and others list nodes there anyway.
async fn a_pod_that_needs_everything_looked_up(site: &Site, tag: &str) {
    let name = format!("{tag}-looked-up");
    let mut pod = gpu_pod(&name, 1);
    pod["spec"]["volumes"] = json!([{ "name": "data", "persistentVolumeClaim": { "claimName": "nobodys" } }]);
    pod["spec"]["affinity"] = json!({ "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [{
        "topologyKey": "kubernetes.io/hostname", "labelSelector": { "matchLabels": { "app": "x" } },
        "namespaceSelector": { "matchLabels": { "team": "a" } } }] } });
    let function = "on-pending-pod";
    let apart = site.troupe.cast.members().contains(&function) && tag == "rights";
    if apart {
        site.troupe.signal(function, "STOP").unwrap();
    }
    site.apply(&pod).await;
    if apart {
        tokio::time::sleep(TOO_OLD).await;
        site.troupe.signal(function, "CONT").unwrap();
    }
    let told = || async { (!pods::said_of(site, &name).await.is_empty()).then_some(()) };
    site.until("the pod with a volume that nobody has is told so", told).await;
    site.delete(&lives::pod_path(&name)).await;
}

/// A claim owns its Node, and a pool its claims, and each holds the other back. Who may not update the owner's finalizers may
/// not write that.
pub async fn without_what_admission_asks_for(site: &Site) {
    let mut life = Life::scaleway("rights6");
    life.claim["spec"]["nodeClassRef"] = json!({ "group": "example.com", "kind": "OthersClass", "name": "x" });
    let pool = Kind::Scaleway.pool("rights6");
    for object in [&life.claim, &pool, &lives::plain_node("rights6")] {
        site.apply(object).await;
    }
    let owner = async |kind: &str, plural: &str| {
        let there = site.get(&format!("/apis/karpenter.sh/v1/{plural}/rights6")).await.unwrap();
        json!([{ "apiVersion": "karpenter.sh/v1", "kind": kind, "name": "rights6", "uid": there["metadata"]["uid"],
            "blockOwnerDeletion": true }])
    };
    let owned = json!({ "metadata": { "ownerReferences": owner("NodeClaim", "nodeclaims").await } });
    let node = || {
        let request = http::Request::patch("/api/v1/nodes/rights6");
        (request.header("content-type", "application/merge-patch+json"), owned.to_string())
    };
    let mut of_pool = life.claim.clone();
    of_pool["metadata"] = json!({ "name": "rights6-made", "ownerReferences": owner("NodePool", "nodepools").await });
    let claim = || {
        let request = http::Request::post("/apis/karpenter.sh/v1/nodeclaims");
        (request.header("content-type", "application/json"), of_pool.to_string())
    };
    type Asked<'a> = &'a (dyn Fn() -> (http::request::Builder, String) + Sync);
    let cases: [(&str, &str, &str, &str, Asked<'_>); 7] = [
        ("on-nodeclaim", "without-finalizers", "nodeclaims/finalizers", "cannot set blockOwnerDeletion", &node),
        (
            "on-nodeclaim",
            "without-deletion",
            "verbs: [delete]",
            "cannot set an ownerRef on a resource you can't delete",
            &node,
        ),
        ("on-idle-timer", "timer-without-claims", "nodeclaims/finalizers", "cannot set blockOwnerDeletion", &node),
        ("on-nodeclaim", "with-both", "nothing of it", "", &node),
        ("on-pending-pod", "without-pools", "nodepools/finalizers", "cannot set blockOwnerDeletion", &claim),
        ("on-idle-timer", "timer-without-pools", "nodepools/finalizers", "cannot set blockOwnerDeletion", &claim),
        ("on-pending-pod", "with-pools", "nothing of it", "", &claim),
    ];
    for (function, account, taken, refusal, asked) in cases {
        let less = taken.replace("finalizers", "nothing").replace("delete", "deletecollection");
        let less = account::manifest(function).unwrap().replace(function, account).replace(taken, &less);
        kubectl(&site.control_plane, &["apply", "--server-side", "-f", "-"], &less).await.unwrap();
        let kubeconfig = account::kubeconfig_of(&site.control_plane, &site.client, account).await.unwrap();
        let client = crate::client_of(&kubeconfig).await.unwrap();
        let (request, body) = asked();
        let answer = client.request::<Value>(request.body(body.into_bytes()).unwrap()).await;
        let said = answer.map(|_| String::new()).unwrap_or_else(|why| why.to_string());
        assert!(said.contains(refusal) && said.is_empty() == refusal.is_empty(), "{account}: {said}");
    }
}
