//! A slow and obvious check of an answer: every offering of every claim keeps every rule of its pods. Shares nothing with the solve.

use std::collections::BTreeMap;

use decide::requirement::Requirements;
use model::place::{ClaimPlanned, Daemon, HostPort, NodeStage, NodeTerm, Placing, PodTerm, PodToPlace, Scene, Where};
use model::{Effect, Operator, Quantity, Requirement, Resources, Taint, Toleration, names};

mod between;

type Labels = BTreeMap<String, String>;

/// A node that is there or will be, with one of the labels it may get.
struct Site<'s> {
    name: String,
    /// Every way it can come up: labels, what pods may use.
    ways: Vec<(Labels, Resources)>,
    taints: Vec<&'s Taint>,
    pods: Vec<Standing<'s>>,
    free_is_exact: bool,
}

/// A pod where it stands, new or not.
#[derive(Clone, Copy)]
struct Standing<'s> {
    namespace: &'s str,
    labels: &'s model::Labels,
    new: Option<&'s PodToPlace>,
    anti_affinity: &'s [PodTerm],
    counts: bool,
}

pub fn violations(scene: &Scene, placing: &Placing) -> Vec<String> {
    let mut broken = vec![];
    let sites = sites(scene, placing, &mut broken);
    for site in &sites {
        broken.extend(capacity(scene, site));
        for pod in site.pods.iter().filter_map(|pod| pod.new) {
            broken.extend(node_rules(pod, site));
        }
        broken.extend(ports(scene, site));
    }
    broken.extend(between::check(scene, &sites));
    broken.extend(limits(scene, placing));
    broken
}

fn sites<'s>(scene: &'s Scene, placing: &'s Placing, broken: &mut Vec<String>) -> Vec<Site<'s>> {
    let mut sites: Vec<Site<'s>> = scene
        .nodes
        .iter()
        .map(|node| {
            let mut has = node.allocatable.clone();
            if node.stage != NodeStage::Initialized {
                for (name, amount) in &node.promised {
                    let own = has.entry(name.clone()).or_default();
                    *own = if own.thousandths() == 0 { *amount } else { *own };
                }
            }
            let mut labels = node.labels.clone();
            labels.entry(names::HOSTNAME.into()).or_insert_with(|| node.name.to_string());
            let lasting = |taint: &&Taint| {
                !(node.stage != NodeStage::Initialized && node.startup_taints.iter().any(|own| own.is_same(taint)))
            };
            let passing = |taint: &&Taint| {
                taint.key.starts_with("node.kubernetes.io/")
                    || taint.key.contains("uninitialized")
                    || taint.key == names::UNREGISTERED_TAINT
            };
            let taints = node.taints.iter().filter(lasting).filter(|taint| !passing(taint)).collect();
            Site {
                name: format!("node/{}", node.name),
                ways: vec![(labels, has)],
                taints,
                pods: vec![],
                free_is_exact: true,
            }
        })
        .collect();
    for pod in &scene.bound {
        if let Some(site) = sites.get_mut(pod.node) {
            let standing = Standing {
                namespace: pod.namespace.as_str(),
                labels: &pod.labels,
                new: None,
                anti_affinity: &pod.anti_affinity,
                counts: !pod.terminating,
            };
            site.pods.push(standing);
            subtract(&mut site.ways[0].1, &pod.requests);
        }
    }
    for claim in &placing.claims {
        let taints = scene.pools[claim.pool].taints.iter().collect();
        sites.push(Site {
            name: format!("claim/{}", claim.name),
            ways: ways(scene, claim, broken),
            taints,
            pods: vec![],
            free_is_exact: false,
        });
    }
    for (at, (pod, on)) in scene.pods.iter().zip(&placing.pods).enumerate() {
        let site = match on {
            Where::Node(node) => {
                if scene.nodes[*node].deleting {
                    broken.push(format!("{} is on a node that is being deleted", pod.name));
                }
                *node
            }
            Where::Claim(claim) => {
                if !placing.claims[*claim].pods.contains(&at) {
                    broken.push(format!("{} is not listed by its claim", pod.name));
                }
                scene.nodes.len() + claim
            }
            Where::Nowhere(why) => {
                if why.reason.is_empty() || why.reason.chars().count() > 1024 {
                    broken.push(format!("{} has no good reason", pod.name));
                }
                continue;
            }
        };
        let standing = Standing {
            namespace: pod.namespace.as_str(),
            labels: &pod.labels,
            new: Some(pod),
            anti_affinity: &pod.anti_affinity,
            counts: true,
        };
        sites[site].pods.push(standing);
    }
    sites
}

