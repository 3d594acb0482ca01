//! How a shape is tried, from all it wishes to what it must have. Wishes are given up one by one, in Karpenter's order.

use model::place::{NodePolicy, PodTerm, Preferences, Spread, WhenUnsatisfiable};
use std::rc::Rc;

use super::counters::{Counted, CounterId, Filter, Spot};
use super::ground::Ground;
use super::mask::Mask;
use super::needs::{self, NeedId};
use super::rules::{DomainKind, DomainRule, HostRule};
use super::selecting;
use super::shapes::{Shape, ShapeId};

/// One way to try a shape.
#[derive(Debug, Clone, Default)]
pub struct Attempt {
    /// What the node's labels must keep: one of these (volumes can be reachable from several places).
    pub needs: Vec<NeedId>,
    /// `PreferNoSchedule` does not keep it away.
    pub ignores_preferred_taints: bool,
    pub hosts: Vec<HostRule>,
    /// Wishes about hosts. They steer among what is there and never open another node: a fresh host would always keep them, and
    /// thousands of pods would get thousands of nodes.
    pub host_wishes: Vec<HostRule>,
    pub domains: Vec<DomainRule>,
    /// Slots that must be settled where the pod goes.
    pub settle: Vec<usize>,
}

/// All that is known about a shape's rules.
#[derive(Debug, Default)]
pub struct Plan {
    /// Most wishful first. Empty if what it requires contradicts itself.
    pub attempts: Vec<Attempt>,
    /// The last attempts are what it must have: one for each of its required terms.
    pub musts: usize,
    /// Counters that go up when one of its pods is placed.
    pub adds: Vec<CounterId>,
    /// What pods of other shapes would like this one to keep: their spread, which it is counted in.
    pub courtesy_hosts: Vec<HostRule>,
    pub courtesy_domains: Vec<DomainRule>,
}

/// A wish that can be given up.
enum Wish {
    Node(NeedId),
    Host(HostRule),
    Domain(DomainRule),
}

/// The rules of one shape as attempts. Counters are made on the way; `complete` adds what depends on all shapes.
pub fn plan(id: ShapeId, shape: &Shape<'_>, ground: &mut Ground<'_>) -> Plan {
    let pod = shape.example;
    let terms = required_needs(shape, ground);
    let volumes = volume_needs(shape, ground);
    let mut hard = Attempt::default();
    for term in &pod.affinity {
        add_term(&mut hard, term, shape, ground, true);
    }
    for term in &pod.anti_affinity {
        add_apart(&mut hard, term, shape, ground, true);
    }
    let mut wishes = vec![];
    let spreads = spreads(shape, ground);
    let slots = required_slots(&spreads, ground);
    for (spread, is_hard) in spreads {
        let of_all: &[usize] = if is_hard { &slots } else { &[] };
        let rule = spread_rule(id, &spread, shape, &terms, ground, (is_hard, of_all));
        match rule {
            Wish::Host(rule) if is_hard => hard.hosts.push(rule),
            Wish::Domain(rule) if is_hard => hard.domains.push(rule),
            wish => wishes.push(wish),
        }
    }
    let respects = ground.scene.policy.preferences == Preferences::Respect;
    let wishes: Vec<Wish> =
        if respects { preferred(shape, ground).into_iter().chain(wishes).collect() } else { vec![] };
    let mut plan = Plan::default();
    let taints = ground.has_preferred_taints;
    for given_up in 0..=wishes.len() + usize::from(taints) {
        let before = plan.attempts.len();
        for term in &terms {
            let mut attempt = hard.clone();
            attempt.ignores_preferred_taints = given_up > wishes.len();
            let node_wish = grant(&mut attempt, wishes.get(given_up..).unwrap_or(&[]));
            let Some(base) = ground.needs.both(*term, node_wish) else { continue };
            attempt.needs = volumes.iter().filter_map(|volume| ground.needs.both(base, *volume)).collect();
            if !attempt.needs.is_empty() {
                plan.attempts.push(attempt);
            }
        }
        plan.musts = plan.attempts.len() - before;
    }
    for term in &pod.anti_affinity {
        let kins = selecting::of_term(term, pod.namespace.as_str(), &pod.labels, &ground.kins, ground.scene);
        if let Some(spot) = ground.spot(&term.topology_key) {
            plan.adds.push(ground.counters.id(spot, kins, Counted::Averse));
        }
    }
    plan
}

