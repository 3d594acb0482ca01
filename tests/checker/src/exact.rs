//! The least that a plan can cost, found by a solver of integer programs: for small worlds in which nothing but resources, taints and
//! selectors binds. Whoever plans better than this has broken a rule; whoever plans worse can be told by how much.
//!
//! The program counts nodes by what is on them. Pods that are the same in everything form a kind; a mix says how many of each kind
//! are on a node, and costs what the cheapest node costs that takes it. How many nodes of each mix, and how many pods of each kind
//! on the nodes that are there, is what the solver chooses.

use std::collections::BTreeMap;

use good_lp::solvers::{SolutionStatus, WithTimeLimit as _};
use good_lp::{Expression, Solution as _, SolverModel as _, microlp, variable, variables};

use crate::alone::Alone;
use crate::catalog::{Catalog, InstanceType, Offering};
use crate::cluster::{Cluster, PodFacts, Role};
use crate::daemons;
use crate::fresh::Fresh;
use crate::labels::NodeDemand;
use crate::machines::Machine;
use crate::pods::untolerated;
use crate::quantity::{self, Resources};
use crate::rules;

/// More mixes than this, and nobody wants to wait for the solver.
const MOST_MIXES: usize = 4_000;

/// Nor this long.
const SECONDS: f64 = 20.0;

/// What placing all pods that can be placed costs at least, an hour. None if more than resources, taints and selectors binds, if it is too
/// large, or if they cannot all be placed.
pub fn minimum_cost(cluster: &Cluster, catalog: &Catalog) -> Option<f64> {
    optimum(cluster, catalog).map(|optimum| optimum.cost)
}

/// The same with the number of pods that are placed for it: whoever places fewer may well pay less.
pub fn optimum(cluster: &Cluster, catalog: &Catalog) -> Option<Optimum> {
    if !is_plain(cluster) {
        return None;
    }
    let kinds = kinds(cluster, catalog);
    let hosts = hosts(cluster, catalog);
    let mixes = mixes(cluster, &kinds, &hosts)?;
    let pods = kinds.iter().map(|kind| kind.count).sum();
    solve(cluster, &kinds, &mixes).map(|cost| Optimum { cost, pods })
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Optimum {
    pub cost: f64,
    pub pods: usize,
}

/// Pods that are the same in everything.
struct Kind<'a> {
    pod: &'a PodFacts,
    count: usize,
}

/// What a mix of pods costs, by how many of each kind there are.
type Mixes = BTreeMap<Vec<usize>, f64>;

fn is_plain(cluster: &Cluster) -> bool {
    let limited = cluster.pools.iter().any(|pool| {
        let least = pool.spec.template.spec.requirements.iter().any(|one| one.min_values.is_some());
        least || !pool.spec.limits.is_empty()
    });
    let bound = cluster.pods.iter().filter(|pod| pod.role != Role::Gone).any(|pod| {
        let volumes = pod.pod.spec.as_ref().is_some_and(|spec| spec.volumes.iter().flatten().next().is_some());
        let waits = pod.role == Role::Waiting;
        rules::has_topology(pod, cluster) || (waits && (volumes || !pod.ports.is_empty()))
    });
    !limited && !bound
}

fn kinds<'a>(cluster: &'a Cluster, catalog: &'a Catalog) -> Vec<Kind<'a>> {
    let alone = Alone::new(cluster, catalog);
    let mut kinds: BTreeMap<String, Kind<'a>> = BTreeMap::new();
    for pod in cluster.pods.iter().filter(|pod| pod.role == Role::Waiting) {
        let anywhere =
            cluster.machines.iter().enumerate().any(|(index, machine)| room(cluster, machine, index, pod) > 0);
        if anywhere || !alone.options(pod, &pod.demand).is_empty() {
            let name = pod.pod.spec.as_ref().and_then(|spec| serde_json::to_string(spec).ok()).unwrap_or_default();
            kinds.entry(name).or_insert(Kind { pod, count: 0 }).count += 1;
        }
    }
    kinds.into_values().collect()
}

struct Host<'a> {
    fresh: Fresh<'a>,
    nodes: Vec<(&'a InstanceType, &'a Offering)>,
}

fn hosts<'a>(cluster: &'a Cluster, catalog: &'a Catalog) -> Vec<Host<'a>> {
    let pools = cluster.pools.iter().filter(|pool| pool.is_open());
    pools
        .map(|pool| {
            let fresh = Fresh::unopened(pool, catalog);
            let nodes = fresh.nodes().collect();
            Host { fresh, nodes }
        })
        .collect()
}

/// Every mix that some node takes, with its price. Larger mixes at the same price make smaller ones useless.
fn mixes(cluster: &Cluster, kinds: &[Kind<'_>], hosts: &[Host<'_>]) -> Option<Mixes> {
    let mut mixes = Mixes::new();
    let mut open = vec![vec![0; kinds.len()]];
    while let Some(mix) = open.pop() {
        for kind in 0..kinds.len() {
            let mut more = mix.clone();
            more[kind] += 1;
            if more[kind] > kinds[kind].count || mixes.contains_key(&more) {
                continue;
            }
            if let Some(price) = price(cluster, kinds, hosts, &more) {
                mixes.insert(more.clone(), price);
                open.push(more);
            }
        }
        if mixes.len() > MOST_MIXES {
            return None;
        }
    }
    let useless = |mix: &Vec<usize>, price: f64| {
        (0..kinds.len()).any(|kind| {
            let mut more = mix.clone();
            more[kind] += 1;
            mixes.get(&more).is_some_and(|other| *other <= price)
        })
    };
    Some(mixes.iter().filter(|(mix, price)| !useless(mix, **price)).map(|(mix, price)| (mix.clone(), *price)).collect())
}

