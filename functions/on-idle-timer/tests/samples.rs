//! Every sample of on-idle-timer, sent to it, with the answer it has to give.

use spec::Expect::{Nothing, Refused};

#[test]
fn each_sample_gets_its_answer() {
    let cases = [
        ("tick", Nothing("the idle timer of cluster eu-west-prod ticked; this version takes no nodes down yet")),
        (
            "with-snapshot",
            Nothing("the idle timer of cluster eu-west-prod ticked; this version takes no nodes down yet"),
        ),
        (
            "data-in-base64",
            Nothing("the idle timer of cluster eu-west-prod ticked; this version takes no nodes down yet"),
        ),
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
    spec::check_samples(on_idle_timer::function, &cases);
}
