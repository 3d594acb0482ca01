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
/// The UID of the cluster's namespace kube-system: no two clusters share it, whatever their settings say.
const CLUSTER_UID: &str = "pilotlight-cluster-uid";
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

/// The cluster that we work for, as tags say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Home<'a> {
    /// As its settings call it.
    pub name: &'a str,
    /// `None` where nobody could find out.
    pub uid: Option<&'a str>,
}

pub(crate) fn tags_of(key: &InstanceKey, home: Home<'_>) -> Vec<String> {
    let mut tags = vec![
        MADE_BY_US.to_owned(),
        format!("{CLAIM_UID}={}", key.claim),
        format!("{CLAIM_NAME}={}", key.name),
        format!("{CLUSTER}={}", home.name),
    ];
    tags.extend(home.uid.map(|uid| format!("{CLUSTER_UID}={uid}")));
    tags
}

/// Existing tags with ours: what somebody else wrote there stays.
pub(crate) fn with_ours(existing: &[String], key: &InstanceKey, home: Home<'_>) -> Vec<String> {
    let mut tags = existing.to_vec();
    tags.extend(tags_of(key, home).into_iter().filter(|tag| !existing.contains(tag)));
    tags
}

/// The key that tags name, unless they are of another cluster; and whether they prove that they are of this one.
pub(crate) fn key_in(tags: &[String], home: Home<'_>) -> Option<(InstanceKey, bool)> {
    if is_of_another_cluster(tags, home) || value(tags, CLUSTER).is_none() {
        return None;
    }
    let claim = Uid::new(value(tags, CLAIM_UID)?).ok()?;
    let name = value(tags, CLAIM_NAME).and_then(|name| ObjectName::new(name).ok());
    // A name that was edited away must not hide a machine that is paid for.
    let name = name.or_else(|| ObjectName::new("unnamed").ok())?;
    let is_proved = home.uid.is_some() && value(tags, CLUSTER_UID) == home.uid;
    Some((InstanceKey { claim, name }, is_proved))
}

/// By its UID, or by its name where there is none: a cluster may be renamed.
pub(crate) fn is_of_another_cluster(tags: &[String], home: Home<'_>) -> bool {
    match (value(tags, CLUSTER_UID), home.uid) {
        (Some(other), Some(own)) => other != own,
        (None, _) | (_, None) => value(tags, CLUSTER).is_some_and(|other| other != home.name),
    }
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

    const EAST: Home<'_> = Home { name: "east", uid: Some("e-1") };

    #[test]
    fn a_key_survives_the_way_through_tags() {
        let tags = tags_of(&key("u-1"), EAST);
        assert_eq!(key_in(&tags, EAST), Some((key("u-1"), true)));
        assert_eq!(key_in(&tags, Home { name: "west", uid: None }), None, "it is another cluster's");
        assert_eq!(key_in(&["created-by=pilotlight".to_owned()], EAST), None);
    }

    #[test]
    fn two_clusters_with_the_same_name_are_two_clusters() {
        let tags = tags_of(&key("u-1"), EAST);
        assert_eq!(key_in(&tags, Home { uid: Some("e-2"), ..EAST }), None);
        assert!(is_of_another_cluster(&tags, Home { uid: Some("e-2"), ..EAST }));
        assert_eq!(key_in(&tags, Home { name: "renamed", ..EAST }), Some((key("u-1"), true)));
    }

    #[test]
    fn without_the_uid_of_the_cluster_nothing_is_proved() {
        let nameless = Home { uid: None, ..EAST };
        assert_eq!(key_in(&tags_of(&key("u-1"), nameless), EAST), Some((key("u-1"), false)));
        assert_eq!(key_in(&tags_of(&key("u-1"), EAST), nameless), Some((key("u-1"), false)));
    }

    #[test]
    fn tags_of_somebody_else_stay() {
        let tags = with_ours(&["cost-centre=7".to_owned()], &key("u-1"), EAST);
        assert_eq!((tags.len(), tags[0].as_str()), (6, "cost-centre=7"));
        assert_eq!(with_ours(&tags, &key("u-1"), EAST), tags);
    }

    #[test]
    fn a_uid_that_could_not_be_found_again_is_refused() {
        assert_eq!(claim_tag(&key("a,b")).unwrap_err().reason(), "InvalidRequest");
    }
}
