//! The state machine by itself: which command follows from what is seen, and that it comes to rest.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use jiff::{SignedDuration, Timestamp};
use provider_power::{
    NodeSign, Timing,
    step::{Command, Phase, PowerState, Reached, Record, Sent, Sight, Want, step},
};

const NOW: Timestamp = Timestamp::constant(1_767_225_600, 0);

fn ago(seconds: i64) -> Timestamp {
    NOW - SignedDuration::from_secs(seconds)
}

fn record(want: Want, phase: Phase, sent: Option<(Command, i64)>, attempt: u32) -> Record {
    let sent = sent.map(|(command, seconds)| Sent { command, at: ago(seconds), answered: true });
    let first_sent = sent.map(|sent| sent.at);
    Record { want, phase, watched_from: ago(10_000), first_sent, sent, attempt }
}

fn sight(power: PowerState, ready: Option<bool>) -> Sight {
    let node = NodeSign { ready, ..NodeSign::default() };
    Sight { power, has_status: true, has_soft_off: true, node, now: NOW }
}

fn timing() -> Timing {
    Timing { settle_seconds: Some(12), ..Timing::default() }
}

/// What is wanted, what was done, what is shown; then what is sent, the phase, and whether it is reached.
type Case = (Want, Option<Record>, PowerState, Option<Command>, Phase, Option<Reached>);

#[test]
fn commands_go_out_on_transitions_only() {
    use Command as C;
    use Phase as P;
    use PowerState as S;
    let on = |sent, attempt| Some(record(Want::On, P::Booting, sent, attempt));
    let off = |sent, attempt| Some(record(Want::Off, P::ShuttingDown, sent, attempt));
    let cases: [Case; 22] = [
        (Want::On, None, S::Off, Some(C::On), P::Booting, None),
        (Want::On, None, S::On, None, P::Booting, None),
        (Want::On, None, S::TurningOn, None, P::Booting, None),
        (Want::On, None, S::TurningOff, None, P::Booting, None),
        (Want::On, None, S::Unknown, None, P::Unknown, None),
        (Want::On, on(Some((C::On, 5)), 1), S::Off, None, P::Booting, None),
        (Want::On, on(Some((C::On, 5)), 1), S::On, None, P::Booting, None),
        (Want::On, on(Some((C::On, 13)), 1), S::On, None, P::Ready, Some(Reached::On)),
        (Want::On, on(Some((C::On, 31)), 1), S::Off, Some(C::On), P::Booting, None),
        (Want::On, on(Some((C::On, 31)), 3), S::Off, None, P::Failed, Some(Reached::GaveUp)),
        (Want::On, on(Some((C::On, 901)), 1), S::TurningOn, Some(C::Off), P::Failed, None),
        (
            Want::On,
            Some(record(Want::On, P::Failed, Some((C::Off, 13)), 2)),
            S::Off,
            None,
            P::Failed,
            Some(Reached::GaveUp),
        ),
        (Want::On, Some(record(Want::On, P::Failed, Some((C::Off, 31)), 2)), S::On, Some(C::Off), P::Failed, None),
        (Want::On, off(Some((C::Off, 2)), 1), S::On, None, P::Booting, None),
        (Want::Off, None, S::On, Some(C::SoftOff), P::ShuttingDown, None),
        (Want::Off, None, S::Off, None, P::ShuttingDown, None),
        (Want::Off, None, S::Unknown, None, P::Unknown, None),
        (Want::Off, off(Some((C::SoftOff, 13)), 1), S::Off, None, P::Off, Some(Reached::Off)),
        (Want::Off, off(Some((C::SoftOff, 100)), 1), S::On, None, P::ShuttingDown, None),
        (Want::Off, off(Some((C::SoftOff, 181)), 1), S::On, Some(C::Off), P::ShuttingDown, None),
        (Want::Off, off(Some((C::Off, 10)), 2), S::On, None, P::ShuttingDown, None),
        (Want::Off, off(Some((C::Off, 31)), 2), S::On, Some(C::Off), P::ShuttingDown, None),
    ];
    for (index, (want, before, power, effect, phase, reached)) in cases.into_iter().enumerate() {
        let taken = step(want, before.as_ref(), &sight(power, None), &timing());
        assert_eq!((taken.effect, taken.record.phase), (effect, phase), "case {index}: {taken:?}");
        let finished = (!matches!(taken.reached, Reached::Working { .. })).then_some(taken.reached);
        assert_eq!(finished, reached, "case {index}: {taken:?}");
    }
}

#[test]
fn a_command_that_was_not_answered_is_sent_again_at_once_under_the_same_key() {
    let unanswered = |want, phase, command, seconds, attempt| {
        let mut record = record(want, phase, Some((command, seconds)), attempt);
        record.sent = record.sent.map(|sent| Sent { answered: false, ..sent });
        record
    };
    let blind = Sight { has_status: false, has_soft_off: false, ..sight(PowerState::Unknown, None) };
    let cases = [
        (unanswered(Want::On, Phase::Booting, Command::On, 2, 1), sight(PowerState::Off, None), Command::On),
        (unanswered(Want::On, Phase::Booting, Command::On, 2, 3), sight(PowerState::Off, None), Command::On),
        (unanswered(Want::On, Phase::Booting, Command::On, 2, 1), blind.clone(), Command::On),
        (unanswered(Want::On, Phase::Failed, Command::Off, 2, 4), sight(PowerState::On, None), Command::Off),
        (unanswered(Want::On, Phase::Failed, Command::Off, 2, 4), blind.clone(), Command::Off),
        (unanswered(Want::Off, Phase::ShuttingDown, Command::SoftOff, 2, 2), sight(PowerState::On, None), {
            Command::SoftOff
        }),
        (unanswered(Want::Off, Phase::ShuttingDown, Command::Off, 2, 2), blind, Command::Off),
    ];
    for (before, seen, command) in cases {
        let taken = step(before.want, Some(&before), &seen, &timing());
        let sent = Some(Sent { command, at: NOW, answered: false });
        assert_eq!((taken.effect, taken.record.sent), (Some(command), sent), "{before:?}");
        assert_eq!(taken.record.attempt, before.attempt, "{before:?}: a repetition, not another attempt");
    }
}

