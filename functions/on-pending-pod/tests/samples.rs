//! Every sample of on-pending-pod, sent to it on an empty cluster, with the answer it has to give.

use model::Outcome;
use spec::{
    Expect::{Nothing, Refused},
    deliverer, empty_cluster, no_cluster, sample,
};

#[test]
fn each_sample_gets_its_answer() {
    let cases = [
        ("one-gpu", Nothing("pod team-a/train-1 is gone")),
        ("with-snapshot", Nothing("pod team-a/train-1 is gone")),
        ("mig-slices", Nothing("pod team-a/notebook-0 is gone")),
        ("subject-not-ascii", Nothing("pod team-a/tráin näme \"1\" 100% is gone")),
        ("snapshot-newer", Nothing("pod team-a/train-1 is gone")),
        ("snapshot-older", Nothing("pod team-a/train-1 is gone")),
        (
            "bad-snapshot",
            Refused(
                "the event's data is not what dev.pilotlight.pod.pending.v1 carries: snapshot.nodes[0].labels: 7 is no position in `words`",
            ),
        ),
        ("unknown-version", Nothing("this version of the event is not known: \"dev.pilotlight.pod.pending.v9\"")),
        ("other-function", Nothing("events of type \"dev.pilotlight.timer.idle.v1\" are for another function")),
        (
            "bad-quantity",
            Refused(
                "the event's data is not what dev.pilotlight.pod.pending.v1 carries: pod.requests.nvidia.com/gpu: \"one\" is not a quantity: a number that is not negative with an optional unit, as in '2', '500m' or '16Gi'",
            ),
        ),
        (
            "bad-no-uid",
            Refused("the event's data is not what dev.pilotlight.pod.pending.v1 carries: pod: missing field `uid`"),
        ),
        ("bad-truncated", Refused("the event is not valid JSON: EOF while parsing a value at line 11 column 18")),
    ];
    spec::check_samples(|| on_pending_pod::function(empty_cluster()), &cases);
}

#[tokio::test]
async fn without_a_cluster_it_fails_and_says_what_to_set() {
    let deliverer = deliverer(vec![on_pending_pod::function(no_cluster())], &[]);
    let answer = host::in_process::call(&deliverer, "on-pending-pod", &sample("on-pending-pod", "one-gpu")).await;
    assert_eq!(answer.outcome(), Outcome::Failed);
    assert!(answer.reason().contains("Set KUBECONFIG to a kubeconfig file"), "{}", answer.reason());
}
