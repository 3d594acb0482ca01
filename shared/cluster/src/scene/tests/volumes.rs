//! Volumes: where they can be reached from, what they take, and what is wrong with them.

use super::*;

fn class(name: &str, more: Value) -> Value {
    let usual = json!({ "metadata": metadata(name), "provisioner": "csi.example.com", "volumeBindingMode": "WaitForFirstConsumer" });
    with(usual, more)
}

fn volume_claim(name: &str, more: Value) -> Value {
    with(named(json!({ "spec": { "storageClassName": "fast" } }), name, "team-a"), more)
}

fn bound_to(volume: &str) -> Value {
    json!({ "metadata": { "annotations": { "pv.kubernetes.io/bind-completed": "yes" } }, "spec": { "volumeName": volume } })
}

fn volume(name: &str, spec: Value) -> Value {
    json!({ "metadata": metadata(name), "spec": with(json!({ "csi": { "driver": "csi.example.com", "volumeHandle": "vol-1" } }), spec) })
}

fn source(claims: Value, volumes: Value, classes: Value) -> SceneSource {
    let pod = waiting(
        json!({ "spec": { "volumes": [{ "name": "data", "persistentVolumeClaim": { "claimName": "data" } }] } }),
    );
    SceneSource {
        volume_claims: object(claims),
        volumes: object(volumes),
        storage_classes: object(classes),
        ..source_of(pod)
    }
}

fn only_fast() -> Value {
    json!([class("fast", json!({}))])
}

fn zones(list: &[Vec<model::Requirement>]) -> Vec<Vec<String>> {
    list.iter().map(|one| one.iter().map(|one| format!("{} {}", one.key, one.values.join(","))).collect()).collect()
}

#[test]
fn a_volume_that_is_wrong_is_the_pods_own_reason() {
    let check = |claims: Value, volumes: Value, classes: Value, expected: &str| {
        assert_eq!(refused(&source(claims.clone(), volumes, classes)).0, expected, "{claims}");
    };
    let one = |more: Value| json!([volume_claim("data", more)]);
    let deleting = || json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:09Z" } });
    let some = || json!([volume("pv", json!({}))]);
    check(json!([]), json!([]), only_fast(), "VolumeClaimMissing");
    check(one(deleting()), json!([]), only_fast(), "VolumeClaimDeleting");
    check(one(json!({ "status": { "phase": "Lost" } })), json!([]), only_fast(), "VolumeClaimLost");
    check(one(bound_to("pv")), json!([]), only_fast(), "VolumeMissing");
    check(one(bound_to("pv")), json!([with(volume("pv", json!({})), deleting())]), only_fast(), "VolumeDeleting");
    check(one(json!({ "spec": { "volumeName": "pv" } })), some(), only_fast(), "VolumeClaimNotBound");
    check(one(json!({ "spec": { "storageClassName": "" } })), json!([]), only_fast(), "StorageClassMissing");
    check(one(json!({ "spec": { "storageClassName": null } })), json!([]), only_fast(), "StorageClassMissing");
    check(one(json!({})), json!([]), json!([]), "StorageClassMissing");
    check(
        one(json!({})),
        json!([]),
        json!([class("fast", json!({ "volumeBindingMode": "Immediate" }))]),
        "VolumeClaimNotBound",
    );
    check(
        one(json!({})),
        json!([]),
        json!([class("fast", json!({ "volumeBindingMode": null }))]),
        "VolumeClaimNotBound",
    );
}

#[test]
fn a_bound_volume_is_reached_where_its_own_terms_say() {
    let term =
        |key: &str, value: &str| json!({ "matchExpressions": [{ "key": key, "operator": "In", "values": [value] }] });
    let with_terms = |terms: Value| json!({ "nodeAffinity": { "required": { "nodeSelectorTerms": terms } } });
    let reach = |spec: Value| {
        let found =
            placing(&source(json!([volume_claim("data", bound_to("pv"))]), json!([volume("pv", spec)]), only_fast()));
        assert_eq!(found.invalid, None);
        zones(&found.volumes[0].alternatives)
    };
    assert_eq!(reach(json!({})), Vec::<Vec<String>>::new());
    assert_eq!(reach(with_terms(json!([term("z", "a"), term("z", "b"), {}]))), [["z a"], ["z b"]]);
    let on_host = with(with_terms(json!([term("kubernetes.io/hostname", "n")])), json!({ "local": { "path": "/d" } }));
    assert_eq!(reach(on_host), [Vec::<String>::new()], "its disk stays behind, so it may run anywhere");
    assert_eq!(reach(with_terms(json!([term("kubernetes.io/hostname", "n")]))), [["kubernetes.io/hostname n"]]);
}

