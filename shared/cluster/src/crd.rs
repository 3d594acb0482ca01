//! The custom resources we define or serve. Reading is lenient; the schemas are strict.

// Each printer column says its own name and type in one attribute; clippy takes the second column for a repetition.
#![allow(clippy::duplicated_attributes)]

mod aks_class;
mod aks_kubelet;
mod aks_local_dns;
mod aks_node_class;
mod kaito_node_class;
mod node_claim;
mod node_pool;
mod power_back_end;
mod power_machine;
mod power_node_class;
mod power_request;
mod requirement;
mod scaleway_class;
mod scaleway_node_class;
mod schema;
mod secrets;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt as _;

pub use aks_class::UnknownAnnotation;
pub use aks_kubelet::{KubeletConfiguration, LinuxOsConfiguration, Sysctls};
pub use aks_local_dns::{LocalDns, ZoneOverride};
pub use aks_node_class::{
    AKSNodeClass, AKSNodeClassSpec, AKSNodeClassStatus, ArtifactStreaming, Gpu, NodeImage, Security, TrustedLaunch,
};
pub use kaito_node_class::{KaitoNodeClass, KaitoNodeClassSpec, KaitoNodeClassStatus};
pub use node_claim::{NodeClaim, NodeClaimSpec, NodeClaimStatus, Requests};
pub use node_pool::{
    Budget, Disruption, NodeClaimTemplate, NodeClaimTemplateSpec, NodePool, NodePoolSpec, NodePoolStatus,
    TemplateMetadata,
};
pub use power_back_end::{
    BmclibBackEnd, HomeAssistantBackEnd, MaasApiBackEnd, MaasBackEnd, PowerBackEnd, ProxmoxBackEnd, RedfishBackEnd,
    SeedBackEnd, TemplatesBackEnd,
};
pub use power_machine::PowerMachineError;
pub use power_node_class::{
    PowerEnergy, PowerGpu, PowerMachine, PowerNodeClass, PowerNodeClassSpec, PowerNodeClassStatus, PowerTiming,
};
pub use power_request::{
    BasicAuth, HeaderAuth, HmacAuth, HmacStyle, PowerAuth, PowerRequest, PowerStatus, PowerStatusPointer,
    PowerStatusRegex, SecretAuth,
};
pub use requirement::{NodeClassReference, RequirementWithMinimum};
pub use scaleway_node_class::{
    ScalewayCloudProvider, ScalewayDriver, ScalewayJoin, ScalewayJoinMethod, ScalewayNodeClass, ScalewayNodeClassSpec,
    ScalewayNodeClassStatus, ScalewayPublicIp,
};
pub use secrets::{MissingSecret, SecretKeyReference, Secrets};

/// Every definition, in the order in which a person would read them.
pub fn all() -> Vec<CustomResourceDefinition> {
    vec![
        schema::finished(NodeClaim::crd()),
        schema::finished(NodePool::crd()),
        aks_node_class::definition(),
        kaito_node_class::definition(),
        schema::finished(ScalewayNodeClass::crd()),
        schema::finished(PowerNodeClass::crd()),
    ]
}

/// One definition as YAML.
pub fn to_yaml(definition: &CustomResourceDefinition) -> Result<String, NotYaml> {
    serde_saphyr::to_string(definition).map_err(|error| NotYaml(error.to_string()))
}

/// Every definition, as documents of one YAML text.
pub fn yaml() -> Result<String, NotYaml> {
    let documents: Result<Vec<String>, NotYaml> = all().iter().map(to_yaml).collect();
    Ok(documents?.join("---\n"))
}

/// The definitions could not be written as YAML: a bug.
#[derive(Debug, thiserror::Error)]
#[error("writing the custom resource definitions as YAML: {0}")]
pub struct NotYaml(String);
