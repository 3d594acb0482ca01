//! Limits of pools and quotas above them, counted while claims are opened: no answer ever adds up to more than they allow.

use model::Resources;
use model::place::Scene;
use std::borrow::Cow;

use super::amounts::{Row, amount, quantity, subtract};
use super::ground::Ground;
use super::mask::Mask;
use super::needs::{NeedId, of_requirements};
use super::reserved;
use super::states::{StateId, States};

/// The name under which limits count machines.
const NODES: &str = "nodes";
/// One of them, in thousandths.
const ONE_NODE: i64 = 1000;

/// What was left of every limit at some time.
pub type Left = Vec<(Row, Option<i64>)>;

pub struct Limits {
    /// Of pools by position, then quotas.
    budgets: Vec<Budget>,
    pools: usize,
}

struct Budget {
    name: String,
    /// The resources it limits.
    resources: Vec<String>,
    left: Row,
    nodes_left: Option<i64>,
    /// What each type takes of those resources: by pool, then type. For a pool's own limits only its own types are there.
    capacities: Vec<Vec<Row>>,
    /// The most that any type takes.
    largest: Row,
    /// Which offerings it counts: those that keep one of these. A pool's limits count all of its own.
    counts: Option<Vec<NeedId>>,
}

impl Limits {
    pub fn new(scene: &Scene, ground: &mut Ground<'_>) -> Self {
        let mut budgets = vec![];
        for (at, pool) in scene.pools.iter().enumerate() {
            let left = |name: &String| {
                let used = pool.used.get(name).map_or(0, |used| amount(name, *used));
                pool.limits.get(name).map_or(0, |limit| amount(name, *limit)) - used
            };
            let mut budget = Budget::new(format!("limits of pool {}", pool.name), &pool.limits, left);
            budget.capacities = (0..scene.pools.len())
                .map(|other| if other == at { budget.rows(&ground.states, at) } else { vec![] })
                .collect();
            budgets.push(budget);
        }
        for quota in &scene.quotas {
            let left = |name: &String| quota.remaining.get(name).map_or(0, |left| amount(name, *left));
            let mut budget = Budget::new(quota.name.clone(), &quota.remaining, left);
            budget.capacities = (0..scene.pools.len()).map(|at| budget.rows(&ground.states, at)).collect();
            budget.counts = Some(vec![ground.needs.id(of_requirements(&quota.counts, &ground.words))]);
            budgets.push(budget);
        }
        for of in reserved::all(scene, &ground.words) {
            let left = |_: &String| i64::from(of.left) * ONE_NODE;
            let only_nodes = Resources::from([(NODES.to_owned(), model::Quantity::default())]);
            let mut budget = Budget::new(of.name, &only_nodes, left);
            budget.capacities = (0..scene.pools.len()).map(|at| budget.rows(&ground.states, at)).collect();
            budget.counts = Some(of.blocks.into_iter().map(|block| ground.needs.id(block)).collect());
            budgets.push(budget);
        }
        for budget in &mut budgets {
            budget.largest = vec![0; budget.resources.len()];
            for row in budget.capacities.iter().flatten() {
                budget.largest.iter_mut().zip(row).for_each(|(largest, takes)| *largest = (*largest).max(*takes));
            }
        }
        Limits { budgets, pools: scene.pools.len() }
    }

    /// Whether anything limits a pool at all.
    pub fn bind(&self, pool: usize) -> bool {
        self.of(pool).any(|budget| !budget.resources.is_empty() || budget.nodes_left.is_some())
    }

    /// Keeps the types that the limits still allow a claim which has taken `charge` of them; a new claim has taken none.
    pub fn keep(&self, pool: usize, state: StateId, types: &mut Mask, charge: Option<&Row>, ground: &mut Ground<'_>) {
        let mut from = 0;
        for budget in self.of(pool) {
            let own = charge.map(|charge| &charge[from..from + budget.width()]);
            from += budget.width();
            if budget.is_ample() {
                continue;
            }
            let Some(counted) = budget.counted(state, ground) else { continue };
            let has_node = own.and_then(|own| own.last()).is_some_and(|nodes| *nodes > 0);
            let no_node = !has_node && budget.nodes_left.is_some_and(|left| left < ONE_NODE);
            let denied = |of: usize| counted.has(of) && (no_node || budget.exceeds(&budget.capacities[pool][of], own));
            let gone: Vec<usize> = types.iter().filter(|of| denied(*of)).collect();
            gone.into_iter().for_each(|of| types.remove(of));
        }
    }

    /// What a claim takes of all limits if it may become any of these types.
    pub fn charge(&self, pool: usize, state: StateId, types: &[usize], ground: &mut Ground<'_>) -> Row {
        let mut charge = vec![];
        for budget in self.of(pool) {
            let from = charge.len();
            charge.resize(from + budget.width(), 0);
            let Some(counted) = budget.counted(state, ground) else { continue };
            for of in types.iter().filter(|of| counted.has(**of)) {
                for (most, takes) in charge[from..].iter_mut().zip(&budget.capacities[pool][*of]) {
                    *most = (*most).max(*takes);
                }
                if let Some(nodes) = charge.last_mut() {
                    *nodes = ONE_NODE;
                }
            }
        }
        charge
    }

    /// Whether so many more claims of a pool may list whatever they like.
    pub fn suffice(&self, pool: usize, claims: usize) -> bool {
        let claims = claims as i64;
        self.of(pool).all(|budget| {
            let mut amounts = budget.left.iter().zip(&budget.largest);
            let nodes = budget.nodes_left.is_none_or(|left| left >= claims.saturating_mul(ONE_NODE));
            nodes && amounts.all(|(left, largest)| *left >= largest.saturating_mul(claims))
        })
    }

