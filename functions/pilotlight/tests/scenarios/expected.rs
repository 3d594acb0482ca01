//! What a case expects of an answer. Every word that a case can use is in `wrong`; one that nobody knows is an error.

use serde_json::Value;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

const ZONE: &str = "topology.kubernetes.io/zone";
/// Words that are not about the answer.
const OTHERS: [&str; 6] = ["it", "given", "catalog", "args", "env", "error"];

/// What of a case does not hold, in words.
pub fn wrong(case: &Value, answer: &Value, exit: Option<i32>, objects: &[Value]) -> Vec<String> {
    let answer = Answer::new(answer, objects);
    let found = RefCell::new(Vec::new());
    for (word, expected) in case.as_object().unwrap() {
        let of_pods = || expected.as_object().unwrap().iter().map(|(pod, of)| (pod.as_str(), of));
        let names = || expected.as_array().unwrap().iter().map(|name| name.as_str().unwrap());
        let each = |holds: &dyn Fn(&str, &Value) -> Result<(), String>| {
            let wrong =
                of_pods().filter_map(|(pod, of)| holds(pod, of).err().map(|why| format!("{word} of {pod}: {why}")));
            found.borrow_mut().extend(wrong);
        };
        let whole = |holds: bool, why: String| {
            if !holds {
                found.borrow_mut().push(format!("{word}: {why}"));
            }
        };
        match word.as_str() {
            "pods" => each(&|pod, on| answer.is_on(pod, on.as_str().unwrap())),
            "says" => each(&|pod, part| {
                let reason = answer.pod(pod)["reason"].as_str().unwrap_or_default();
                same(reason.contains(part.as_str().unwrap()), true, reason)
            }),
            "cheapest" => each(&|pod, kind| same(&answer.claim(pod)["offerings"][0]["instanceType"], kind, "")),
            "types" => each(&|pod, kinds| same(answer.offered(pod, "instanceType"), set(kinds), "")),
            "zones" => each(&|pod, zones| same(answer.offered(pod, "zone"), set(zones), "")),
            "capacity" => each(&|pod, kinds| same(answer.offered(pod, "capacityType"), set(kinds), "")),
            "not-zone" => {
                each(&|pod, zone| same(answer.offered(pod, "zone").contains(zone.as_str().unwrap()), false, ""))
            }
            "pool" => each(&|pod, pool| same(&answer.claim(pod)["nodePool"], pool, "")),
            "labels" | "requests" => each(&|pod, fields| {
                let own = &answer.claim(pod)[word.as_str()];
                same(fields.as_object().unwrap().iter().all(|(key, value)| own[key] == *value), true, &own.to_string())
            }),
            "answered" => whole(answer.names() == names().collect(), format!("{:?}", answer.names())),
            "nodes" => whole(answer.claims.len() as u64 == expected.as_u64().unwrap(), answer.claims.len().to_string()),
            "price" => {
                let (own, wanted) = (answer.of["pricePerHour"].as_f64().unwrap(), expected.as_f64().unwrap());
                whole((own - wanted).abs() < 1e-6, own.to_string());
            }
            "together" => {
                for group in expected.as_array().unwrap() {
                    let places: BTreeSet<String> = set(group).iter().map(|pod| answer.place(pod)).collect();
                    whole(places.len() == 1, format!("{places:?}"));
                }
            }
            "apart" => {
                let places: Vec<String> = names().map(|pod| answer.place(pod)).collect();
                whole(places.iter().collect::<BTreeSet<_>>().len() == places.len(), format!("{places:?}"));
            }
            "one-zone" => {
                let zones: BTreeSet<BTreeSet<String>> = names().map(|pod| answer.zones(pod)).collect();
                whole(zones.len() == 1 && zones.iter().all(|zones| zones.len() == 1), format!("{zones:?}"));
            }
            "all-zones" => {
                let zones: BTreeSet<String> = answer.placed().flat_map(|pod| answer.zones(pod)).collect();
                whole(zones == set(expected), format!("{zones:?}"));
            }
            "per-zone" => {
                let mut counts: BTreeMap<String, u64> = BTreeMap::new();
                for pod in answer.placed() {
                    let zones: Vec<String> = answer.zones(pod).into_iter().collect();
                    *counts.entry(zones.join("|")).or_default() += 1;
                }
                let wanted = of_pods().map(|(zone, count)| (zone.to_owned(), count.as_u64().unwrap())).collect();
                whole(counts == wanted, format!("{counts:?}"));
            }
            "least-types" => {
                let kinds = answer.placed().map(|pod| answer.offered(pod, "instanceType").len() as u64);
                whole(kinds.min() >= expected.as_u64(), "fewer".to_owned());
            }
            other => whole(OTHERS.contains(&other), "nobody knows this word".to_owned()),
        }
    }
    let no_option = answer.pods.values().any(|pod| pod["on"].is_null() && pod["code"] != "NotProvisionable");
    if exit != Some(if no_option { 2 } else { 0 }) {
        found.borrow_mut().push(format!("it exits with {exit:?}"));
    }
    found.into_inner()
}

