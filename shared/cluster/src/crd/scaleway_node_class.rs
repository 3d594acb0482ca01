//! `pilotlight.dev/v1alpha1` ScalewayNodeClass: how a GPU instance of Scaleway is made, and how it joins the cluster.

use super::schema::{self, UUID};
use super::secrets::SecretKeyReference;
use k8s_openapi::apimachinery::pkg::{api::resource::Quantity, apis::meta::v1::Condition};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How instances are made and how they join.
#[derive(Debug, Clone, CustomResource, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "pilotlight.dev",
    version = "v1alpha1",
    kind = "ScalewayNodeClass",
    plural = "scalewaynodeclasses",
    shortname = "scwnc",
    category = "pilotlight",
    status = "ScalewayNodeClassStatus",
    doc = "A ScalewayNodeClass says how GPU instances of Scaleway are made, and how they join the cluster.",
    printcolumn(name = "Join", type_ = "string", json_path = ".spec.join.method"),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Image", type_ = "string", json_path = ".spec.image", priority = 1),
    printcolumn(name = "PublicIP", type_ = "string", json_path = ".spec.publicIP", priority = 1),
    printcolumn(name = "Zones", type_ = "string", json_path = ".spec.zones", priority = 1)
)]
#[serde(rename_all = "camelCase")]
pub struct ScalewayNodeClassSpec {
    /// How an instance becomes a node of this cluster.
    pub join: ScalewayJoin,
    /// A label of Scaleway's marketplace, or the ID of an image. The default has NVIDIA's driver.
    #[serde(default = "default_image")]
    #[schemars(length(min = 1, max = 128), regex(pattern = "^[A-Za-z0-9_.-]+$"))]
    pub image: String,
    /// Whether the driver comes with the image or is installed at the first boot. If not set, images with gpu_os in their
    /// label have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<ScalewayDriver>,
    /// The size of the system volume, as in 200G. If not set, what the claim asks for, else 100 GB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_volume_size: Option<Quantity>,
    /// Whether all the local NVMe that the type has is attached. It is empty after every stop.
    #[serde(default)]
    pub scratch: bool,
    /// The address by which the instance reaches the internet: dynamic goes with the instance, flexible is reserved and
    /// released with it, none needs a private network with a gateway.
    #[serde(default, rename = "publicIP")]
    pub public_ip: ScalewayPublicIp,
    /// The ID of the security group; the project's default one if not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = UUID))]
    pub security_group: Option<String>,
    /// The ID of the private network that the instance is attached to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = UUID))]
    pub private_network: Option<String>,
    /// The ID of the project that pays; that of the credentials if not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = UUID))]
    pub project: Option<String>,
    /// The zones where instances may be made, as in fr-par-2; all that have GPUs if there are none here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20), inner(length(max = 32), regex(pattern = "^[a-z]{2}-[a-z]{3}-[1-9]$")))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub zones: Vec<String>,
}

/// How an instance becomes a node of this cluster.
#[derive(Debug, Clone, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = (
    "self.method != 'kubeadm' || (has(self.endpoint) && has(self.caCertHash) && has(self.kubernetesVersion))",
    "join with kubeadm needs endpoint, caCertHash and kubernetesVersion"
))]
#[x_kube(validation = (
    "self.method != 'kubeadm' || !has(self.endpoint) || self.endpoint.matches('^[^/]+:[0-9]+$')",
    "join with kubeadm needs an endpoint such as 10.0.0.1:6443, without https://"
))]
#[x_kube(validation = (
    "self.method != 'k3s' || (has(self.endpoint) && self.endpoint.startsWith('https://'))",
    "join with k3s needs an endpoint such as https://10.0.0.1:6443"
))]
#[x_kube(validation = (
    "self.method != 'kosmos' || (has(self.poolID) && has(self.poolRegion))",
    "join with kosmos needs poolID and poolRegion"
))]
#[x_kube(validation = (
    "self.method == 'kosmos' || (!has(self.poolID) && !has(self.poolRegion))",
    "poolID and poolRegion are for kosmos only"
))]
#[x_kube(validation = (
    "self.method == 'kubeadm' || (!has(self.caCertHash) && !has(self.kubernetesVersion))",
    "caCertHash and kubernetesVersion are for kubeadm only"
))]
pub struct ScalewayJoin {
    /// kubeadm for clusters made with it, k3s for k3s, kosmos for a multi-cloud cluster of Scaleway.
    pub method: ScalewayJoinMethod,
    /// Where nodes reach the API server. kubeadm: host:port; k3s: https://host:port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256), regex(pattern = r"^[!#%&(-\[\]-_a-~]+$"))]
    pub endpoint: Option<String>,
    /// kubeadm: the hash of the cluster's authority, as kubeadm token create --print-join-command prints it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 80), regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    pub ca_cert_hash: Option<String>,
    /// kubeadm: the minor version of the packages that are installed, as in 1.34.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16), regex(pattern = r"^1\.[0-9]{1,3}$"))]
    pub kubernetes_version: Option<String>,
    /// kosmos: the ID of a pool whose node type is external.
    #[serde(default, rename = "poolID", skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = UUID))]
    pub pool_id: Option<String>,
    /// kosmos: the region of that pool, as in fr-par.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16), regex(pattern = "^[a-z]{2}-[a-z]{3}$"))]
    pub pool_region: Option<String>,
    /// external where Scaleway's cloud controller manager runs and names the nodes; none where it does not.
    #[serde(default)]
    pub cloud_provider: ScalewayCloudProvider,
    /// What lets a machine in. kubeadm: a bootstrap token; k3s: the node token; kosmos: a secret key that may register
    /// external nodes.
    pub secret_ref: SecretKeyReference,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ScalewayJoinMethod {
    Kubeadm,
    K3s,
    Kosmos,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ScalewayCloudProvider {
    #[default]
    None,
    External,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ScalewayDriver {
    Install,
    Preinstalled,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ScalewayPublicIp {
    #[default]
    Dynamic,
    Flexible,
    None,
}

/// Whether the class can be used.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
pub struct ScalewayNodeClassStatus {
    /// Ready, and why not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::own_conditions")]
    pub conditions: Vec<Condition>,
}

fn default_image() -> String {
    "ubuntu_jammy_gpu_os_12".to_owned()
}
