//! From the wire to the rows that are kept; and the rows as kube's client reads them.

use cluster::scene::{self, Taken};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, api::ApiResource};
use model::{PodKind, names};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use std::{
    borrow::Cow,
    fmt,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    mem::take,
    sync::Arc,
};

use crate::{
    rows::{Claim, Conditions, Id, Kind, Node, Pod, Pool, Shape, Workspace},
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
        let wire::Pod { metadata, mut spec, status } = wire;
        let wire::PodMeta { name, namespace, uid, resource_version, labels, owner_references, .. } = metadata;
        let scheduled = status.conditions.iter().find(|condition| condition.kind == "PodScheduled");
        let kind = PodKind::of_owners(owner_references.iter().map(|owner| owner.kind.as_str()));
        let of_daemon = kind == PodKind::Daemon;
        let set = owner_references.into_iter().find(|owner| of_daemon && owner.kind == "DaemonSet");
        let volume_claims = volume_claims(&name, &spec.volumes);
        let node = spec.node_name.take().filter(|node| !node.is_empty()).map(Into::into);
        let (node_selector, tolerations) = (take(&mut spec.node_selector), take(&mut spec.tolerations));
        let host_network = spec.host_network;
        // What cannot be read is named by whoever reads the pod itself.
        let (Taken { requests, anti_affinity, host_ports }, _) = scene::taken(&spec.taken());
        Pod {
            id: identity(name, namespace, uid, resource_version),
            node,
            shape: Arc::new(Shape {
                labels,
                requests,
                node_selector,
                tolerations,
                anti_affinity,
                host_ports,
                volume_claims,
                daemon: set.map(|owner| owner.name.into()),
                host_network,
            }),
            kind,
            created_at: metadata.creation_timestamp.filter(|_| of_daemon).and_then(|time| time.parse().ok()),
            unschedulable: scheduled.is_some_and(|condition| {
                condition.status == "False" && condition.reason.as_deref() == Some("Unschedulable")
            }),
            nominated: status.nominated_node_name.is_some_and(|node| !node.is_empty()),
            over: matches!(status.phase.as_deref(), Some("Succeeded" | "Failed")),
            deleting: metadata.deletion_timestamp.is_some(),
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
        let of = |kind: &str| status.conditions.iter().find(|condition| condition.kind == kind);
        let says_notice = |kind: &&str| of(kind).is_some_and(|condition| condition.status == "True");
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
            capacity: Arc::new(wire::resources(status.capacity)),
            allocatable: Arc::new(wire::resources(status.allocatable)),
            notice: names::NOTICES.iter().any(says_notice),
            ready: of("Ready").map(|condition| condition.status.clone()).unwrap_or_default(),
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

/// Named, or made for the pod under a name that Kubernetes fixes.
fn volume_claims(pod: &str, volumes: &[wire::Volume]) -> Vec<String> {
    let claim = |volume: &wire::Volume| match (&volume.persistent_volume_claim, &volume.ephemeral) {
        (Some(claim), _) => Some(claim.claim_name.clone()),
        (None, Some(_)) => Some(format!("{pod}-{}", volume.name)),
        (None, None) => None,
    };
    volumes.iter().filter_map(claim).collect()
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
