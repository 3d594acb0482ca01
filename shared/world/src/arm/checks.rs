//! What AKS refuses in a pool before it starts anything.

use super::{answer::Refusal, catalogue::Size, options::ArmOptions, properties::Properties};

pub(super) fn pool_name(name: &str) -> Result<(), Refusal> {
    let mut letters = name.bytes();
    let good = letters.next().is_some_and(|first| first.is_ascii_lowercase())
        && letters.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        && name.len() <= 12;
    if good { Ok(()) } else { Err(invalid("name", " Please see https://aka.ms/aks-naming-rules for more details.")) }
}

/// `InvalidParameter` as AKS words it, with the member as target.
fn invalid(member: &str, more: &str) -> Refusal {
    let target = format!("agentPoolProfile.{member}");
    Refusal::bad("InvalidParameter", format!("The value of parameter {target} is invalid.{more}")).target(&target)
}

pub(super) fn size(properties: &Properties, options: &ArmOptions) -> Result<&'static Size, Refusal> {
    let Some(name) = &properties.vm_size else {
        let message = "Required parameter agentPoolProfile.vmSize is missing (null).";
        return Err(Refusal::bad("InvalidParameter", message).target("agentPoolProfile.vmSize"));
    };
    let location = &options.location;
    let restricted = options.restricted_sizes.iter().any(|own| own.eq_ignore_ascii_case(name));
    Size::named(name).filter(|_| !restricted).ok_or_else(|| {
        let message = format!("The VM size of {name} is not allowed in your subscription in location '{location}'.");
        Refusal::bad("VMSizeNotSupported", message).target("agentPoolProfile.vmSize")
    })
}

pub(super) fn all(properties: &Properties, size: &Size, options: &ArmOptions) -> Result<(), Refusal> {
    counts(properties, options)?;
    enums(properties)?;
    zones(properties, size, options)?;
    if properties.is_spot() {
        if !size.spot {
            return Err(invalid("scaleSetPriority", &format!(" VM size {} does not support Spot.", size.name)));
        }
        if properties.is_system() {
            return Err(invalid("scaleSetPriority", " A Spot pool cannot be a System pool."));
        }
    } else if properties.scale_set_eviction_policy.as_deref() == Some("Deallocate")
        || properties.spot_max_price.is_some()
    {
        return Err(invalid("scaleSetEvictionPolicy", " It needs scaleSetPriority Spot."));
    }
    if let Some(profile) = &properties.gpu_instance_profile
        && size.slices(profile).is_none()
    {
        let more = format!(" GPU instance profile {profile} is not supported on VM size {}.", size.name);
        return Err(invalid("gpuInstanceProfile", &more));
    }
    if properties.os_disk_size_gb.is_some_and(|gib| !(30..=2048).contains(&gib)) {
        return Err(invalid("osDiskSizeGB", " It must be 0, or between 30 and 2048."));
    }
    if properties.max_pods.is_some_and(|pods| !(10..=250).contains(&pods)) {
        return Err(invalid("maxPods", " It must be between 10 and 250."));
    }
    for taint in properties.node_taints.iter().flatten() {
        if read_taint(taint).is_none() {
            return Err(invalid("nodeTaints", &format!(" '{taint}' is not a taint.")));
        }
    }
    labels(properties)
}

fn counts(properties: &Properties, options: &ArmOptions) -> Result<(), Refusal> {
    let count = properties.count.unwrap_or(1);
    if count > options.limits.nodes_in_a_pool || (count == 0 && properties.is_system()) {
        return Err(invalid("count", ""));
    }
    if properties.enable_auto_scaling == Some(true) {
        let (least, most) = (properties.min_count, properties.max_count);
        if !matches!((least, most), (Some(least), Some(most)) if least <= most) {
            return Err(invalid("minCount", " With enableAutoScaling, minCount and maxCount are needed."));
        }
    }
    Ok(())
}

fn enums(properties: &Properties) -> Result<(), Refusal> {
    let rules: [(&str, &Option<String>, &[&str]); 8] = [
        ("type", &properties.kind, &["VirtualMachineScaleSets"]),
        ("mode", &properties.mode, &["System", "User"]),
        ("osType", &properties.os_type, &["Linux"]),
        ("osSKU", &properties.os_sku, &["Ubuntu", "Ubuntu2204", "Ubuntu2404", "AzureLinux", "AzureLinux3"]),
        ("osDiskType", &properties.os_disk_type, &["Managed", "Ephemeral"]),
        ("scaleSetPriority", &properties.scale_set_priority, &["Regular", "Spot"]),
        ("scaleSetEvictionPolicy", &properties.scale_set_eviction_policy, &["Delete", "Deallocate"]),
        ("gpuInstanceProfile", &properties.gpu_instance_profile, &["MIG1g", "MIG2g", "MIG3g", "MIG4g", "MIG7g"]),
    ];
    for (member, value, allowed) in rules {
        if value.as_ref().is_some_and(|value| !allowed.contains(&value.as_str())) {
            return Err(invalid(member, &format!(" Supported here: {}.", allowed.join(", "))));
        }
    }
    Ok(())
}

fn zones(properties: &Properties, size: &Size, options: &ArmOptions) -> Result<(), Refusal> {
    let supported = if size.zonal { options.zones.as_slice() } else { &[] };
    let wanted = properties.availability_zones.as_deref().unwrap_or_default();
    if wanted.iter().all(|zone| supported.contains(zone)) {
        return Ok(());
    }
    let message = format!(
        "Preflight validation check failed. The zone(s) '{}' for resource 'agentpool' is not supported. The supported zones for location '{}' are '{}'.",
        wanted.join(","),
        options.location,
        supported.join(",")
    );
    Err(Refusal::bad("AvailabilityZoneNotSupported", message))
}

fn labels(properties: &Properties) -> Result<(), Refusal> {
    for (key, value) in properties.node_labels.iter().flatten() {
        let (prefix, name) = key.rsplit_once('/').unwrap_or(("", key));
        let reserved = prefix == "kubernetes.azure.com" && name != "scalesetpriority";
        if reserved || !is_label_text(name) || name.is_empty() || prefix.len() > 253 || !is_label_text(value) {
            return Err(invalid("nodeLabels", &format!(" '{key}={value}' is not a label this pool may have.")));
        }
    }
    Ok(())
}

/// At most 63 letters, digits, `-`, `_`, `.`, beginning and ending with a letter or digit; or nothing.
fn is_label_text(text: &str) -> bool {
    let edge = |byte: Option<u8>| byte.is_none_or(|byte| byte.is_ascii_alphanumeric());
    text.len() <= 63
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        && edge(text.bytes().next())
        && edge(text.bytes().next_back())
}

/// `key=value:Effect`, `key=:Effect` or `key:Effect` as (key, value, effect).
pub(super) fn read_taint(text: &str) -> Option<(String, String, String)> {
    let (rest, effect) = text.rsplit_once(':')?;
    let (key, value) = rest.split_once('=').unwrap_or((rest, ""));
    let good =
        ["NoSchedule", "PreferNoSchedule", "NoExecute"].contains(&effect) && !key.is_empty() && is_label_text(value);
    good.then(|| (key.to_owned(), value.to_owned(), effect.to_owned()))
}