/// Every node that a claim may become.
fn ways(scene: &Scene, claim: &ClaimPlanned, broken: &mut Vec<String>) -> Vec<(Labels, Resources)> {
    let types = &scene.catalogues[scene.pools[claim.pool].catalogue].types;
    let asked: Vec<Requirement> = claim.all_requirements(scene).into_iter().map(|of| of.requirement).collect();
    let asked = Requirements::new(&asked);
    let mut ways: Vec<(Labels, Resources)> = vec![];
    let mut last = 0;
    for of in claim.offerings.iter() {
        let kind = &types[of.instance_type as usize];
        let offered = &kind.offerings[of.offering as usize];
        let mut labels = claim.labels.clone();
        labels.insert(names::HOSTNAME.into(), format!("new-{}", claim.name));
        labels.insert(names::INSTANCE_TYPE.into(), kind.name.clone());
        labels.insert(names::CAPACITY_TYPE.into(), offered.capacity_type.as_str().into());
        labels.extend(offered.zone.iter().map(|zone| (names::ZONE.to_owned(), zone.clone())));
        for stated in
            kind.requirements.iter().chain(&offered.requirements).filter(|stated| stated.operator == Operator::In)
        {
            labels.entry(stated.key.clone()).or_insert_with(|| stated.values[0].clone());
        }
        if !offered.available || !asked.kept_by(&labels) {
            broken.push(format!(
                "{} lists {} {:?}, which its requirements exclude or nobody has",
                claim.name, kind.name, offered.zone
            ));
        }
        let price = offered.price.unwrap_or(u64::MAX);
        if price < last {
            broken.push(format!("{} does not list the cheapest first", claim.name));
        }
        last = price;
        let mut has = kind.allocatable.clone();
        let has = {
            let taints: Vec<&Taint> = scene.pools[claim.pool].taints.iter().collect();
            let comes = |daemon: &&Daemon| {
                let selected = daemon.node_selector.iter().all(|(key, value)| labels.get(key) == Some(value));
                let keeps = |term: &NodeTerm| Requirements::new(&term.expressions).kept_by(&labels);
                selected && (daemon.node_affinity.is_empty() || daemon.node_affinity.iter().any(keeps))
            };
            for daemon in scene.daemons.iter().filter(comes).filter(|daemon| tolerated(&taints, &daemon.tolerations)) {
                subtract(&mut has, &daemon.requests);
            }
            has
        };
        if !ways.contains(&(labels.clone(), has.clone())) {
            ways.push((labels, has));
        }
    }
    if claim.offerings.is_empty() {
        broken.push(format!("{} lists nothing", claim.name));
    }
    ways
}

fn capacity(scene: &Scene, site: &Site<'_>) -> Vec<String> {
    let mut sum = Resources::new();
    let mut count = 0;
    for pod in site.pods.iter().filter_map(|pod| pod.new) {
        for (name, amount) in &pod.requests {
            if !scene.device_parts.iter().any(|parts| parts.resource == *name) {
                let own = sum.entry(name.clone()).or_default();
                *own = Quantity::from_thousandths(own.thousandths() + amount.thousandths());
            }
        }
        count += 1;
    }
    if count == 0 {
        return vec![];
    }
    let bound = if site.free_is_exact { site.pods.len() - count } else { 0 };
    sum.insert("pods".into(), Quantity::from_thousandths(1000 * (count + bound) as i128));
    let mut broken = vec![];
    for (labels, has) in &site.ways {
        for (name, amount) in sum.iter().filter(|(_, amount)| amount.thousandths() > 0) {
            if *amount > has.get(name).copied().unwrap_or_default() {
                broken.push(format!("{} as {:?} has not {amount} {name}", site.name, labels.get(names::INSTANCE_TYPE)));
            }
        }
    }
    broken
}

