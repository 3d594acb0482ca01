//! What a claim requires, in the names that its provider's offerings use.

use decide::claim::ClassSeen;
use model::{Claim, Operator, Requirement, Taint, names};
use provider_scaleway::names as scaleway;

use super::power::CLASS_LABEL;

/// What a cloud puts on its spot machines, whatever their pool says: Azure wants pods to say that they bear eviction.
pub fn spot_taints(provider: &str) -> Vec<Taint> {
    match provider {
        provider_aks::PROVIDER => vec![provider_aks::spot_taint()],
        _ => vec![],
    }
}

pub fn requirements_for(provider: &str, claim: &Claim, class: &ClassSeen) -> Vec<Requirement> {
    let mut requirements = claim.requirements.clone();
    let said = |key: &str| match class {
        ClassSeen::Known(fields) => fields.get(key).map(String::as_str),
        ClassSeen::NotReady { .. } => None,
    };
    match provider {
        provider_scaleway::PROVIDER => {
            requirements.iter_mut().for_each(in_scaleways_names);
            let zones = said("zones").map(|zones| one_of(names::ZONE, zones.split(',')));
            requirements.extend(zones);
        }
        provider_aks::PROVIDER => requirements.iter_mut().for_each(in_azures_spelling),
        _ => requirements.extend(said(CLASS_LABEL).map(|class| one_of(CLASS_LABEL, [class]))),
    }
    requirements
}

fn one_of<'a>(key: &str, values: impl IntoIterator<Item = &'a str>) -> Requirement {
    let values = values.into_iter().map(str::to_owned).collect();
    Requirement { key: key.to_owned(), operator: Operator::In, values }
}

/// Short names, either label key, any case, and the capacity type of scw-karpenter.
fn in_scaleways_names(requirement: &mut Requirement) {
    if requirement.key == scaleway::OLD_INSTANCE_TYPE_LABEL || requirement.key == names::INSTANCE_TYPE_BETA {
        requirement.key = names::INSTANCE_TYPE.to_owned();
    }
    if requirement.key == names::INSTANCE_TYPE {
        requirement.values.iter_mut().for_each(|value| *value = scaleway::commercial_type(value));
    }
    if requirement.key == names::CAPACITY_TYPE {
        for value in &mut requirement.values {
            if let Some(known) = scaleway::capacity_type(value) {
                *value = known.as_str().to_owned();
            }
        }
    }
}

/// Azure takes a size in any case; its catalogue has one.
fn in_azures_spelling(requirement: &mut Requirement) {
    let is_size = [names::INSTANCE_TYPE, names::INSTANCE_TYPE_BETA, "karpenter.azure.com/sku-name"];
    if is_size.contains(&requirement.key.as_str()) {
        requirement.values.iter_mut().for_each(|value| {
            if let Some(known) = provider_aks::size_name(value) {
                *value = known.to_owned();
            }
        });
    }
}
