//! What is found, case by case; and what stands in the way of each.

use crate::fixture::*;
use decide::leaks::{Leak, Situation, YOUNG, find, left_alone};
use model::*;
use std::collections::BTreeSet;

fn kinds(seen: &Situation) -> Vec<&'static str> {
    find(seen).iter().map(|leak| leak.kind()).collect()
}

fn holding(provider: &'static str, owned: Vec<Owned>) -> Situation {
    let mut seen = clean();
    seen.clouds.insert(provider, owned);
    seen
}

#[test]
fn a_machine_whose_claim_is_in_neither_list_is_a_leak_and_one_list_is_enough_to_keep_it() {
    let lost = holding("scaleway", vec![machine("a")]);
    assert_eq!(kinds(&lost), ["machine-without-claim"]);
    let known: BTreeSet<Uid> = [uid("a")].into();
    assert!(kinds(&Situation { known_before: known.clone(), ..lost.clone() }).is_empty());
    assert!(kinds(&Situation { known_after: known, ..lost }).is_empty());
}

#[test]
fn a_machine_that_may_be_of_another_cluster_is_left_alone_unless_something_here_knows_it() {
    let unproved = Owned { is_of_this_cluster: false, ..machine("a") };
    let seen = holding("scaleway", vec![unproved.clone()]);
    assert!(kinds(&seen).is_empty());
    let said = left_alone(&seen);
    assert!(said.len() == 1 && said[0].starts_with("server a of NodeClaim a"), "{said:?}");
    let joined = Situation { nodes: vec![node("n", Some("a"), Truth::True)], ..seen };
    assert_eq!((kinds(&joined), left_alone(&joined).len()), (vec!["machine-without-claim"], 0));
    let with_volume = holding("scaleway", vec![unproved, volume("a")]);
    assert_eq!((kinds(&with_volume), left_alone(&with_volume).len()), (vec!["machine-without-claim"], 0));
    let known = Situation { known_before: [uid("a")].into(), ..holding("aks", vec![machine("a")]) };
    assert!(left_alone(&known).is_empty() && left_alone(&clean()).is_empty());
}

#[test]
fn a_machine_that_is_young_is_left_to_the_next_tick() {
    let made = |ago: i64| {
        let mut owned = machine("a");
        owned.instance.as_mut().unwrap().created_at = Some(at(-ago));
        holding("aks", vec![owned])
    };
    assert!(kinds(&made(YOUNG.as_secs() - 1)).is_empty());
    assert_eq!(kinds(&made(YOUNG.as_secs())), ["machine-without-claim"]);
    assert!(kinds(&made(1 - YOUNG.as_secs())).is_empty(), "clocks differ a little");
    assert_eq!(kinds(&made(-3600)), ["machine-without-claim"], "a clock that is far ahead proves no youth");
}

#[test]
fn what_is_left_behind_is_named_for_its_claim_only_where_the_name_is_known() {
    let whose = |seen: &Situation| match find(seen).remove(0) {
        Leak::Orphan(orphan) => orphan.whose(),
        other => panic!("{other:?}"),
    };
    assert_eq!(whose(&holding("scaleway", vec![machine("a")])), "NodeClaim a (a)");
    assert_eq!(
        whose(&holding("power", vec![machine("a")])),
        "the NodeClaim with the UID a",
        "a Lease has no name of a claim"
    );
    let node = Situation { nodes: vec![node("n", Some("a"), Truth::Unknown)], ..clean() };
    assert_eq!(whose(&node), "the NodeClaim with the UID a", "nor has a Node");
}

#[test]
fn volumes_and_addresses_of_one_claim_are_one_leak_with_its_machine() {
    assert_eq!(kinds(&holding("scaleway", vec![volume("a"), volume("a")])), ["left-over-of-a-machine"]);
    assert_eq!(kinds(&holding("scaleway", vec![machine("a"), volume("a")])), ["machine-without-claim"]);
}

#[test]
fn a_node_of_a_claim_that_is_gone_is_a_leak_unless_it_is_ready_or_its_cloud_was_not_listed() {
    let seen = Situation { nodes: vec![node("n", Some("a"), Truth::Unknown)], ..clean() };
    assert_eq!(kinds(&seen), ["node-without-claim"]);
    let ready = Situation { nodes: vec![node("n", Some("a"), Truth::True)], ..clean() };
    assert!(kinds(&ready).is_empty());
    let mut unlisted = seen;
    unlisted.clouds.remove("scaleway");
    assert!(kinds(&unlisted).is_empty());
}

#[test]
fn a_node_that_says_nothing_of_us_is_somebody_elses() {
    assert!(kinds(&Situation { nodes: vec![node("n", None, Truth::False)], ..clean() }).is_empty());
}

