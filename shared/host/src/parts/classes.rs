//! Node classes as providers read them: flat text, with the secrets that a class only refers to.

use cluster::{
    ClassServed, Cluster, ClusterError,
    crd::{AKSNodeClassSpec, ScalewayNodeClassSpec, SecretKeyReference, Secrets},
    scene::class_hash,
};
use decide::{
    claim::{ClassSeen, Ours},
    provision::USUAL_DISK_GIB,
};
use model::{Claim, ObjectName, disruption::Hash};
use provider_power::MachineConfig;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;

use super::{power::CLASS_LABEL, racks};

type Fields = BTreeMap<String, String>;

const AKS: ClassServed = ClassServed { version: "v1beta1", plural: "aksnodeclasses" };
const SCALEWAY: ClassServed = ClassServed { version: "v1alpha1", plural: "scalewaynodeclasses" };
pub const OWN_GROUP: &str = "pilotlight.dev";
/// A class of this name need not exist: it says nothing.
const NEED_NOT_EXIST: &str = "default";

/// Reads the class of a claim.
pub struct Classes {
    /// What a ScalewayNodeClass leaves open.
    pub scaleway_defaults: Fields,
    /// Machines that variables describe: no class may describe them too.
    pub machines: Vec<MachineConfig>,
}

impl Classes {
    pub async fn of(&self, cluster: &Cluster, claim: &Claim, ours: Ours) -> Result<ClassSeen, ClusterError> {
        self.with_hash(cluster, claim, ours).await.map(|(seen, _)| seen)
    }

    /// The same, and what claims are to carry so that a later look sees whether the class has changed. A rack's class lists its
    /// machines, and one more machine changes none of the others: it has none.
    pub async fn with_hash(
        &self,
        cluster: &Cluster,
        claim: &Claim,
        ours: Ours,
    ) -> Result<(ClassSeen, Option<Hash>), ClusterError> {
        match ours.provider {
            // gpu-provisioner never reads a class: for its claims one need not exist, and says nothing if it does.
            provider_aks::PROVIDER if ours.like_gpu_provisioner => Ok((ClassSeen::Known(Fields::new()), None)),
            provider_aks::PROVIDER => aks(cluster, claim).await,
            provider_scaleway::PROVIDER => self.scaleway(cluster, claim).await,
            _ => Ok((power(cluster, claim, &self.machines).await?, None)),
        }
    }

    async fn scaleway(&self, cluster: &Cluster, claim: &Claim) -> Result<(ClassSeen, Option<Hash>), ClusterError> {
        let is_own = claim.class.kind == "ScalewayNodeClass" && claim.class.group == OWN_GROUP;
        let found = if is_own { cluster.class_object(&claim.class, SCALEWAY).await? } else { None };
        let Some(object) = found else {
            if self.scaleway_defaults.contains_key("join") {
                return Ok((ClassSeen::Known(self.scaleway_defaults.clone()), None));
            }
            let why = format!(
                "ScalewayNodeClass {} is not there, so nobody knows how a machine joins; make one, or set PILOTLIGHT_SCALEWAY_JOIN",
                claim.class.name
            );
            return Ok((ClassSeen::NotReady { reason: "NodeClassNotFound", why }, None));
        };
        let hash = Some(class_hash(&claim.class, &object));
        let spec: ScalewayNodeClassSpec = match read_spec(&object, "ScalewayNodeClass", &claim.class.name) {
            Ok(spec) => spec,
            Err(not_ready) => return Ok((not_ready, hash)),
        };
        let secrets = secrets(cluster, &spec.needed_secrets()).await?;
        let seen = match spec.to_class(&secrets) {
            Ok(fields) => ClassSeen::Known(self.scaleway_defaults.clone().into_iter().chain(fields).collect()),
            Err(missing) => ClassSeen::NotReady { reason: "NodeClassNotReady", why: missing.to_string() },
        };
        Ok((seen, hash))
    }
}

async fn aks(cluster: &Cluster, claim: &Claim) -> Result<(ClassSeen, Option<Hash>), ClusterError> {
    let Some(object) = cluster.class_object(&claim.class, AKS).await? else {
        if claim.class.name.as_str() == NEED_NOT_EXIST {
            return Ok((ClassSeen::Known(default_disk(claim).into_iter().collect()), None));
        }
        let why = format!("AKSNodeClass {} is not there; make it, or name another in a new claim", claim.class.name);
        return Ok((ClassSeen::NotReady { reason: "NodeClassNotFound", why }, None));
    };
    let hash = Some(class_hash(&claim.class, &object));
    let annotations: Fields = serde_json::from_value(object["metadata"]["annotations"].clone()).unwrap_or_default();
    let spec: AKSNodeClassSpec = match read_spec(&object, "AKSNodeClass", &claim.class.name) {
        Ok(spec) => spec,
        Err(not_ready) => return Ok((not_ready, hash)),
    };
    let seen = match spec.to_class(&annotations) {
        Ok(fields) => ClassSeen::Known(fields),
        Err(error) => ClassSeen::NotReady { reason: "NodeClassNotReady", why: error.to_string() },
    };
    Ok((seen, hash))
}

/// What AKSNodeClass has where nothing is said. A claim that asks for a disk of its own gets that.
fn default_disk(claim: &Claim) -> Option<(String, String)> {
    let asks = ["storage", "ephemeral-storage"].iter().any(|resource| claim.requests.contains_key(*resource));
    (!asks).then(|| ("osDiskSizeGB".to_owned(), USUAL_DISK_GIB.to_string()))
}

/// A rack's machines are read by the provider; here it matters whose they are, and whether there are any.
async fn power(cluster: &Cluster, claim: &Claim, described: &[MachineConfig]) -> Result<ClassSeen, ClusterError> {
    if cluster.class_object(&claim.class, racks::POWER).await?.is_none() {
        return Ok(ClassSeen::Known(Fields::new()));
    }
    let racks = racks::read(cluster, described).await?;
    let Some(own) = racks.iter().find(|rack| rack.name == claim.class.name.as_str()) else {
        return Ok(ClassSeen::Known(Fields::new()));
    };
    Ok(match own.useless() {
        Some(why) => ClassSeen::NotReady { reason: "NodeClassNotReady", why },
        None => ClassSeen::Known([(CLASS_LABEL.to_owned(), own.name.clone())].into()),
    })
}

fn read_spec<Spec: DeserializeOwned>(object: &Value, kind: &str, name: &ObjectName) -> Result<Spec, ClassSeen> {
    serde_json::from_value(object["spec"].clone()).map_err(|error| ClassSeen::NotReady {
        reason: "NodeClassNotReady",
        why: format!("{kind} {name} cannot be read: {error}"),
    })
}

pub async fn secrets(cluster: &Cluster, needed: &[SecretKeyReference]) -> Result<Secrets, ClusterError> {
    let mut values = Vec::new();
    let mut read: BTreeMap<&str, BTreeMap<String, Vec<u8>>> = BTreeMap::new();
    for reference in needed {
        if !read.contains_key(reference.name.as_str()) {
            let found = match ObjectName::new(&reference.name) {
                Ok(name) => cluster.secret(&name).await?,
                Err(_) => None,
            };
            read.insert(&reference.name, found.unwrap_or_default());
        }
        let value = read.get(reference.name.as_str()).and_then(|secret| secret.get(&reference.key));
        let text = value.and_then(|bytes| String::from_utf8(bytes.clone()).ok());
        values.extend(text.map(|text| (reference.clone(), text)));
    }
    Ok(values.into_iter().collect())
}
