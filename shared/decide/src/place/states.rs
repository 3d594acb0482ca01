//! What a claim may still become: label by label, type by type. Each such state is made once, and every step from one to the next
//! is remembered, so placing a pod costs a look-up.

use core::cell::OnceCell;
use model::names;
use model::place::OfferingRef;
use std::rc::Rc;

use super::allowed::Allowed;
use super::hash::Map;
use super::mask::Mask;
use super::needs::{Need, NeedId, Needs, add};
use super::shelf::Shelf;
use super::words::{HOST, Key, Value, Words};

pub type StateId = usize;

/// What a place has of a topology key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Domain {
    Known(Value),
    /// A claim that could still go several ways.
    Open,
    /// A claim whose node will have the label, and nobody knows which.
    Unknown,
    Absent,
}

#[derive(Debug)]
pub struct State {
    pub pool: usize,
    /// What is required, key by key.
    pub labels: Need,
    pub types: Mask,
    pub kinds: Mask,
    /// By topology slot.
    pub domains: Vec<Domain>,
    prices: OnceCell<Prices>,
}

/// Types from cheap to dear, as far as the state leaves them.
#[derive(Debug)]
pub struct Prices {
    pub order: Vec<usize>,
    /// By type; those that are not left have none.
    pub of: Vec<Option<u64>>,
    /// All offerings that can be had, cheapest first.
    pub offerings: Vec<OfferingRef>,
}

/// The ways a state can go for a slot: a value, and the state with it.
type Pins = Rc<[(Value, StateId)]>;

#[derive(Debug)]
pub struct States<'a> {
    pub all: Vec<State>,
    shelves: Vec<Rc<Shelf<'a>>>,
    /// Topology keys other than the hostname, by slot.
    slots: Vec<Key>,
    ids: Map<(usize, Need), StateId>,
    narrowed: Map<(StateId, NeedId), Option<StateId>>,
    pinned: Map<(StateId, usize), Pins>,
    well_known: Mask,
    /// Every cloud gives its nodes one, whether types say so or not.
    region: Option<Key>,
}

const WELL_KNOWN: [&str; 8] = [
    names::NODE_POOL,
    names::ZONE,
    names::REGION,
    names::INSTANCE_TYPE,
    names::ARCH,
    names::OS,
    names::CAPACITY_TYPE,
    "node.kubernetes.io/windows-build",
];

impl<'a> States<'a> {
    /// `shelves` are those of the pools, by position.
    pub fn new(shelves: Vec<Rc<Shelf<'a>>>, slots: Vec<Key>, words: &Words<'_>) -> Self {
        let mut well_known = Mask::none(words.keys());
        WELL_KNOWN.iter().filter_map(|key| words.key(key)).for_each(|key| well_known.insert(key));
        States {
            all: vec![],
            shelves,
            slots,
            ids: Map::default(),
            narrowed: Map::default(),
            pinned: Map::default(),
            well_known,
            region: words.key(names::REGION),
        }
    }

    pub fn get(&self, id: StateId) -> &State {
        &self.all[id]
    }

