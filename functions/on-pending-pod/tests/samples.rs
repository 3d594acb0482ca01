//! Every sample of on-pending-pod, sent to it, with the answer it has to give.

use spec::Expect::{Nothing, Refused};

#[test]
fn each_sample_gets_its_answer() {
    let cases = [
        (
            "one-gpu",
            Nothing(
                "pod team-a/train-1 waits for 1 nvidia.com/gpu, 8 cpu, 64Gi memory; this version starts no nodes yet",
            ),
        ),
        (
            "with-snapshot",
            Nothing(
                "pod team-a/train-1 waits for 1 nvidia.com/gpu, 8 cpu, 64Gi memory; this version starts no nodes yet",
            ),
        ),
        (
            "mig-slices",
            Nothing(
                "pod team-a/notebook-0 waits for 2 nvidia.com/mig-1g.10gb, 500m cpu, 2Gi memory; this version starts no nodes yet",
            ),
        ),
        (
            "subject-not-ascii",
            Nothing(
                "pod team-a/tráin näme \"1\" 100% waits for 1 nvidia.com/gpu, 8 cpu, 64Gi memory; this version starts no nodes yet",
            ),
        ),
        (
            "snapshot-newer",
            Nothing(
                "pod team-a/train-1 waits for 1 nvidia.com/gpu, 8 cpu, 64Gi memory; this version starts no nodes yet",
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
    spec::check_samples(on_pending_pod::function, &cases);
}
