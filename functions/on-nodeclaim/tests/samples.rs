//! Every sample of on-nodeclaim, sent to it, with the answer it has to give.

use spec::Expect::{Nothing, Refused};

#[test]
fn each_sample_gets_its_answer() {
    let cases = [
        ("new", Nothing("NodeClaim gpu-x7k2p of class AKSNodeClass was seen; this version launches no instances yet")),
        (
            "launched",
            Nothing("NodeClaim gpu-x7k2p of class AKSNodeClass was seen; this version launches no instances yet"),
        ),
        (
            "made-by-kaito",
            Nothing("NodeClaim ws0f3a9c2b1 of class KaitoNodeClass was seen; this version launches no instances yet"),
        ),
        (
            "power-with-snapshot",
            Nothing("NodeClaim rack-node-3 of class PowerNodeClass was seen; this version launches no instances yet"),
        ),
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
    spec::check_samples(on_nodeclaim::function(), &cases);
}
