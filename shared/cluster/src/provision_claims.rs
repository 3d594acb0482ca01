//! Making NodeClaims.

use k8s_openapi::{
    api::core::v1::Taint as KubeTaint,
    apimachinery::pkg::{api::resource::Quantity as KubeQuantity, apis::meta::v1::OwnerReference},
};
use kube::{
    Api,
    api::{ObjectMeta, PostParams},
};
use model::{ClaimToMake, ClassRef, Manifest, ObjectName, Resources, Taint, place::PoolRequirement};

use crate::{
    Cluster, ClusterError, FIELD_MANAGER,
    ask::Asking,
    crd::{NodeClaim, NodeClaimSpec, NodeClassReference, Requests, RequirementWithMinimum},
    error::Kind,
    rights,
};

/// What came of making a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    Now,
    /// Its name says what it is for, so what is there under that name is this one.
    Before,
}

impl Cluster {
    pub async fn make_claim(&self, claim: &ClaimToMake) -> Result<Made, ClusterError> {
        let asking = Asking::new(rights::CREATE_CLAIM, "making NodeClaim", claim.name.as_str());
        let api: Api<NodeClaim> = Api::all(self.client().clone());
        let how = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        made(self.change(asking, api.create(&how, &object(claim))).await)
    }

    /// The same, of a claim that was written down before.
    pub async fn make_as_written(&self, name: &ObjectName, manifest: &Manifest) -> Result<Made, ClusterError> {
        let asking = Asking::new(rights::CREATE_CLAIM, "making NodeClaim", name.as_str());
        let claim: NodeClaim = serde_json::from_str(&manifest.0)
            .map_err(|error| asking.error(Kind::Invalid { why: error.to_string() }))?;
        let api: Api<NodeClaim> = Api::all(self.client().clone());
        let how = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        made(self.change(asking, api.create(&how, &claim)).await)
    }
}

fn made<T>(result: Result<T, ClusterError>) -> Result<Made, ClusterError> {
    match result {
        Ok(_) => Ok(Made::Now),
        Err(error) if error.is_conflict() => Ok(Made::Before),
        Err(error) => Err(error),
    }
}

pub(crate) fn object(claim: &ClaimToMake) -> NodeClaim {
    let ClaimToMake {
        name,
        owner,
        labels,
        annotations,
        class,
        requirements,
        requests,
        taints,
        startup_taints,
        expire_after,
        termination_grace_period,
    } = claim;
    let owner = owner.as_ref().map(|pool| OwnerReference {
        api_version: "karpenter.sh/v1".to_owned(),
        kind: "NodePool".to_owned(),
        name: pool.name.to_string(),
        uid: pool.uid.to_string(),
        block_owner_deletion: Some(true),
        controller: None,
    });
    let ClassRef { group, kind, name: class_name } = class;
    NodeClaim {
        metadata: ObjectMeta {
            name: Some(name.to_string()),
            labels: Some(labels.clone()),
            annotations: Some(annotations.clone()),
            owner_references: owner.map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        spec: NodeClaimSpec {
            taints: taints.iter().map(kube_taint).collect(),
            startup_taints: startup_taints.iter().map(kube_taint).collect(),
            requirements: requirements.iter().map(requirement).collect(),
            resources: Requests { requests: amounts(requests) },
            node_class_ref: NodeClassReference {
                group: group.clone(),
                kind: kind.clone(),
                name: class_name.to_string(),
            },
            termination_grace_period: termination_grace_period.clone(),
            expire_after: expire_after.clone(),
        },
        status: None,
    }
}

fn requirement(one: &PoolRequirement) -> RequirementWithMinimum {
    RequirementWithMinimum {
        key: one.requirement.key.clone(),
        operator: one.requirement.operator.as_str().to_owned(),
        values: one.requirement.values.clone(),
        min_values: one.min_values.map(i64::from),
    }
}

fn kube_taint(taint: &Taint) -> KubeTaint {
    let value = Some(taint.value.clone()).filter(|value| !value.is_empty());
    KubeTaint { key: taint.key.clone(), value, effect: taint.effect.as_str().to_owned(), time_added: None }
}

fn amounts(resources: &Resources) -> std::collections::BTreeMap<String, KubeQuantity> {
    resources.iter().map(|(name, amount)| (name.clone(), KubeQuantity(amount.to_string()))).collect()
}
