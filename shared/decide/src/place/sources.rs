//! Pools as sources of nodes: where their claims begin, what DaemonSets leave of each type, what must stay to choose from.

use model::Taint;
use model::place::{Daemon, HostPort, Pool, Scene};
use model::{Effect, names};
use std::rc::Rc;

use super::allowed::Allowed;
use super::amounts::{Columns, PODS, Row, is_accelerator, subtract};
use super::fit::Fit;
use super::mask::Mask;
use super::needs::{self, Need, NeedId, Needs, add};
use super::shelf::Shelf;
use super::states::{StateId, States};
use super::taints;
use super::words::{Key, Words};

#[derive(Debug)]
pub struct Source<'a> {
    pub pool: &'a Pool,
    pub taints: Vec<&'a Taint>,
    /// Of its spot machines alone.
    pub spot_taints: Vec<&'a Taint>,
    /// Absent if its own requirements leave nothing.
    pub base: Option<StateId>,
    /// Its requirements would leave something, if it were not out of stock or in use.
    pub sold_out: bool,
    pub fit: Rc<Fit>,
    /// What DaemonSets take of each type.
    pub overhead: Vec<Row>,
    /// Ports that DaemonSets take, and the types where they do.
    pub ports: Vec<(&'a HostPort, Mask)>,
    /// Types with a GPU or the like.
    pub accelerators: Mask,
    /// Keys of which a claim must leave so many values; without a key, the types themselves.
    pub min_values: Vec<(Key, usize)>,
}

/// The labels and requirements of a pool's template.
pub fn template(pool: &Pool, words: &Words<'_>) -> Need {
    let mut need = needs::of_requirements(pool.requirements.iter().map(|of| &of.requirement), words);
    for (key, allowed) in needs::of_labels(&pool.labels, words) {
        add(&mut need, key, &allowed);
    }
    if let Some((key, value)) =
        words.key(names::NODE_POOL).and_then(|key| Some((key, words.value(key, pool.name.as_str())?)))
    {
        add(&mut need, key, &Allowed::one(value));
    }
    needs::without_host(need)
}

pub fn build<'a>(
    scene: &'a Scene,
    columns: &Columns<'a>,
    words: &Words<'a>,
    needs: &mut Needs,
    states: &mut States<'a>,
    daemons: &[DaemonNeeds<'a>],
) -> Vec<Source<'a>> {
    let mut fits: Vec<(usize, Vec<Row>, Rc<Fit>)> = vec![];
    let mut sources = vec![];
    for (at, pool) in scene.pools.iter().enumerate() {
        let template = template(pool, words);
        let contradiction = template.iter().any(|(_, allowed)| allowed.is_empty());
        let types = states.shelf(at).types;
        let sells = !contradiction && (types.is_empty() || !states.sold_by(at, &template).is_empty());
        let base = if contradiction { None } else { states.base(at, template) };
        let sold_out = sells && base.is_none();
        let pool_taints: Vec<&Taint> = pool.taints.iter().collect();
        let mut overhead = vec![vec![0; columns.len()]; types.len()];
        let mut ports: Vec<(&HostPort, Mask)> = vec![];
        for daemon in daemons {
            let comes_to = daemon.types(base, &pool_taints, needs, states, words);
            for of in comes_to.iter() {
                super::amounts::add(&mut overhead[of], &daemon.request);
            }
            ports.extend(daemon.daemon.host_ports.iter().map(|port| (port, comes_to.clone())));
        }
        let rows: Vec<Row> = types
            .iter()
            .zip(&overhead)
            .map(|(of, overhead)| {
                let mut row = columns.row(&of.allocatable);
                subtract(&mut row, overhead);
                // A node that cannot hold its DaemonSets is not one to wait for, whatever its pods ask for.
                if row.iter().any(|left| *left < 0) {
                    row[PODS] = row[PODS].min(0);
                }
                row
            })
            .collect();
        let known = fits.iter().find(|(catalogue, known, _)| *catalogue == pool.catalogue && *known == rows);
        let fit = match known {
            Some((_, _, fit)) => fit.clone(),
            None => {
                let fit = Rc::new(Fit::new(rows.clone(), columns.len()));
                fits.push((pool.catalogue, rows, fit.clone()));
                fit
            }
        };
        let mut accelerators = Mask::none(types.len());
        let dear = |at: &usize| {
            types[*at].capacity.iter().any(|(name, amount)| amount.thousandths() > 0 && is_accelerator(name))
        };
        (0..types.len()).filter(dear).for_each(|at| accelerators.insert(at));
        let least =
            |of: &model::place::PoolRequirement| Some((words.key(&of.requirement.key)?, of.min_values? as usize));
        // One value is always there.
        let min_values = pool.requirements.iter().filter_map(least).filter(|(_, least)| *least > 1).collect();
        sources.push(Source {
            pool,
            taints: pool_taints,
            spot_taints: pool.spot_taints.iter().collect(),
            base,
            sold_out,
            fit,
            overhead,
            ports,
            accelerators,
            min_values,
        });
    }
    sources
}

