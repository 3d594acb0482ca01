//! Machines of one's own in a plan: each is there once, and what nobody said of it is no limit.

use super::*;

#[test]
fn what_nobody_said_of_a_machine_is_no_limit_but_its_gpus_are() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("cluster.yaml");
    let answered = |machines: &str| {
        let pool = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: rack}\nspec: {template: {spec: {nodeClassRef: {group: pilotlight.dev, kind: PowerNodeClass, name: own}, requirements: []}}}\n";
        let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: train}\nspec:\n  containers: [{name: main, resources: {requests: {cpu: 4}, limits: {nvidia.com/gpu: 2}}}]\n";
        let back_end = "backEnd: {seed: {onURL: \"https://a.example/on\", offURL: \"https://a.example/off\"}}";
        let machines = machines.replace("...", back_end);
        let rack = format!(
            "apiVersion: pilotlight.dev/v1alpha1\nkind: PowerNodeClass\nmetadata: {{name: own}}\nspec:\n  machines: [{machines}]\n"
        );
        fs::write(&file, format!("{pool}---\n{rack}---\n{pod}")).unwrap();
        json(&plan(&["-f", file.to_str().unwrap(), "-o", "json"]))
    };
    let first = |answer: &Value| answer["claims"][0]["offerings"][0]["instanceType"].as_str().map(str::to_owned);
    let smallest = answered("{name: large, gpu: {count: 8}, ...}, {name: small, gpu: {count: 2}, ...}");
    assert_eq!(first(&smallest).as_deref(), Some("small"), "{smallest:#}");
    let some = answered("{name: some, gpu: {count: 2}, capacity: {cpu: 16, memory: 64Gi}, ...}");
    assert_eq!(first(&some).as_deref(), Some("some"), "{some:#}");
    let weak = answered("{name: weak, gpu: {count: 2}, capacity: {cpu: 2}, ...}, {name: one, gpu: {count: 1}, ...}");
    assert_eq!(first(&weak), None, "{weak:#}");
    let none = answered("{name: none, gpu: {count: 0}, ...}");
    assert!(none["pods"][0]["reason"].as_str().is_some_and(|why| why.contains("gpu.count")), "{none:#}");
}

#[test]
fn two_pods_that_each_want_the_one_machine_get_it_once() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("cluster.yaml");
    fs::write(&file, "apiVersion: pilotlight.dev/v1alpha1\nkind: PowerNodeClass\nmetadata: {name: own}\nspec:\n  machines:\n  - {name: box, gpu: {count: 1}, capacity: {cpu: 16, memory: 64Gi, pods: 110}, backEnd: {seed: {onURL: \"https://a.example/on\", offURL: \"https://a.example/off\"}}}\n---\napiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: rack}\nspec: {template: {spec: {nodeClassRef: {group: pilotlight.dev, kind: PowerNodeClass, name: own}, requirements: []}}}\n---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\nspec: {parallelism: 2, template: {spec: {restartPolicy: Never, containers: [{name: main, resources: {limits: {nvidia.com/gpu: 1}}}]}}}\n").unwrap();
    let output = plan(&["-f", file.to_str().unwrap(), "-o", "json"]);
    let answer = json(&output);
    let placed = answer["pods"].as_array().unwrap().iter().filter(|pod| !pod["on"].is_null()).count();
    assert_eq!((placed, output.status.code()), (1, Some(2)), "{answer:#}");
}

/// Machines of 1, 4 and 8 GPUs in a class of any name; the last has a Node of another name.
fn rack() -> String {
    let machine = |name: &str, gpus: u32, more: &str| {
        format!(
            "  - {{name: {name}, gpu: {{count: {gpus}}}, {more}backEnd: {{seed: {{onURL: \"https://a.example/on\", offURL: \"https://a.example/off\"}}}}}}\n"
        )
    };
    let machines = [machine("a", 1, ""), machine("b", 4, ""), machine("c", 8, "node: ws-1, ")].concat();
    format!(
        "apiVersion: pilotlight.dev/v1alpha1\nkind: PowerNodeClass\nmetadata: {{name: rack}}\nspec:\n  machines:\n{machines}"
    )
}

fn asks(name: &str, what: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {{containers: [{{name: main, resources: {{limits: {{{what}}}}}}}]}}\n"
    )
}

/// What is switched on, and the exit code.
fn woken(text: &str) -> (Vec<String>, Option<i32>, Value) {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("cluster.yaml");
    fs::write(&file, text).unwrap();
    let output = plan(&["-f", file.to_str().unwrap(), "-o", "json"]);
    let answer = json(&output);
    let first = |claim: &Value| claim["offerings"][0]["instanceType"].as_str().unwrap().to_owned();
    (answer["claims"].as_array().unwrap().iter().map(first).collect(), output.status.code(), answer)
}

#[test]
fn where_the_files_have_no_pool_pods_with_gpus_wake_the_smallest_machine_that_holds_them() {
    for (gpus, machine) in [(1, "a"), (3, "b"), (8, "c")] {
        let (up, code, answer) = woken(&(rack() + &asks("train", &format!("nvidia.com/gpu: {gpus}"))));
        assert_eq!((up, code), (vec![machine.to_owned()], Some(0)), "{answer:#}");
        assert_eq!(answer["claims"][0]["nodePool"], "power");
    }
    let (up, code, answer) = woken(&(rack() + &asks("plain", "cpu: 1")));
    assert_eq!((up, code, &answer["pods"][0]["code"]), (vec![], Some(0), &"NotProvisionable".into()), "{answer:#}");
    assert_eq!(woken(&(rack() + &asks("huge", "nvidia.com/gpu: 16"))).1, Some(2));
}

#[test]
fn a_machine_that_is_up_as_a_node_of_its_own_name_is_not_offered_again() {
    let up = |name: &str, gpus: u32| {
        let amounts = format!("{{cpu: 32, memory: 64Gi, pods: 110, nvidia.com/gpu: {gpus}}}");
        let node = format!(
            "---\napiVersion: v1\nkind: Node\nmetadata: {{name: {name}}}\nstatus: {{capacity: {amounts}, allocatable: {amounts}}}\n"
        );
        let bound = asks(&format!("on-{name}"), &format!("nvidia.com/gpu: {gpus}"));
        node + &bound.replace("spec: {", &format!("spec: {{nodeName: {name}, "))
    };
    let waits = asks("waits", "nvidia.com/gpu: 1");
    let all = rack() + &up("a", 1) + &up("b", 4) + &up("ws-1", 8) + &waits;
    let (none, code, answer) = woken(&all);
    assert_eq!((none, code), (vec![], Some(2)), "{answer:#}");
    let (last, code, answer) = woken(&(rack() + &up("a", 1) + &up("b", 4) + &up("c", 8) + &waits));
    assert_eq!((last, code), (vec!["c".to_owned()], Some(0)), "its Node is called ws-1: {answer:#}");
}
