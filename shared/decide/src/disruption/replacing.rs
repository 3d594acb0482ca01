//! What a replacement may be: only offerings that cost less, spot where that is meant, and enough to choose from.

use model::{
    CapacityType, Operator, Requirement,
    disruption::KeptCode,
    names,
    place::{ClaimPlanned, InstanceType, Offered, OfferingRef, PoolRequirement, Scene},
};
use std::collections::BTreeSet;

use super::{Stay, board::Board, candidate::Candidate};

/// A spot machine is replaced by a spot machine only if so many types are cheaper, and the claim lists no more: a claim for the
/// one cheapest type would be taken away by the market and come back.
const SPOT_TYPES: usize = 15;

/// Nodes that go together, and the claims for their pods. Answers the claims as they may be, with what each costs at the least.
pub fn narrow(board: &Board<'_>, nodes: &[usize], claims: Vec<ClaimPlanned>) -> Result<Vec<(ClaimPlanned, u64)>, Stay> {
    let leaving: Vec<&Candidate<'_>> = nodes.iter().map(|at| &board.candidates[*at]).collect();
    let price: u64 = leaving.iter().map(|of| of.price()).sum();
    let is_spot = |of: &&&Candidate<'_>| of.paid.as_ref().is_ok_and(|paid| paid.capacity_type == CapacityType::Spot);
    let of_spot: u64 = leaving.iter().filter(is_spot).map(|of| of.price()).sum();
    let rules = Rules {
        all_spot: leaving.iter().filter(is_spot).count() == leaving.len(),
        spot_to_spot: leaving.iter().all(|of| of.pool_here.spot_to_spot),
        alone: leaving.len() == 1,
    };
    let claims: Vec<ClaimPlanned> =
        claims.into_iter().map(|claim| rules.how(board, claim)).collect::<Result<_, Stay>>()?;
    let cheapest: Vec<u64> = claims.iter().map(|claim| Listed::new(&board.scene, claim).cheapest()).collect();
    let cost: u64 = cheapest.iter().sum();
    if cost >= price {
        return Err(not_cheaper(price, cost));
    }
    // With others beside them, spot machines are replaced by spot as well; but not if only their own part pays.
    let buys_spot = || claims.iter().any(|claim| Listed::new(&board.scene, claim).has_spot());
    if !rules.spot_to_spot && of_spot > 0 && price - of_spot <= cost && buys_spot() {
        return Err(spot_again());
    }
    // What is saved may be spent on freedom of choice, each claim its part of it.
    let share = (price - cost) / u64::try_from(claims.len()).unwrap_or(1).max(1);
    let types = types_that_go(&leaving);
    let mut narrowed = vec![];
    for (claim, least) in claims.into_iter().zip(cheapest) {
        let claim = rules.cheaper(board, claim, least + share)?;
        let claim = if rules.alone { claim } else { without_what_goes(board, &types, claim) };
        narrowed.push((claim, least));
    }
    Ok(narrowed)
}

/// Of several nodes, one of a type that goes might as well have stayed: the claim lists only what costs less than each such, as
/// far as that leaves something to choose.
fn without_what_goes(board: &Board<'_>, types: &[(&str, u64)], claim: ClaimPlanned) -> ClaimPlanned {
    let listed = Listed::new(&board.scene, &claim);
    let mut is_listed = vec![false; listed.types.len()];
    for of in claim.offerings.iter() {
        is_listed.get_mut(of.instance_type as usize).into_iter().for_each(|listed| *listed = true);
    }
    let at = |name: &str| (0..is_listed.len()).find(|at| is_listed[*at] && listed.types[*at].name == name);
    // The cheapest first: the first that is listed is the one that matters.
    let Some((_, below)) = types.iter().find(|(name, _)| at(name).is_some()) else { return claim };
    let below = *below;
    let dear: BTreeSet<u32> =
        claim.offerings.iter().filter(|of| listed.price(of) >= below).map(|of| of.instance_type).collect();
    let kept: Vec<OfferingRef> =
        claim.offerings.iter().filter(|of| !dear.contains(&of.instance_type)).copied().collect();
    if kept.is_empty() {
        return claim;
    }
    let narrowed = listing(&board.scene, claim.clone(), kept);
    if keeps_min_values(&board.scene, &narrowed) { narrowed } else { claim }
}

