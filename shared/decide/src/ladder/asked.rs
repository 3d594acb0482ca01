//! What a claim asks of an offering, and what an offering misses of it.

use model::{CapacityType, Offering, Operator, Quantity, Requirement, names};

use super::{Miss, Wanted};
use crate::requirement::{Requirements, normalised, says_what_a_machine_is};

pub(super) struct Asked<'a> {
    pub wanted: &'a Wanted<'a>,
    pub requirements: Requirements<'a>,
    /// Keys of the requirements that a machine answers by what it is. Any other is a label that the node will be given.
    pub of_the_machine: Vec<&'a str>,
    /// Requests that a machine answers by what it has.
    pub needs: Vec<(&'a str, Quantity)>,
    says_capacity_type: bool,
    says_zone: bool,
    /// What every node of the claim's class is labelled with.
    class_label: String,
}

/// Disks are made to measure, by the provider, out of these requests.
const MADE_TO_MEASURE: [&str; 2] = ["storage", "ephemeral-storage"];
const ALWAYS_COUNTED: [&str; 3] = ["cpu", "memory", "pods"];
const ACCELERATORS: [&str; 2] = ["nvidia.com/", "amd.com/"];
const SHARED: &str = ".shared";

impl<'a> Asked<'a> {
    pub fn new(wanted: &'a Wanted<'a>, offerings: &[Offering]) -> Self {
        let requirements = Requirements::new(wanted.requirements);
        let class_label = wanted.claim.class.label();
        // The class is the claim's own word: whatever machine it gets, the node is one of that class. But machines of one's own
        // say themselves which class lists them, and one of another class is none for this claim.
        let is_known = |key: &str| {
            offerings.iter().any(|offering| offering.labels.contains_key(key))
                || (key != class_label && says_what_a_machine_is(key))
        };
        // What nobody here lists (a network card, say) comes from a device plugin once the node runs: no machine is
        // passed over for it.
        let is_counted = |name: &str| {
            ALWAYS_COUNTED.contains(&name)
                || ACCELERATORS.iter().any(|maker| name.starts_with(maker))
                || offerings.iter().any(|offering| offering.capacity.contains_key(name))
        };
        let requests = wanted.claim.requests.iter().map(|(name, amount)| (name.as_str(), *amount));
        let needs = requests.filter(|(name, amount)| {
            *amount > Quantity::default() && !MADE_TO_MEASURE.contains(name) && is_counted(name)
        });
        Asked {
            wanted,
            of_the_machine: requirements.iter().map(|(key, _)| key).filter(|key| is_known(key)).collect(),
            needs: needs.collect(),
            says_capacity_type: requirements.on(names::CAPACITY_TYPE).is_some(),
            says_zone: requirements.on(names::ZONE).is_some(),
            requirements,
            class_label,
        }
    }

    /// Why no machine in the world could serve the claim, if its own words say so.
    pub fn contradiction(&self) -> Option<String> {
        if let Some(bad) = self.wanted.requirements.iter().find(|one| has_bad_bound(one)) {
            return Some(format!("{} can never be kept: {} needs one integer", spelled(bad), bad.operator));
        }
        if let Some(key) = self.requirements.contradictions().next() {
            let on_key: Vec<String> = self.on(key).map(spelled).collect();
            return Some(match on_key.as_slice() {
                [one] => format!("no node can keep {one}"),
                all => format!("the claim contradicts itself: no node can keep {}", all.join(" and ")),
            });
        }
        let given = self.requirements.iter().filter(|(key, _)| !self.of_the_machine.contains(key));
        let own = given.filter_map(|(key, allowed)| Some((key, allowed, self.given(key)?)));
        let (key, _, value) = own.into_iter().find(|(_, allowed, value)| !allowed.has(value))?;
        let on_key: Vec<String> = self.on(key).map(spelled).collect();
        Some(format!("the claim contradicts itself: its label {key}={value} does not keep {}", on_key.join(" and ")))
    }

    /// A label that the node will be given, whatever machine it is.
    fn given(&self, key: &str) -> Option<&'a str> {
        let claim = self.wanted.claim;
        let of_class = (key == self.class_label).then(|| claim.class.name.as_str());
        of_class.or_else(|| claim.labels.get(key).map(String::as_str))
    }

    /// The requirements on a key as they were written.
    pub fn on<'k>(&self, key: &'k str) -> impl Iterator<Item = &'a Requirement> + use<'a, 'k> {
        self.wanted.requirements.iter().filter(move |one| normalised(&one.key) == key)
    }

    pub fn misses(&self, offering: &Offering) -> Vec<Miss> {
        let mut misses = vec![];
        if !self.says_capacity_type && !self.is_usual(offering.id.capacity_type) {
            misses.push(Miss::CapacityTypeNotAskedFor);
        }
        if self.wanted.compatible_with_gpu_provisioner && !self.says_zone && offering.id.zone.is_some() {
            misses.push(Miss::ZoneNotAskedFor);
        }
        for key in &self.of_the_machine {
            let kept = self.requirements.on(key).is_none_or(|allowed| match offering.labels.get(*key) {
                Some(value) => allowed.has(value),
                None => allowed.allows_absent(),
            });
            if !kept {
                misses.push(Miss::Label((*key).to_owned()));
            }
        }
        let short = self.needs.iter().filter(|(name, amount)| !covers(offering, name, *amount));
        misses.extend(short.map(|(name, _)| Miss::Resource((*name).to_owned())));
        misses
    }

    /// What is taken when nobody said anything: no spot; and for gpu-provisioner's claims no reservation either.
    fn is_usual(&self, capacity_type: CapacityType) -> bool {
        match capacity_type {
            CapacityType::OnDemand => true,
            CapacityType::Reserved => !self.wanted.compatible_with_gpu_provisioner,
            CapacityType::Spot => false,
        }
    }
}

/// A requirement as people write it: `key In [a, b]`.
pub(super) fn spelled(requirement: &Requirement) -> String {
    let Requirement { key, operator, values } = requirement;
    match operator {
        Operator::Exists | Operator::DoesNotExist => format!("{key} {operator}"),
        Operator::In | Operator::NotIn => format!("{key} {operator} [{}]", values.join(", ")),
        Operator::Gt | Operator::Lt | Operator::Gte | Operator::Lte => format!("{key} {operator} {}", values.join(" ")),
    }
}

fn covers(offering: &Offering, name: &str, amount: Quantity) -> bool {
    match (offering.capacity.get(name), name.strip_suffix(SHARED)) {
        (Some(has), _) => *has >= amount,
        // Into how many shares a GPU is cut is a setting of the cluster's device plugin, so one GPU has to do.
        (None, Some(whole)) => offering.capacity.get(whole).is_some_and(|has| *has > Quantity::default()),
        (None, None) => false,
    }
}

fn has_bad_bound(requirement: &Requirement) -> bool {
    match requirement.operator {
        Operator::Gt | Operator::Lt | Operator::Gte | Operator::Lte => {
            !matches!(requirement.values.as_slice(), [value] if value.parse::<i64>().is_ok())
        }
        Operator::In | Operator::NotIn | Operator::Exists | Operator::DoesNotExist => false,
    }
}
