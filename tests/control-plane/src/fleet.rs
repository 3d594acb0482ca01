//! Machines of the world's clouds that join a real cluster: a Node registers as its kubelet would, and KWOK keeps it alive.

use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tokio::sync::mpsc;
use world::{
    clock::Clock,
    fleet::{Fleet, Machine},
};

use crate::KWOK_NODE;

/// What happens to machines, in order, carried out one after the other.
pub struct JoinsHere {
    news: mpsc::UnboundedSender<News>,
}

enum News {
    Joined(Box<Machine>),
    Left { node: String, deleted: bool },
}

impl JoinsHere {
    /// `client` may do everything: it stands for kubelets and for the cloud's own node controller.
    pub fn new(client: Client, clock: Clock) -> Self {
        let (news, mut coming) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let nodes: Api<Node> = Api::all(client);
            while let Some(news) = coming.recv().await {
                match news {
                    News::Joined(machine) => join(&nodes, *machine, clock).await,
                    News::Left { node, deleted } => leave(&nodes, &node, deleted).await,
                }
            }
        });
        JoinsHere { news }
    }
}

impl Fleet for JoinsHere {
    fn join(&self, machine: Machine) {
        // The other end is gone only when the runtime is.
        let _ = self.news.send(News::Joined(Box::new(machine)));
    }

    fn leave(&self, node: &str, deleted: bool) {
        let _ = self.news.send(News::Left { node: node.to_owned(), deleted });
    }
}

async fn join(nodes: &Api<Node>, machine: Machine, clock: Clock) {
    let object = node(&machine);
    insist(&machine.node, || async {
        let created = match serde_json::from_value(object.clone()) {
            Ok(node) => nodes.create(&PostParams::default(), &node).await.map(drop),
            Err(why) => Err(kube::Error::SerdeError(why)),
        };
        match created {
            Err(kube::Error::Api(status)) if status.code == 409 => came_back(nodes, &machine).await,
            other => other,
        }
    })
    .await;
    let (Some((resource, count)), Some(after)) = (machine.accelerator.clone(), machine.accelerator_after) else {
        return;
    };
    let (nodes, name) = (nodes.clone(), machine.node.clone());
    tokio::spawn(async move {
        clock.sleep(after).await;
        let amounts = json!({ resource: count.to_string() });
        let status = json!({ "status": { "capacity": amounts, "allocatable": amounts } });
        insist(&name, || async {
            nodes.patch_status(&name, &PatchParams::default(), &Patch::Merge(&status)).await.map(drop)
        })
        .await;
    });
}

/// The same machine after a boot: its kubelet finds its Node, which nobody removed.
async fn came_back(nodes: &Api<Node>, machine: &Machine) -> Result<(), kube::Error> {
    let (annotation, value) = KWOK_NODE;
    let managed = json!({ "metadata": { "annotations": { annotation: value } } });
    let booted = json!({ "status": { "nodeInfo": { "bootID": machine.boot_id } } });
    nodes.patch_status(&machine.node, &PatchParams::default(), &Patch::Merge(&booted)).await?;
    nodes.patch(&machine.node, &PatchParams::default(), &Patch::Merge(&managed)).await.map(drop)
}

/// A machine that is off sends no heartbeats. One that is gone for good loses its Node to the cloud's node controller.
async fn leave(nodes: &Api<Node>, name: &str, deleted: bool) {
    let (annotation, _) = KWOK_NODE;
    let unmanaged = json!({ "metadata": { "annotations": { annotation: Value::Null } } });
    insist(name, || async {
        let done = if deleted {
            nodes.delete(name, &DeleteParams::default()).await.map(drop)
        } else {
            nodes.patch(name, &PatchParams::default(), &Patch::Merge(&unmanaged)).await.map(drop)
        };
        match done {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            other => other,
        }
    })
    .await;
}

/// A kubelet does not give up: the API server may be restarting.
async fn insist<F: Future<Output = Result<(), kube::Error>>>(node: &str, attempt: impl Fn() -> F) {
    for _ in 0..120 {
        match attempt().await {
            Ok(()) => return,
            // A Node that somebody removed meanwhile is nobody's to change.
            Err(kube::Error::Api(status)) if status.code == 404 => return,
            Err(_) => tokio::time::sleep(core::time::Duration::from_millis(500)).await,
        }
    }
    eprintln!("the machine of node {node} gave up on its API server");
}

fn node(machine: &Machine) -> Value {
    let Machine { node, provider_id, labels, annotations, taints, capacity, boot_id, .. } = machine;
    let mut labels = labels.clone();
    for (label, value) in
        [("kubernetes.io/hostname", node.as_str()), ("kubernetes.io/os", "linux"), ("kubernetes.io/arch", "amd64")]
    {
        labels.entry(label.to_owned()).or_insert_with(|| value.to_owned());
    }
    let mut annotations = annotations.clone();
    annotations.insert(KWOK_NODE.0.to_owned(), KWOK_NODE.1.to_owned());
    let taint = |(key, value, effect): &(String, String, String)| {
        let with_value = if value.is_empty() { json!({}) } else { json!({ "value": value }) };
        let mut taint = json!({ "key": key, "effect": effect });
        if let (Some(taint), Some(more)) = (taint.as_object_mut(), with_value.as_object()) {
            taint.extend(more.clone());
        }
        taint
    };
    let taints: Vec<Value> = taints.iter().map(taint).collect();
    let info = node_info(boot_id);
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": { "name": node, "labels": labels, "annotations": annotations },
        "spec": { "providerID": provider_id, "taints": taints },
        "status": { "capacity": capacity, "allocatable": capacity, "nodeInfo": info },
    })
}

fn node_info(boot_id: &str) -> BTreeMap<&'static str, &str> {
    BTreeMap::from([
        ("architecture", "amd64"),
        ("bootID", boot_id),
        ("containerRuntimeVersion", "kwok"),
        ("kernelVersion", "6.8"),
        ("kubeProxyVersion", ""),
        ("kubeletVersion", "v1.36.3"),
        ("machineID", boot_id),
        ("operatingSystem", "linux"),
        ("osImage", "Ubuntu 24.04 LTS"),
        ("systemUUID", boot_id),
    ])
}
