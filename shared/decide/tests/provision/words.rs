//! What pods are told.

use super::fixture::*;
use model::names;

#[test]
fn a_pod_is_told_what_comes_when_about_and_for_how_much() {
    let offerings = vec![offering("scaleway", "L4-1-24G", 1, 75), offering("scaleway", "H100-1-80G", 1, 273)];
    let mut before = situation("scaleway", offerings, vec![pod("train", 1)]);
    let done = decide(&before);
    let notes = done.notes();
    let [note] = notes.as_slice() else { panic!("{notes:?}") };
    let claim = &done.claims[0].name;
    assert_eq!((note.warning, note.reason.as_str()), (false, "Nominated"));
    assert_eq!(
        note.text,
        format!(
            "a node is coming: NodeClaim {claim}, L4-1-24G, at 0.75 EUR an hour, usable in about 4 minutes; \
             if it cannot be had, 1 more would do, up to 2.73 EUR an hour"
        )
    );
    // Where nodes of the pool came before, what they took is what is told.
    for (index, seconds) in [100, 500, 5000].into_iter().enumerate() {
        let mut earlier = claim_of(&before, &format!("earlier-{index}"));
        earlier.created_at = now() - jiff::SignedDuration::from_secs(seconds + 600);
        initialized(&mut earlier, 600);
        before.claims.push(earlier);
    }
    let text = decide(&before).notes().remove(0).text;
    assert!(text.contains("usable in about 9 minutes"), "{text}");
}

fn claim_of(situation: &decide::provision::Situation, text: &str) -> model::Claim {
    let mut claim = claim(text, &situation.pools[0].class);
    claim.labels.insert(names::NODE_POOL.into(), "gpu".into());
    claim
}

#[test]
fn a_pod_that_gets_none_is_told_why_in_at_most_1024_characters() {
    let done = decide(&situation("scaleway", vec![offering("scaleway", "L4-1-24G", 1, 75)], vec![pod("big", 16)]));
    let notes = done.notes();
    let [note] = notes.as_slice() else { panic!("{notes:?}") };
    assert!(note.warning && note.again);
    assert!(note.text.starts_with("no node can be made for it: ") && note.text.len() <= 1024, "{}", note.text);
    println!("{}: {}", note.reason, note.text);
}
