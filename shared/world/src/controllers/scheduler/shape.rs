//! The shape of a pod: all that decides where it fits. Pods of the same shape share one, and what is known about it.

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

use super::node_terms::{NodeTerm, label_map, node_selector};
use crate::{
    api::selector::LabelSelector,
    controllers::{fields, kinds::Kind, quantity, view::View},
};

#[derive(Debug)]
pub(super) struct Shape {
    pub(super) number: u64,
    pub(super) namespace: String,
    pub(super) labels: Value,
    pub(super) requests: quantity::Amounts,
    /// Processor and memory for scoring, with something assumed for pods that ask for nothing.
    pub(super) assumed: (i64, i64),
    pub(super) selector: BTreeMap<String, String>,
    pub(super) required: Option<Vec<NodeTerm>>,
    pub(super) only_nodes: Option<BTreeSet<String>>,
    pub(super) preferred: Vec<(i64, NodeTerm)>,
    pub(super) tolerations: Vec<Value>,
    pub(super) ports: Vec<HostPort>,
    pub(super) spread: Vec<Spread>,
    pub(super) near: Vec<PodTerm>,
    pub(super) apart: Vec<PodTerm>,
    pub(super) preferred_pods: Vec<(i64, PodTerm)>,
    pub(super) claims: Vec<String>,
    pub(super) never_preempts: bool,
}

/// Protocol, port, address.
pub(super) type HostPort = (String, i64, String);

#[derive(Debug)]
pub(super) struct Spread {
    pub(super) key: String,
    pub(super) pods: PodTerm,
    pub(super) max_skew: i64,
    pub(super) min_domains: i64,
    pub(super) hard: bool,
    pub(super) honours_affinity: bool,
    pub(super) honours_taints: bool,
    pub(super) counts_itself: bool,
}

/// Pods with certain labels in certain namespaces, by topology.
#[derive(Debug, Clone)]
pub(super) struct PodTerm {
    /// The same text, the same pods.
    pub(super) text: String,
    pub(super) key: String,
    selector: Option<LabelSelector>,
    /// `None` for all namespaces.
    namespaces: Option<BTreeSet<String>>,
    /// Spreading does not count pods that are going.
    pub(super) without_going: bool,
}

impl PodTerm {
    pub(super) fn matches(&self, namespace: &str, labels: &Value) -> bool {
        self.namespaces.as_ref().is_none_or(|all| all.contains(namespace))
            && self.selector.as_ref().is_some_and(|selector| selector.matches_labels(labels))
    }
}

impl Shape {
    /// The parts of a pod that make its shape, as one text.
    pub(super) fn text(pod: &Value) -> String {
        let spec = &pod["spec"];
        let asks = (asks(&spec["containers"]), asks(&spec["initContainers"]));
        let wants =
            (&spec["nodeSelector"], &spec["affinity"], &spec["tolerations"], &spec["topologySpreadConstraints"]);
        let own = (&pod["metadata"]["namespace"], &pod["metadata"]["labels"], fields::claims(pod));
        let rest = (&spec["overhead"], &spec["resources"], &spec["preemptionPolicy"], &spec["hostNetwork"]);
        // Writing JSON values to a text cannot fail; if it did, shapes would merely not be shared.
        serde_json::to_string(&(own, wants, asks, rest)).unwrap_or_else(|_| fields::uid(pod).to_owned())
    }

