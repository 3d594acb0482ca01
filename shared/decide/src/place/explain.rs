//! Why a pod has no place: for every candidate the first rule that fails, in words.

mod sold_out;

use model::names;
use model::place::{Code, Invalid, Why};
use std::sync::Arc;

use super::amounts::quantity;
use super::answer::told;
use super::attempts;
use super::find::Asked;
use super::hash::Map;
use super::mask::Mask;
use super::needs::NeedId;
use super::rules::{DomainKind, HostRule};
use super::shapes::ShapeId;
use super::solver::Solver;
use super::states::StateId;
use super::taints;

/// The longest reason: an Event's message holds no more.
const MOST: usize = 1024;

/// The reasons of all pods without a place, by position. Pods of one shape share theirs.
pub fn all(solver: &mut Solver<'_>) -> Map<usize, Arc<Why>> {
    let mut whys = Map::default();
    for shape in 0..solver.shapes.len() {
        let left: Vec<usize> =
            solver.shapes[shape].pods.iter().copied().filter(|pod| solver.placed[*pod].is_none()).collect();
        if left.is_empty() {
            continue;
        }
        let why = Arc::new(of_shape(solver, shape));
        whys.extend(left.into_iter().map(|pod| (pod, why.clone())));
    }
    whys
}

pub fn invalid(invalid: &Invalid) -> Arc<Why> {
    Arc::new(Why { code: Code::Invalid(invalid.code.clone()), reason: cut(invalid.why.clone()) })
}

/// For a pod that no shape has: there is none.
pub fn unknown() -> Arc<Why> {
    Arc::new(Why { code: Code::Unschedulable, reason: "nothing is known about this pod".to_owned() })
}

pub fn of_shape(solver: &mut Solver<'_>, shape: ShapeId) -> Why {
    if solver.out_of_time {
        let reason = "the time for one solve was used up before this pod could be tried; it is tried again".to_owned();
        return Why { code: Code::OutOfTime, reason };
    }
    let pod = solver.shapes[shape].example;
    if pod.node_affinity.iter().any(|term| !term.fields.is_empty()) {
        let reason =
            "the pod asks for nodes by matchFields, which a node that does not exist yet cannot have".to_owned();
        return Why { code: Code::NotServed, reason };
    }
    if solver.plans[shape].attempts.is_empty() {
        let code = if by_volumes(solver, shape, None) { Code::Volumes } else { Code::Labels };
        let reason =
            "no node can ever suit the pod: its node selector, node affinity and volumes contradict each other"
                .to_owned();
        return Why { code, reason };
    }
    let mut found: Vec<(Code, String)> = vec![];
    let (asked_for, others): (Vec<usize>, Vec<usize>) =
        solver.ground.by_weight.iter().partition(|source| asks_for_pool(solver, shape, **source));
    if asked_for.is_empty() && !others.is_empty() {
        return no_such_pool(solver, shape);
    }
    for source in asked_for {
        let (code, words) = of_source(solver, shape, source);
        found.push((code, format!("pool {}: {words}", solver.ground.sources[source].pool.name)));
    }
    found.sort_by_key(|(code, _)| remoteness(code));
    let (mut codes, mut parts): (Vec<Code>, Vec<String>) = found.into_iter().unzip();
    if codes.is_empty() {
        parts.push("there is no pool that could make a node".to_owned());
        codes.push(Code::NoPools);
    }
    if codes.len() > 1 && codes.iter().any(|code| *code != Code::NoPools) {
        codes.retain(|code| *code != Code::NoPools);
    }
    if !others.is_empty() {
        parts.push(format!("the pod asks for none of the other {} pools", others.len()));
    }
    parts.extend(of_nodes(solver, shape));
    let first = codes.first().cloned().unwrap_or(Code::Unschedulable);
    let code = if codes.iter().all(|code| *code == first) { first } else { Code::Unschedulable };
    Why { code, reason: cut(parts.join("; ")) }
}

