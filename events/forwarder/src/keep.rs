//! From the wire to the rows that are kept; and the rows as kube's client reads them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, api::ApiResource};
use model::{Quantity, Resources, names};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use std::{
    borrow::Cow,
    collections::BTreeMap,
    fmt,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
};

use crate::{
    rows::{Claim, Conditions, Id, Kind, Node, Pod, PodOwner, Pool, Shape, Workspace},
    wire,
};

/// An object as it is kept.
pub trait Row: Clone + fmt::Debug + Send + Sync + 'static {
    const KIND: Kind;
    type Wire: DeserializeOwned;

    fn keep(wire: Self::Wire) -> Self;
    fn id(&self) -> &Id;
}

/// A row as kube's client reads it.
#[derive(Debug, Clone)]
pub struct Seen<R> {
    metadata: ObjectMeta,
    pub row: R,
}

impl Row for Pod {
    const KIND: Kind = Kind::Pod;
    type Wire = wire::Pod;

    fn keep(wire: wire::Pod) -> Self {
        let wire::Pod { metadata, spec, status } = wire;
        let wire::PodMeta { name, namespace, uid, resource_version, deletion_timestamp, labels, owner_references } =
            metadata;
        let scheduled = status.conditions.iter().find(|condition| condition.kind == "PodScheduled");
        let controller = owner_references.iter().find(|owner| owner.controller).map(|owner| owner.kind.as_str());
        let requests = pod_requests(&spec);
        Pod {
            id: identity(name, namespace, uid, resource_version),
            node: spec.node_name.filter(|node| !node.is_empty()).map(Into::into),
            shape: Arc::new(Shape {
                labels,
                requests,
                node_selector: spec.node_selector,
                tolerations: spec.tolerations,
            }),
            owner: match controller {
                Some("DaemonSet") => PodOwner::Daemon,
                Some("Node") => PodOwner::Node,
                _ => PodOwner::Other,
            },
            unschedulable: scheduled.is_some_and(|condition| {
                condition.status == "False" && condition.reason.as_deref() == Some("Unschedulable")
            }),
            nominated: status.nominated_node_name.is_some_and(|node| !node.is_empty()),
            over: matches!(status.phase.as_deref(), Some("Succeeded" | "Failed")),
            deleting: deletion_timestamp.is_some(),
        }
    }

    fn id(&self) -> &Id {
        &self.id
    }
}

impl Row for Node {
    const KIND: Kind = Kind::Node;
    type Wire = wire::Node;

    fn keep(wire: wire::Node) -> Self {
        let wire::Node { metadata, spec, status } = wire;
        let ready = status.conditions.into_iter().find(|condition| condition.kind == "Ready");
        Node {
            deleting: metadata.deletion_timestamp.is_some(),
            held: metadata.finalizers.iter().any(|finalizer| finalizer == names::FINALIZER),
            claim: metadata
                .owner_references
                .iter()
                .find(|owner| owner.kind == "NodeClaim")
                .map(|o| o.uid.as_str().into()),
            id: identity(metadata.name, metadata.namespace, metadata.uid, metadata.resource_version),
            provider_id: spec.provider_id.filter(|id| !id.is_empty()),
            labels: metadata.labels,
            taints: spec.taints,
            unschedulable: spec.unschedulable,
            allocatable: wire::resources(status.allocatable),
            ready: ready.map(|condition| condition.status).unwrap_or_default(),
        }
    }

    fn id(&self) -> &Id {
        &self.id
    }
}

impl Row for Claim {
    const KIND: Kind = Kind::Claim;
    type Wire = wire::Claim;

    fn keep(wire: wire::Claim) -> Self {
        let wire::Claim { metadata, spec, status } = wire;
        let label = |name: &str| metadata.labels.get(name).cloned();
        let space = label("kaito.sh/workspacenamespace");
        Claim {
            deleting: metadata.deletion_timestamp.is_some(),
            generation: metadata.generation,
            class: spec.node_class_ref,
            pool: label(names::NODE_POOL),
            requests: wire::resources(spec.resources.requests),
            requirements: spec.requirements,
            provider_id: status.provider_id.filter(|id| !id.is_empty()),
            node: status.node_name.filter(|node| !node.is_empty()),
            conditions: conditions(status.conditions),
            marks: marks(&metadata),
            workspace: label(names::KAITO_WORKSPACE).and_then(|name| Some((space?, name))),
            id: identity(metadata.name, metadata.namespace, metadata.uid, metadata.resource_version),
        }
    }

    fn id(&self) -> &Id {
        &self.id
    }
}

impl Row for Pool {
    const KIND: Kind = Kind::Pool;
    type Wire = wire::Pool;