/// What depends on the rules of all shapes: who counts this one, and who keeps away from it.
pub fn complete(plan: &mut Plan, shape: &Shape<'_>, ground: &Ground<'_>) {
    let mut settle = vec![];
    for (id, counter) in ground.counters.all.iter().enumerate().filter(|(_, counter)| counter.kins.has(shape.kin)) {
        match counter.counted {
            Counted::Averse => {
                for attempt in &mut plan.attempts {
                    match counter.spot {
                        Spot::Host => attempt.hosts.push(HostRule::AtMost { counter: id, most: 0 }),
                        Spot::Slot(slot) => {
                            attempt.domains.push(DomainRule { slot, counter: id, kind: DomainKind::Apart })
                        }
                    }
                }
            }
            Counted::Pods(_) => {
                plan.adds.push(id);
                if let (Spot::Slot(slot), true) = (counter.spot, counter.hard) {
                    settle.push(slot);
                }
                courtesy(plan, id, counter.spot, counter.evenly.as_ref());
            }
        }
    }
    for attempt in &mut plan.attempts {
        attempt.settle.extend(attempt.domains.iter().map(|rule| rule.slot));
        attempt.settle.extend(&settle);
        attempt.settle.sort_unstable();
        attempt.settle.dedup();
    }
}

fn courtesy(plan: &mut Plan, id: CounterId, spot: Spot, evenly: Option<&(u32, Rc<Mask>)>) {
    let Some((skew, eligible)) = evenly else { return };
    let Some(must) = plan.attempts.last() else { return };
    match spot {
        Spot::Host if !must.hosts.iter().any(|rule| rule.counter() == id) => {
            plan.courtesy_hosts.push(HostRule::AtMost { counter: id, most: skew - 1 });
        }
        Spot::Slot(slot) if !must.domains.iter().any(|rule| rule.counter == id) => {
            let kind = DomainKind::Spread { skew: *skew, itself: 1, eligible: eligible.clone(), min_domains: 0 };
            plan.courtesy_domains.push(DomainRule { slot, counter: id, kind });
        }
        Spot::Host | Spot::Slot(_) => {}
    }
}

/// One need for each required term, with the node selector in it.
pub fn required_needs(shape: &Shape<'_>, ground: &mut Ground<'_>) -> Vec<NeedId> {
    let pod = shape.example;
    let selector = needs::of_labels(&pod.node_selector, &ground.words);
    let selector = ground.needs.id(selector);
    if pod.node_affinity.is_empty() {
        return vec![selector];
    }
    // What cannot be asked of a node that does not exist yet is not asked at all.
    if pod.node_affinity.iter().any(|term| !term.fields.is_empty()) {
        return vec![];
    }
    let terms: Vec<_> = pod.node_affinity.iter().filter_map(|term| needs::of_term(term, &ground.words)).collect();
    let mut all = vec![];
    for term in terms {
        let term = ground.needs.id(term);
        all.extend(ground.needs.both(selector, term).filter(|need| !all.contains(need)));
    }
    all
}

/// The ways all volumes can be reached together.
fn volume_needs(shape: &Shape<'_>, ground: &mut Ground<'_>) -> Vec<NeedId> {
    /// More ways than this are not told apart: no cluster has so many zones for so many volumes of one pod.
    const MOST: usize = 64;
    let mut ways = vec![0];
    for volume in shape.example.volumes.iter().filter(|volume| !volume.alternatives.is_empty()) {
        let mut next = vec![];
        for alternative in &volume.alternatives {
            let need = needs::of_requirements(alternative, &ground.words);
            let need = ground.needs.id(need);
            let both: Vec<NeedId> = ways.iter().filter_map(|way| ground.needs.both(*way, need)).collect();
            next.extend(both);
        }
        next.sort_unstable();
        next.dedup();
        next.truncate(MOST);
        ways = next;
    }
    ways
}