/// Labels and taints of every way the node can come up.
fn node_rules(pod: &PodToPlace, site: &Site<'_>) -> Vec<String> {
    let mut broken = vec![];
    let hard: Vec<&Taint> =
        site.taints.iter().filter(|taint| taint.effect != Effect::PreferNoSchedule).copied().collect();
    if !tolerated(&hard, &pod.tolerations) {
        broken.push(format!("{} does not tolerate the taints of {}", pod.name, site.name));
    }
    let keeps = |requirements: &[Requirement], labels: &Labels| Requirements::new(requirements).kept_by(labels);
    for (labels, _) in &site.ways {
        let selected = pod.node_selector.iter().all(|(key, value)| labels.get(key) == Some(value));
        let wanted = pod.node_affinity.is_empty()
            || pod.node_affinity.iter().any(|term| !term.expressions.is_empty() && keeps(&term.expressions, labels));
        let reached = pod
            .volumes
            .iter()
            .all(|volume| volume.alternatives.is_empty() || volume.alternatives.iter().any(|way| keeps(way, labels)));
        if !(selected && wanted && reached) {
            broken.push(format!("{} may come to {} with {labels:?}, which it does not want", pod.name, site.name));
        }
    }
    broken
}

fn ports(scene: &Scene, site: &Site<'_>) -> Vec<String> {
    let every = |port: &HostPort| matches!(port.ip.as_str(), "" | "0.0.0.0" | "::");
    let collide = |a: &HostPort, b: &HostPort| {
        (a.port, a.protocol) == (b.port, b.protocol) && (a.ip == b.ip || every(a) || every(b))
    };
    let there = scene
        .bound
        .iter()
        .filter(|pod| format!("node/{}", scene.nodes[pod.node].name) == site.name)
        .flat_map(|pod| &pod.host_ports);
    let mut taken: Vec<&HostPort> = there.collect();
    let mut broken = vec![];
    for pod in site.pods.iter().filter_map(|pod| pod.new) {
        for port in &pod.host_ports {
            if taken.iter().any(|other| collide(port, other)) {
                broken.push(format!("{} wants a port of {} that is taken", pod.name, site.name));
            }
        }
        taken.extend(&pod.host_ports);
    }
    broken
}

fn limits(scene: &Scene, placing: &Placing) -> Vec<String> {
    let mut broken = vec![];
    for (at, pool) in scene.pools.iter().enumerate() {
        let claims: Vec<&ClaimPlanned> = placing.claims.iter().filter(|claim| claim.pool == at).collect();
        for (name, limit) in &pool.limits {
            let types = &scene.catalogues[pool.catalogue].types;
            let of = |claim: &&ClaimPlanned| {
                claim
                    .offerings
                    .iter()
                    .map(|of| types[of.instance_type as usize].capacity.get(name).map_or(0, |has| has.thousandths()))
                    .max()
                    .unwrap_or(0)
            };
            let added: i128 = if name == "nodes" { 1000 * claims.len() as i128 } else { claims.iter().map(of).sum() };
            let used = pool.used.get(name).map_or(0, |used| used.thousandths());
            if added > 0 && used + added > limit.thousandths() {
                broken.push(format!("pool {} passes its limit of {name}", pool.name));
            }
        }
    }
    broken
}

fn tolerated(taints: &[&Taint], tolerations: &[Toleration]) -> bool {
    taints.iter().all(|taint| tolerations.iter().any(|toleration| toleration.tolerates(taint)))
}

fn subtract(from: &mut Resources, less: &Resources) {
    for (name, amount) in less {
        let own = from.entry(name.clone()).or_default();
        *own = Quantity::from_thousandths(own.thousandths() - amount.thousandths());
    }
}
