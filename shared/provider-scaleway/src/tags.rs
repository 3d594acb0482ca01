//! How things in Scaleway say whose they are: by tags, for names are not unique there and volumes have no owner.
//!
//! Keys have no slash: Scaleway's cloud controller manager makes a label `k8s.scaleway.com/<key>` of each tag, and with one
//! the API server would refuse everything it writes to the Node.

use model::{InstanceKey, ObjectName, Uid};
use provider::ProviderError;

/// The identity. Everything of a claim carries it: server, volumes, addresses.
const CLAIM_UID: &str = "pilotlight-claim-uid";
/// For people, and to name the key again when the claim is gone.
const CLAIM_NAME: &str = "pilotlight-claim";
const CLUSTER: &str = "pilotlight-cluster";
/// Finds everything that was made by us, whoever's it is.
pub(crate) const MADE_BY_US: &str = "created-by=pilotlight";

/// The tag to find the things of a key. A comma would end the tag in a query, and the key would not be found again.
pub(crate) fn claim_tag(key: &InstanceKey) -> Result<String, ProviderError> {
    if key.claim.as_str().contains(',') {
        return Err(ProviderError::InvalidRequest {
            doing: format!("finding the server of {}", key.name),
            why: "the UID of the claim has a comma; Scaleway's filters cannot hold one".to_owned(),
        });
    }
    Ok(format!("{CLAIM_UID}={}", key.claim))
}

pub(crate) fn tags_of(key: &InstanceKey, cluster: &str) -> Vec<String> {
    vec![
        MADE_BY_US.to_owned(),
        format!("{CLAIM_UID}={}", key.claim),
        format!("{CLAIM_NAME}={}", key.name),
        format!("{CLUSTER}={cluster}"),
    ]
}

/// Existing tags with ours: what somebody else wrote there stays.
pub(crate) fn with_ours(existing: &[String], key: &InstanceKey, cluster: &str) -> Vec<String> {
    let mut tags = existing.to_vec();
    tags.extend(tags_of(key, cluster).into_iter().filter(|tag| !existing.contains(tag)));
    tags
}

/// The key that tags name, if they are of this cluster.
pub(crate) fn key_in(tags: &[String], cluster: &str) -> Option<InstanceKey> {
    if is_of_another_cluster(tags, cluster) || value(tags, CLUSTER).is_none() {
        return None;
    }
    let claim = Uid::new(value(tags, CLAIM_UID)?).ok()?;
    let name = value(tags, CLAIM_NAME).and_then(|name| ObjectName::new(name).ok());
    // A name that was edited away must not hide a machine that is paid for.
    let name = name.or_else(|| ObjectName::new("unnamed").ok())?;
    Some(InstanceKey { claim, name })
}

pub(crate) fn is_of_another_cluster(tags: &[String], cluster: &str) -> bool {
    value(tags, CLUSTER).is_some_and(|other| other != cluster)
}

fn value<'a>(tags: &'a [String], key: &str) -> Option<&'a str> {
    tags.iter().find_map(|tag| tag.strip_prefix(key)?.strip_prefix('='))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn key(uid: &str) -> InstanceKey {
        InstanceKey { claim: Uid::new(uid).unwrap(), name: ObjectName::new("train-0").unwrap() }
    }

    #[test]
    fn a_key_survives_the_way_through_tags() {
        let tags = tags_of(&key("u-1"), "east");
        assert_eq!(key_in(&tags, "east"), Some(key("u-1")));
        assert_eq!(key_in(&tags, "west"), None, "it is another cluster's");
        assert_eq!(key_in(&["created-by=pilotlight".to_owned()], "east"), None);
    }

    #[test]
    fn tags_of_somebody_else_stay() {
        let tags = with_ours(&["cost-centre=7".to_owned()], &key("u-1"), "east");
        assert_eq!((tags.len(), tags[0].as_str()), (5, "cost-centre=7"));
        assert_eq!(with_ours(&tags, &key("u-1"), "east"), tags);
    }

    #[test]
    fn a_uid_that_could_not_be_found_again_is_refused() {
        assert_eq!(claim_tag(&key("a,b")).unwrap_err().reason(), "InvalidRequest");
    }
}