fn add_term(attempt: &mut Attempt, term: &PodTerm, shape: &Shape<'_>, ground: &mut Ground<'_>, hard: bool) {
    match near_rule(term, shape, ground, hard) {
        Some(Wish::Host(rule)) => attempt.hosts.push(rule),
        Some(Wish::Domain(rule)) => attempt.domains.push(rule),
        Some(Wish::Node(_)) | None => {}
    }
}

fn add_apart(attempt: &mut Attempt, term: &PodTerm, shape: &Shape<'_>, ground: &mut Ground<'_>, hard: bool) {
    match apart_rule(term, shape, ground, hard) {
        Some(Wish::Host(rule)) => attempt.hosts.push(rule),
        Some(Wish::Domain(rule)) => attempt.domains.push(rule),
        Some(Wish::Node(_)) | None => {}
    }
}

fn term_counter(
    term: &PodTerm,
    shape: &Shape<'_>,
    ground: &mut Ground<'_>,
    hard: bool,
) -> Option<(Spot, CounterId, bool)> {
    let pod = shape.example;
    let kins = selecting::of_term(term, pod.namespace.as_str(), &pod.labels, &ground.kins, ground.scene);
    let itself = kins.has(shape.kin);
    let spot = ground.spot(&term.topology_key)?;
    let counter = ground.counters.id(spot, kins, Counted::Pods(0));
    ground.counters.all[counter].hard |= hard;
    Some((spot, counter, itself))
}

fn near_rule(term: &PodTerm, shape: &Shape<'_>, ground: &mut Ground<'_>, hard: bool) -> Option<Wish> {
    let (spot, counter, itself) = term_counter(term, shape, ground, hard)?;
    Some(match spot {
        Spot::Host => Wish::Host(HostRule::Near { counter, itself }),
        Spot::Slot(slot) => Wish::Domain(DomainRule { slot, counter, kind: DomainKind::Near { itself } }),
    })
}

fn apart_rule(term: &PodTerm, shape: &Shape<'_>, ground: &mut Ground<'_>, hard: bool) -> Option<Wish> {
    let (spot, counter, _) = term_counter(term, shape, ground, hard)?;
    Some(match spot {
        Spot::Host => Wish::Host(HostRule::AtMost { counter, most: 0 }),
        Spot::Slot(slot) => Wish::Domain(DomainRule { slot, counter, kind: DomainKind::Apart }),
    })
}

/// Its own constraints, else the scheduler's defaults.
fn spreads(shape: &Shape<'_>, ground: &Ground<'_>) -> Vec<(Spread, bool)> {
    let pod = shape.example;
    let with_default =
        |spread: &Spread| Spread { selector: pod.default_selector.as_deref().cloned(), ..spread.clone() };
    let own: Vec<Spread> = match (&pod.default_selector, pod.spread.is_empty()) {
        (Some(_), true) => ground.scene.default_spread.iter().map(with_default).collect(),
        _ => pod.spread.clone(),
    };
    let is_hard = |spread: &Spread| spread.when_unsatisfiable == WhenUnsatisfiable::DoNotSchedule;
    own.into_iter()
        .map(|spread| {
            let hard = is_hard(&spread);
            (spread, hard)
        })
        .collect()
}

/// The slots of all constraints that must be kept, where there are several: whoever has only one has it anyway.
fn required_slots(spreads: &[(Spread, bool)], ground: &Ground<'_>) -> Vec<usize> {
    let hard = spreads.iter().filter(|(_, is_hard)| *is_hard);
    let slot = |spread: &Spread| match ground.spot(&spread.topology_key)? {
        Spot::Slot(slot) => Some(slot),
        Spot::Host => None,
    };
    let mut slots: Vec<usize> = hard.filter_map(|(spread, _)| slot(spread)).collect();
    slots.sort_unstable();
    slots.dedup();
    if spreads.iter().filter(|(_, is_hard)| *is_hard).count() > 1 { slots } else { vec![] }
}