/// Whether a pod leaves it open to be served by this pool, as far as it names pools at all.
fn asks_for_pool(solver: &Solver<'_>, shape: ShapeId, source: usize) -> bool {
    let ground = &solver.ground;
    let Some(key) = ground.words.key(names::NODE_POOL) else { return true };
    let Some(value) = ground.words.value(key, ground.sources[source].pool.name.as_str()) else { return true };
    let suits = |need: &NeedId| ground.needs.get(*need).iter().all(|(own, allowed)| *own != key || allowed.has(value));
    solver.plans[shape].attempts.last().is_none_or(|must| must.needs.iter().any(suits))
}

fn no_such_pool(solver: &Solver<'_>, shape: ShapeId) -> Why {
    let ground = &solver.ground;
    let key = ground.words.key(names::NODE_POOL);
    let needs = solver.plans[shape].attempts.last().map(|must| must.needs.clone()).unwrap_or_default();
    let about_pools = needs.iter().flat_map(|need| ground.needs.get(*need)).filter(|(own, _)| Some(*own) == key);
    let asked: Vec<String> = about_pools
        .flat_map(|(key, allowed)| told(*key, allowed, &ground.words))
        .map(|of| format!("{} {} {}", of.key, of.operator, of.values.join(",")))
        .collect();
    let mut pools: Vec<&str> = ground.sources.iter().map(|source| source.pool.name.as_str()).collect();
    pools.sort_unstable();
    let reason =
        format!("the pod asks for {}, and no pool is called so; there are: {}", asked.join(" or "), pools.join(", "));
    Why { code: Code::Labels, reason: cut(reason) }
}

/// The pool that came nearest is told first: what is far off may be cut away.
fn remoteness(code: &Code) -> u8 {
    match code {
        Code::NoPools => 2,
        Code::Labels | Code::Taints => 1,
        _ => 0,
    }
}

/// The first rule that a pool fails.
fn of_source(solver: &mut Solver<'_>, shape: ShapeId, source: usize) -> (Code, String) {
    let of = &solver.ground.sources[source];
    if let Some(why) = &of.pool.closed {
        return (Code::NoPools, format!("makes no nodes now: {why}"));
    }
    if let Some(taint) = taints::first_untolerated(&of.taints, &solver.shapes[shape].example.tolerations, true) {
        let words =
            format!("the pod does not tolerate its taint {}={}:{}", taint.key, taint.value, taint.effect.as_str());
        return (Code::Taints, words);
    }
    let Some(base) = of.base else {
        if of.sold_out {
            return sold_out::why(solver, shape, source);
        }
        return (Code::Labels, "its own requirements leave no instance type that can be had".to_owned());
    };
    let Some(base) = solver.as_tolerated(shape, base) else {
        let taints = &solver.ground.sources[source].spot_taints;
        let taint = taints::first_untolerated(taints, &solver.shapes[shape].example.tolerations, true);
        let taint = taint.map(|one| format!("{}={}:{}", one.key, one.value, one.effect.as_str())).unwrap_or_default();
        let words = format!("it makes spot machines only, and the pod does not tolerate their taint {taint}");
        return (Code::Taints, words);
    };
    let must = solver.plans[shape].attempts.len() - 1;
    let needs = solver.plans[shape].attempts[must].needs.clone();
    let mut states: Vec<StateId> = vec![];
    for need in &needs {
        let ground = &mut solver.ground;
        states.extend(ground.states.narrow(base, *need, &ground.needs, &ground.words));
    }
    if states.is_empty() {
        let (code, words) = of_labels(solver, base, needs.first().copied().unwrap_or(0));
        let code = if by_volumes(solver, shape, Some(base)) { Code::Volumes } else { code };
        return (code, words);
    }
    of_state(solver, shape, source, must, &states)
}

/// Whether nodes would do that the pod asks for, if its volumes could be reached from them: of a pool, or any at all.
fn by_volumes(solver: &mut Solver<'_>, shape: ShapeId, base: Option<StateId>) -> bool {
    let of = &solver.shapes[shape];
    if of.example.volumes.iter().all(|volume| volume.alternatives.is_empty()) {
        return false;
    }
    let ground = &mut solver.ground;
    let terms = attempts::required_needs(of, ground);
    let mut suits = |need: &NeedId| {
        base.is_none_or(|base| ground.states.narrow(base, *need, &ground.needs, &ground.words).is_some())
    };
    terms.iter().any(&mut suits)
}

