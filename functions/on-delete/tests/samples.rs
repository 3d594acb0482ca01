//! Every sample of on-delete, sent to it on an empty cluster, with the answer it has to give.

use model::Outcome;
use spec::{
    Expect::{Nothing, Refused},
    deliverer, empty_cluster, no_cluster, sample,
};

#[test]
fn each_sample_gets_its_answer() {
    let cases = [
        ("nodeclaim", Nothing("NodeClaim gpu-x7k2p is gone")),
        ("node", Nothing("Node aks-gpux7k2p-0 is gone")),
        ("workspace", Nothing("Workspace phi-4 is to go; its NodeClaims are owned by it and go with it")),
        ("with-snapshot", Nothing("NodeClaim gpu-x7k2p is gone")),
        (
            "bad-kind",
            Refused(
                "the event's data is not what dev.pilotlight.deletion.requested.v1 carries: object.kind: unknown variant `Secret`, expected one of `NodeClaim`, `Node`, `Workspace`",
            ),
        ),
        (
            "bad-name",
            Refused(
                "the event's data is not what dev.pilotlight.deletion.requested.v1 carries: object: \"Not A Name\" is not an object name: lower-case letters, digits, '-' and '.', at most 253, as in 'train-0'",
            ),
        ),
        ("bad-not-an-object", Refused("a CloudEvent is a JSON object, this is a number")),
        (
            "bad-extension",
            Refused("the CloudEvents attribute \"Bad_Name\" has a name that is not lower-case letters and digits"),
        ),
    ];
    spec::check_samples(|| on_delete::function(empty_cluster()), &cases);
}

#[tokio::test]
async fn without_a_cluster_it_fails_and_says_what_to_set() {
    let deliverer = deliverer(vec![on_delete::function(no_cluster())], &[]);
    let answer = host::in_process::call(&deliverer, "on-delete", &sample("on-delete", "nodeclaim")).await;
    assert_eq!(answer.outcome(), Outcome::Failed);
    assert!(answer.reason().contains("Set KUBECONFIG to a kubeconfig file"), "{}", answer.reason());
}