fn spread_rule(
    id: ShapeId,
    spread: &Spread,
    shape: &Shape<'_>,
    terms: &[NeedId],
    ground: &mut Ground<'_>,
    (hard, slots): (bool, &[usize]),
) -> Wish {
    let kins = selecting::of_spread(spread, spread.selector.as_ref(), shape.example, &ground.kins);
    let itself = u32::from(kins.has(shape.kin));
    let honours_affinity = spread.node_affinity_policy == NodePolicy::Honor;
    let tolerated_by = (spread.node_taints_policy == NodePolicy::Honor).then_some(id);
    let own: &[NeedId] = if terms == [0] { &[] } else { terms };
    let needs = if honours_affinity { own.to_vec() } else { vec![] };
    let filter = ground.counters.filter(Filter { needs, tolerated_by, slots: slots.to_vec() });
    let spot = ground.spot(&spread.topology_key).unwrap_or(Spot::Host);
    let counter = ground.counters.id(spot, kins, Counted::Pods(filter));
    let skew = spread.max_skew.max(1);
    let Spot::Slot(slot) = spot else {
        let known = &mut ground.counters.all[counter];
        known.hard |= hard;
        if hard {
            let strictest = known.evenly.as_ref().map_or(skew, |(known, _)| skew.min(*known));
            known.evenly = Some((strictest, Rc::default()));
        }
        return Wish::Host(HostRule::AtMost { counter, most: skew - itself });
    };
    // Nodes that the pod may not use are counted where they are, if it says so; none is made there to be counted.
    let eligible = Rc::new(ground.eligible(slot, own, !honours_affinity, tolerated_by.map(|_| shape), slots));
    let known = &mut ground.counters.all[counter];
    known.hard |= hard;
    if hard && known.evenly.as_ref().is_none_or(|(known, _)| skew < *known) {
        known.evenly = Some((skew, eligible.clone()));
    }
    let min_domains = spread.min_domains.filter(|_| hard).unwrap_or(0) as usize;
    Wish::Domain(DomainRule { slot, counter, kind: DomainKind::Spread { skew, itself, eligible, min_domains } })
}

/// Preferences in the order they are given up: pods it would be near, pods it would be apart from, nodes; the heaviest first.
fn preferred(shape: &Shape<'_>, ground: &mut Ground<'_>) -> Vec<Wish> {
    let pod = shape.example;
    let mut wishes = vec![];
    let mut near: Vec<_> = pod.preferred_affinity.iter().collect();
    near.sort_by_key(|wish| -wish.weight);
    wishes.extend(near.into_iter().filter_map(|wish| near_rule(&wish.term, shape, ground, false)));
    let mut apart: Vec<_> = pod.preferred_anti_affinity.iter().collect();
    apart.sort_by_key(|wish| -wish.weight);
    wishes.extend(apart.into_iter().filter_map(|wish| apart_rule(&wish.term, shape, ground, false)));
    let mut nodes: Vec<_> = pod.preferred_node_affinity.iter().collect();
    nodes.sort_by_key(|wish| -wish.weight);
    for wish in nodes {
        if let Some(need) = needs::of_term(&wish.term, &ground.words) {
            wishes.push(Wish::Node(ground.needs.id(need)));
        }
    }
    wishes
}

/// Puts the wishes that are still held into an attempt; answers the need of the heaviest wish about nodes, the only one of its
/// kind that counts at a time.
fn grant(attempt: &mut Attempt, wishes: &[Wish]) -> NeedId {
    let mut node = 0;
    for wish in wishes {
        match wish {
            Wish::Node(need) if node == 0 => node = *need,
            Wish::Node(_) => {}
            Wish::Host(rule) => attempt.host_wishes.push(*rule),
            Wish::Domain(rule) => attempt.domains.push(rule.clone()),
        }
    }
    node
}
