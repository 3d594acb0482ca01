//! A ScalewayNodeClass as the flat text that the Scaleway provider reads from a request.

use super::scaleway_node_class::{
    ScalewayCloudProvider, ScalewayDriver, ScalewayJoinMethod, ScalewayNodeClassSpec, ScalewayPublicIp,
};
use super::secrets::{MissingSecret, SecretKeyReference, Secrets};
use std::collections::BTreeMap;

impl ScalewayNodeClassSpec {
    /// Which Secrets have to be read before [`Self::to_class`].
    pub fn needed_secrets(&self) -> Vec<SecretKeyReference> {
        vec![self.join.secret_ref.clone()]
    }

    /// The keys are those that the provider documents; `zones` is for whoever chooses offerings.
    pub fn to_class(&self, secrets: &Secrets) -> Result<BTreeMap<String, String>, MissingSecret> {
        let join = &self.join;
        let (method, secret_key) = match join.method {
            ScalewayJoinMethod::Kubeadm => ("kubeadm", "join.token"),
            ScalewayJoinMethod::K3s => ("k3s", "join.token"),
            ScalewayJoinMethod::Kosmos => ("kosmos", "join.secret-key"),
        };
        let cloud_provider = match join.cloud_provider {
            ScalewayCloudProvider::None => "none",
            ScalewayCloudProvider::External => "external",
        };
        let driver = self.driver.map(|driver| match driver {
            ScalewayDriver::Install => "install",
            ScalewayDriver::Preinstalled => "preinstalled",
        });
        let public_ip = match self.public_ip {
            ScalewayPublicIp::Dynamic => "dynamic",
            ScalewayPublicIp::Flexible => "flexible",
            ScalewayPublicIp::None => "none",
        };
        let zones = self.zones.join(",");
        let pairs = [
            ("join", Some(method)),
            ("join.endpoint", join.endpoint.as_deref()),
            (secret_key, Some(secrets.get(&join.secret_ref)?)),
            ("join.ca-cert-hash", join.ca_cert_hash.as_deref()),
            ("join.kubernetes-version", join.kubernetes_version.as_deref()),
            ("join.pool-id", join.pool_id.as_deref()),
            ("join.pool-region", join.pool_region.as_deref()),
            ("join.cloud-provider", Some(cloud_provider)),
            ("image", Some(self.image.as_str())),
            ("driver", driver),
            ("root-volume-size", self.root_volume_size.as_ref().map(|size| size.0.as_str())),
            ("scratch", Some(if self.scratch { "true" } else { "false" })),
            ("public-ip", Some(public_ip)),
            ("security-group", self.security_group.as_deref()),
            ("private-network", self.private_network.as_deref()),
            ("project", self.project.as_deref()),
            ("zones", Some(zones.as_str()).filter(|zones| !zones.is_empty())),
        ];
        let said = pairs.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.to_owned())));
        Ok(said.collect())
    }
}
