//! The machine a booted server is to the cluster: its node name, provider ID, labels, taints and capacity.

use super::{
    Scaleway, catalogue,
    state::{Server, State},
};
use crate::fleet::Machine;
use std::{collections::BTreeMap, time::Duration};

type Taint = (String, String, String);

impl Scaleway {
    /// `None` if the server's first boot found nothing that joins.
    pub(super) fn machine(&self, state: &State, id: &str, accelerator_after: Option<Duration>) -> Option<Machine> {
        let server = state.servers.get(id)?;
        let join = server.first_boot.clone().flatten()?;
        let offered = catalogue::find(&server.commercial_type, &server.zone)?;
        let node = join.node.clone().unwrap_or_else(|| server.name.clone());
        let arch = if offered.arch == "arm64" { "arm64" } else { "amd64" };
        let mut labels: BTreeMap<String, String> = join.labels.clone();
        let mut taints = join.taints.clone();
        let mut label = |key: &str, value: &str| labels.insert(key.to_owned(), value.to_owned());
        label("kubernetes.io/hostname", &node);
        label("kubernetes.io/arch", arch);
        label("kubernetes.io/os", "linux");
        let mut provider_id = join.provider_id.clone().unwrap_or_default();
        // The controller finds an instance by the node's provider ID, or by a name equal to the instance's.
        let own_id = format!("scaleway://instance/{}/{}", server.zone, server.id);
        if state.options.cloud_controller_manager
            && (provider_id == own_id || (provider_id.is_empty() && node == server.name))
        {
            provider_id = own_id;
            let region = server.zone.rsplit_once('-').map_or(server.zone.as_str(), |(region, _)| region);
            label("node.kubernetes.io/instance-type", &server.commercial_type);
            label("topology.kubernetes.io/zone", &server.zone);
            label("topology.kubernetes.io/region", region);
            sync_tags(&server.tags, &mut labels, &mut taints);
        }
        let has_driver = server.image.with_gpu_driver || join.installs_driver;
        let boot = self.inner.chance.stream(&format!("boot/{id}/{}", server.power_ons));
        Some(Machine {
            node,
            provider_id,
            labels,
            annotations: BTreeMap::new(),
            taints,
            capacity: capacity(state, server, offered),
            accelerator: offered.gpu.map(|(_, count, _)| ("nvidia.com/gpu".to_owned(), count)),
            accelerator_after: accelerator_after.filter(|_| has_driver),
            boot_id: boot.uuid(),
        })
    }
}

fn capacity(state: &State, server: &Server, offered: &catalogue::CommercialType) -> BTreeMap<String, String> {
    let root = server.volumes.get("0").map_or(0, |slot| {
        let block = state.blocks.get(&slot.id).map(|block| block.size);
        block.or_else(|| state.volumes.get(&slot.id).map(|volume| volume.size)).unwrap_or_default()
    });
    let entries = [
        ("cpu", offered.cpus.to_string()),
        // The guest sees a little less memory than is sold.
        ("memory", format!("{}Ki", (offered.memory_gib << 20) / 1000 * 985)),
        ("ephemeral-storage", format!("{}Ki", root / 1024)),
        ("pods", "110".to_owned()),
    ];
    entries.map(|(name, quantity)| (name.to_owned(), quantity)).into()
}

/// Tags become labels and taints: `k=v`, `noprefix=k=v`, `taint=k=v:Effect`, `taint=noprefix=k=v:Effect`.
fn sync_tags(tags: &[String], labels: &mut BTreeMap<String, String>, taints: &mut Vec<Taint>) {
    for tag in tags {
        let (is_taint, rest) = tag.strip_prefix("taint=").map_or((false, tag.as_str()), |rest| (true, rest));
        let (bare, rest) = rest.strip_prefix("noprefix=").map_or((false, rest), |rest| (true, rest));
        let (pair, effect) = if is_taint { rest.rsplit_once(':').unwrap_or((rest, "")) } else { (rest, "") };
        let Some((key, value)) = pair.split_once('=') else { continue };
        let value = value.split([':', '=', ' ']).next().unwrap_or_default().to_owned();
        let key = if bare { key.to_owned() } else { format!("k8s.scaleway.com/{key}") };
        if !is_taint {
            labels.insert(key, value);
        } else if !effect.is_empty() {
            taints.push((key, value, effect.to_owned()));
        }
    }
}
