//! Deployments, StatefulSets, DaemonSets and Jobs from the outside.

use super::*;

fn pods_of(world: &World, app: &str) -> Vec<Value> {
    let pods = world.all(Kind::Pod).into_iter();
    pods.filter(|pod| pod["metadata"]["labels"]["app"] == app && pod["metadata"]["deletionTimestamp"].is_null())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_deployment_rolls_out_scales_and_rolls_over() {
    let world = World::new();
    world.nodes([machine("one"), machine("two")]).await;
    world.create(Kind::Deployment, workload("web", 3, "100m"));
    world.wait(10).await;
    let web = world.get(Kind::Deployment, "web");
    assert_eq!(web["status"]["availableReplicas"], 3, "{}", web["status"]);
    assert_eq!(web["status"]["observedGeneration"], 1);
    assert_eq!(world.condition(Kind::Deployment, "web", "Progressing")["reason"], "NewReplicaSetAvailable");
    assert_eq!(world.condition(Kind::Deployment, "web", "Available")["status"], "True");
    let set = world.all(Kind::ReplicaSet)[0].clone();
    let hash = &set["metadata"]["labels"]["pod-template-hash"];
    assert_eq!(&pods_of(&world, "web")[0]["metadata"]["labels"]["pod-template-hash"], hash);
    world.patch(Kind::Deployment, "web", |web| web["spec"]["replicas"] = 5.into());
    world.wait(10).await;
    assert_eq!(pods_of(&world, "web").len(), 5);
    world
        .patch(Kind::Deployment, "web", |web| web["spec"]["template"]["spec"]["containers"][0]["image"] = "new".into());
    let mut least = i64::MAX;
    for _ in 0..60 {
        world.wait(1).await;
        least = least.min(world.get(Kind::Deployment, "web")["status"]["availableReplicas"].as_i64().unwrap_or(0));
    }
    let web = world.get(Kind::Deployment, "web");
    assert_eq!((&web["status"]["updatedReplicas"], &web["status"]["replicas"]), (&json!(5), &json!(5)));
    assert_eq!(web["status"]["observedGeneration"], 3);
    assert_eq!(web["metadata"]["annotations"]["deployment.kubernetes.io/revision"], "2");
    assert!(least >= 4, "25% of 5, rounded down, may be missing; {least} were left");
    assert!(pods_of(&world, "web").iter().all(|pod| pod["spec"]["containers"][0]["image"] == "new"));
    world.patch(Kind::Deployment, "web", |web| web["spec"]["replicas"] = 1.into());
    world.wait(10).await;
    assert_eq!(pods_of(&world, "web").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_deployment_that_cannot_progress_says_so() {
    let world = World::new();
    let mut web = workload("web", 1, "100");
    web["spec"]["progressDeadlineSeconds"] = 60.into();
    world.create(Kind::Deployment, web);
    world.wait(50).await;
    assert_eq!(world.condition(Kind::Deployment, "web", "Progressing")["status"], "True");
    world.wait(20).await;
    assert_eq!(world.condition(Kind::Deployment, "web", "Progressing")["reason"], "ProgressDeadlineExceeded");
}

#[tokio::test(start_paused = true)]
async fn recreate_waits_for_the_old_pods() {
    let world = World::new();
    world.nodes([machine("one")]).await;
    let mut web = workload("web", 2, "2");
    web["spec"]["strategy"] = json!({ "type": "Recreate" });
    world.create(Kind::Deployment, web);
    world.wait(10).await;
    world
        .patch(Kind::Deployment, "web", |web| web["spec"]["template"]["spec"]["containers"][0]["image"] = "new".into());
    world.wait(20).await;
    assert_eq!(world.get(Kind::Deployment, "web")["status"]["availableReplicas"], 2);
    assert!(world.events("FailedScheduling").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_stateful_set_goes_one_by_one_and_keeps_its_claims() {
    let world = World::new();
    world.nodes([machine("one")]).await;
    world.create(Kind::StorageClass, json!({ "metadata": { "name": "fast" }, "provisioner": "csi.example.com", "volumeBindingMode": "WaitForFirstConsumer" }));
    let mut database = workload("db", 3, "100m");
    database["spec"]["serviceName"] = "db".into();
    let claim = json!({ "accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": { "requests": { "storage": "1Gi" } } });
    database["spec"]["volumeClaimTemplates"] = json!([{ "metadata": { "name": "data" }, "spec": claim }]);
    world.create(Kind::StatefulSet, database);
    world.wait(1).await;
    assert_eq!(pods_of(&world, "db").len(), 1);
    world.wait(20).await;
    let names: Vec<Value> = pods_of(&world, "db").iter().map(|pod| pod["metadata"]["name"].clone()).collect();
    assert_eq!(names, ["db-0", "db-1", "db-2"]);
    assert_eq!(world.get(Kind::PersistentVolumeClaim, "data-db-1")["status"]["phase"], "Bound");
    let status = world.get(Kind::StatefulSet, "db")["status"].clone();
    assert_eq!((&status["readyReplicas"], &status["currentRevision"]), (&json!(3), &status["updateRevision"]));
    world.patch(Kind::StatefulSet, "db", |set| {
        set["spec"]["replicas"] = 2.into();
        set["spec"]["template"]["spec"]["containers"][0]["image"] = "new".into();
    });
    world.wait(60).await;
    let pods = pods_of(&world, "db");
    assert_eq!(pods.len(), 2);
    assert!(pods.iter().all(|pod| pod["spec"]["containers"][0]["image"] == "new"));
    assert!(world.find(Kind::PersistentVolumeClaim, "data-db-2").is_some());
}

#[tokio::test(start_paused = true)]
async fn a_daemon_set_follows_the_nodes() {
    let world = World::new();
    let mut tainted = machine("tainted");
    tainted.taints.push(("k".to_owned(), "v".to_owned(), "NoSchedule".to_owned()));
    world.nodes([machine("one"), tainted]).await;
    world.create(Kind::DaemonSet, workload("agent", 0, "100m"));
    world.wait(5).await;
    let status = world.get(Kind::DaemonSet, "agent")["status"].clone();
    assert_eq!((&status["desiredNumberScheduled"], &status["numberReady"]), (&json!(1), &json!(1)));
    world.patch(Kind::Node, "one", |node| node["spec"]["unschedulable"] = true.into());
    world.nodes([machine("two")]).await;
    assert_eq!(world.get(Kind::DaemonSet, "agent")["status"]["numberReady"], 2);
    world.patch(Kind::DaemonSet, "agent", |set| {
        set["spec"]["template"]["spec"]["containers"][0]["image"] = "new".into()
    });
    world.wait(30).await;
    let pods = pods_of(&world, "agent");
    assert_eq!(pods.len(), 2);
    assert!(pods.iter().all(|pod| pod["spec"]["containers"][0]["image"] == "new"));
    assert_eq!(world.get(Kind::DaemonSet, "agent")["status"]["updatedNumberScheduled"], 2);
}

fn job(name: &str, completions: i64, parallelism: i64, code: &str) -> Value {
    let mut spec = pod_spec("100m");
    spec["restartPolicy"] = "Never".into();
    let annotations = json!({ "world.pilotlight.dev/exit-code": code });
    json!({
        "metadata": { "name": name },
        "spec": { "completions": completions, "parallelism": parallelism, "backoffLimit": 2, "template": { "metadata": { "labels": { "app": name }, "annotations": annotations }, "spec": spec } },
    })
}

#[tokio::test(start_paused = true)]
async fn a_job_completes_and_is_removed_when_its_time_is_over() {
    let world = World::new();
    world.nodes([machine("one")]).await;
    let mut work = job("work", 5, 2, "0");
    work["spec"]["ttlSecondsAfterFinished"] = 60.into();
    world.create(Kind::Job, work);
    world.wait(5).await;
    assert_eq!(world.get(Kind::Job, "work")["status"]["active"], 2);
    world.wait(45).await;
    let status = world.get(Kind::Job, "work")["status"].clone();
    assert_eq!(status["succeeded"], 5, "{status}");
    assert_eq!(world.condition(Kind::Job, "work", "Complete")["status"], "True");
    assert!(pods_of(&world, "work").iter().all(|pod| pod["metadata"]["finalizers"].is_null()));
    world.wait(70).await;
    assert!(world.find(Kind::Job, "work").is_none());
    assert!(pods_of(&world, "work").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_job_gives_up_after_its_backoff_limit() {
    let world = World::new();
    world.nodes([machine("one")]).await;
    world.create(Kind::Job, job("bad", 1, 1, "1"));
    world.wait(120).await;
    assert_eq!(world.condition(Kind::Job, "bad", "Failed")["reason"], "BackoffLimitExceeded");
    assert_eq!(world.get(Kind::Job, "bad")["status"]["failed"], 3);
}

#[tokio::test(start_paused = true)]
async fn an_indexed_job_does_every_index_once() {
    let world = World::new();
    world.nodes([machine("one")]).await;
    let mut work = job("work", 4, 3, "0");
    work["spec"]["completionMode"] = "Indexed".into();
    world.create(Kind::Job, work);
    world.wait(60).await;
    assert_eq!(world.get(Kind::Job, "work")["status"]["completedIndexes"], "0-3");
    assert_eq!(world.condition(Kind::Job, "work", "Complete")["status"], "True");
    assert_eq!(world.all(Kind::Pod).len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_suspended_job_waits_and_a_late_one_fails() {
    let world = World::new();
    world.nodes([machine("one")]).await;
    let mut work = job("work", 1, 1, "0");
    work["spec"]["suspend"] = true.into();
    work["spec"]["activeDeadlineSeconds"] = 5.into();
    world.create(Kind::Job, work);
    world.wait(30).await;
    assert!(world.all(Kind::Pod).is_empty());
    assert_eq!(world.condition(Kind::Job, "work", "Suspended")["status"], "True");
    world.patch(Kind::Job, "work", |job| job["spec"]["suspend"] = false.into());
    world.wait(10).await;
    assert_eq!(world.condition(Kind::Job, "work", "Failed")["reason"], "DeadlineExceeded");
    assert!(pods_of(&world, "work").is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_old_template_comes_back_as_a_new_revision_of_the_old_set() {
    let world = World::new();
    world.nodes([machine("one")]).await;
    world.create(Kind::Deployment, workload("web", 2, "100m"));
    world.wait(10).await;
    let first = world.all(Kind::ReplicaSet)[0]["metadata"]["name"].clone();
    for image in ["new", "pause"] {
        world.patch(Kind::Deployment, "web", |web| {
            web["spec"]["template"]["spec"]["containers"][0]["image"] = image.into()
        });
        world.wait(30).await;
    }
    let sets = world.all(Kind::ReplicaSet);
    assert_eq!(sets.len(), 2);
    let active: Vec<&Value> = sets.iter().filter(|set| set["spec"]["replicas"] == 2).collect();
    assert_eq!(active[0]["metadata"]["name"], first);
    assert_eq!(world.get(Kind::Deployment, "web")["metadata"]["annotations"]["deployment.kubernetes.io/revision"], "3");
}