fn price(cluster: &Cluster, kinds: &[Kind<'_>], hosts: &[Host<'_>], mix: &[usize]) -> Option<f64> {
    let mut wanted = Resources::new();
    let mut pods: Vec<&PodFacts> = Vec::new();
    for (kind, count) in kinds.iter().zip(mix).filter(|(_, count)| **count > 0) {
        pods.push(kind.pod);
        (0..*count).for_each(|_| quantity::add(&mut wanted, &kind.pod.requests));
    }
    let demands: Vec<&NodeDemand> = pods.iter().map(|pod| &pod.demand).collect();
    let mut best: Option<f64> = None;
    for host in hosts {
        let taints = &host.fresh.pool.spec.template.spec.taints;
        if pods.iter().any(|pod| untolerated(&pod.pod, taints).is_some()) {
            continue;
        }
        for node in &host.nodes {
            if best.is_some_and(|best| best <= node.1.price) || !fits(&wanted, &node.0.capacity) {
                continue;
            }
            let mut all = daemons::total(daemons::on_fresh(cluster, &host.fresh, *node).into_iter());
            quantity::add(&mut all, &wanted);
            if fits(&all, &node.0.capacity) && host.fresh.may_accept_all(*node, &demands) {
                best = Some(node.1.price);
            }
        }
    }
    best
}

fn fits(wanted: &Resources, there: &Resources) -> bool {
    wanted.iter().all(|(name, amount)| there.get(name).copied().unwrap_or(0) >= *amount)
}

/// What is free on a machine.
fn free(cluster: &Cluster, machine: &Machine, index: usize) -> Resources {
    let mut free = machine.allocatable.clone();
    let mut used = daemons::total(cluster.pods.iter().filter(|pod| pod.role == Role::Bound(index)));
    quantity::add(&mut used, &daemons::outstanding(cluster, machine, index));
    for (name, amount) in used {
        *free.entry(name).or_default() -= amount;
    }
    free
}

/// How many pods of a kind a machine takes if nothing else comes.
fn room(cluster: &Cluster, machine: &Machine, index: usize, pod: &PodFacts) -> i128 {
    let value = |key: &str| machine.labels.get(key).map(String::as_str);
    let suits = untolerated(&pod.pod, &machine.taints).is_none() && pod.demand.accepts(machine.node.as_deref(), value);
    if machine.leaving || !suits {
        return 0;
    }
    let free = free(cluster, machine, index);
    let times = |(name, amount): (&String, &i128)| free.get(name).copied().unwrap_or(0).max(0) / (*amount).max(1);
    pod.requests.iter().filter(|(_, amount)| **amount > 0).map(times).min().unwrap_or(0)
}

#[allow(clippy::cast_precision_loss)] // Counts and shares of a few pods.
fn solve(cluster: &Cluster, kinds: &[Kind<'_>], mixes: &Mixes) -> Option<f64> {
    let mut chosen = variables!();
    let of_mix: Vec<_> =
        mixes.iter().map(|(mix, price)| (mix, *price, chosen.add(variable().integer().min(0)))).collect();
    let mut on_machine = Vec::new();
    for (index, machine) in cluster.machines.iter().enumerate() {
        for (number, kind) in kinds.iter().enumerate() {
            let most = room(cluster, machine, index, kind.pod).min(kind.count as i128);
            if most > 0 {
                on_machine.push((index, number, chosen.add(variable().integer().min(0).max(most as f64))));
            }
        }
    }
    let cost: Expression = of_mix.iter().map(|(_, price, count)| *price * *count).sum();
    let mut program = chosen.minimise(cost.clone()).using(microlp).with_time_limit(SECONDS);
    for (number, kind) in kinds.iter().enumerate() {
        let new: Expression = of_mix.iter().map(|(mix, _, count)| mix[number] as f64 * *count).sum();
        let old: Expression =
            on_machine.iter().filter(|(_, one, _)| *one == number).map(|(_, _, count)| Expression::from(*count)).sum();
        program = program.with((new + old).geq(kind.count as f64));
    }
    for (index, machine) in cluster.machines.iter().enumerate() {
        let here: Vec<_> = on_machine.iter().filter(|(one, ..)| *one == index).collect();
        let free = free(cluster, machine, index);
        for (name, amount) in free.iter().filter(|(_, amount)| **amount > 0) {
            let share =
                |number: usize| kinds[number].pod.requests.get(name).copied().unwrap_or(0) as f64 / *amount as f64;
            let used: Expression = here.iter().map(|(_, number, count)| share(*number) * *count).sum();
            program = program.with(used.leq(1.0));
        }
    }
    let solution = program.solve().ok()?;
    matches!(solution.status(), SolutionStatus::Optimal).then(|| solution.eval(cost))
}