/// Of several nodes that go, one like which another would come, for no less: it may as well stay, and the others' pods come to it.
pub fn kept(board: &Board<'_>, nodes: &[usize], claims: &[(ClaimPlanned, u64)]) -> Option<(usize, Stay)> {
    if nodes.len() < 2 {
        return None;
    }
    let comes_again = |at: &usize| {
        let of = &board.candidates[*at];
        let own = of.there.labels.get(names::INSTANCE_TYPE);
        claims.iter().any(|(claim, cost)| {
            let listed = Listed::new(&board.scene, claim);
            let first = claim.offerings.first().and_then(|first| listed.types.get(first.instance_type as usize));
            first.is_some_and(|first| Some(&first.name) == own) && *cost >= of.price()
        })
    };
    let at = nodes.iter().copied().find(comes_again)?;
    Some((at, Stay::new(KeptCode::NotCheaper, "a node of its type would come in its place")))
}

/// The types of nodes that go and what the cheapest of each costs, the cheapest first.
fn types_that_go<'c>(leaving: &[&'c Candidate<'_>]) -> Vec<(&'c str, u64)> {
    let own = |of: &&'c Candidate<'_>| Some((of.there.labels.get(names::INSTANCE_TYPE)?.as_str(), of.price()));
    let mut types: Vec<(&str, u64)> = leaving.iter().filter_map(own).collect();
    types.sort_by_key(|(name, price)| (*price, *name));
    types.dedup();
    types
}

fn spot_again() -> Stay {
    let words = format!("it is a spot machine, and what is cheaper would be spot again ({})", names::SPOT_TO_SPOT);
    Stay::new(KeptCode::SpotToSpot, words)
}

fn not_cheaper(price: u64, cost: u64) -> Stay {
    let words = format!("its pods would need new nodes for {} an hour, and it costs {}", money(cost), money(price));
    Stay::new(KeptCode::NotCheaper, words)
}

/// As people write it; the currency is the catalogue's.
pub fn money(millionths: u64) -> String {
    format!("{}.{:04}", millionths / 1_000_000, millionths % 1_000_000 / 100)
}

struct Rules {
    all_spot: bool,
    spot_to_spot: bool,
    alone: bool,
}

impl Rules {
    /// How it is bought: spot for what was bought otherwise, if that can be had; no spot for spot unless the pool says so.
    fn how(&self, board: &Board<'_>, claim: ClaimPlanned) -> Result<ClaimPlanned, Stay> {
        let listed = Listed::new(&board.scene, &claim);
        let is_spot = |of: &OfferingRef| listed.offered(of).is_some_and(|one| one.capacity_type == CapacityType::Spot);
        let (has_spot, has_other) =
            (claim.offerings.iter().any(is_spot), claim.offerings.iter().any(|of| !is_spot(of)));
        match (self.all_spot, has_spot, has_other) {
            // Bought otherwise it would become spot the next time: spot for spot in two steps.
            (true, true, _) if !self.spot_to_spot => {
                return Err(spot_again());
            }
            (_, true, true) => {}
            _ => return Ok(claim),
        }
        let only = claim.offerings.iter().filter(|of| is_spot(of)).copied().collect();
        Ok(listing(&board.scene, claim, only))
    }

    /// Only types of which every offering costs less: the claim leaves open which of them it becomes. An error if none is left,
    /// or too few.
    fn cheaper(&self, board: &Board<'_>, claim: ClaimPlanned, below: u64) -> Result<ClaimPlanned, Stay> {
        let listed = Listed::new(&board.scene, &claim);
        let mut dear = vec![false; listed.types.len()];
        for of in claim.offerings.iter().filter(|of| listed.price(of) >= below) {
            if let Some(dear) = dear.get_mut(of.instance_type as usize) {
                *dear = true;
            }
        }
        let is_cheap = |of: &&OfferingRef| dear.get(of.instance_type as usize).is_some_and(|dear| !dear);
        let mut kept: Vec<OfferingRef> = claim.offerings.iter().filter(is_cheap).copied().collect();
        if self.all_spot && self.spot_to_spot && self.alone {
            kept = few_spot_types(&claim, &kept, board)?;
        }
        let rack = board.situation.provision.pools.get(claim.pool).is_some_and(|pool| pool.provider == "power");
        if rack {
            kept.truncate(1);
        }
        if kept.is_empty() {
            let words = format!(
                "a new node might cost {} an hour, but everything that holds its pods costs {} or more in some zone or way of buying that it may come from",
                money(listed.cheapest()),
                money(below)
            );
            return Err(Stay::new(KeptCode::NotCheaper, words));
        }
        let claim = listing(&board.scene, claim, kept);
        if !keeps_min_values(&board.scene, &claim) {
            let words = "what is cheaper leaves less to choose from than its pool wants (minValues)";
            return Err(Stay::new(KeptCode::NotCheaper, words));
        }
        Ok(claim)
    }
}