#[test]
fn a_soft_off_that_never_gets_an_answer_ends_in_force_too() {
    let mut before = record(Want::Off, Phase::ShuttingDown, Some((Command::SoftOff, 1)), 2);
    before.first_sent = Some(ago(180));
    before.sent = before.sent.map(|sent| Sent { answered: false, ..sent });
    let taken = step(Want::Off, Some(&before), &sight(PowerState::On, None), &timing());
    assert_eq!((taken.effect, taken.record.attempt), (Some(Command::Off), 3));
}

#[test]
fn a_machine_that_was_just_switched_rests_first() {
    let since = |on_since, off_since, power| Sight {
        node: NodeSign { ready: None, on_since, off_since },
        ..sight(power, None)
    };
    let draining = step(Want::Off, None, &since(Some(ago(20)), None, PowerState::On), &timing());
    assert_eq!((draining.effect, draining.record.phase), (None, Phase::Draining));
    assert_eq!(draining.reached, Reached::Working { look_again_seconds: 100 }, "the minimum on-time is 120 s");
    let cooling = step(Want::On, None, &since(None, Some(ago(10)), PowerState::Off), &timing());
    assert_eq!((cooling.effect, cooling.record.phase), (None, Phase::Off));
    assert_eq!(cooling.reached, Reached::Working { look_again_seconds: 20 }, "the cool-down is 30 s");
}

#[test]
fn what_is_reached_stays_at_rest() {
    for (want, power) in [(Want::On, PowerState::On), (Want::Off, PowerState::Off)] {
        let mut before = Some(record(want, Phase::Unknown, None, 0));
        for _ in 0..3 {
            let taken = step(want, before.as_ref(), &sight(power, None), &timing());
            assert_eq!(taken.effect, None);
            assert!(matches!(taken.reached, Reached::On | Reached::Off), "{taken:?}");
            before = Some(taken.record);
        }
    }
}

#[test]
fn without_a_status_the_node_is_the_witness() {
    let blind = |ready, off_since| Sight {
        has_status: false,
        has_soft_off: false,
        node: NodeSign { ready, off_since, on_since: None },
        ..sight(PowerState::Unknown, None)
    };
    let timing = Timing::default();
    let first = step(Want::On, None, &blind(Some(false), None), &timing);
    assert_eq!(first.effect, Some(Command::On));
    let on = record(Want::On, Phase::Booting, Some((Command::On, 120)), 1);
    assert_eq!(step(Want::On, Some(&on), &blind(Some(false), None), &timing).effect, None, "still booting");
    assert_eq!(step(Want::On, Some(&on), &blind(Some(true), None), &timing).reached, Reached::On);
    let cut = step(Want::On, None, &blind(Some(true), Some(ago(40))), &timing);
    assert_eq!(cut.effect, Some(Command::On), "a Node looks Ready for a while after the power went");
    let off = step(Want::Off, None, &blind(Some(true), None), &timing);
    assert_eq!((off.effect, off.reached), (Some(Command::Off), Reached::Working { look_again_seconds: 2 }));
    let sent = record(Want::Off, Phase::ShuttingDown, Some((Command::Off, 50)), 1);
    assert_eq!(step(Want::Off, Some(&sent), &blind(Some(true), None), &timing).effect, None);
    assert_eq!(step(Want::Off, Some(&sent), &blind(Some(false), None), &timing).reached, Reached::Off);
}

/// Every wish, record, reading and sign of a Node: no step is taken in the dark, and none asks to be called at once.
#[test]
fn no_step_sends_what_is_already_so_or_what_nobody_can_see() {
    let powers = [PowerState::On, PowerState::Off, PowerState::TurningOn, PowerState::TurningOff, PowerState::Unknown];
    let phases = [Phase::Off, Phase::Booting, Phase::Ready, Phase::ShuttingDown, Phase::Failed, Phase::Unknown];
    let mut steps = 0;
    for want in [Want::On, Want::Off] {
        for (power, phase) in powers.iter().flat_map(|power| phases.iter().map(move |phase| (*power, *phase))) {
            for seconds in [0, 5, 12, 30, 200, 1000] {
                for sent in [None, Some(Command::On), Some(Command::SoftOff), Some(Command::Off)] {
                    for ready in [None, Some(false), Some(true)] {
                        let before = record(want, phase, sent.map(|command| (command, seconds)), 1);
                        let taken = step(want, Some(&before), &sight(power, ready), &timing());
                        let context = format!("{before:?} {power:?} {ready:?}: {taken:?}");
                        match taken.effect {
                            Some(Command::On) => assert_eq!(power, PowerState::Off, "{context}"),
                            Some(_) => assert_ne!(power, PowerState::Off, "{context}"),
                            None => {}
                        }
                        if let Reached::Working { look_again_seconds } = taken.reached {
                            assert!((1..=900).contains(&look_again_seconds), "{context}");
                        }
                        let finished = !matches!(taken.reached, Reached::Working { .. });
                        assert!(!finished || taken.effect.is_none(), "{context}");
                        steps += 1;
                    }
                }
            }
        }
    }
    assert_eq!(steps, 2 * 30 * 6 * 4 * 3);
}
