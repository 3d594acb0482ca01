//! The vectors by which a provider of racks is judged: machines A, B and C with 1, 4 and 8 GPUs.
//!
//! What is switched off is not decided here: V13, V15 and V16 ask only that nothing is switched on. V19 and V20 are refused when
//! settings are read.

use super::fixture::*;
use decide::provision::{Situation, Told};

struct Vector {
    name: &'static str,
    /// Machines that are on, and how many GPUs of each are in use. The others are off.
    on: &'static [(&'static str, i128)],
    /// GPUs that each pod without a node asks for.
    waiting: &'static [i128],
    up: &'static [&'static str],
    /// The pods that get nothing, and the word for it.
    refused: usize,
}

const fn vector(
    name: &'static str,
    on: &'static [(&'static str, i128)],
    waiting: &'static [i128],
    up: &'static [&'static str],
    refused: usize,
) -> Vector {
    Vector { name, on, waiting, up, refused }
}

const MACHINES: [(&str, i128); 3] = [("a", 1), ("b", 4), ("c", 8)];

const VECTORS: &[Vector] = &[
    vector("V1 nobody waits and all are off: nothing", &[], &[], &[], 0),
    vector("V2 one GPU: A", &[], &[1], &["a"], 0),
    vector("V3 four GPUs: B only, for A cannot hold it", &[], &[4], &["b"], 0),
    vector("V4 eight GPUs: C only", &[], &[8], &["c"], 0),
    vector("V5 sixteen GPUs: nothing, and a reason", &[], &[16], &[], 1),
    vector("V6 four GPUs bound to B, which is pulling: B is booked", &[("b", 4)], &[], &[], 0),
    vector("V7 C runs two, B starts a pod of four: nothing", &[("b", 4), ("c", 2)], &[], &[], 0),
    vector("V8 all full: nothing", &[("a", 1), ("b", 4), ("c", 8)], &[], &[], 0),
    vector("V9 all full and one waits: nothing, and a reason", &[("a", 1), ("b", 4), ("c", 8)], &[1], &[], 1),
    vector("V10 four free in sum, two and two: nothing, and a reason", &[("a", 1), ("b", 2), ("c", 6)], &[4], &[], 1),
    vector("V11 GPUs in use elsewhere only: nothing", &[], &[], &[], 0),
    vector("V12 one pod with one and two GPUs: B, which has three on one node", &[], &[3], &["b"], 0),
    vector("V13 only pods that are over on C: nothing is switched on", &[("c", 0)], &[], &[], 0),
    vector("V14 a pod of unknown state on C: nothing is switched on", &[("c", 1)], &[], &[], 0),
    vector("V15 A runs one, B and C are idle: nothing is switched on", &[("a", 1), ("b", 0), ("c", 0)], &[], &[], 0),
    vector("V16 two are idle: nothing is switched on", &[("b", 0), ("c", 0)], &[], &[], 0),
    vector("V17 B runs six in shares, nobody waits: nothing", &[("b", 6)], &[], &[], 0),
    vector("V18 B runs six in shares and one waits: A only", &[("b", 6)], &[1], &["a"], 0),
];

fn cluster(vector: &Vector) -> Situation {
    let machines = MACHINES.iter().map(|(machine, gpus)| {
        let mut offering = offering("power", machine, *gpus, 0);
        // What decides between machines that cost nothing.
        offering.price.as_mut().unwrap().millionths_per_hour = u64::try_from(*gpus).unwrap();
        offering
    });
    let waiting = vector.waiting.iter().enumerate().map(|(index, gpus)| pod(&format!("waits-{index}"), *gpus));
    let mut situation = situation("power", machines.collect(), waiting.collect());
    for (machine, used) in vector.on {
        let gpus = MACHINES.iter().find(|(known, _)| known == machine).unwrap().1;
        add_node(&mut situation, machine, gpus, *used);
        let mut held = claim(&format!("holds-{machine}"), &situation.pools[0].class.clone());
        held.requirements.push(model::Requirement {
            key: model::names::INSTANCE_TYPE.into(),
            operator: model::Operator::In,
            values: vec![(*machine).to_owned()],
        });
        held.status.node = Some((*machine).to_owned());
        initialized(&mut held, 600);
        situation.claims.push(held);
    }
    situation
}

#[test]
fn every_vector_wakes_the_machines_it_should_and_no_other() {
    for vector in VECTORS {
        let situation = cluster(vector);
        let done = decide(&situation);
        let up: Vec<Vec<String>> = vector.up.iter().map(|machine| vec![(*machine).to_owned()]).collect();
        assert_eq!(types_of(&done), up, "{}", vector.name);
        let refused = done.pods.iter().filter(|(_, told)| matches!(told, Told::NoNode(_))).count();
        assert_eq!(refused, vector.refused, "{}: {:?}", vector.name, done.pods);
        // Once it is carried out there is nothing more to do.
        assert_eq!(decide(&carried_out(&situation, &done)).claims, vec![], "{}", vector.name);
    }
}

#[test]
fn several_pods_share_the_machines_that_are_there_and_none_is_named_twice() {
    let three = vector("three of one GPU", &[], &[1, 1, 1], &[], 0);
    let done = decide(&cluster(&three));
    assert!(done.pods.iter().all(|(_, told)| matches!(told, Told::Coming { .. })), "{:?}", done.pods);
    let types = types_of(&done);
    assert!(types.iter().all(|listed| listed.len() == 1) && types.len() <= 2, "{types:?}");
    let all = vector("more than there is", &[], &[8, 4, 1, 1], &[], 0);
    let done = decide(&cluster(&all));
    assert_eq!(types_of(&done), [["a"], ["b"], ["c"]]);
    assert_eq!(done.pods.iter().filter(|(_, told)| matches!(told, Told::NoNode(_))).count(), 1);
}
