//! Every sample of on-workspace, sent to it, with the answer it has to give.

use spec::Expect::{Nothing, Refused};

#[test]
fn each_sample_gets_its_answer() {
    let cases = [
        (
            "preset",
            Nothing(
                "workspace llm/phi-4 asks for 1 node of type Standard_NC24ads_A100_v4; this version makes no NodeClaims yet",
            ),
        ),
        (
            "two-nodes",
            Nothing(
                "workspace llm/llama-3 asks for 2 nodes of type Standard_NC24ads_A100_v4; this version makes no NodeClaims yet",
            ),
        ),
        (
            "no-instance-type",
            Nothing("workspace llm/custom asks for 1 node of any type that fits; this version makes no NodeClaims yet"),
        ),
        (
            "with-snapshot",
            Nothing(
                "workspace llm/phi-4 asks for 1 node of type Standard_NC24ads_A100_v4; this version makes no NodeClaims yet",
            ),
        ),
        ("unknown-version", Nothing("this version of the event is not known: \"dev.pilotlight.workspace.changed.v2\"")),
        (
            "bad-count",
            Refused(
                "the event's data is not what dev.pilotlight.workspace.changed.v1 carries: workspace.count: must be at least 1",
            ),
        ),
        ("bad-no-data", Refused("the event's data is missing")),
        ("bad-data-twice", Refused("the event has both data and data_base64: send one of them")),
    ];
    spec::check_samples(on_workspace::function, &cases);
}