    fn keep(wire: wire::Pool) -> Self {
        let wire::Pool { metadata, spec } = wire;
        Pool {
            deleting: metadata.deletion_timestamp.is_some(),
            generation: metadata.generation,
            id: identity(metadata.name, metadata.namespace, metadata.uid, metadata.resource_version),
            weight: u8::try_from(spec.weight).unwrap_or_default(),
            limits: wire::resources(spec.limits),
            requirements: spec.template.spec.requirements,
            class: spec.template.spec.node_class_ref,
        }
    }

    fn id(&self) -> &Id {
        &self.id
    }
}

impl Row for Workspace {
    const KIND: Kind = Kind::Workspace;
    type Wire = wire::Workspace;

    fn keep(wire: wire::Workspace) -> Self {
        let wire::Workspace { metadata, resource, inference, tuning, status } = wire;
        let preset = inference.or(tuning).and_then(|used| used.preset).and_then(|preset| preset.name);
        Workspace {
            deleting: metadata.deletion_timestamp.is_some(),
            generation: metadata.generation,
            marks: marks(&metadata),
            id: identity(metadata.name, metadata.namespace, metadata.uid, metadata.resource_version),
            instance_type: resource.instance_type.filter(|name| !name.is_empty()),
            count: resource.count.unwrap_or(1).max(1),
            preset,
            conditions: conditions(status.conditions),
        }
    }

    fn id(&self) -> &Id {
        &self.id
    }
}

fn identity(name: String, namespace: Option<String>, uid: String, version: String) -> Id {
    let namespace = namespace.filter(|namespace| !namespace.is_empty());
    Id { namespace: namespace.map(Into::into), name: name.into(), uid: uid.into(), version: version.into() }
}

fn conditions(given: Vec<wire::Condition>) -> Conditions {
    given.into_iter().map(|condition| (condition.kind, condition.status)).collect()
}

/// Our own functions write these and know what they wrote.
fn marks(metadata: &wire::Meta) -> u64 {
    let own = |name: &&String| ![names::LAUNCH, names::TERMINATION_TIMESTAMP].contains(&name.as_str());
    let mut hasher = DefaultHasher::new();
    metadata.labels.hash(&mut hasher);
    for name in metadata.annotations.keys().filter(own) {
        (name, &metadata.annotations[name]).hash(&mut hasher);
    }
    hasher.finish()
}

/// What the scheduler counts: the larger of what runs and what starts it, with overhead; a pod's own figures win.
fn pod_requests(spec: &wire::PodSpec) -> Resources {
    let amounts = |given: &wire::Amounts| -> Vec<(String, i128)> {
        given.iter().filter_map(|(name, amount)| Some((name.clone(), amount.0?.thousandths()))).collect()
    };
    let add = |sum: &mut BTreeMap<String, i128>, given: &wire::Amounts| {
        for (name, amount) in amounts(given) {
            *sum.entry(name).or_default() += amount;
        }
    };
    let (mut sidecars, mut largest) = (BTreeMap::new(), BTreeMap::<String, i128>::new());
    for container in &spec.init_containers {
        let mut starting = sidecars.clone();
        add(&mut starting, &container.resources.requests);
        if container.restart_policy.as_deref() == Some("Always") {
            sidecars.clone_from(&starting);
        }
        for (name, amount) in starting {
            let most = largest.entry(name).or_default();
            *most = amount.max(*most);
        }
    }
    let mut running = sidecars;
    for container in &spec.containers {
        add(&mut running, &container.resources.requests);
    }
    for (name, amount) in largest {
        let most = running.entry(name).or_default();
        *most = amount.max(*most);
    }
    running.extend(spec.resources.iter().flat_map(|own| amounts(&own.requests)));
    add(&mut running, &spec.overhead);
    running.into_iter().map(|(name, amount)| (name, Quantity::from_thousandths(amount))).collect()
}

impl<'de, R: Row> Deserialize<'de> for Seen<R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let row = R::keep(R::Wire::deserialize(deserializer)?);
        // The watcher goes on from the version; nobody else looks in here.
        let resource_version = Some(row.id().version.to_string());
        Ok(Seen { metadata: ObjectMeta { resource_version, ..ObjectMeta::default() }, row })
    }
}

/// Which resource it is, is known only when the API server has said which versions it serves.
impl<R: Row> Resource for Seen<R> {
    type DynamicType = ApiResource;
    type Scope = kube::core::DynamicResourceScope;

    fn kind(served: &ApiResource) -> Cow<'_, str> {
        served.kind.as_str().into()
    }

    fn group(served: &ApiResource) -> Cow<'_, str> {
        served.group.as_str().into()
    }

    fn version(served: &ApiResource) -> Cow<'_, str> {
        served.version.as_str().into()
    }

    fn plural(served: &ApiResource) -> Cow<'_, str> {
        served.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
