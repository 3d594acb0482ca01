//! Every sample of on-delete, sent to it, with the answer it has to give.

use spec::Expect::{Nothing, Refused};

#[test]
fn each_sample_gets_its_answer() {
    let cases = [
        ("nodeclaim", Nothing("NodeClaim gpu-x7k2p is to go; this version drains and deletes nothing yet")),
        ("node", Nothing("Node aks-gpux7k2p-0 is to go; this version drains and deletes nothing yet")),
        ("workspace", Nothing("Workspace llm/phi-4 is to go; this version drains and deletes nothing yet")),
        ("with-snapshot", Nothing("NodeClaim gpu-x7k2p is to go; this version drains and deletes nothing yet")),
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
    spec::check_samples(on_delete::function(), &cases);
}