/// An answer, to be asked about pods by name.
struct Answer<'a> {
    of: &'a Value,
    pods: BTreeMap<&'a str, &'a Value>,
    claims: BTreeMap<&'a str, &'a Value>,
    /// Of nodes that were there.
    zone_of: BTreeMap<&'a str, &'a str>,
}

static NOTHING: Value = Value::Null;

impl<'a> Answer<'a> {
    fn new(of: &'a Value, objects: &'a [Value]) -> Self {
        let by_name = |list: &'a Value| -> BTreeMap<&'a str, &'a Value> {
            list.as_array().into_iter().flatten().map(|one| (one["name"].as_str().unwrap(), one)).collect()
        };
        let nodes = objects.iter().filter(|object| object["kind"] == "Node");
        let zone =
            |node: &'a Value| Some((node["metadata"]["name"].as_str()?, node["metadata"]["labels"][ZONE].as_str()?));
        Answer {
            of,
            pods: by_name(&of["pods"]),
            claims: by_name(&of["claims"]),
            zone_of: nodes.filter_map(zone).collect(),
        }
    }

    fn pod(&self, name: &str) -> &'a Value {
        self.pods.get(name).copied().unwrap_or(&NOTHING)
    }

    fn names(&self) -> BTreeSet<&'a str> {
        self.pods.keys().copied().collect()
    }

    fn placed(&self) -> impl Iterator<Item = &'a str> {
        self.pods.iter().filter(|(_, pod)| !pod["on"].is_null()).map(|(name, _)| *name)
    }

    fn place(&self, pod: &str) -> String {
        self.pod(pod)["on"].as_str().unwrap_or("nowhere").to_owned()
    }

    /// The new claim that a pod is on.
    fn claim(&self, pod: &str) -> &'a Value {
        let on = self.pod(pod)["on"].as_str().unwrap_or_default();
        on.strip_prefix("claim/").and_then(|name| self.claims.get(name)).copied().unwrap_or(&NOTHING)
    }

    /// `new`, a place by its name, or the code of a pod that has none.
    fn is_on(&self, pod: &str, expected: &str) -> Result<(), String> {
        let found = self.pod(pod);
        let holds = match expected {
            "new" => !self.claim(pod).is_null(),
            place if place.contains('/') => found["on"] == *place,
            code => found["on"].is_null() && found["code"] == *code,
        };
        same(holds, true, &format!("not {expected}: {found}"))
    }

    fn offered(&self, pod: &str, field: &str) -> BTreeSet<String> {
        let offerings = self.claim(pod)["offerings"].as_array().into_iter().flatten();
        offerings.map(|one| one[field].as_str().unwrap().to_owned()).collect()
    }

    /// Where a pod is or may be.
    fn zones(&self, pod: &str) -> BTreeSet<String> {
        let node = self.pod(pod)["on"].as_str().and_then(|on| on.strip_prefix("node/"));
        match node.and_then(|node| self.zone_of.get(node)) {
            Some(zone) => BTreeSet::from([(*zone).to_owned()]),
            None => self.offered(pod, "zone"),
        }
    }
}

fn set(list: &Value) -> BTreeSet<String> {
    list.as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned()).collect()
}

fn same<T: PartialEq + std::fmt::Debug>(found: T, expected: T, words: &str) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{found:?}, not {expected:?} {words}")) }
}