fn of_labels(solver: &mut Solver<'_>, base: StateId, need: NeedId) -> (Code, String) {
    let keys = solver.ground.needs.get(need).clone();
    for (key, allowed) in keys {
        let asked = told(key, &allowed, &solver.ground.words);
        let ground = &mut solver.ground;
        let need = vec![(key, allowed)];
        let alone = ground.needs.id(need.clone());
        if ground.states.narrow(base, alone, &ground.needs, &ground.words).is_none() {
            let asked: Vec<String> =
                asked.iter().map(|of| format!("{} {} {}", of.key, of.operator, of.values.join(","))).collect();
            let words = format!(
                "no type of it that can be had keeps what the pod or its volumes ask: {}",
                asked.join(" and ").trim()
            );
            let source = ground.states.get(base).pool;
            let out_of_stock = ground.states.shelf(source).knows(key) && !ground.states.sold(base, &need).is_empty();
            return (if out_of_stock { Code::NoOffering } else { Code::Labels }, words);
        }
    }
    (Code::NoOffering, "no offering of it that can be had keeps all labels that the pod asks for together".to_owned())
}

fn of_state(solver: &mut Solver<'_>, shape: ShapeId, source: usize, must: usize, states: &[StateId]) -> (Code, String) {
    let mut request = solver.shapes[shape].request.clone();
    if let Some((device, cost)) = solver.device_cost(shape, None) {
        request[device] += cost;
    }
    let mut fitting = Mask::default();
    for state in states {
        let mut types = solver.ground.states.get(*state).types.clone();
        if solver.ground.sources[source].fit.keep(&request, &mut types) {
            fitting.or(&types);
        }
    }
    if fitting.is_empty() {
        if let Some(words) = out_of_stock(solver, source, states, &request) {
            return (Code::NoOffering, words);
        }
        let mut types = Mask::default();
        states.iter().for_each(|state| types.or(&solver.ground.states.get(*state).types));
        return (Code::Resources, too_large(solver, source, &types, &request));
    }
    let plan = &solver.plans[shape];
    let asked = Asked { plan, attempt: &plan.attempts[must], courteous: false };
    let mut finals = vec![];
    let ground = &mut solver.ground;
    for state in states {
        asked.settle(*state, &mut ground.states, &ground.counters, &ground.words, &mut finals);
    }
    let alone = plan.attempts[must].hosts.iter().any(
        |rule| matches!(rule, HostRule::Near { counter, itself } if !itself || ground.counters.all[*counter].total > 0),
    );
    if finals.is_empty() || alone {
        return (Code::Topology, rules_in_words(solver, shape, must, alone));
    }
    let mut large_enough = false;
    for found in &finals {
        let mut types = solver.ground.states.get(found.state).types.clone();
        types.and(&fitting);
        large_enough |= !types.is_empty();
        if solver.limits.bind(source) {
            solver.limits.keep(source, found.state, &mut types, None, &mut solver.ground);
        }
        if types.is_empty() {
            continue;
        }
        if !solver.keeps_min_values(source, &types) {
            return (Code::MinValues, "the types that suit the pod are fewer than its minValues ask for".to_owned());
        }
        if !solver.shapes[shape].example.host_ports.is_empty() {
            return (
                Code::HostPorts,
                "DaemonSets take a host port that the pod wants, on every type that suits it".to_owned(),
            );
        }
        return (Code::Volumes, "no type that suits the pod can attach all of its volumes".to_owned());
    }
    if !large_enough {
        return (Code::Topology, rules_in_words(solver, shape, must, false));
    }
    (Code::Limits, format!("nothing that suits the pod is within {}", solver.limits.blame(source)))
}

