//! Everything that can be left behind: found by a tick and closed, in the time that is promised; and what is not ours stays.

#![allow(clippy::unwrap_used)]

use faults::{Kind, NOBODY, Theatre, WITH_TIMER, gpu_pod, tags};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use std::time::Duration;
use world::faults::{Fault, Matching, Mishap};

/// A minute, and what the cloud or the cluster itself takes: a pool or a server goes in minutes, a node is known to be lost
/// after 40 s.
const BOUND: SignedDuration = SignedDuration::from_secs(60);

/// What is left behind, one kind a line of docs/leaks.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    AgentPool,
    Server,
    Machine,
    BlockVolume,
    Address,
    ServerThatNeverStarted,
    ClaimWithoutServer,
    ClaimWithoutServerOrNode,
    NodeWithoutClaim,
    NodeStuckOnOurFinalizer,
    ClaimNobodyTakesDown,
    ClaimThatLostItsFinalizer,
    LeaseOfAMachineNobodyDescribes,
    TurnOfTheDead,
    StockMemoryThatIsOver,
}

const ALL: [Left; 15] = [
    Left::AgentPool,
    Left::Server,
    Left::Machine,
    Left::BlockVolume,
    Left::Address,
    Left::ServerThatNeverStarted,
    Left::ClaimWithoutServer,
    Left::ClaimWithoutServerOrNode,
    Left::NodeWithoutClaim,
    Left::NodeStuckOnOurFinalizer,
    Left::ClaimNobodyTakesDown,
    Left::ClaimThatLostItsFinalizer,
    Left::LeaseOfAMachineNobodyDescribes,
    Left::TurnOfTheDead,
    Left::StockMemoryThatIsOver,
];

impl Left {
    /// Whose claim has to be ready first, if one has.
    fn of_claim(self) -> Option<Kind> {
        match self {
            Left::AgentPool | Left::ClaimThatLostItsFinalizer => Some(Kind::Aks),
            Left::Server | Left::ClaimWithoutServer | Left::ClaimWithoutServerOrNode | Left::ClaimNobodyTakesDown => {
                Some(Kind::Scaleway)
            }
            Left::Machine => Some(Kind::Power),
            _ => None,
        }
    }