    pub(super) fn parse(number: u64, pod: &Value, view: &View) -> Self {
        let spec = &pod["spec"];
        let affinity = &spec["affinity"];
        let requests = quantity::requests(pod);
        let asked =
            |name: &str, otherwise: i64| requests.get(name).copied().filter(|asked| *asked > 0).unwrap_or(otherwise);
        let assumed = (asked("cpu", 100), asked("memory", 200 * 1024 * 1024));
        let required = node_selector(&affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]);
        let only_nodes = required.as_ref().and_then(|terms| {
            terms.iter().map(NodeTerm::only).collect::<Option<Vec<_>>>().map(|all| all.into_iter().flatten().collect())
        });
        let preferred = fields::list(&affinity["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]);
        let terms = |field: &str| -> Vec<PodTerm> {
            let list = fields::list(&affinity[field]["requiredDuringSchedulingIgnoredDuringExecution"]);
            list.iter().map(|term| pod_term(term, pod, view)).collect()
        };
        let weighed = |field: &str, sign: i64| -> Vec<(i64, PodTerm)> {
            let list = fields::list(&affinity[field]["preferredDuringSchedulingIgnoredDuringExecution"]);
            let weight = |one: &Value| sign * one["weight"].as_i64().unwrap_or(0);
            list.iter().map(|one| (weight(one), pod_term(&one["podAffinityTerm"], pod, view))).collect()
        };
        let mut preferred_pods = weighed("podAffinity", 1);
        preferred_pods.extend(weighed("podAntiAffinity", -1));
        Shape {
            number,
            namespace: fields::namespace(pod).to_owned(),
            labels: pod["metadata"]["labels"].clone(),
            assumed,
            requests: requests.into_iter().filter(|(_, asked)| *asked > 0).collect(),
            selector: label_map(&spec["nodeSelector"]),
            required,
            only_nodes,
            preferred: preferred
                .iter()
                .filter_map(|one| Some((one["weight"].as_i64()?, NodeTerm::parse(&one["preference"])?)))
                .collect(),
            tolerations: fields::list(&spec["tolerations"]).to_vec(),
            ports: ports(pod),
            spread: fields::list(&spec["topologySpreadConstraints"]).iter().map(|one| spread(one, pod)).collect(),
            near: terms("podAffinity"),
            apart: terms("podAntiAffinity"),
            preferred_pods,
            claims: fields::claims(pod),
            never_preempts: spec["preemptionPolicy"] == "Never",
        }
    }

    /// Nothing about it depends on other pods than by what they use up.
    pub(super) fn is_simple(&self) -> bool {
        self.spread.is_empty()
            && self.near.is_empty()
            && self.apart.is_empty()
            && self.claims.is_empty()
            && self.preferred_pods.is_empty()
    }
}

/// What containers say about room.
fn asks(containers: &Value) -> Vec<[&Value; 3]> {
    fields::list(containers).iter().map(|one| [&one["resources"], &one["ports"], &one["restartPolicy"]]).collect()
}

fn ports(pod: &Value) -> Vec<HostPort> {
    let mut ports = Vec::new();
    let sidecars = fields::containers(pod, "initContainers").iter().filter(|one| one["restartPolicy"] == "Always");
    for port in fields::containers(pod, "containers").iter().chain(sidecars).flat_map(|one| fields::list(&one["ports"]))
    {
        let own = if pod["spec"]["hostNetwork"] == true { port["containerPort"].as_i64() } else { None };
        if let Some(number) = port["hostPort"].as_i64().or(own).filter(|number| *number > 0) {
            let protocol = port["protocol"].as_str().unwrap_or("TCP").to_owned();
            let address = port["hostIP"].as_str().filter(|address| !address.is_empty()).unwrap_or("0.0.0.0").to_owned();
            ports.push((protocol, number, address));
        }
    }
    ports
}

/// A label selector together with the keys whose values come from the pod itself.
fn merged_selector(term: &Value, pod: &Value) -> Value {
    let mut selector = term["labelSelector"].clone();
    for (field, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
        for key in fields::list(&term[field]).iter().filter_map(Value::as_str) {
            if let (Some(value), true) = (fields::label(pod, key), selector.is_object()) {
                let expression = json!({ "key": key, "operator": operator, "values": [value] });
                match selector["matchExpressions"].as_array_mut() {
                    Some(all) => all.push(expression),
                    None => selector["matchExpressions"] = json!([expression]),
                }
            }
        }
    }
    selector
}

fn pod_term(term: &Value, pod: &Value, view: &View) -> PodTerm {
    let selector = merged_selector(term, pod);
    let mut namespaces: Option<BTreeSet<String>> =
        Some(fields::list(&term["namespaces"]).iter().filter_map(Value::as_str).map(str::to_owned).collect());
    match LabelSelector::from_object(&term["namespaceSelector"]) {
        Some(by_label) if by_label.is_empty() => namespaces = None,
        Some(by_label) => {
            let matching = view.all(Kind::Namespace).filter(|(_, one)| by_label.matches(&one.value));
            namespaces.get_or_insert_default().extend(matching.map(|(key, _)| key.1.clone()));
        }
        None if namespaces.as_ref().is_some_and(BTreeSet::is_empty) => {
            namespaces = Some(BTreeSet::from([fields::namespace(pod).to_owned()]));
        }
        None => {}
    }
    let key = term["topologyKey"].as_str().unwrap_or_default().to_owned();
    let text = json!([selector, namespaces]).to_string();
    PodTerm { text, key, selector: LabelSelector::from_object(&selector), namespaces, without_going: false }
}

fn spread(constraint: &Value, pod: &Value) -> Spread {
    let selector = merged_selector(constraint, pod);
    let namespace = fields::namespace(pod);
    let key = constraint["topologyKey"].as_str().unwrap_or_default().to_owned();
    let pods = PodTerm {
        text: json!(["spread", selector, namespace]).to_string(),
        key: key.clone(),
        selector: LabelSelector::from_object(&selector),
        namespaces: Some(BTreeSet::from([namespace.to_owned()])),
        without_going: true,
    };
    let counts_itself = pods.matches(namespace, &pod["metadata"]["labels"]);
    Spread {
        key,
        pods,
        max_skew: constraint["maxSkew"].as_i64().unwrap_or(1),
        min_domains: constraint["minDomains"].as_i64().unwrap_or(1),
        hard: constraint["whenUnsatisfiable"].as_str().unwrap_or("DoNotSchedule") == "DoNotSchedule",
        honours_affinity: constraint["nodeAffinityPolicy"].as_str().unwrap_or("Honor") == "Honor",
        honours_taints: constraint["nodeTaintsPolicy"].as_str() == Some("Honor"),
        counts_itself,
    }
}
