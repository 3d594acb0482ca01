//! Names and labels: which pool a claim has, and whose a pool is.

use model::{Effect, InstanceKey, ObjectName, Taint, Uid};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;

/// The owner of a pool: the UID of the claim it was made for.
pub const CLAIM_UID: &str = "pilotlight.dev/claim-uid";
/// The claim's name, where the pool could not have it.
pub const CLAIM_NAME: &str = "pilotlight.dev/claim-name";
/// The same as a tag, for names longer than a label may be. Tags have no slash.
pub const CLAIM_NAME_TAG: &str = "pilotlight.dev-claim-name";
/// The tag with the UID of the cluster whose claim a pool was made for.
pub const CLUSTER_UID_TAG: &str = "pilotlight.dev-cluster-uid";
/// What gpu-provisioner writes, and looks for.
pub const NODEPOOL: &str = "karpenter.sh/nodepool";
pub const MACHINE_TYPE: &str = "kaito.sh/machine-type";
pub const CREATION_TIMESTAMP: &str = "kaito.sh/creation-timestamp";
pub const IMAGE_FAMILY: &str = "kaito.sh/node-image-family";

const POOL_NAME_LENGTH: usize = 12;
const LONGEST_LABEL: usize = 63;

/// The pool of a claim: its own name where AKS takes it, else twelve characters made from the UID.
pub fn pool_name(key: &InstanceKey) -> String {
    if is_pool_name(key.name.as_str()) { key.name.as_str().to_owned() } else { derived_name(&key.claim) }
}

/// `^[a-z][a-z0-9]{0,11}$`
pub(crate) fn is_pool_name(name: &str) -> bool {
    name.len() <= POOL_NAME_LENGTH
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

/// `p` and eleven of 36 characters: more than 10^17 names, the same for the same UID on every machine.
fn derived_name(claim: &Uid) -> String {
    const LETTERS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let digest = Sha256::digest(claim.as_str().as_bytes());
    let mut number = digest.iter().take(16).fold(0_u128, |number, byte| (number << 8) | u128::from(*byte));
    let mut name = String::from("p");
    for _ in 1..POOL_NAME_LENGTH {
        let letter = usize::try_from(number % 36).ok().and_then(|at| LETTERS.get(at)).copied().unwrap_or(b'0');
        name.push(char::from(letter));
        number /= 36;
    }
    name
}

/// Whose a pool is, seen from one claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    Ours,
    /// Made here for a claim that has another UID; the name came back.
    OtherClaim,
    Foreign,
}

/// `created` is the claim's creation-timestamp label where it is known. gpu-provisioner wrote no UID: its pools are known by
/// their three labels, the claim's own name and, where known, the moment the claim was made.
pub(crate) fn owner(pool: &str, labels: &BTreeMap<String, String>, key: &InstanceKey, created: Option<&str>) -> Owner {
    match labels.get(CLAIM_UID) {
        Some(uid) if uid == key.claim.as_str() => Owner::Ours,
        Some(_) => Owner::OtherClaim,
        None => {
            let legacy = [NODEPOOL, MACHINE_TYPE].iter().all(|label| labels.contains_key(*label));
            let stamp = labels.get(CREATION_TIMESTAMP);
            let same = stamp.is_some_and(|stamp| created.is_none_or(|created| created == stamp));
            if legacy && same && pool == key.name.as_str() { Owner::Ours } else { Owner::Foreign }
        }
    }
}

/// The claim a pool was made for, by what is written on it. `None` for what is not ours.
pub(crate) fn key_of(
    pool: &str,
    labels: &BTreeMap<String, String>,
    tags: &BTreeMap<String, String>,
) -> Option<InstanceKey> {
    let claim = Uid::new(labels.get(CLAIM_UID)?.as_str()).ok()?;
    let name = labels.get(CLAIM_NAME).or_else(|| tags.get(CLAIM_NAME_TAG)).map_or(pool, String::as_str);
    Some(InstanceKey { claim, name: ObjectName::new(name).ok()? })
}

/// At most 63 letters, digits, `-`, `_`, `.`, beginning and ending with a letter or digit; or nothing.
pub(crate) fn is_label_value(text: &str) -> bool {
    let edge = |byte: Option<u8>| byte.is_none_or(|byte| byte.is_ascii_alphanumeric());
    text.len() <= LONGEST_LABEL
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        && edge(text.bytes().next())
        && edge(text.bytes().next_back())
}

/// `name` or `prefix/name`. AKS keeps the prefix `kubernetes.azure.com` for itself.
pub(crate) fn is_label_key(key: &str) -> bool {
    let (prefix, name) = key.rsplit_once('/').unwrap_or(("", key));
    let reserved = prefix == "kubernetes.azure.com" && name != "scalesetpriority";
    !reserved && !name.is_empty() && is_label_value(name) && prefix.len() <= 253
}

/// The pool a Node's provider ID belongs to: the second word of its scale set's name, `aks-gpu1-12345678-vmss`.
pub fn pool_of_provider_id(provider_id: &str) -> Option<&str> {
    let (_, rest) = provider_id.split_once("/virtualMachineScaleSets/")?;
    let (scale_set, _) = rest.split_once("/virtualMachines/")?;
    let mut words = scale_set.split('-');
    (words.next() == Some("aks")).then_some(())?;
    words.next().filter(|pool| is_pool_name(pool))
}

/// AKS puts it on every spot pool, and refuses to take it off.
pub fn spot_taint() -> Taint {
    Taint { key: "kubernetes.azure.com/scalesetpriority".into(), value: "spot".into(), effect: Effect::NoSchedule }
}
