//! Carries an answer out: nodes go, new ones come up, pods are where they were sent. The cluster is a list of objects, as in files,
//! so that whoever answered can be asked again.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::answer::{Answer, ClaimAnswer, DisruptionAnswer};
use crate::catalog::{Catalog, InstanceType, Offering};
use crate::labels::{HOSTNAME, Labels, NODE_POOL, allows, normal};
use crate::load::{self, LoadError, Objects};
use crate::quantity::show;

/// What a round takes: the new nodes are up by then, and nothing has moved for a while.
const ROUND: SignedDuration = SignedDuration::from_mins(10);

/// A cluster that changes.
#[derive(Debug, Clone)]
pub struct State {
    pub objects: Vec<Value>,
    pub now: Timestamp,
    made: usize,
}

/// What was done.
#[derive(Debug, Clone, Default)]
pub struct Done {
    pub gone: Vec<String>,
    pub come: Vec<String>,
    /// Pods that had a node and lost it.
    pub evicted: usize,
}

impl State {
    pub fn read(yaml: &str, now: Timestamp) -> Result<Self, LoadError> {
        let objects = load::values("world", yaml)?.into_iter().map(|(_, value)| value).collect();
        Ok(Self { objects, now, made: 0 })
    }

    pub fn objects(&self) -> Result<Objects, LoadError> {
        let mut objects = Objects::default();
        for value in &self.objects {
            objects.add("world", value.clone())?;
        }
        Ok(objects)
    }

    /// JSON is YAML.
    pub fn yaml(&self) -> String {
        let documents: Vec<String> = self.objects.iter().map(|object| format!("{object}\n")).collect();
        documents.join("---\n")
    }

    /// Pods that wait come to where the answer puts them, and nodes that were leaving are gone.
    pub fn place(&mut self, catalog: &Catalog, answer: &Answer) {
        let claims = self.launch(catalog, &answer.claims);
        for pod in &answer.pods {
            let Some(on) = &pod.on else { continue };
            self.bind(&pod.full_name(), on, &claims);
        }
        let leaving: Vec<String> = self
            .of_kind("NodeClaim")
            .filter(|claim| !claim["metadata"]["deletionTimestamp"].is_null())
            .filter_map(|claim| claim["status"]["nodeName"].as_str().map(str::to_owned))
            .collect();
        self.remove(&leaving);
    }

    /// The commands. Pods that are told where to go are there; the others wait.
    pub fn disrupt(&mut self, catalog: &Catalog, commands: &[DisruptionAnswer], moving: &BTreeSet<String>) -> Done {
        let mut done = Done::default();
        for command in commands {
            let claims = self.launch(catalog, &command.replacements);
            done.come.extend(claims.values().cloned());
            for one in command.moves.iter().flatten() {
                done.evicted += 1;
                match &one.to {
                    Some(to) => self.bind(&one.pod, to, &claims),
                    None => self.unbind(&one.pod),
                }
            }
            let of_command: Vec<String> = command.nodes.clone();
            let left: Vec<String> = self
                .of_kind("Pod")
                .filter(|pod| of_command.iter().any(|node| pod["spec"]["nodeName"] == **node))
                .map(full_name)
                .filter(|name| moving.contains(name))
                .collect();
            done.evicted += left.len();
            // What keeps no node and runs on one that nobody uses is gone with it: it would get a node and lose it for ever.
            left.iter().filter(|_| command.reason != "Empty").for_each(|pod| self.unbind(pod));
            self.remove(&of_command);
            done.gone.extend(of_command);
        }
        done
    }

    pub fn pass_time(&mut self) {
        self.now = self.now.checked_add(ROUND).unwrap_or(self.now);
    }

    /// Pods that are on no node.
    pub fn waiting(&self) -> usize {
        self.of_kind("Pod").filter(|pod| pod["spec"]["nodeName"].as_str().unwrap_or_default().is_empty()).count()
    }

    /// Says something on every pool.
    pub fn annotate_pools(&mut self, key: &str, value: &str) {
        for pool in self.objects.iter_mut().filter(|object| object["kind"] == "NodePool") {
            pool["metadata"]["annotations"][key] = json!(value);
        }
    }

    fn of_kind(&self, kind: &'static str) -> impl Iterator<Item = &Value> {
        self.objects.iter().filter(move |object| object["kind"] == kind)
    }

    /// Makes nodes of claims, each of its cheapest offering. By the claim's name: the node's.
    fn launch(&mut self, catalog: &Catalog, claims: &[ClaimAnswer]) -> BTreeMap<String, String> {
        let mut names = BTreeMap::new();
        for claim in claims {
            let Some((one, offering)) = cheapest(catalog, claim) else { continue };
            let name = format!("made-{}", self.made);
            self.made += 1;
            let pool = self.of_kind("NodePool").find(|pool| pool["metadata"]["name"] == *claim.node_pool);
            let pool = pool.cloned().unwrap_or_default();
            let labels = labels(catalog, claim, &pool, one, offering);
            let made = machine(&name, &pool, labels, one, self.now);
            self.objects.extend(made);
            names.insert(format!("claim/{}", claim.name), name);
        }
        names
    }