    /// Whether a claim's charge depends on more than its type.
    pub fn have_quotas(&self) -> bool {
        self.budgets.len() > self.pools
    }

    /// Takes a charge, in exchange for an older one.
    pub fn take(&mut self, pool: usize, charge: &Row, instead_of: Option<&Row>) {
        let pools = self.pools;
        let mut from = 0;
        for (_, budget) in self.budgets.iter_mut().enumerate().filter(|(at, _)| *at == pool || *at >= pools) {
            let part = from..from + budget.width();
            from = part.end;
            let mut change = charge[part.clone()].to_vec();
            if let Some(older) = instead_of {
                subtract(&mut change, &older[part]);
            }
            let nodes = change.pop().unwrap_or(0);
            subtract(&mut budget.left, &change);
            if let Some(left) = &mut budget.nodes_left {
                *left -= nodes;
            }
        }
    }

    /// What a node of a type takes of its pool's limits, and of quotas above it if asked, is free again.
    pub fn give_back(&mut self, pool: usize, base: StateId, of: usize, quotas: bool, ground: &mut Ground<'_>) {
        let mut charge = self.charge(pool, base, &[of], ground);
        let own = self.budgets.get(pool).map_or(0, Budget::width);
        if !quotas && let Some(above) = charge.get_mut(own..) {
            above.fill(0);
        }
        let nothing = vec![0; charge.len()];
        self.take(pool, &nothing, Some(&charge));
    }

    /// What is left of every limit.
    pub fn left(&self) -> Left {
        self.budgets.iter().map(|budget| (budget.left.clone(), budget.nodes_left)).collect()
    }

    pub fn restore(&mut self, left: Left) {
        for (budget, (left, nodes_left)) in self.budgets.iter_mut().zip(left) {
            (budget.left, budget.nodes_left) = (left, nodes_left);
        }
    }

    /// Whether more was taken than there was, where that was not so before.
    pub fn are_passed_since(&self, before: &Left) -> bool {
        let passed = |left: i64, before: i64| left < 0 && left < before;
        self.budgets.iter().zip(before).any(|(budget, (left, nodes_left))| {
            let nodes = budget.nodes_left.zip(*nodes_left).is_some_and(|(now, before)| passed(now, before));
            nodes || budget.left.iter().zip(left).any(|(now, before)| passed(*now, *before))
        })
    }

    /// Names of the limits that allow none of these types in a new claim.
    pub fn blame(&self, pool: usize) -> String {
        let named: Vec<String> = self
            .of(pool)
            .filter(|budget| !budget.resources.is_empty() || budget.nodes_left.is_some())
            .map(Budget::told)
            .collect();
        named.join(", ")
    }

    fn of(&self, pool: usize) -> impl Iterator<Item = &Budget> {
        let pools = self.pools;
        self.budgets.iter().enumerate().filter(move |(at, _)| *at == pool || *at >= pools).map(|(_, budget)| budget)
    }
}

impl Budget {
    fn new(name: String, limits: &Resources, left: impl Fn(&String) -> i64) -> Self {
        let resources: Vec<String> = limits.keys().filter(|name| *name != NODES).cloned().collect();
        let nodes_left = limits.contains_key(NODES).then(|| left(&NODES.to_owned()));
        Budget {
            name,
            left: resources.iter().map(left).collect(),
            resources,
            nodes_left,
            capacities: vec![],
            largest: vec![],
            counts: None,
        }
    }

    fn rows(&self, states: &States<'_>, pool: usize) -> Vec<Row> {
        let row = |capacity: &Resources| {
            self.resources.iter().map(|name| capacity.get(name).map_or(0, |has| amount(name, *has))).collect()
        };
        states.shelf(pool).types.iter().map(|of| row(&of.capacity)).collect()
    }

    /// The resources, and the machines.
    fn width(&self) -> usize {
        self.resources.len() + 1
    }

    /// Whether it allows any type to any claim.
    fn is_ample(&self) -> bool {
        self.nodes_left.is_none_or(|left| left >= ONE_NODE)
            && self.left.iter().zip(&self.largest).all(|(left, largest)| left >= largest)
    }

    /// Whether a type takes more than is left, with what its claim has taken before.
    fn exceeds(&self, takes: &Row, own: Option<&[i64]>) -> bool {
        let mut of_each = takes.iter().zip(&self.left).enumerate();
        of_each.any(|(at, (takes, left))| *takes > left + own.map_or(0, |own| own[at]))
    }

    /// The types that it counts in a state, if there are any.
    fn counted<'g>(&self, state: StateId, ground: &'g mut Ground<'_>) -> Option<Cow<'g, Mask>> {
        let Some(counts) = &self.counts else { return Some(Cow::Borrowed(&ground.states.get(state).types)) };
        let mut met: Option<StateId> = None;
        let mut more: Option<Mask> = None;
        for need in counts {
            let Some(state) = ground.states.narrow(state, *need, &ground.needs, &ground.words) else { continue };
            match met {
                None => met = Some(state),
                Some(first) => {
                    let types = &ground.states.get(state).types;
                    more.get_or_insert_with(|| ground.states.get(first).types.clone()).or(types);
                }
            }
        }
        more.map(Cow::Owned).or_else(|| Some(Cow::Borrowed(&ground.states.get(met?).types)))
    }

    fn told(&self) -> String {
        let mut left: Vec<String> = self
            .resources
            .iter()
            .zip(&self.left)
            .map(|(name, left)| {
                let left = quantity(name, (*left).max(0));
                format!("{name} {left}")
            })
            .collect();
        left.extend(self.nodes_left.map(|nodes| format!("nodes {}", (nodes / 1000).max(0))));
        format!("{} (left: {})", self.name, left.join(", "))
    }
}
