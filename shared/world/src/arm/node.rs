//! A virtual machine as its kubelet reports it: name, provider ID, labels, taints, capacity, accelerator.

use super::{
    checks::read_taint,
    options::{ArmOptions, MigStrategy},
    state::{Instance, Pool},
};
use crate::fleet::Machine;
use std::collections::BTreeMap;

/// The scale set's instance number in six digits of base 36, as in node names.
pub(super) fn suffix(number: u64) -> String {
    let mut rest = number;
    let mut digits = Vec::with_capacity(6);
    for _ in 0..6 {
        digits.push(char::from_digit(u32::try_from(rest % 36).unwrap_or(0), 36).unwrap_or('0'));
        rest /= 36;
    }
    digits.iter().rev().collect()
}

pub(super) fn machine(pool: &Pool, instance: &Instance, options: &ArmOptions) -> Machine {
    let provider_id = format!(
        "azure:///subscriptions/{}/resourceGroups/{}/providers/Microsoft.Compute/virtualMachineScaleSets/{}/virtualMachines/{}",
        options.subscription,
        // The cloud provider writes the group in lower case, whatever its real case.
        options.node_resource_group().to_ascii_lowercase(),
        pool.scale_set,
        instance.number
    );
    let taints = pool.properties.node_taints.iter().flatten().filter_map(|taint| read_taint(taint)).collect();
    Machine {
        node: instance.node.clone(),
        provider_id,
        labels: labels(pool, instance, options),
        annotations: BTreeMap::new(),
        taints,
        capacity: capacity(pool),
        accelerator: accelerator(pool, options),
        accelerator_after: if has_driver(pool, options) { instance.gpu_after } else { None },
        boot_id: instance.boot_id.clone(),
    }
}

fn labels(pool: &Pool, instance: &Instance, options: &ArmOptions) -> BTreeMap<String, String> {
    let properties = &pool.properties;
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    // A machine without a zone reports its fault domain in the zone label, and nothing to the disk driver.
    let zone = instance.zone.as_ref().map(|zone| format!("{}-{zone}", options.location));
    let place = zone.clone().unwrap_or_else(|| "0".into());
    let mode = text(&properties.mode).to_ascii_lowercase();
    let mut labels: BTreeMap<String, String> = properties.node_labels.clone().unwrap_or_default();
    let own = [
        ("agentpool", pool.name.clone()),
        ("kubernetes.azure.com/agentpool", pool.name.clone()),
        ("kubernetes.azure.com/cluster", options.node_resource_group()),
        ("kubernetes.azure.com/mode", mode),
        ("kubernetes.azure.com/role", "agent".into()),
        ("kubernetes.azure.com/nodepool-type", text(&properties.kind)),
        ("kubernetes.azure.com/node-image-version", image_version(pool)),
        ("kubernetes.azure.com/os-sku", text(&properties.os_sku)),
        ("kubernetes.azure.com/os-sku-effective", text(&properties.os_sku)),
        ("kubernetes.azure.com/os-sku-requested", text(&properties.os_sku)),
        ("kubernetes.azure.com/storageprofile", text(&properties.os_disk_type).to_ascii_lowercase()),
        ("kubernetes.azure.com/storagetier", "Premium_LRS".into()),
        ("kubernetes.azure.com/sku-cpu", pool.size.vcpus.to_string()),
        ("kubernetes.azure.com/sku-memory", (pool.size.memory_gib * 1024).to_string()),
        ("kubernetes.io/arch", "amd64".into()),
        ("kubernetes.io/os", "linux".into()),
        ("kubernetes.io/hostname", instance.node.clone()),
        ("beta.kubernetes.io/arch", "amd64".into()),
        ("beta.kubernetes.io/os", "linux".into()),
        ("beta.kubernetes.io/instance-type", pool.size.name.into()),
        ("node.kubernetes.io/instance-type", pool.size.name.into()),
        ("topology.kubernetes.io/region", options.location.clone()),
        ("topology.kubernetes.io/zone", place.clone()),
        ("failure-domain.beta.kubernetes.io/region", options.location.clone()),
        ("failure-domain.beta.kubernetes.io/zone", place),
        ("topology.disk.csi.azure.com/zone", zone.unwrap_or_default()),
    ];
    labels.extend(own.map(|(key, value)| (key.to_owned(), value)));
    if let Some(maker) = pool.size.maker() {
        labels.insert("accelerator".into(), maker.into());
        labels.insert("kubernetes.azure.com/accelerator".into(), maker.into());
    }
    labels
}

pub(super) fn image_version(pool: &Pool) -> String {
    let linux = match pool.properties.os_sku.as_deref() {
        Some("AzureLinux" | "AzureLinux3") => "AKSAzureLinux-V3gen2",
        Some("Ubuntu2404") => "AKSUbuntu-2404gen2containerd",
        _ => "AKSUbuntu-2204gen2containerd",
    };
    format!("{linux}-202512.06.0")
}

fn capacity(pool: &Pool) -> BTreeMap<String, String> {
    // The kernel and firmware keep about a fiftieth, and the file system its share of the disk.
    let memory = pool.size.memory_gib * 1024 * 1024 * 98 / 100;
    let disk = u64::from(pool.properties.os_disk_size_gb.unwrap_or(128)) * 1024 * 1024 * 97 / 100;
    let own = [
        ("cpu", pool.size.vcpus.to_string()),
        ("memory", format!("{memory}Ki")),
        ("ephemeral-storage", format!("{disk}Ki")),
        ("pods", pool.properties.max_pods.unwrap_or(110).to_string()),
    ];
    own.map(|(name, value)| (name.to_owned(), value)).into()
}

fn accelerator(pool: &Pool, options: &ArmOptions) -> Option<(String, u64)> {
    let resource = format!("{}.com/gpu", pool.size.maker()?);
    let profile = pool.properties.gpu_instance_profile.as_deref();
    let Some((slice, slices)) = profile.and_then(|profile| pool.size.slices(profile)) else {
        return Some((resource, pool.size.gpus));
    };
    let resource = if options.mig_strategy == MigStrategy::Mixed { format!("nvidia.com/{slice}") } else { resource };
    Some((resource, slices * pool.size.gpus))
}

/// Without a driver there is no device plug-in, and so never a GPU to allocate.
fn has_driver(pool: &Pool, options: &ArmOptions) -> bool {
    let none = pool.properties.gpu_profile.as_ref().and_then(|profile| profile.driver.as_deref()) == Some("None");
    !none || options.gpu_operator
}