#[test]
fn a_claim_whose_machine_is_in_no_list_is_a_leak_unless_its_node_is_ready() {
    let lost = with_claims(vec![launched("a", "scaleway")]);
    assert_eq!(kinds(&lost), ["claim-without-machine"]);
    for ready in [Truth::False, Truth::Unknown] {
        assert_eq!(
            kinds(&Situation { nodes: vec![node("a", Some("a"), ready)], ..lost.clone() }),
            ["claim-without-machine"]
        );
    }
    assert!(kinds(&Situation { nodes: vec![node("a", Some("a"), Truth::True)], ..lost.clone() }).is_empty());
    let mut held = lost.clone();
    held.clouds.insert("scaleway", vec![machine("a")]);
    assert!(kinds(&held).is_empty());
    held.clouds.insert("scaleway", vec![volume("a")]);
    assert_eq!(kinds(&held), ["claim-without-machine"], "what a machine left is no machine");
    let mut unlisted = lost;
    unlisted.clouds.remove("scaleway");
    assert!(kinds(&unlisted).is_empty());
    let mut silent = with_claims(vec![launched("a", "power")]);
    silent.clouds.insert("power", vec![volume("a")]);
    assert!(kinds(&silent).is_empty(), "a machine of a rack that is held may only not answer");
}

#[test]
fn a_claim_that_goes_or_was_launched_a_moment_ago_or_not_by_us_is_left_alone() {
    let check = |change: fn(&mut Claim)| {
        let mut claim = launched("a", "scaleway");
        change(&mut claim);
        assert!(kinds(&with_claims(vec![claim])).is_empty());
    };
    check(|claim| claim.deleted_at = Some(at(-5)));
    check(|claim| claim.status.conditions[0].since = at(-59));
    check(|claim| claim.status.conditions[0].status = Truth::Unknown);
    check(|claim| claim.launch = Launch::NotBegun);
}

#[test]
fn a_claim_with_a_machine_and_no_finalizer_gets_it_back() {
    let mut claim = launched("a", "scaleway");
    claim.finalizers = BTreeSet::from(["example.com/other".to_owned()]);
    let mut seen = with_claims(vec![claim.clone()]);
    seen.clouds.insert("scaleway", vec![machine("a")]);
    assert_eq!(kinds(&seen), ["finalizer-missing"]);
    claim.deleted_at = Some(at(-1));
    let mut going = with_claims(vec![claim]);
    going.clouds.insert("scaleway", vec![machine("a")]);
    assert!(kinds(&going).is_empty(), "Kubernetes lets nobody add one to what is being deleted");
}

fn lease(of: LeaseOf, holder: Option<&str>) -> LeaseSeen {
    let version = ResourceVersion::new("1").unwrap();
    LeaseSeen { name: "l".into(), uid: uid("l"), version, holder: holder.map(str::to_owned), of }
}

#[test]
fn a_lease_is_left_over_when_nobody_has_it_and_nobody_describes_its_machine() {
    let check = |described: Option<&[&str]>, off_since: Option<i64>, holder: Option<&str>, expected: &[&str]| {
        let of = LeaseOf::Machine { machine: "rack-1".into(), off_since: off_since.map(at) };
        let described = described.map(|all| all.iter().map(|machine| (*machine).to_owned()).collect());
        let seen = Situation { leases: vec![lease(of, holder)], described, ..clean() };
        assert_eq!(kinds(&seen), expected);
    };
    check(Some(&["rack-2"]), None, None, &["machine-lease"]);
    check(Some(&["rack-2"]), Some(-60), None, &["machine-lease"]);
    check(Some(&["rack-2"]), Some(-5), None, &[]);
    check(Some(&["rack-1"]), None, None, &[]);
    check(Some(&["rack-2"]), None, Some("claim"), &[]);
    check(None, None, None, &[]);
}

#[test]
fn a_turn_is_taken_from_the_dead_only() {
    let check = |until: Option<i64>, holder: Option<&str>, expected: &[&str]| {
        let seen = Situation { leases: vec![lease(LeaseOf::Turn { until: until.map(at) }, holder)], ..clean() };
        assert_eq!(kinds(&seen), expected);
    };
    check(Some(-31), Some("dead"), &["turn-lease"]);
    check(None, Some("dead"), &["turn-lease"]);
    check(Some(-10), Some("slow"), &[]);
    check(Some(10), Some("alive"), &[]);
    check(None, None, &[]);
}

#[test]
fn memories_that_are_over_of_a_wrong_clock_or_nonsense_are_forgotten_and_no_others() {
    let line = |key: &str, until: Option<i64>| StockLine {
        key: key.to_owned(),
        line: until.map(|until| Unavailable {
            scope: Scope::Provider { provider: "aks".into() },
            until: at(until),
            reason: "QuotaExceeded".into(),
        }),
    };
    let day = 24 * 3600;
    let stock = vec![
        line("over", Some(-60)),
        line("just", Some(-5)),
        line("stands", Some(23 * 3600)),
        line("far", Some(3 * day)),
        line("?", None),
    ];
    let found = find(&Situation { stock, ..clean() });
    let decide::leaks::Leak::Stock { keys } = &found[0] else { panic!("{found:?}") };
    assert_eq!(keys, &["over", "far", "?"]);
}

#[test]
fn a_cluster_in_order_has_no_leak() {
    let mut seen = with_claims(vec![launched("a", "scaleway"), launched("b", "aks")]);
    seen.clouds.insert("scaleway", vec![machine("a")]);
    seen.clouds.insert("aks", vec![machine("b")]);
    seen.nodes = vec![node("a", Some("a"), Truth::True), node("b", Some("b"), Truth::True)];
    assert!(find(&seen).is_empty());
}
