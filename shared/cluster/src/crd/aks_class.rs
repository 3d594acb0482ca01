//! An AKSNodeClass as the flat text that the AKS provider reads from a request.
//!
//! Azure's class has no place for some of what an agent pool can do, and it is not ours to add one. So these are
//! annotations of the AKSNodeClass:
//!
//! | annotation | key | value |
//! |---|---|---|
//! | `pilotlight.dev/aks-spot` | `spot` | `true`: pools are spot even where the offering is not |
//! | `pilotlight.dev/aks-spot-max-price` | `spotMaxPrice` | USD an hour; -1 for up to the on-demand price |
//! | `pilotlight.dev/aks-zones` | `zones` | `1,2`: zones of pools whose offering names none |
//! | `pilotlight.dev/aks-pod-subnet-id` | `podSubnetID` | a resource ID |
//! | `pilotlight.dev/aks-gpu-instance-profile` | `gpuInstanceProfile` | MIG1g, MIG2g, MIG3g, MIG4g or MIG7g |
//! | `pilotlight.dev/aks-os-disk-type` | `osDiskType` | Managed or Ephemeral |
//! | `pilotlight.dev/aks-capacity-reservation-group-id` | `capacityReservationGroupID` | a resource ID |
//! | `pilotlight.dev/aks-enable-node-public-ip` | `enableNodePublicIP` | `true` |

use super::aks_node_class::AKSNodeClassSpec;
use std::collections::BTreeMap;

const PREFIX: &str = "pilotlight.dev/aks-";

/// What follows the prefix, and the provider's key.
const ANNOTATIONS: [(&str, &str); 8] = [
    ("spot", "spot"),
    ("spot-max-price", "spotMaxPrice"),
    ("zones", "zones"),
    ("pod-subnet-id", "podSubnetID"),
    ("gpu-instance-profile", "gpuInstanceProfile"),
    ("os-disk-type", "osDiskType"),
    ("capacity-reservation-group-id", "capacityReservationGroupID"),
    ("enable-node-public-ip", "enableNodePublicIP"),
];

/// An annotation under our prefix that means nothing. A misspelt one would otherwise be silently without effect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the AKSNodeClass has the annotation {0}, which is not known; known are {known}", known = known())]
pub struct UnknownAnnotation(pub String);

impl AKSNodeClassSpec {
    /// `annotations` are those of the AKSNodeClass; others than ours are left alone.
    pub fn to_class(
        &self,
        annotations: &BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, String>, UnknownAnnotation> {
        let mode = self.gpu.as_ref().and_then(|gpu| gpu.mode.clone());
        let fields = [
            ("vnetSubnetID", self.vnet_subnet_id.clone()),
            ("osDiskSizeGB", self.os_disk_size_gb.map(|size| size.to_string())),
            ("imageFamily", self.image_family.clone()),
            ("maxPods", self.max_pods.map(|pods| pods.to_string())),
            ("gpu.mode", mode),
        ];
        let fields = fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
        let tags = self.tags.iter().map(|(name, value)| (format!("tags.{name}"), value.clone()));
        let mut class: BTreeMap<String, String> = fields.chain(tags).collect();
        for (name, value) in annotations {
            let Some(own) = name.strip_prefix(PREFIX) else { continue };
            let Some((_, key)) = ANNOTATIONS.iter().find(|(known, _)| *known == own) else {
                return Err(UnknownAnnotation(name.clone()));
            };
            class.insert((*key).to_owned(), value.clone());
        }
        Ok(class)
    }
}

fn known() -> String {
    ANNOTATIONS.map(|(name, _)| format!("{PREFIX}{name}")).join(", ")
}
