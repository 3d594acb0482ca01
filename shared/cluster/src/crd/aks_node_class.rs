//! `karpenter.azure.com` AKSNodeClass: what Azure is told about the nodes of a pool. The same schema serves both versions.

use super::aks_kubelet::{KubeletConfiguration, LinuxOsConfiguration};
use super::aks_local_dns::LocalDns;
use super::schema::{self, finished, with_default_spec};
use k8s_openapi::{
    api::core::v1::NodeSelectorRequirement,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::apis::meta::v1::Condition,
};
use kube::{CustomResource, CustomResourceExt as _, KubeSchema};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What Azure is told about the nodes.
#[derive(Debug, Clone, Default, CustomResource, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "karpenter.azure.com",
    version = "v1beta1",
    kind = "AKSNodeClass",
    plural = "aksnodeclasses",
    shortname = "aksnc",
    shortname = "aksncs",
    category = "karpenter",
    category = "nap",
    status = "AKSNodeClassStatus",
    doc = "An AKSNodeClass says what Azure is told about the nodes of an AKS cluster: image, disk, network, kubelet.",
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "ImageFamily", type_ = "string", json_path = ".spec.imageFamily", priority = 1)
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = (
    "!has(self.fipsMode) || self.fipsMode != 'FIPS' || !has(self.imageFamily) || self.imageFamily != 'Ubuntu2404'",
    "FIPS is not yet supported for Ubuntu2404"
))]
#[x_kube(validation = (
    "!has(self.fipsMode) || self.fipsMode != 'FIPS' || !has(self.imageFamily) || self.imageFamily != 'Ubuntu2204' || \
     (has(self.security) && has(self.security.trustedLaunch))",
    "FIPS with Ubuntu2204 needs security.trustedLaunch"
))]
#[x_kube(validation = (
    "!has(self.fipsMode) || self.fipsMode != 'FIPS' || !has(self.security) || !has(self.security.trustedLaunch) || \
     !has(self.imageFamily) || self.imageFamily in ['Ubuntu', 'Ubuntu2204']",
    "FIPS with security.trustedLaunch is supported for Ubuntu and Ubuntu2204 only"
))]
#[x_kube(validation = (
    "!has(self.linuxOSConfig) || !has(self.linuxOSConfig.swapFileSize) || \
     (has(self.kubelet) && has(self.kubelet.failSwapOn) && !self.kubelet.failSwapOn)",
    "kubelet.failSwapOn must be set to false when linuxOSConfig.swapFileSize is specified"
))]
pub struct AKSNodeClassSpec {
    /// The subnet of the nodes, as a resource ID; the cluster's own if not set.
    #[serde(default, rename = "vnetSubnetID", skip_serializing_if = "Option::is_none")]
    #[schemars(regex(
        pattern = r"(?i)^/subscriptions/[^/]+/resourceGroups/[a-zA-Z0-9_\-().]{0,89}[a-zA-Z0-9_\-()]/providers/Microsoft\.Network/virtualNetworks/[^/]+/subnets/[^/]+$"
    ))]
    pub vnet_subnet_id: Option<String>,
    /// The size of the system disk in GB.
    #[serde(default, rename = "osDiskSizeGB", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 30, max = 2048), extend("default" = 128))]
    pub os_disk_size_gb: Option<i32>,
    /// Which Linux.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Ubuntu", "Ubuntu2204", "Ubuntu2404", "AzureLinux"], "default" = "Ubuntu"))]
    pub image_family: Option<String>,
    /// Whether only cryptography that FIPS 140 validates is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["FIPS", "Disabled"]))]
    pub fips_mode: Option<String>,
    /// Tags of what is made in Azure.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "tags")]
    #[x_kube(validation = ("self.all(k, size(k) <= 512)", "tags keys must be less than 512 characters"))]
    #[x_kube(validation = (
        "self.all(k, !k.matches('[<>%&?]'))",
        "tags keys must not contain '<', '>', '%', '&', or '?'"
    ))]
    #[x_kube(validation = (r"self.all(k, !k.contains('\\'))", r"tags keys must not contain '\'"))]
    pub tags: BTreeMap<String, String>,
    /// Settings of the kubelet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubelet: Option<KubeletConfiguration>,
    /// How many pods a node takes. If not set: 30 with Azure CNI on the node's subnet, 250 with its overlay or with no
    /// plugin, else 110.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 10, max = 250))]
    pub max_pods: Option<i32>,
    /// Encryption and trusted launch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security: Option<Security>,
    /// A DNS cache on each node.
    #[serde(default, rename = "localDNS", skip_serializing_if = "Option::is_none")]
    pub local_dns: Option<LocalDns>,
    /// GPU nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<Gpu>,
    /// Containers start while their image is still being fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_streaming: Option<ArtifactStreaming>,
    /// Settings of Linux itself.
    #[serde(default, rename = "linuxOSConfig", skip_serializing_if = "Option::is_none")]
    pub linux_os_config: Option<LinuxOsConfiguration>,
}

/// Encryption and trusted launch.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Security {
    /// Whether disks and caches are encrypted on the host too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encryption_at_host: Option<bool>,
    /// Whether only signed software boots, and is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trusted_launch: Option<TrustedLaunch>,
}

/// Whether only signed software boots, and is measured.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrustedLaunch {
    /// A virtual TPM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vtpm: Option<bool>,
    /// Secure boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secure_boot: Option<bool>,
}

/// GPU nodes.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
pub struct Gpu {
    /// Driver: Azure installs NVIDIA's driver. None: you bring it, for example with the GPU Operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Driver", "None"], "default" = "Driver"))]
    pub mode: Option<String>,
}

/// Containers start while their image is still being fetched.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
pub struct ArtifactStreaming {
    /// Whether they do. Not on arm64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// What was found for the class.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct AKSNodeClassStatus {
    /// The images that nodes can be made from, the best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<NodeImage>,
    /// The version of Kubernetes that new nodes get.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes_version: Option<String>,
    /// Whether nodes get the DNS cache.
    #[serde(default, rename = "localDNSState", skip_serializing_if = "Option::is_none")]
    pub local_dns_state: Option<String>,
    /// KubernetesVersionReady, ImagesReady, SubnetsReady, ValidationSucceeded, LocalDNSReady and Ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}

/// An image, and the machines it is for.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
pub struct NodeImage {
    /// Its resource ID.
    pub id: String,
    /// What the labels of such machines are.
    #[serde(default)]
    pub requirements: Vec<NodeSelectorRequirement>,
}

/// Stored as v1beta1; v1alpha2 is the same under its old name. Everything has a default, so `spec` may be absent.
pub(super) fn definition() -> CustomResourceDefinition {
    let mut definition = with_default_spec(finished(AKSNodeClass::crd()));
    let older = definition.spec.versions.first().cloned().map(|mut version| {
        version.name = "v1alpha2".to_owned();
        version.storage = false;
        version.deprecated = Some(true);
        version.deprecation_warning = Some("use karpenter.azure.com/v1beta1 AKSNodeClass instead".to_owned());
        version
    });
    definition.spec.versions.extend(older);
    definition
}

fn tags(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        // What Azure takes.
        "maxProperties": 50,
        "additionalProperties": { "type": "string", "maxLength": 256 }
    })
}