    fn bind(&mut self, pod: &str, on: &str, claims: &BTreeMap<String, String>) {
        let node = match on.strip_prefix("node/") {
            Some(node) => node.to_owned(),
            None => match claims.get(on) {
                Some(node) => node.clone(),
                None => return,
            },
        };
        let now = self.now.to_string();
        for object in &mut self.objects {
            if object["kind"] == "Pod" && full_name(object) == pod {
                object["spec"]["nodeName"] = json!(node);
                object["status"] = json!({"phase": "Running"});
            }
            if object["kind"] == "NodeClaim" && object["status"]["nodeName"] == *node {
                object["status"]["lastPodEventTime"] = json!(now);
            }
        }
    }

    fn unbind(&mut self, pod: &str) {
        for object in self.objects.iter_mut().filter(|object| object["kind"] == "Pod" && full_name(object) == pod) {
            if let Some(spec) = object["spec"].as_object_mut() {
                spec.remove("nodeName");
            }
            object["status"] = json!({"phase": "Pending"});
        }
    }

    /// Nodes with their claims and whatever is still on them.
    fn remove(&mut self, nodes: &[String]) {
        let gone = |name: &Value| nodes.iter().any(|node| name == node);
        self.objects.retain(|object| match object["kind"].as_str() {
            Some("Node" | "CSINode") => !gone(&object["metadata"]["name"]),
            Some("NodeClaim") => !gone(&object["status"]["nodeName"]),
            Some("Pod") => !gone(&object["spec"]["nodeName"]),
            _ => true,
        });
    }
}

/// A node that is up, and its claim.
pub fn machine(name: &str, pool: &Value, labels: Labels, one: &InstanceType, created: Timestamp) -> Vec<Value> {
    let provider = format!("kwok://{name}");
    let has: BTreeMap<&String, String> = one.capacity.iter().map(|(name, amount)| (name, show(*amount))).collect();
    let template = &pool["spec"]["template"]["spec"];
    let or = |field: &str, usual: Value| if template[field].is_null() { usual } else { template[field].clone() };
    let mut spec = json!({"requirements": [], "nodeClassRef": template["nodeClassRef"], "taints": or("taints", json!([])),
        "expireAfter": or("expireAfter", json!("720h"))});
    if !template["terminationGracePeriod"].is_null() {
        spec["terminationGracePeriod"] = template["terminationGracePeriod"].clone();
    }
    let created = created.to_string();
    let claim = json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
        "metadata": {"name": format!("claim-of-{name}"), "labels": labels, "creationTimestamp": created}, "spec": spec,
        "status": {"providerID": provider, "nodeName": name, "capacity": has, "allocatable": has},
    });
    let mut labels = labels;
    labels.insert(HOSTNAME.to_owned(), name.to_owned());
    let node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": labels, "creationTimestamp": created},
        "spec": {"providerID": provider, "taints": or("taints", json!([]))},
        "status": {"capacity": has, "allocatable": has},
    });
    vec![claim, node]
}

/// The labels that a node of an offering has. Where something is left open, the first value.
pub fn labels(catalog: &Catalog, claim: &ClaimAnswer, pool: &Value, one: &InstanceType, offering: &Offering) -> Labels {
    let mut labels = Labels::new();
    for (key, value) in pool["spec"]["template"]["metadata"]["labels"].as_object().into_iter().flatten() {
        labels.insert(key.clone(), value.as_str().unwrap_or_default().to_owned());
    }
    for required in claim.requirements.iter().filter(|one| one.operator == "In") {
        let first =
            required.values.iter().find(|value| allows(&claim.requirements, &required.key, Some(value.as_str())));
        labels.extend(first.map(|value| (normal(&required.key).to_owned(), value.clone())));
    }
    labels.extend(claim.labels.clone());
    let known = [crate::labels::INSTANCE_TYPE, crate::labels::ARCH, crate::labels::OS];
    let keys = known.into_iter().map(str::to_owned).chain(offering.labels.keys().cloned());
    for key in keys.filter(|key| catalog.decides(key)) {
        let first =
            one.values(offering, &key).iter().find(|value| allows(&claim.requirements, &key, Some(value.as_str())));
        labels.extend(first.map(|value| (key.clone(), value.clone())));
    }
    labels.insert(NODE_POOL.to_owned(), claim.node_pool.clone());
    labels.remove(HOSTNAME);
    labels
}

fn cheapest<'c>(catalog: &'c Catalog, claim: &ClaimAnswer) -> Option<(&'c InstanceType, &'c Offering)> {
    let first = claim.offerings.iter().min_by(|a, b| a.price.total_cmp(&b.price))?;
    let one = &catalog.types[catalog.index_of(&first.instance_type)?];
    let is_it = |offering: &&Offering| offering.zone == first.zone && offering.capacity_type == first.capacity_type;
    Some((one, one.offerings.iter().find(is_it)?))
}

fn full_name(object: &Value) -> String {
    let metadata = &object["metadata"];
    format!("{}/{}", metadata["namespace"].as_str().unwrap_or("default"), metadata["name"].as_str().unwrap_or_default())
}