    /// What happens while nobody looks.
    async fn happens(self, theatre: &Theatre) {
        let node_labels = json!({"pilotlight.dev/claim-uid": NOBODY, "karpenter.sh/registered": "true"});
        match self {
            Left::AgentPool | Left::Server | Left::Machine => theatre.lose_claim("gpu1").await,
            Left::BlockVolume => theatre.make_volume(&theatre.own_tags(NOBODY)).await,
            Left::Address => theatre.make_address(&theatre.own_tags(NOBODY)).await,
            Left::ServerThatNeverStarted => theatre.make_server("gone", &theatre.own_tags(NOBODY)).await,
            Left::ClaimWithoutServer | Left::ClaimWithoutServerOrNode => {
                let claim = theatre.claim("gpu1").unwrap();
                let node = claim["status"]["nodeName"].as_str().unwrap().to_owned();
                theatre.world.expect_loss(&node);
                let server = theatre.world.scaleway.snapshot().present().servers[0].id.clone();
                let path = format!("/instance/v1/zones/{}/servers/{server}/action", zone(theatre));
                theatre.scaleway("POST", &path, json!({"action": "terminate"})).await;
                if self == Left::ClaimWithoutServerOrNode {
                    let nodes = theatre.objects("v1", "Node", "nodes", None);
                    let bare = kube::api::Patch::Merge(json!({"metadata": {"finalizers": null}}));
                    nodes.patch(&node, &Default::default(), &bare).await.unwrap();
                    nodes.delete(&node, &Default::default()).await.unwrap();
                }
            }
            Left::NodeWithoutClaim => theatre.make_node("lost", node_labels, json!(["karpenter.sh/termination"])).await,
            Left::NodeStuckOnOurFinalizer => {
                theatre.make_node("lost", node_labels, json!(["karpenter.sh/termination"])).await;
                theatre.objects("v1", "Node", "nodes", None).delete("lost", &Default::default()).await.unwrap();
            }
            Left::ClaimNobodyTakesDown => theatre.delete("gpu1").await,
            Left::ClaimThatLostItsFinalizer => theatre.strip_finalizers("gpu1").await,
            Left::LeaseOfAMachineNobodyDescribes => {
                let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {
                    "name": "pilotlight-machine-scrapped", "labels": {"pilotlight.dev/machine": "scrapped"}}, "spec": {}});
                theatre.make("coordination.k8s.io/v1", "Lease", "leases", Some("default"), lease).await;
            }
            Left::TurnOfTheDead => {
                let long_ago = theatre.world.clock.now() - SignedDuration::from_mins(10);
                let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                    "metadata": {"name": "pilotlight-provisioning"},
                    "spec": {"holderIdentity": "on-pending-pod-0", "leaseDurationSeconds": 15,
                             "renewTime": format!("{long_ago:.6}")}});
                theatre.make("coordination.k8s.io/v1", "Lease", "leases", Some("default"), lease).await;
            }
            Left::StockMemoryThatIsOver => {
                let now = theatre.world.clock.now();
                let line = |until: Timestamp| {
                    json!({"scope": "provider", "provider": "aks", "until": until.to_string(), "reason": "QuotaExceeded"})
                        .to_string()
                };
                let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "pilotlight-stock"}, "data": {
                    "over": line(now - SignedDuration::from_mins(5)),
                    "of-a-wrong-clock": line(now + SignedDuration::from_hours(24 * 400)),
                    "nonsense": "{", "stands": line(now + SignedDuration::from_hours(20))}});
                theatre.make("v1", "ConfigMap", "configmaps", Some("default"), map).await;
            }
        }
    }

    fn is_closed(self, theatre: &Theatre) -> bool {
        let nothing_runs = || theatre.world.instances().iter().all(|instance| instance.until.is_some());
        match self {
            Left::AgentPool => nothing_runs() && !any_node_of_ours(theatre),
            Left::Server | Left::ServerThatNeverStarted => theatre.held_at_scaleway() == [0, 0, 0],
            Left::Machine => {
                theatre.world.power.snapshot().iter().all(|machine| !machine.on) && machine_is_free(theatre)
            }
            Left::BlockVolume | Left::Address => theatre.held_at_scaleway() == [0, 0, 0],
            Left::ClaimWithoutServer | Left::ClaimWithoutServerOrNode | Left::ClaimNobodyTakesDown => {
                theatre.is_gone("gpu1") && theatre.held_at_scaleway() == [0, 0, 0]
            }
            Left::NodeWithoutClaim | Left::NodeStuckOnOurFinalizer => theatre.node("lost").is_none(),
            Left::ClaimThatLostItsFinalizer => {
                theatre.claim("gpu1").unwrap()["metadata"]["finalizers"] == json!(["karpenter.sh/termination"])
            }
            Left::LeaseOfAMachineNobodyDescribes => theatre.lease("pilotlight-machine-scrapped").is_none(),
            Left::TurnOfTheDead => {
                theatre.lease("pilotlight-provisioning").unwrap()["spec"]["holderIdentity"].is_null()
            }
            Left::StockMemoryThatIsOver => {
                let data = theatre.config_map("pilotlight-stock").unwrap()["data"].clone();
                data.as_object().unwrap().keys().eq(["stands"])
            }
        }
    }

    /// How long the cloud or the cluster itself takes, after we have done what we can.
    fn grace(self) -> SignedDuration {
        SignedDuration::from_secs(match self {
            // Deleting a pool takes minutes; a server goes in seconds, its volume after it; a machine switches off.
            Left::AgentPool => 600,
            Left::Server | Left::ServerThatNeverStarted | Left::ClaimNobodyTakesDown | Left::Machine => 120,
            // A node is lost when its kubelet has been silent for 40 s.
            Left::ClaimWithoutServer | Left::ClaimWithoutServerOrNode => 120,
            _ => 0,
        })
    }
}

fn any_node_of_ours(theatre: &Theatre) -> bool {
    let nodes = theatre.world.objects.list(&("".into(), "nodes".into()));
    nodes.iter().any(|node| node.value["metadata"]["labels"]["pilotlight.dev/claim-uid"].is_string())
}

fn zone(theatre: &Theatre) -> String {
    theatre.world.scaleway.snapshot().present().servers[0].zone.clone()
}

fn machine_is_free(theatre: &Theatre) -> bool {
    let leases = ["rack-1", "rack-2"].map(|machine| theatre.lease(&format!("pilotlight-machine-{machine}")));
    leases.iter().flatten().all(|lease| lease["spec"]["holderIdentity"].is_null())
}

fn only_ticks(theatre: &Theatre, copies: usize) -> stage::Messenger {
    let mut messenger = theatre.messenger_for(&WITH_TIMER);
    messenger.only_ticks = true;
    messenger.copies = copies;
    messenger
}

