//! Pods that the real scheduler binds to a node between the decision to take it away and its deletion: they stay, and so does it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use faults::{KINDS, Kind};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::{
    chronicle::{CLOSED, Chronicle, is_closed, phase},
    going::{name, until_all_is_gone},
    lives::pod_path,
    pods::PodLife,
    site::Site,
    stagehand::{claim_path, path_of},
};

/// On a node of each provider, side by side.
pub async fn pods_that_come_before_the_taint_survive(site: &Site) {
    let chronicle = Chronicle::begin(site);
    let life = |kind: Kind| PodLife::new(site, kind, &format!("late-{}", kind.name()), 5).may_go();
    join_all(KINDS.map(|kind| before_the_taint(site, &chronicle, life(kind)))).await;
}

/// The decision is written down, but for now the API server takes no taint: the scheduler sees an open node, and uses it.
async fn before_the_taint(site: &Site, chronicle: &Chronicle, life: PodLife) {
    life.begin(site).await;
    let (claim, node) = life.until_running(site).await;
    let held = NoTaint::on(site, &node).await;
    site.delete(&pod_path(&life.name)).await;
    chronicle.until(site, &format!("claim/{} Recorded", name(&claim))).await;
    let late = late_pod(&life);
    let uid = until_it_runs(site, &late, &node).await;
    held.end(site).await;
    until_put_back(site, chronicle, &claim, &node).await;
    chronicle.was_in_this_order(&[
        format!("claim/{} Recorded", name(&claim)),
        format!("pod/{} on {node}", name(&late)),
        format!("node/{node} closed"),
        format!("claim/{} Undoing", name(&claim)),
    ]);
    until_it_goes_after_all(site, &life, &claim, &node, &late, &uid).await;
}

/// The node is closed, and whoever goes on with the command stands still while a pod comes that does not mind the taint.
pub async fn a_pod_that_tolerates_the_taint_survives(site: &Site) {
    let chronicle = Chronicle::begin(site);
    let life = PodLife::new(site, Kind::Scaleway, "late-tolerates", 0).may_go();
    life.begin(site).await;
    let (claim, node) = life.until_running(site).await;
    site.delete(&pod_path(&life.name)).await;
    chronicle.until(site, &format!("claim/{} Tainted", name(&claim))).await;
    let timer = site.troupe.cast.ticked();
    site.troupe.signal(timer, "STOP").unwrap();
    let mut late = late_pod(&life);
    late["spec"]["tolerations"] = json!([{ "key": CLOSED, "operator": "Exists" }]);
    let uid = until_it_runs(site, &late, &node).await;
    site.troupe.signal(timer, "CONT").unwrap();
    until_put_back(site, &chronicle, &claim, &node).await;
    chronicle.was_in_this_order(&[
        format!("node/{node} closed"),
        format!("pod/{} on {node}", name(&late)),
        format!("claim/{} Undoing", name(&claim)),
    ]);
    until_it_goes_after_all(site, &life, &claim, &node, &late, &uid).await;
}

fn late_pod(life: &PodLife) -> Value {
    let mut late = life.pod.clone();
    late["metadata"]["name"] = json!(format!("{}-second", life.name));
    late
}

/// Gives back its UID.
async fn until_it_runs(site: &Site, pod: &Value, node: &str) -> Value {
    site.apply(pod).await;
    let running = || async {
        let pod = site.get(&path_of(pod)).await?;
        let runs = pod["status"]["phase"] == "Running" && pod["spec"]["nodeName"] == node;
        runs.then(|| pod["metadata"]["uid"].clone())
    };
    site.until(&format!("{} runs on {node}", name(pod)), running).await
}

/// No command is on the claim any more, its node is open, and nobody deleted it.
async fn until_put_back(site: &Site, chronicle: &Chronicle, claim: &Value, node: &str) {
    chronicle.until(site, &format!("claim/{} Undoing", name(claim))).await;
    let back = || async {
        let claim = site.get(&claim_path(name(claim))).await.expect("the claim stays");
        let node = site.get(&format!("/api/v1/nodes/{node}")).await.expect("the node stays");
        assert!(claim["metadata"]["deletionTimestamp"].is_null(), "{claim:#}");
        (phase(&claim).is_none() && !is_closed(&node)).then_some(())
    };
    site.until(&format!("the command on {} is put back", name(claim)), back).await;
}

/// It is the same pod that runs there still. When it has gone too, so may its node.
async fn until_it_goes_after_all(site: &Site, life: &PodLife, claim: &Value, node: &str, late: &Value, uid: &Value) {
    let pod = site.get(&path_of(late)).await.expect("the pod that came late is there");
    assert_eq!((&pod["metadata"]["uid"], &pod["status"]["phase"]), (uid, &json!("Running")), "{pod:#}");
    assert!(pod["metadata"]["deletionTimestamp"].is_null(), "{pod:#}");
    site.delete(&path_of(late)).await;
    until_all_is_gone(site, life, claim, node).await;
    life.there_was_one_of_each(site, claim);
}

/// A rule of the API server by which one node is not closed.
struct NoTaint {
    objects: [Value; 2],
}

impl NoTaint {
    /// As soon as it holds.
    async fn on(site: &Site, node: &str) -> Self {
        let group = "admissionregistration.k8s.io/v1";
        let named = json!({ "name": format!("open-{node}") });
        let rule = json!({ "apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["nodes"],
            "resourceNames": [node] });
        let open = format!("!has(object.spec.taints) || !object.spec.taints.exists(one, one.key == '{CLOSED}')");
        let policy = json!({
            "apiVersion": group, "kind": "ValidatingAdmissionPolicy", "metadata": named,
            "spec": { "matchConstraints": { "resourceRules": [rule] },
                "validations": [{ "expression": open, "message": "not for now" }] },
        });
        let binding = json!({
            "apiVersion": group, "kind": "ValidatingAdmissionPolicyBinding", "metadata": named,
            "spec": { "policyName": named["name"], "validationActions": ["Deny"] },
        });
        let objects = [policy, binding];
        for object in &objects {
            site.apply(object).await;
        }
        let taint = json!({ "spec": { "taints": [{ "key": CLOSED, "effect": "NoSchedule" }] } }).to_string();
        let refused = || async {
            let request = http::Request::patch(format!("/api/v1/nodes/{node}?dryRun=All"));
            let request = request.header("content-type", "application/merge-patch+json");
            let request = request.body(taint.clone().into_bytes()).unwrap();
            site.client.request::<Value>(request).await.is_err().then_some(())
        };
        site.until(&format!("node {node} cannot be closed"), refused).await;
        NoTaint { objects }
    }

    async fn end(self, site: &Site) {
        for object in self.objects.iter().rev() {
            site.delete(&path_of(object)).await;
        }
    }
}