#[test]
fn an_unbound_claim_is_reached_where_its_class_allows() {
    let topologies = json!([{ "matchLabelExpressions": [{ "key": "z", "values": ["a", "b"] }, { "key": "r", "values": ["x"] }] },
        { "matchLabelExpressions": [{ "key": "z", "values": ["c"] }] }]);
    let classes = json!([class("fast", json!({ "allowedTopologies": topologies }))]);
    let found = placing(&source(json!([volume_claim("data", json!({}))]), json!([]), classes));
    assert_eq!(zones(&found.volumes[0].alternatives), [vec!["z a,b", "r x"], vec!["z c"]]);
    let handle = found.volumes[0].handle.as_ref().unwrap();
    assert_eq!((handle.driver.as_str(), handle.volume.as_str()), ("csi.example.com", "team-a/data"));
}

#[test]
fn the_newest_default_class_stands_in_for_none() {
    let default = |name: &str, created: &str| {
        let annotations = json!({ "storageclass.kubernetes.io/is-default-class": "true" });
        class(
            name,
            json!({ "provisioner": name, "metadata": { "annotations": annotations, "creationTimestamp": created } }),
        )
    };
    let classes = json!([
        default("old", "2026-01-01T00:00:00Z"),
        default("new", "2026-01-02T00:00:00Z"),
        class("none", json!({}))
    ]);
    let claims = json!([volume_claim("data", json!({ "spec": { "storageClassName": null } }))]);
    assert_eq!(placing(&source(claims, json!([]), classes)).volumes[0].handle.as_ref().unwrap().driver, "new");
}

#[test]
fn what_a_volume_takes_goes_by_its_driver_and_its_own_id() {
    let handle = |volume_spec: Value| {
        let found = placing(&source(
            json!([volume_claim("data", bound_to("pv"))]),
            json!([volume("pv", volume_spec)]),
            only_fast(),
        ));
        found.volumes.first().and_then(|one| one.handle.clone()).map(|one| format!("{} {}", one.driver, one.volume))
    };
    assert_eq!(handle(json!({})).as_deref(), Some("csi.example.com vol-1"));
    let azure = json!({ "csi": null, "azureDisk": { "diskName": "d", "diskURI": "u" } });
    assert_eq!(handle(azure).as_deref(), Some("disk.csi.azure.com team-a/data"));
    assert_eq!(handle(json!({ "csi": null, "nfs": { "server": "s", "path": "/" } })), None);
    let classes = json!([class("fast", json!({ "provisioner": "kubernetes.io/aws-ebs" }))]);
    let unbound = placing(&source(json!([volume_claim("data", json!({}))]), json!([]), classes));
    assert_eq!(unbound.volumes[0].handle.as_ref().unwrap().driver, "ebs.csi.aws.com");
}

#[test]
fn an_ephemeral_volume_has_a_claim_under_a_name_that_is_fixed_and_others_have_none() {
    let pod = waiting(
        json!({ "spec": { "volumes": [{ "name": "scratch", "ephemeral": { "volumeClaimTemplate": { "spec": {} } } },
        { "name": "config", "configMap": { "name": "c" } }] } }),
    );
    let mut source = SceneSource { storage_classes: object(only_fast()), ..source_of(pod) };
    assert_eq!(refused(&source), ("VolumeClaimMissing".into(), "volume claim p-scratch is not there: make it".into()));
    source.volume_claims = object(json!([volume_claim("p-scratch", json!({}))]));
    assert_eq!(placing(&source).volumes.len(), 1);
}

#[test]
fn a_volume_on_a_node_counts_there_whatever_is_wrong_with_it() {
    let volumes = json!({ "spec": { "volumes": [{ "name": "a", "persistentVolumeClaim": { "claimName": "data" } },
        { "name": "b", "persistentVolumeClaim": { "claimName": "gone" } }] } });
    let lost = volume_claim("data", with(bound_to("pv"), json!({ "status": { "phase": "Lost" } })));
    let read = read_scene(&SceneSource {
        nodes: vec![object(node("n", json!({})))],
        pods: vec![object(running("a", "n", volumes))],
        volume_claims: vec![object(lost)],
        volumes: vec![object(volume("pv", json!({})))],
        ..SceneSource::default()
    });
    assert_eq!(read.scene.bound[0].volumes.iter().map(|one| one.volume.as_str()).collect::<Vec<_>>(), ["vol-1"]);
}