    pub fn shelf(&self, pool: usize) -> &Shelf<'a> {
        &self.shelves[pool]
    }

    /// Where a pool's claims begin; nothing if its labels and requirements leave no type.
    pub fn base(&mut self, pool: usize, labels: Need) -> Option<StateId> {
        let shelf = self.shelves.get(pool)?;
        let (mut types, mut kinds) = (Mask::all(shelf.types.len()), Mask::all(shelf.kinds));
        for (key, allowed) in &labels {
            shelf.narrow(*key, allowed, &mut types, &mut kinds);
        }
        self.intern(pool, labels, types, kinds)
    }

    /// The state that also keeps a need.
    pub fn narrow(&mut self, from: StateId, need: NeedId, needs: &Needs, words: &Words<'_>) -> Option<StateId> {
        if need == 0 {
            return Some(from);
        }
        if let Some(known) = self.narrowed.get(&(from, need)) {
            return *known;
        }
        let to = self.make_narrow(from, needs.get(need), words);
        self.narrowed.insert((from, need), to);
        to
    }

    fn make_narrow(&mut self, from: StateId, need: &Need, words: &Words<'_>) -> Option<StateId> {
        let state = &self.all[from];
        let shelf = &self.shelves[state.pool];
        let (mut labels, mut types, mut kinds) = (state.labels.clone(), state.types.clone(), state.kinds.clone());
        for (key, allowed) in need {
            let own = labels.binary_search_by_key(key, |(own, _)| *own);
            let known = own.is_ok() || shelf.knows(*key) || self.well_known.has(*key);
            match (own, *key) {
                // A fresh host has a name that nobody can ask for, and the claim does not promise one.
                (_, HOST) if !allowed.allows_others() => return None,
                (_, HOST) => continue,
                (Err(_), _) if !known && !allowed.allows_absent() => return None,
                (Err(_), _) if !known => continue,
                (Ok(at), _) => labels[at].1.narrow(allowed),
                (Err(_), _) => add(&mut labels, *key, allowed),
            }
            let narrowed = labels.iter().find(|(own, _)| own == key).map(|(_, allowed)| allowed.clone());
            let narrowed = narrowed.unwrap_or_else(|| Allowed::anything(words, *key));
            if narrowed.is_empty() {
                return None;
            }
            shelf.narrow(*key, &narrowed, &mut types, &mut kinds);
        }
        let pool = state.pool;
        self.intern(pool, labels, types, kinds)
    }

    /// The ways a state can go for a topology slot: each value, and the state with it. None where the label is missing.
    pub fn pins(&mut self, from: StateId, slot: usize, words: &Words<'_>) -> Pins {
        if let Some(known) = self.pinned.get(&(from, slot)) {
            return known.clone();
        }
        let key = self.slots[slot];
        let state = &self.all[from];
        let shelf = &self.shelves[state.pool];
        let explicit = state.labels.iter().find(|(own, _)| *own == key).map(|(_, allowed)| allowed);
        let values: Vec<Value> = match (explicit, shelf.knows(key)) {
            (Some(allowed), false) => allowed.values().iter().collect(),
            (None, false) => vec![],
            (explicit, true) => {
                let offered = shelf.values(key, &state.types, &state.kinds);
                offered.iter().filter(|value| explicit.is_none_or(|allowed| allowed.has(*value))).collect()
            }
        };
        let mut pins: Vec<(Value, StateId)> = vec![];
        for value in values {
            let need = vec![(key, Allowed::one(value))];
            if let Some(to) = self.make_narrow(from, &need, words) {
                pins.push((value, to));
            }
        }
        pins.sort_by_key(|(value, _)| words.value_name(key, *value));
        let pins: Pins = pins.into();
        self.pinned.insert((from, slot), pins.clone());
        pins
    }

    /// Every value of a slot that a pool could ever give, for the universe of domains.
    pub fn reachable(&self, base: StateId, slot: usize) -> Mask {
        let key = self.slots[slot];
        let state = &self.all[base];
        let shelf = &self.shelves[state.pool];
        let explicit = state.labels.iter().find(|(own, _)| *own == key).map(|(_, allowed)| allowed);
        if !shelf.knows(key) {
            return explicit
                .filter(|allowed| !allowed.allows_others())
                .map(|allowed| allowed.values().clone())
                .unwrap_or_default();
        }
        // Unavailable offerings too: a zone that is out of stock for a while is still a domain.
        let (mut types, mut kinds) = (Mask::all(shelf.types.len()), Mask::all(shelf.kinds));
        for (key, allowed) in &state.labels {
            shelf.narrow(*key, allowed, &mut types, &mut kinds);
        }
        shelf.values(key, &types, &kinds)
    }

    /// The types that a state would have, with one more need, if every offering could be had.
    pub fn sold(&self, id: StateId, need: &Need) -> Mask {
        let state = &self.all[id];
        self.sold_by(state.pool, state.labels.iter().chain(need))
    }

    /// The types that labels would leave of a pool's shelf, if every offering could be had.
    pub fn sold_by<'n>(&self, pool: usize, labels: impl IntoIterator<Item = &'n (Key, Allowed)>) -> Mask {
        let shelf = &self.shelves[pool];
        let (mut types, mut kinds) = (Mask::all(shelf.types.len()), Mask::all(shelf.kinds));
        for (key, allowed) in labels {
            shelf.narrow(*key, allowed, &mut types, &mut kinds);
        }
        let gone: Vec<usize> = types.iter().filter(|of| !shelf.sells(*of, &kinds)).collect();
        gone.into_iter().for_each(|of| types.remove(of));
        types
    }

    pub fn prices(&self, id: StateId) -> &Prices {
        let state = &self.all[id];
        state.prices.get_or_init(|| {
            let shelf = &self.shelves[state.pool];
            let of: Vec<Option<u64>> = (0..shelf.types.len())
                .map(|at| if state.types.has(at) { shelf.price(at, &state.kinds) } else { None })
                .collect();
            let mut order: Vec<usize> = state.types.iter().collect();
            order.sort_by_key(|at| (of[*at], shelf.types[*at].name.as_str()));
            Prices { order, of, offerings: shelf.cheapest_first(&state.types, &state.kinds) }
        })
    }

    /// The cheapest of these types.
    pub fn cheapest(&self, id: StateId, types: &Mask) -> Option<(usize, u64)> {
        let prices = self.prices(id);
        let at = *prices.order.iter().find(|at| types.has(**at))?;
        Some((at, prices.of[at]?))
    }

    /// What the cheapest type of a state costs.
    pub fn lowest_price(&self, id: StateId) -> u64 {
        let prices = self.prices(id);
        prices.order.first().and_then(|of| prices.of[*of]).unwrap_or(u64::MAX)
    }

    fn intern(&mut self, pool: usize, labels: Need, mut types: Mask, kinds: Mask) -> Option<StateId> {
        let shelf = &self.shelves[pool];
        shelf.keep_had(&mut types, &kinds);
        if types.is_empty() {
            return None;
        }
        if let Some(id) = self.ids.get(&(pool, labels.clone())) {
            return Some(*id);
        }
        let domain = |key: &Key| match labels.iter().find(|(own, _)| own == key) {
            Some((_, allowed)) => match allowed.single() {
                Some(value) => Domain::Known(value),
                None if !allowed.allows_others() && allowed.values().is_empty() => Domain::Absent,
                None => Domain::Open,
            },
            None if shelf.knows(*key) => Domain::Open,
            None if Some(*key) == self.region => Domain::Unknown,
            None => Domain::Absent,
        };
        let domains = self.slots.iter().map(domain).collect();
        let id = self.all.len();
        self.ids.insert((pool, labels.clone()), id);
        self.all.push(State { pool, labels, types, kinds, domains, prices: OnceCell::new() });
        Some(id)
    }
}