fn few_spot_types(claim: &ClaimPlanned, kept: &[OfferingRef], board: &Board<'_>) -> Result<Vec<OfferingRef>, Stay> {
    let mut types: Vec<u32> = vec![];
    for of in kept {
        if !types.contains(&of.instance_type) {
            types.push(of.instance_type);
        }
    }
    if types.len() < SPOT_TYPES {
        let words = format!(
            "it is a spot machine, and only {} types are cheaper: alone it is replaced where {SPOT_TYPES} are",
            types.len()
        );
        return Err(Stay::new(KeptCode::SpotToSpot, words));
    }
    let pool = board.scene.pools.get(claim.pool);
    let wanted = pool.and_then(|pool| pool.requirements.iter().filter_map(|one| one.min_values).max());
    types.truncate(SPOT_TYPES.max(wanted.unwrap_or(0) as usize));
    Ok(kept.iter().filter(|of| types.contains(&of.instance_type)).copied().collect())
}

/// A claim and the catalogue that its offerings are in.
struct Listed<'a> {
    claim: &'a ClaimPlanned,
    types: &'a [InstanceType],
}

impl<'a> Listed<'a> {
    fn new(scene: &'a Scene, claim: &'a ClaimPlanned) -> Self {
        let catalogue = scene.pools.get(claim.pool).and_then(|pool| scene.catalogues.get(pool.catalogue));
        Listed { claim, types: catalogue.map(|all| all.types.as_slice()).unwrap_or_default() }
    }

    fn offered(&self, of: &OfferingRef) -> Option<&'a Offered> {
        self.types.get(of.instance_type as usize)?.offerings.get(of.offering as usize)
    }

    /// What nobody knows the price of is never cheaper.
    fn price(&self, of: &OfferingRef) -> u64 {
        self.offered(of).and_then(|one| one.price).unwrap_or(u64::MAX)
    }

    fn has_spot(&self) -> bool {
        let is_spot = |of: &OfferingRef| self.offered(of).is_some_and(|one| one.capacity_type == CapacityType::Spot);
        self.claim.offerings.iter().any(is_spot)
    }

    fn cheapest(&self) -> u64 {
        self.claim.offerings.iter().map(|of| self.price(of)).min().unwrap_or(u64::MAX / 2).min(u64::MAX / 2)
    }
}

/// The claim with these offerings alone, and requirements that say so.
fn listing(scene: &Scene, mut claim: ClaimPlanned, offerings: Vec<OfferingRef>) -> ClaimPlanned {
    claim.offerings = offerings.into();
    let listed = Listed::new(scene, &claim);
    let mut seen: Vec<CapacityType> =
        claim.offerings.iter().filter_map(|of| listed.offered(of)).map(|one| one.capacity_type).collect();
    seen.sort_by_key(|one| one.as_str());
    seen.dedup();
    let values: Vec<String> = seen.iter().map(|one| one.as_str().to_owned()).collect();
    if let [only] = values.as_slice() {
        claim.labels.insert(names::CAPACITY_TYPE.to_owned(), only.clone());
    }
    let key = names::CAPACITY_TYPE;
    match claim.requirements.iter_mut().find(|one| one.requirement.key == key) {
        Some(own) => own.requirement = Requirement { key: key.to_owned(), operator: Operator::In, values },
        None => {
            let requirement = Requirement { key: key.to_owned(), operator: Operator::In, values };
            claim.requirements.push(PoolRequirement { requirement, min_values: None });
            claim.requirements.sort_by(|a, b| a.requirement.key.cmp(&b.requirement.key));
        }
    }
    claim
}

/// A replacement never relaxes what its pool wants left to choose from.
fn keeps_min_values(scene: &Scene, claim: &ClaimPlanned) -> bool {
    let Some(pool) = scene.pools.get(claim.pool) else { return false };
    let listed = Listed::new(scene, claim);
    let values = |key: &str| -> usize {
        let mut all: BTreeSet<String> = BTreeSet::new();
        for of in claim.offerings.iter() {
            let (Some(found), Some(offered)) = (listed.types.get(of.instance_type as usize), listed.offered(of)) else {
                continue;
            };
            match key {
                names::INSTANCE_TYPE => all.extend([found.name.clone()]),
                names::ZONE => all.extend(offered.zone.clone()),
                names::CAPACITY_TYPE => all.extend([offered.capacity_type.as_str().to_owned()]),
                _ => {
                    let own = offered.requirements.iter().chain(&found.requirements).filter(|one| one.key == key);
                    all.extend(own.flat_map(|one| one.values.clone()));
                }
            }
        }
        all.len()
    };
    !claim.min_values_relaxed
        && pool
            .requirements
            .iter()
            .all(|one| one.min_values.is_none_or(|least| values(&one.requirement.key) >= least as usize))
}
