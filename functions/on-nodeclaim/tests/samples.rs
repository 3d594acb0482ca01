//! Every sample of on-nodeclaim, sent to it on an empty cluster, with the answer it has to give.

use model::Outcome;
use spec::{
    Expect::{Nothing, Refused},
    deliverer, empty_cluster, no_cluster, sample,
};

#[test]
fn each_sample_gets_its_answer() {
    let cases = [
        ("new", Nothing("NodeClaim gpu-x7k2p is gone, and this cluster serves no NodeClaims")),
        ("launched", Nothing("NodeClaim gpu-x7k2p is gone, and this cluster serves no NodeClaims")),
        ("made-by-kaito", Nothing("NodeClaim ws0f3a9c2b1 is gone, and this cluster serves no NodeClaims")),
        ("gpu-provisioner-workspace", Nothing("NodeClaim ws5d1e7a03c is gone, and this cluster serves no NodeClaims")),
        ("gpu-provisioner-ragengine", Nothing("NodeClaim ws8b40f6e21 is gone, and this cluster serves no NodeClaims")),
        ("kaito-node-class-only", Nothing("NodeClaim ws2c9d04a7f is gone, and this cluster serves no NodeClaims")),
        ("azure-linux", Nothing("NodeClaim wsf17b3c95e is gone, and this cluster serves no NodeClaims")),
        (
            "karpenter-several-types-zones-spot",
            Nothing("NodeClaim gpu-m4q8z is gone, and this cluster serves no NodeClaims"),
        ),
        ("scaleway-readme", Nothing("NodeClaim gpu-node-l4 is gone, and this cluster serves no NodeClaims")),
        ("power-with-snapshot", Nothing("NodeClaim rack-node-3 is gone, and this cluster serves no NodeClaims")),
        ("unknown-type", Nothing("events of type \"com.example.something.else\" are not known")),
        (
            "bad-operator",
            Refused(
                "the event's data is not what dev.pilotlight.nodeclaim.changed.v1 carries: claim.requirements[0].operator: \"Within\" is not an operator: In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte or Lte",
            ),
        ),
        ("bad-no-subject", Refused("the CloudEvents attribute \"subject\" is missing")),
        ("bad-duplicate-key", Refused("the event is not acceptable JSON: the key \"id\" appears twice in one object")),
    ];
    spec::check_samples(|| on_nodeclaim::function(empty_cluster()), &cases);
}

#[tokio::test]
async fn without_a_cluster_it_fails_and_says_what_to_set() {
    let deliverer = deliverer(vec![on_nodeclaim::function(no_cluster())], &[]);
    let answer = host::in_process::call(&deliverer, "on-nodeclaim", &sample("on-nodeclaim", "new")).await;
    assert_eq!(answer.outcome(), Outcome::Failed);
    assert!(answer.reason().contains("Set KUBECONFIG to a kubeconfig file"), "{}", answer.reason());
}
