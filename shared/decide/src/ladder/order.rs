//! Which of several offerings that fit is tried first.

use model::{CapacityType, Offering, Operator, Stock, names};

use super::{Preference, Wanted};
use crate::requirement::normalised;

/// The fields are compared from the top. It ends with the whole name, so equal input has one order.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Rank<'o> {
    /// The cloud itself says that there are none: asked only when nothing else is left.
    shortage: bool,
    /// Where the claim lists the type, if that is what counts.
    listed: usize,
    unpriced: bool,
    /// Nobody here knows rates of exchange, and guessing one would reorder a ladder overnight: currencies count as equal.
    price: u64,
    scarce: bool,
    currency: Option<&'o str>,
    kind: u8,
    /// A zone is a promise where the disk and its data can be; without one the cloud may choose badly.
    regional: bool,
    name: (&'o str, Option<&'o str>, &'o str),
}

pub(super) fn best_first<'o>(offerings: Vec<&'o Offering>, wanted: &Wanted<'_>) -> Vec<&'o Offering> {
    let listed = listed(wanted);
    let position = |offering: &Offering| {
        let place = listed.iter().position(|name| *name == offering.id.instance_type);
        place.unwrap_or(listed.len())
    };
    let mut ranked: Vec<(Rank<'o>, &'o Offering)> =
        offerings.into_iter().map(|offering| (rank(offering, position(offering)), offering)).collect();
    ranked.sort_by(|(left, _), (right, _)| left.cmp(right));
    ranked.into_iter().map(|(_, offering)| offering).collect()
}

/// The instance types in the order of the claim, where that order counts.
fn listed<'a>(wanted: &Wanted<'a>) -> &'a [String] {
    let is_list = |operator| operator == Operator::In && wanted.preference == Preference::Listed;
    let mut lists = wanted.requirements.iter().filter(|one| is_list(one.operator));
    let list = lists.find(|one| normalised(&one.key) == names::INSTANCE_TYPE);
    list.map_or(&[], |one| one.values.as_slice())
}

fn rank(offering: &Offering, listed: usize) -> Rank<'_> {
    let id = &offering.id;
    Rank {
        shortage: offering.stock == Stock::Shortage,
        listed,
        unpriced: offering.price.is_none(),
        price: offering.price.as_ref().map_or(0, |price| price.millionths_per_hour),
        scarce: offering.stock == Stock::Scarce,
        currency: offering.price.as_ref().map(|price| price.currency.as_str()),
        // What is paid for anyway, what costs less in the end, and the rest.
        kind: match id.capacity_type {
            CapacityType::Reserved => 0,
            CapacityType::Spot => 1,
            CapacityType::OnDemand => 2,
        },
        regional: id.zone.is_none(),
        name: (&id.instance_type, id.zone.as_deref(), &id.provider),
    }
}
