//! Every sample of on-idle-timer, sent to it on an empty cluster, with the answer it has to give.

use model::Outcome;
use spec::{
    Expect::{Nothing, Refused},
    deliverer, empty_cluster, no_cluster, sample,
};

const NO_CLAIMS: &str = "the idle timer of cluster eu-west-prod ticked; this cluster serves no NodeClaims, so there is nothing to look after";

#[test]
fn each_sample_gets_its_answer() {
    let cases = [
        ("tick", Nothing(NO_CLAIMS)),
        ("with-snapshot", Nothing(NO_CLAIMS)),
        ("data-in-base64", Nothing(NO_CLAIMS)),
        ("other-function", Nothing("events of type \"dev.pilotlight.deletion.requested.v1\" are for another function")),
        (
            "bad-tick",
            Refused(
                "the event's data is not what dev.pilotlight.timer.idle.v1 carries: tick: \"soon\" is not a time as in \"2026-11-16T09:00:00Z\"",
            ),
        ),
        ("bad-time", Refused("the CloudEvents attribute \"time\" must be a time as in \"2026-11-16T09:00:00Z\"")),
        ("bad-specversion", Refused("the CloudEvents attribute \"specversion\" must be \"1.0\"")),
    ];
    spec::check_samples(|| on_idle_timer::function(empty_cluster()), &cases);
}

#[tokio::test]
async fn without_a_cluster_it_fails_and_says_what_to_set() {
    let deliverer = deliverer(vec![on_idle_timer::function(no_cluster())], &[]);
    let answer = host::in_process::call(&deliverer, "on-idle-timer", &sample("on-idle-timer", "tick")).await;
    assert_eq!(answer.outcome(), Outcome::Failed);
    assert!(answer.reason().contains("Set KUBECONFIG to a kubeconfig file"), "{}", answer.reason());
}
