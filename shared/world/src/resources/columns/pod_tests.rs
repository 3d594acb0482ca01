//! What `kubectl get pods` shows, case by case: the pod, then READY, STATUS and RESTARTS.

use super::*;

fn shown(spec: Value, status: Value, deleting: bool) -> [String; 3] {
    let mut pod = json!({"metadata": {"name": "x", "creationTimestamp": "1970-01-01T00:00:00Z"}, "spec": spec,
        "status": status});
    if deleting {
        pod["metadata"]["deletionTimestamp"] = json!("1970-01-01T00:00:00Z");
    }
    let row = cells(&pod, Timestamp::from_second(600).unwrap_or_default());
    [1, 2, 3].map(|index| row[index].as_str().unwrap_or_default().to_owned())
}

#[test]
fn status_and_readiness_follow_the_containers() {
    let one = || json!({"containers": [{"name": "a"}]});
    let two = || json!({"containers": [{"name": "a"}, {"name": "b"}]});
    let with_init = || json!({"containers": [{"name": "a"}], "initContainers": [{"name": "i"}, {"name": "j"}]});
    let sidecar =
        || json!({"containers": [{"name": "a"}], "initContainers": [{"name": "s", "restartPolicy": "Always"}]});
    let running = || json!({"ready": true, "restartCount": 0, "state": {"running": {}}});
    let cases: Vec<(Value, Value, bool, [&str; 3])> = vec![
        (one(), json!({"phase": "Pending"}), false, ["0/1", "Pending", "0"]),
        (
            one(),
            json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]}),
            false,
            ["0/1", "SchedulingGated", "0"],
        ),
        (one(), json!({"phase": "Running", "containerStatuses": [running()]}), false, ["1/1", "Running", "0"]),
        (one(), json!({"phase": "Running", "containerStatuses": [running()]}), true, ["1/1", "Terminating", "0"]),
        (
            one(),
            json!({"phase": "Succeeded", "containerStatuses": [{"state": {"terminated": {"reason": "Completed"}}}]}),
            true,
            ["0/1", "Completed", "0"],
        ),
        (one(), json!({"phase": "Running", "reason": "NodeLost"}), true, ["0/1", "Unknown", "0"]),
        (
            one(),
            json!({"phase": "Failed", "containerStatuses": [{"state": {"terminated": {"exitCode": 2}}}]}),
            false,
            ["0/1", "ExitCode:2", "0"],
        ),
        (
            one(),
            json!({"phase": "Failed",
                "containerStatuses": [{"state": {"terminated": {"exitCode": 1, "reason": "Error"}}}]}),
            false,
            ["0/1", "Error", "0"],
        ),
        (one(), json!({"phase": "Failed", "reason": "Evicted"}), false, ["0/1", "Evicted", "0"]),
        (
            one(),
            json!({"phase": "Running", "containerStatuses": [{"restartCount": 3,
            "state": {"waiting": {"reason": "CrashLoopBackOff"}},
            "lastState": {"terminated": {"finishedAt": "1970-01-01T00:05:00Z"}}}]}),
            false,
            ["0/1", "CrashLoopBackOff", "3 (5m ago)"],
        ),
        (
            two(),
            json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}],
            "containerStatuses": [{"state": {"terminated": {"reason": "Completed"}}}, running()]}),
            false,
            ["1/2", "NotReady", "0"],
        ),
        (
            with_init(),
            json!({"phase": "Pending", "initContainerStatuses": [{"state": {"terminated": {"exitCode": 0}}},
            {"state": {"running": {}}}]}),
            false,
            ["0/1", "Init:1/2", "0"],
        ),
        (
            with_init(),
            json!({"phase": "Pending", "initContainerStatuses": [{"restartCount": 2,
            "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}),
            false,
            ["0/1", "Init:CrashLoopBackOff", "2"],
        ),
        (
            with_init(),
            json!({"phase": "Pending", "initContainerStatuses": [{"state": {"terminated": {"exitCode": 1,
            "reason": "Error"}}}]}),
            false,
            ["0/1", "Init:Error", "0"],
        ),
        (
            with_init(),
            json!({"phase": "Pending", "initContainerStatuses": [{"state": {"waiting": {"reason":
            "PodInitializing"}}}]}),
            false,
            ["0/1", "Init:0/2", "0"],
        ),
        (
            sidecar(),
            json!({"phase": "Running", "initContainerStatuses": [{"name": "s", "started": true, "ready": true,
            "restartCount": 1, "state": {"running": {}}}], "containerStatuses": [running()]}),
            false,
            ["2/2", "Running", "1"],
        ),
    ];
    for (spec, status, deleting, expected) in cases {
        assert_eq!(shown(spec, status.clone(), deleting), expected, "{status}");
    }
}

#[test]
fn the_wide_cells_name_address_node_and_gates() {
    let pod = json!({"spec": {"nodeName": "n", "readinessGates": [{"conditionType": "g"}, {"conditionType": "h"}]},
        "status": {"podIP": "10.0.0.1", "conditions": [{"type": "g", "status": "True"}]}});
    assert_eq!(json!(&cells(&pod, Timestamp::UNIX_EPOCH)[5..]), json!(["10.0.0.1", "n", "<none>", "1/2"]));
}
