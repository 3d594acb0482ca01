//! Both schedulers asked the same: does this pod fit, on which nodes, and what is said if it does not.
//!
//! Every pod is asked about alone and removed again. Which nodes are feasible is found out by asking once a node, with a
//! term that only this node meets; where a pod may go to several, either choice is right.

use serde_json::{Value, json};
use std::{io, time::Duration};

use super::{
    differences::Difference,
    play::{Found, Played, question},
    scenario::Placement,
    side::Side,
};

const LOOK_AGAIN: Duration = Duration::from_millis(15);
const MOST_LOOKS: u32 = 700;
/// Watches of a scheduler are not in step: what a pod needs has to be there before it.
const SETTLE: Duration = Duration::from_millis(250);

pub async fn place(world: &dyn Side, server: &dyn Side, placement: &Placement, run: &str) -> io::Result<Played> {
    let mut played = Played::default();
    let namespace = format!("placement-{run}");
    let mut cleared = Vec::new();
    for side in [world, server] {
        cleared.push(set_up(side, placement, &namespace).await?);
    }
    tokio::time::sleep(SETTLE).await;
    for (number, pod) in placement.pods.iter().enumerate() {
        let (ours, theirs) = tokio::try_join!(
            verdicts(world, placement, &namespace, pod),
            verdicts(server, placement, &namespace, pod)
        )?;
        let feasible: Vec<&Value> = theirs.iter().skip(1).map(|(_, verdict)| &verdict["node"]).collect();
        for ((wanted, ours), (_, theirs)) in ours.iter().zip(&theirs) {
            played.requests += 1;
            let free_choice =
                *wanted == ANY_NODE && ours["node"] != theirs["node"] && feasible.contains(&&ours["node"]);
            for field in ["node", "status", "reason", "message"] {
                played.fields += 1;
                if ours[field] == theirs[field] || (free_choice && field == "node" && theirs["node"].is_string()) {
                    continue;
                }
                let name = pod["metadata"]["name"].as_str().unwrap_or_default();
                let (world, server) = (Some(ours[field].clone()), Some(theirs[field].clone()));
                played.found.push(Found {
                    scenario: placement.name.clone(),
                    step: number + 1,
                    request: format!("{name} on {wanted}"),
                    difference: Difference { path: field.to_owned(), world, server },
                });
            }
        }
    }
    for (side, made) in [world, server].into_iter().zip(cleared) {
        for path in made.iter().rev() {
            remove(side, path).await?;
        }
    }
    Ok(played)
}

const ANY_NODE: &str = "any node";

/// The verdict on the pod as it is, and then on each node alone.
async fn verdicts(
    side: &dyn Side,
    placement: &Placement,
    namespace: &str,
    pod: &Value,
) -> io::Result<Vec<(String, Value)>> {
    let mut verdicts = vec![(ANY_NODE.to_owned(), verdict(side, namespace, pod).await?)];
    for node in &placement.nodes {
        let name = node["metadata"]["name"].as_str().unwrap_or_default();
        verdicts.push((name.to_owned(), verdict(side, namespace, &only_on(pod, name)).await?));
    }
    Ok(verdicts)
}

/// Terms are alternatives, so the node's name goes into each of them.
fn only_on(pod: &Value, node: &str) -> Value {
    let mut pod = pod.clone();
    let fields = json!([{ "key": "metadata.name", "operator": "In", "values": [node] }]);
    let required = &mut pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    match required["nodeSelectorTerms"].as_array_mut() {
        Some(terms) => terms.iter_mut().for_each(|term| term["matchFields"] = fields.clone()),
        None => *required = json!({ "nodeSelectorTerms": [{ "matchFields": fields }] }),
    }
    pod
}

async fn verdict(side: &dyn Side, namespace: &str, pod: &Value) -> io::Result<Value> {
    let pods = format!("/api/v1/namespaces/{namespace}/pods");
    let path = create(side, &pods, pod).await?;
    let mut verdict = json!({});
    for _ in 0..MOST_LOOKS {
        let found = side.ask(question("GET", &path, &Value::Null)).await?.body;
        let conditions = found["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let scheduled = conditions.into_iter().find(|condition| condition["type"] == "PodScheduled");
        if let Some(scheduled) = scheduled {
            let of = |key: &str| scheduled[key].clone();
            verdict = json!({ "node": found["spec"]["nodeName"], "status": of("status"), "reason": of("reason"), "message": of("message") });
            break;
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    remove(side, &path).await?;
    Ok(verdict)
}

/// Makes everything that the pods are asked about in. Gives back what has to be removed.
async fn set_up(side: &dyn Side, placement: &Placement, namespace: &str) -> io::Result<Vec<String>> {
    let mut made = Vec::new();
    side.ask(question("POST", "/api/v1/namespaces", &json!({ "metadata": { "name": namespace } }))).await?;
    let account = json!({ "metadata": { "name": "default" } });
    side.ask(question("POST", &format!("/api/v1/namespaces/{namespace}/serviceaccounts"), &account)).await?;
    for node in &placement.nodes {
        let path = create(side, "/api/v1/nodes", node).await?;
        // A new node is tainted until a controller, which does not run here, has seen it ready.
        let taints = json!({ "spec": { "taints": node["spec"]["taints"] } });
        let mut patch = question("PATCH", &path, &taints);
        patch.headers.insert("content-type".to_owned(), "application/merge-patch+json".to_owned());
        side.ask(patch).await?;
        made.push(path);
    }
    for (path, object) in &placement.objects {
        let path = path.replace("${ns}", namespace);
        let path = create(side, &path, object).await?;
        if let Some(status) = object.get("status") {
            let mut patch = question("PATCH", &format!("{path}/status"), &json!({ "status": status }));
            patch.headers.insert("content-type".to_owned(), "application/merge-patch+json".to_owned());
            side.ask(patch).await?;
        }
        made.push(path);
    }
    for pod in &placement.placed {
        made.push(create(side, &format!("/api/v1/namespaces/{namespace}/pods"), pod).await?);
    }
    Ok(made)
}

async fn create(side: &dyn Side, collection: &str, object: &Value) -> io::Result<String> {
    let reply = side.ask(question("POST", collection, object)).await?;
    if reply.status != 201 {
        return Err(io::Error::other(format!("POST {collection} was answered with {}: {}", reply.status, reply.body)));
    }
    Ok(format!("{collection}/{}", reply.body["metadata"]["name"].as_str().unwrap_or_default()))
}

async fn remove(side: &dyn Side, path: &str) -> io::Result<()> {
    let mut free = question("PATCH", path, &json!({ "metadata": { "finalizers": null } }));
    free.headers.insert("content-type".to_owned(), "application/merge-patch+json".to_owned());
    side.ask(free).await?;
    side.ask(question("DELETE", path, &json!({ "gracePeriodSeconds": 0 }))).await?;
    Ok(())
}
