//! A catalogue, arranged for asking: which types and which kinds of offering a set of labels leaves.
//!
//! Offerings fall into kinds (zone, capacity type, and whatever else tells them apart). What a claim may become is then a set of
//! types and a set of kinds, and every rule narrows one of the two.

use core::cell::OnceCell;
use model::place::{Catalogue, InstanceType, Offered, OfferingRef};
use model::{Requirement, names};

use super::allowed::Allowed;
use super::hash::Map;
use super::mask::Mask;
use super::words::{HOST, Key, Words};

/// What an offering without a price is taken to cost: more than any that has one.
pub const UNPRICED: u64 = 1 << 50;

#[derive(Debug)]
pub struct Shelf<'a> {
    pub types: &'a [InstanceType],
    /// The kind of each offering, type by type.
    pub kind_of: Vec<Vec<usize>>,
    pub kinds: usize,
    /// Types that have an offering of a kind that can be had now.
    pub had: Vec<Mask>,
    /// For each key: which types have which value; kinds likewise.
    of_types: Map<Key, Index>,
    of_kinds: Map<Key, Index>,
    /// All offerings that can be had, from cheap to dear.
    by_price: OnceCell<Vec<OfferingRef>>,
}

/// Who has which value of one key.
#[derive(Debug, Default)]
struct Index {
    by_value: Vec<Mask>,
    others: Mask,
    absent: Mask,
}

impl Index {
    fn insert(&mut self, who: usize, allowed: &Allowed) {
        for value in allowed.values().iter() {
            if self.by_value.len() <= value {
                self.by_value.resize_with(value + 1, Mask::default);
            }
            self.by_value[value].insert(who);
        }
        if allowed.allows_others() {
            self.others.insert(who);
        }
        if allowed.allows_absent() {
            self.absent.insert(who);
        }
    }

    fn matching(&self, allowed: &Allowed, count: usize) -> Mask {
        let mut mask = Mask::none(count);
        let values = allowed.values().iter().filter_map(|value| self.by_value.get(value));
        values.for_each(|who| mask.or(who));
        if allowed.allows_others() {
            mask.or(&self.others);
        }
        if allowed.allows_absent() {
            mask.or(&self.absent);
        }
        mask
    }
}

impl<'a> Shelf<'a> {
    pub fn new(catalogue: &'a Catalogue, words: &Words<'_>) -> Self {
        let (by_type, by_offering) = keys_named(catalogue, words);
        let mut of_types: Map<Key, Index> = Map::default();
        for key in by_type.iter().filter(|key| !by_offering.contains(key)) {
            let mut index = Index::default();
            for (at, of) in catalogue.types.iter().enumerate() {
                index.insert(at, &type_allows(of, *key, words));
            }
            of_types.insert(*key, index);
        }
        let mut shelf = Shelf {
            types: &catalogue.types,
            kind_of: vec![],
            kinds: 0,
            had: vec![],
            of_types,
            of_kinds: Map::default(),
            by_price: OnceCell::new(),
        };
        let mut kinds: Map<Vec<Allowed>, usize> = Map::default();
        for (at, of) in catalogue.types.iter().enumerate() {
            let mut own = Vec::with_capacity(of.offerings.len());
            for offered in &of.offerings {
                let told: Vec<Allowed> =
                    by_offering.iter().map(|key| offering_allows(of, offered, *key, words)).collect();
                let next = kinds.len();
                let kind = *kinds.entry(told).or_insert(next);
                if kind == shelf.had.len() {
                    shelf.had.push(Mask::none(catalogue.types.len()));
                }
                if offered.available {
                    shelf.had[kind].insert(at);
                }
                own.push(kind);
            }
            shelf.kind_of.push(own);
        }
        shelf.kinds = kinds.len();
        for (told, kind) in kinds {
            for (key, allowed) in by_offering.iter().zip(&told) {
                shelf.of_kinds.entry(*key).or_default().insert(kind, allowed);
            }
        }
        shelf
    }

    /// Whether some type or offering names the key, so that all others are known not to have it.
    pub fn knows(&self, key: Key) -> bool {
        self.of_types.contains_key(&key) || self.of_kinds.contains_key(&key)
    }

    /// Keeps the types and kinds that can have one of the values.
    pub fn narrow(&self, key: Key, allowed: &Allowed, types: &mut Mask, kinds: &mut Mask) {
        if let Some(index) = self.of_types.get(&key) {
            types.and(&index.matching(allowed, self.types.len()));
        }
        if let Some(index) = self.of_kinds.get(&key) {
            kinds.and(&index.matching(allowed, self.kinds));
        }
    }

    /// Keeps the types of which an offering of these kinds can be had.
    pub fn keep_had(&self, types: &mut Mask, kinds: &Mask) {
        let mut had = Mask::none(self.types.len());
        kinds.iter().filter_map(|kind| self.had.get(kind)).for_each(|of_kind| had.or(of_kind));
        types.and(&had);
    }

    /// Whether a type has an offering of these kinds, whether it can be had now or not.
    pub fn sells(&self, of: usize, kinds: &Mask) -> bool {
        self.kind_of.get(of).is_some_and(|own| own.iter().any(|kind| kinds.has(*kind)))
    }