/// A world in which this was left behind while nobody was at work.
async fn left(what: Left) -> Theatre {
    let mut theatre = Theatre::open().await;
    if let Some(kind) = what.of_claim() {
        theatre.play(theatre.messenger());
        theatre.create(kind.claim("gpu1")).await;
        theatre.until("the claim is ready", |theatre| theatre.is_ready("gpu1")).await;
        theatre.pass(Duration::from_secs(120)).await;
        theatre.stop();
    }
    what.happens(&theatre).await;
    theatre
}

async fn is_found_and_closed(what: Left, copies: usize) {
    let mut theatre = left(what).await;
    assert!(!what.is_closed(&theatre), "{what:?}: the test leaves nothing behind");
    let since = theatre.world.clock.now();
    theatre.play(only_ticks(&theatre, copies));
    while !what.is_closed(&theatre) {
        let lasted = theatre.world.clock.now().duration_since(since);
        let answers = theatre.answers.lock().unwrap().clone();
        assert!(lasted <= BOUND + what.grace(), "{what:?}: not closed after {lasted:#}; {answers:?}");
        theatre.pass(Duration::from_secs(1)).await;
    }
    let lasted = theatre.world.clock.now().duration_since(since);
    println!("{what:?}: closed after {lasted:#}");
    // And then there is nothing more to do.
    theatre.pass(Duration::from_secs(300)).await;
    let quiet_from = theatre.world.clock.now();
    theatre.pass(Duration::from_secs(1800)).await;
    theatre.world.check_quiet_since(quiet_from).unwrap();
    theatre.world.check(SignedDuration::from_secs(600)).unwrap();
    let answer = theatre.answers.lock().unwrap()["tick"].clone();
    assert!(answer.as_ref().is_some_and(|answer| answer.reason().ends_with("all is well")), "{what:?}: {answer:?}");
}

#[tokio::test(start_paused = true)]
async fn every_kind_of_leak_is_found_and_closed_in_time() {
    for what in ALL {
        is_found_and_closed(what, 1).await;
    }
}

