//! The sentences: one for each thing that an offering can miss.

use model::{Offering, Quantity, names};

use super::super::{
    Misfit, Miss,
    asked::{Asked, spelled},
    close::closest,
};
use super::{distinct, list};

pub(super) struct Sentences<'s> {
    pub asked: &'s Asked<'s>,
    pub offerings: &'s [Offering],
    /// Of the same offerings, in the same order.
    pub misfits: &'s [Misfit],
}

impl<'s> Sentences<'s> {
    pub fn of(&self, miss: &Miss) -> String {
        match miss {
            Miss::Label(key) if key == names::INSTANCE_TYPE => self.instance_type(miss),
            Miss::Label(key) => self.label(key, miss),
            Miss::Resource(name) => self.resource(name, miss),
            Miss::CapacityTypeNotAskedFor => {
                let kinds = distinct(self.nearest(miss).map(|offering| offering.id.capacity_type.as_str())).join(", ");
                format!(
                    "only {kinds} machines fit, and the claim does not ask for one; to take one, require {} In [{kinds}, on-demand]",
                    names::CAPACITY_TYPE
                )
            }
            Miss::ZoneNotAskedFor => {
                let zones = distinct(self.nearest(miss).filter_map(|offering| offering.id.zone.as_deref()));
                format!(
                    "what fits is offered in zones only, and the claim names none; require {} In [{}]",
                    names::ZONE,
                    zones.join(", ")
                )
            }
            Miss::Unavailable { reason, .. } => format!("what fits cannot be had now ({reason})"),
        }
    }

    /// No single thing is to blame: the offering that comes nearest, and all it misses.
    pub fn of_several(&self, nearest: &Misfit) -> String {
        let misses: Vec<String> = nearest.misses.iter().map(|miss| self.briefly(miss)).collect();
        format!(
            "no offering has all of it at once; the nearest is {}, which misses {}",
            nearest.offering,
            misses.join(" and ")
        )
    }

    fn instance_type(&self, miss: &Miss) -> String {
        let all = distinct(self.offerings.iter().map(|offering| offering.id.instance_type.as_str()));
        let Some(meant) = self.listed(names::INSTANCE_TYPE) else {
            return format!(
                "no instance type keeps {}; offered are {}",
                self.spelled(names::INSTANCE_TYPE),
                list(&all)
            );
        };
        if meant.iter().any(|name| all.contains(name)) {
            let would = distinct(self.alone(miss).map(|offering| offering.id.instance_type.as_str()));
            let names = list(&meant);
            return format!(
                "instance type {names} does not have the rest of what is asked for; {} would",
                list(&would)
            );
        }
        let guesses = distinct(meant.iter().filter_map(|name| closest(name, all.iter().copied())));
        let names = list(&meant);
        match guesses.as_slice() {
            [] => format!("no instance type named {names} is offered; types are {}", list(&all)),
            guesses => format!("no instance type named {names}; did you mean {}?", guesses.join(" or ")),
        }
    }

    fn label(&self, key: &str, miss: &Miss) -> String {
        let offered = distinct(self.nearest(miss).filter_map(|offering| value(offering, key)));
        // Where one type is left by all else that is asked, the sentence is about it.
        let types = distinct(self.alone(miss).map(|offering| offering.id.instance_type.as_str()));
        let about = match types.as_slice() {
            [one] => format!(" for {one}"),
            _ => String::new(),
        };
        let (one, several) = nouns(key);
        let asked_for = match self.listed(key) {
            Some(values) => format!("{one} {} is not offered{about}", values.join(" or ")),
            None => format!("nothing on offer keeps {}", self.spelled(key)),
        };
        match offered.as_slice() {
            [] if key == names::ZONE => format!("{asked_for}; what fits otherwise is not in any zone"),
            [] => format!("{asked_for}; no machine here has the label {key}"),
            offered => format!("{asked_for}; {several} are {}", list(offered)),
        }
    }

    fn resource(&self, name: &str, miss: &Miss) -> String {
        let needed = amount(name, self.needed(name));
        let has = |offering: &'s Offering| Some((*offering.capacity.get(name)?, offering));
        let largest = self.nearest(miss).filter_map(has).max_by_key(|(amount, _)| *amount);
        let place = if self.alone(miss).next().is_some() { "that fits otherwise" } else { "on offer" };
        match largest {
            Some((most, offering)) if most > Quantity::default() => format!(
                "needs {needed} {name}, the largest {place} has {} ({})",
                amount(name, most),
                offering.id.instance_type
            ),
            _ => format!("needs {needed} {name}, and nothing {place} has any"),
        }
    }

    fn briefly(&self, miss: &Miss) -> String {
        match miss {
            Miss::Label(key) => self.spelled(key),
            Miss::Resource(name) => format!("{} {name}", amount(name, self.needed(name))),
            Miss::CapacityTypeNotAskedFor => "its capacity type in the claim".to_owned(),
            Miss::ZoneNotAskedFor => "a zone in the claim".to_owned(),
            Miss::Unavailable { reason, .. } => format!("stock ({reason})"),
        }
    }

    /// Offerings that would fit but for this.
    fn alone(&self, miss: &Miss) -> impl Iterator<Item = &'s Offering> {
        let pairs = self.offerings.iter().zip(self.misfits);
        pairs.filter(move |(_, misfit)| matches!(misfit.misses.as_slice(), [own] if own == miss)).map(|(one, _)| one)
    }

    /// The same; all offerings where there is none.
    fn nearest(&self, miss: &Miss) -> impl Iterator<Item = &'s Offering> {
        let mut alone = self.alone(miss).peekable();
        let all = if alone.peek().is_some() { [].iter() } else { self.offerings.iter() };
        alone.chain(all)
    }

    fn listed(&self, key: &str) -> Option<Vec<&'s str>> {
        self.asked
            .requirements
            .on(key)
            .and_then(|allowed| allowed.listed())
            .filter(|values| !values.is_empty())
            .map(<[_]>::to_vec)
    }

    fn spelled(&self, key: &str) -> String {
        let all: Vec<String> = self.asked.on(key).map(spelled).collect();
        all.join(" and ")
    }

    fn needed(&self, name: &str) -> Quantity {
        self.asked.needs.iter().find(|(own, _)| *own == name).map_or(Quantity::default(), |(_, amount)| *amount)
    }
}

/// What an offering says for a key. A regional one says a zone that is none.
fn value<'o>(offering: &'o Offering, key: &str) -> Option<&'o str> {
    if key == names::ZONE && offering.id.zone.is_none() && offering.labels.get(key).is_none_or(|zone| zone == "0") {
        return None;
    }
    offering.labels.get(key).map(String::as_str)
}

/// What people call a label, one and several.
fn nouns(key: &str) -> (&str, &str) {
    match key {
        names::ZONE => ("zone", "zones"),
        names::REGION => ("region", "regions"),
        names::ARCH => ("architecture", "architectures"),
        names::OS => ("operating system", "operating systems"),
        names::CAPACITY_TYPE => ("capacity type", "capacity types"),
        names::HOSTNAME => ("machine", "machines"),
        other => (other, "values"),
    }
}

/// Memory in GiB with one decimal: what a machine has is rarely a round number of anything.
fn amount(name: &str, amount: Quantity) -> String {
    // Thousandths of a byte are hundredths of a tenth.
    let tenths = (amount.thousandths() / 100) >> 30;
    match (name, tenths / 10, tenths % 10) {
        ("memory", 1.., 0) => format!("{}Gi", tenths / 10),
        ("memory", 1.., tenth) => format!("{}.{tenth}Gi", tenths / 10),
        _ => amount.to_string(),
    }
}