/// The types that would hold the pod and are sold, but not to be had now.
fn out_of_stock(solver: &Solver<'_>, source: usize, states: &[StateId], request: &[i64]) -> Option<String> {
    const SOME: usize = 3;
    let mut types = Mask::default();
    states.iter().for_each(|state| types.or(&solver.ground.states.sold(*state, &vec![])));
    if !solver.ground.sources[source].fit.keep(request, &mut types) {
        return None;
    }
    let shelf = solver.ground.states.shelf(source);
    let names: Vec<&str> = types.iter().take(SOME).map(|of| shelf.types[of].name.as_str()).collect();
    let more = if types.len() > SOME { " and others" } else { "" };
    Some(format!("no type that is large enough can be had now: {}{more}", names.join(", ")))
}

/// None of these types holds the request.
fn too_large(solver: &Solver<'_>, source: usize, types: &Mask, request: &[i64]) -> String {
    let fit = &solver.ground.sources[source].fit;
    if types.iter().all(|of| fit.rows[of].iter().any(|left| *left < 0)) {
        return "DaemonSets ask for more than any type that suits the pod has".to_owned();
    }
    for (column, asked) in request.iter().enumerate() {
        let most = fit.most(column, types);
        if *asked > most {
            let name = solver.ground.columns.names()[column];
            let shown = |amount: i64| quantity(name, amount);
            return format!(
                "the pod asks for {name} {}, the largest type that suits it has {} free",
                shown(*asked),
                shown(most.max(0))
            );
        }
    }
    "no single type that suits the pod has enough of everything it asks for".to_owned()
}

fn rules_in_words(solver: &Solver<'_>, shape: ShapeId, must: usize, alone: bool) -> String {
    if alone {
        return "the pod must share a node with pods it has affinity to, and none of theirs has room".to_owned();
    }
    let rules = &solver.plans[shape].attempts[must].domains;
    let mut all: Vec<String> = rules
        .iter()
        .map(|rule| {
            let key = solver.ground.slot_name(rule.slot);
            match rule.kind {
                DomainKind::Spread { skew, .. } => format!("spread over {key} with maxSkew {skew}"),
                DomainKind::Near { .. } => format!("pod affinity by {key}"),
                DomainKind::Apart => format!("pod anti-affinity by {key}"),
            }
        })
        .collect();
    all.dedup();
    format!("no domain it can make keeps {}", all.join(" and "))
}

/// What keeps the pod off the nodes there are, counted.
fn of_nodes(solver: &mut Solver<'_>, shape: ShapeId) -> Option<String> {
    let mut counts: Vec<(&'static str, usize)> = vec![];
    let must = solver.plans[shape].attempts.len() - 1;
    for place in 0..solver.places.nodes {
        if solver.places.bucket_of[place] == usize::MAX {
            continue;
        }
        let why = solver.why_not_node(shape, must, place);
        match counts.iter_mut().find(|(known, _)| *known == why) {
            Some((_, count)) => *count += 1,
            None => counts.push((why, 1)),
        }
    }
    let words: Vec<String> = counts.iter().map(|(why, count)| format!("{count} {why}")).collect();
    (!words.is_empty()).then(|| format!("nodes that are there: {}", words.join(", ")))
}

impl Solver<'_> {
    fn why_not_node(&mut self, shape: ShapeId, must: usize, place: usize) -> &'static str {
        let (of, attempt) = (&self.shapes[shape], &self.plans[shape].attempts[must]);
        let info = &self.ground.nodes[place];
        if !taints::tolerated(&info.taints, &of.example.tolerations, true) {
            return "with taints it does not tolerate";
        }
        if !attempt.needs.iter().any(|need| self.ground.needs.kept(*need, |key| info.labels[key])) {
            return "with other labels";
        }
        let room = self.places.room(place);
        if of.request.iter().zip(room).any(|(request, room)| *request > 0 && request > room) {
            return "without enough room";
        }
        if !attempt.domains.iter().all(|rule| rule.holds(info.domains[rule.slot], &self.ground.counters))
            || !attempt.hosts.iter().all(|rule| rule.holds(place, &self.ground.counters))
        {
            return "kept out by rules between pods";
        }
        "without a free port, device part or volume slot"
    }
}

/// At most so many characters.
fn cut(text: String) -> String {
    match text.char_indices().nth(MOST) {
        None => text,
        Some(_) => text.chars().take(MOST - 1).chain(['…']).collect(),
    }
}