#[tokio::test(start_paused = true)]
async fn two_copies_that_tick_together_do_no_harm() {
    for what in [Left::AgentPool, Left::Server, Left::Machine, Left::ClaimWithoutServer, Left::NodeWithoutClaim] {
        is_found_and_closed(what, 2).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_machine_whose_claim_was_torn_away_keeps_its_work_until_that_has_left() {
    let mut theatre = Theatre::open().await;
    theatre.play(theatre.messenger());
    theatre.create(Kind::Scaleway.claim("gpu1")).await;
    theatre.until("the claim is ready", |theatre| theatre.is_ready("gpu1")).await;
    let mut pod = gpu_pod("train", 1);
    pod["spec"]["tolerations"] = json!([{"key": "sku", "operator": "Exists"}]);
    pod["metadata"]["annotations"] = json!({"karpenter.sh/do-not-disrupt": "true"});
    theatre.create_pod(pod).await;
    theatre.until("the pod runs", |theatre| theatre.runs("train")).await;
    theatre.stop();
    theatre.lose_claim("gpu1").await;
    theatre.play(only_ticks(&theatre, 1));
    theatre.pass(Duration::from_secs(900)).await;
    assert!(theatre.runs("train"), "work that must not be disturbed runs on");
    assert_eq!(theatre.held_at_scaleway()[0], 1);
    theatre.delete_pod("train").await;
    theatre.pass(Duration::from_secs(180)).await;
    assert_eq!(theatre.held_at_scaleway(), [0, 0, 0]);
    theatre.world.check(SignedDuration::from_secs(1200)).unwrap();
}

/// Things that look like ours, and are not.
async fn others_things(theatre: &Theatre) {
    let plain = |tag: &str| vec![tag.to_owned()];
    theatre.make_server("gpu1", &plain("pilotlight-claim=gpu1")).await;
    theatre.make_server("other", &tags(NOBODY, "another-cluster")).await;
    theatre.make_volume(&tags(NOBODY, "another-cluster")).await;
    theatre.make_volume(&plain("created-by=pilotlight")).await;
    theatre.make_address(&tags(NOBODY, "another-cluster")).await;
    theatre.make_address(&plain("somebody")).await;
    // As Karpenter makes them: its finalizer, its labels, and nothing of ours.
    let karpenters = json!({"karpenter.sh/nodepool": "default", "karpenter.sh/registered": "true"});
    theatre.make_node("of-karpenter", karpenters, json!(["karpenter.sh/termination"])).await;
    theatre.make_node("of-a-person", json!({"gpu": "yes"}), json!([])).await;
    let claim = json!({"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
        "metadata": {"name": "of-karpenter", "finalizers": ["karpenter.sh/termination"]},
        "spec": {"requirements": [], "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "a"}}});
    theatre.create(claim).await;
    for name in ["karpenter-leader-election", "somebodys"] {
        let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name},
            "spec": {"holderIdentity": "them", "leaseDurationSeconds": 15, "renewTime": "2020-01-01T00:00:00.000000Z"}});
        theatre.make("coordination.k8s.io/v1", "Lease", "leases", Some("default"), lease).await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_not_ours_is_never_touched_whatever_it_is_called() {
    let mut theatre = Theatre::open().await;
    others_things(&theatre).await;
    theatre.pass(Duration::from_secs(60)).await;
    let since = theatre.world.clock.now();
    theatre.play(only_ticks(&theatre, 2));
    theatre.pass(Duration::from_secs(3600)).await;
    theatre.world.check_quiet_since(since).unwrap();
    let answer = theatre.answers.lock().unwrap()["tick"].clone();
    assert!(answer.as_ref().is_some_and(|answer| answer.reason().ends_with("all is well")), "{answer:?}");
}

#[tokio::test(start_paused = true)]
async fn while_a_list_cannot_be_had_whole_nothing_is_taken_from_anybody() {
    // Of the clouds' lists and of the cluster's: each alone is enough to do nothing.
    let lists =
        [("scaleway", "/servers"), ("scaleway", "/volumes"), ("scaleway", "/ips"), ("kubernetes", "/nodeclaims")];
    for (to, path) in lists {
        let mut theatre = left(Left::Server).await;
        let on = Matching {
            to: Some(to.to_owned()),
            method: Some("GET".to_owned()),
            path: Some(path.to_owned()),
            times: Some(u64::MAX / 2),
            ..Matching::default()
        };
        theatre.world.faults.add(Fault { on, then: Mishap::Answer { status: 500, done: false, retry_after: None } });
        theatre.play(only_ticks(&theatre, 1));
        theatre.pass(Duration::from_secs(300)).await;
        assert_eq!(theatre.held_at_scaleway()[0], 1, "{to} {path}");
        theatre.world.faults.clear();
        theatre.pass(Duration::from_secs(300)).await;
        assert_eq!(theatre.held_at_scaleway(), [0, 0, 0], "{to} {path}");
    }
}

fn last_tick(theatre: &Theatre) -> String {
    theatre.answers.lock().unwrap()["tick"].as_ref().map(|answer| answer.reason().to_owned()).unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn two_clusters_with_the_same_account_and_the_same_settings_never_take_from_each_other() {
    let mut east = Theatre::open().await;
    let mut west = Theatre::with(|options| options.seed = 7).await;
    east.play(east.messenger_for(&WITH_TIMER));
    let mut messenger = west.messenger_for(&WITH_TIMER);
    messenger.clouds = east.world.clone();
    west.play(messenger);
    for (kind, name) in [(Kind::Scaleway, "gpu1"), (Kind::Aks, "gpu2")] {
        east.create(kind.claim(name)).await;
        east.until("the claim is ready", |theatre| theatre.is_ready(name)).await;
    }
    east.pass(Duration::from_secs(900)).await;
    assert!(east.is_ready("gpu1") && east.is_ready("gpu2"));
    assert!(last_tick(&west).ends_with("all is well"), "{}", last_tick(&west));
    // What one of them has lost is for that one to find.
    east.stop();
    east.lose_claim("gpu1").await;
    east.lose_claim("gpu2").await;
    let alive = |theatre: &Theatre| theatre.world.instances().iter().filter(|one| one.until.is_none()).count();
    east.pass(Duration::from_secs(900)).await;
    assert_eq!(alive(&east), 2, "the other one has taken nothing");
    east.play(only_ticks(&east, 1));
    east.pass(Duration::from_secs(900)).await;
    assert_eq!(alive(&east), 0, "their own cluster has");
}

#[tokio::test(start_paused = true)]
async fn what_nothing_proves_to_be_of_this_cluster_is_left_alone_and_named() {
    let mut theatre = Theatre::open().await;
    theatre.make_server("old", &tags(NOBODY, "world")).await;
    theatre.make_volume(&tags(NOBODY, "world")).await;
    let held = theatre.held_at_scaleway();
    theatre.pass(Duration::from_secs(60)).await;
    let since = theatre.world.clock.now();
    theatre.play(only_ticks(&theatre, 1));
    theatre.pass(Duration::from_secs(1800)).await;
    theatre.world.check_quiet_since(since).unwrap();
    assert_eq!(theatre.held_at_scaleway(), held);
    let said = last_tick(&theatre);
    assert!(said.contains("left alone: server ") && said.contains("may be another cluster's"), "{said}");
}