    /// The cheapest price of a type in these kinds.
    pub fn price(&self, of: usize, kinds: &Mask) -> Option<u64> {
        let offerings = self.types.get(of)?.offerings.iter().zip(self.kind_of.get(of)?);
        offerings
            .filter(|(offered, kind)| offered.available && kinds.has(**kind))
            .map(|(offered, _)| price(offered))
            .min()
    }

    /// The offerings of these types and kinds that can be had, from cheap to dear.
    pub fn cheapest_first(&self, types: &Mask, kinds: &Mask) -> Vec<OfferingRef> {
        let all = self.by_price.get_or_init(|| self.sorted());
        let kind = |of: &OfferingRef| self.kind_of[of.instance_type as usize][of.offering as usize];
        all.iter().filter(|of| types.has(of.instance_type as usize) && kinds.has(kind(of))).copied().collect()
    }

    /// Sorted once: states differ only in which of these they have.
    fn sorted(&self) -> Vec<OfferingRef> {
        let mut all: Vec<(u64, OfferingRef)> = vec![];
        for (of, kind) in self.types.iter().enumerate() {
            for (at, offered) in kind.offerings.iter().enumerate().filter(|(_, offered)| offered.available) {
                all.push((price(offered), OfferingRef { instance_type: of as u32, offering: at as u32 }));
            }
        }
        all.sort_unstable_by(|(price, left), (other_price, right)| {
            let name = |of: &OfferingRef| self.types[of.instance_type as usize].name.as_str();
            let at = |of: &OfferingRef| &self.types[of.instance_type as usize].offerings[of.offering as usize];
            let place = |of: &OfferingRef| (at(of).zone.as_deref(), at(of).capacity_type);
            price
                .cmp(other_price)
                .then_with(|| name(left).cmp(name(right)))
                .then_with(|| place(left).cmp(&place(right)))
        });
        all.into_iter().map(|(_, reference)| reference).collect()
    }

    /// Every value of a key that some type or offering has, whether it can be had now or not.
    pub fn values(&self, key: Key, types: &Mask, kinds: &Mask) -> Mask {
        let mut values = Mask::default();
        for (index, who) in [(self.of_types.get(&key), types), (self.of_kinds.get(&key), kinds)] {
            let Some(index) = index else { continue };
            let held = index.by_value.iter().enumerate().filter(|(_, holders)| holders.meets(who));
            held.for_each(|(value, _)| values.insert(value));
        }
        values
    }

    /// How many values of a key these types have in any of their offerings: so Karpenter counts `minValues`, whatever zone or
    /// way of buying the claim has settled on.
    pub fn count_values(&self, key: Key, types: &Mask) -> usize {
        let mut offered = Mask::none(self.kinds);
        let of_types = types.iter().filter_map(|of| self.kind_of.get(of));
        of_types.flatten().for_each(|kind| offered.insert(*kind));
        self.values(key, types, &offered).len()
    }
}

pub fn price(offered: &Offered) -> u64 {
    offered.price.map_or(UNPRICED, |price| price.min(UNPRICED))
}

/// The known keys that types name, and those that offerings name.
fn keys_named(catalogue: &Catalogue, words: &Words<'_>) -> (Vec<Key>, Vec<Key>) {
    let mut by_type: Vec<Key> = words.key(names::INSTANCE_TYPE).into_iter().collect();
    let mut by_offering: Vec<Key> =
        [names::ZONE, names::CAPACITY_TYPE].iter().filter_map(|key| words.key(key)).collect();
    let learn = |keys: &mut Vec<Key>, requirement: &Requirement| {
        if let Some(key) = words.key(&requirement.key).filter(|key| *key != HOST && !keys.contains(key)) {
            keys.push(key);
        }
    };
    for of in &catalogue.types {
        of.requirements.iter().for_each(|requirement| learn(&mut by_type, requirement));
        of.offerings
            .iter()
            .flat_map(|offered| &offered.requirements)
            .for_each(|requirement| learn(&mut by_offering, requirement));
    }
    (by_type, by_offering)
}

fn type_allows(of: &InstanceType, key: Key, words: &Words<'_>) -> Allowed {
    if words.key_name(key) == names::INSTANCE_TYPE {
        return words.value(key, &of.name).map_or_else(Allowed::unnamed, Allowed::one);
    }
    stated(&of.requirements, key, words).unwrap_or_else(Allowed::only_absent)
}

fn offering_allows(of: &InstanceType, offered: &Offered, key: Key, words: &Words<'_>) -> Allowed {
    let named = |value: &str| words.value(key, value).map_or_else(Allowed::unnamed, Allowed::one);
    match words.key_name(key) {
        names::ZONE => offered.zone.as_deref().map_or_else(Allowed::only_absent, named),
        names::CAPACITY_TYPE => named(offered.capacity_type.as_str()),
        _ => stated(&offered.requirements, key, words)
            .or_else(|| stated(&of.requirements, key, words))
            .unwrap_or_else(Allowed::only_absent),
    }
}

fn stated(requirements: &[Requirement], key: Key, words: &Words<'_>) -> Option<Allowed> {
    let mut all: Option<Allowed> = None;
    for requirement in requirements.iter().filter(|requirement| words.key(&requirement.key) == Some(key)) {
        let allowed = Allowed::by(requirement, key, words);
        match &mut all {
            Some(all) => all.narrow(&allowed),
            None => all = Some(allowed),
        }
    }
    all
}