/// A DaemonSet, with its needs in numbers.
#[derive(Debug)]
pub struct DaemonNeeds<'a> {
    pub daemon: &'a Daemon,
    pub request: Row,
    /// One of these must be kept.
    pub needs: Vec<NeedId>,
}

impl<'a> DaemonNeeds<'a> {
    pub fn new(daemon: &'a Daemon, columns: &Columns<'a>, words: &Words<'a>, needs: &mut Needs) -> Self {
        // A daemon comes when the node has joined, whatever its labels of that say before.
        let joined = |mut need: Need| {
            let passing = [names::REGISTERED, names::INITIALIZED].map(|key| words.key(key));
            need.retain(|(key, _)| !passing.contains(&Some(*key)));
            needs::without_host(need)
        };
        let selector = needs.id(joined(needs::of_labels(&daemon.node_selector, words)));
        let terms: Vec<Need> = daemon.node_affinity.iter().filter_map(|term| needs::of_term(term, words)).collect();
        let mut all = vec![];
        for term in terms {
            let term = needs.id(joined(term));
            all.extend(needs.both(selector, term));
        }
        if daemon.node_affinity.is_empty() {
            all.push(selector);
        }
        DaemonNeeds { daemon, request: columns.request(&daemon.requests).0, needs: all }
    }

    pub fn tolerates(&self, taints: &[&Taint]) -> bool {
        taints::tolerated(taints, &self.daemon.tolerations, true)
    }

    /// The types of a pool that one of its pods comes to.
    fn types(
        &self,
        base: Option<StateId>,
        taints: &[&Taint],
        needs: &Needs,
        states: &mut States<'a>,
        words: &Words<'a>,
    ) -> Mask {
        let mut types = Mask::default();
        if let Some(base) = base.filter(|_| self.tolerates(taints)) {
            for need in &self.needs {
                if let Some(state) = states.narrow(base, *need, needs, words) {
                    types.or(&states.get(state).types);
                }
            }
        }
        types
    }
}

/// Shelves by pool: pools of one catalogue share one.
pub fn shelves<'a>(scene: &'a Scene, words: &Words<'a>) -> Vec<Rc<Shelf<'a>>> {
    static NOTHING: model::place::Catalogue = model::place::Catalogue { types: vec![], complete: false };
    let all: Vec<Rc<Shelf<'a>>> =
        scene.catalogues.iter().map(|catalogue| Rc::new(Shelf::new(catalogue, words))).collect();
    let empty = Rc::new(Shelf::new(&NOTHING, words));
    scene.pools.iter().map(|pool| all.get(pool.catalogue).unwrap_or(&empty).clone()).collect()
}

/// Whether pods may have to look past a taint that only prefers.
pub fn has_preferred_taints(scene: &Scene) -> bool {
    let all = scene.pools.iter().flat_map(|pool| &pool.taints).chain(scene.nodes.iter().flat_map(|node| &node.taints));
    all.into_iter().any(|taint| taint.effect == Effect::PreferNoSchedule)
}
