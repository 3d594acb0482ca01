//! How many nodes may go at a time.

use super::fixture::*;
use jiff::{Timestamp, tz};
use model::disruption::{Budget, KeptCode, Reason};
use std::collections::BTreeSet;

fn empties(count: usize, budgets: Vec<Budget>) -> World {
    let mut world = World::new();
    for at in 0..count {
        world.node(&format!("n{at:02}"), "small");
    }
    world.rules().budgets = budgets;
    world
}

fn check_empties(count: usize, budgets: Vec<Budget>, expected: usize) {
    let world = empties(count, budgets.clone());
    assert_eq!(going(&world.decide(), Reason::Empty), expected, "{count} nodes, {budgets:?}");
}

fn for_reason(nodes: &str, reason: &str) -> Budget {
    Budget { reasons: vec![reason.to_owned()], ..budget(nodes) }
}

fn at_times(nodes: &str, schedule: &str, duration: &str) -> Budget {
    Budget { schedule: Some(schedule.to_owned()), duration: Some(duration.to_owned()), ..budget(nodes) }
}

#[test]
fn a_share_of_the_pool_is_rounded_up() {
    check_empties(10, vec![budget("30%")], 3);
    check_empties(10, vec![budget("25%")], 3);
    check_empties(3, vec![budget("10%")], 1);
    check_empties(7, vec![budget("100%")], 7);
    check_empties(7, vec![budget("0%")], 0);
    check_empties(7, vec![budget("0")], 0);
    check_empties(7, vec![budget("4")], 4);
    check_empties(7, vec![budget("40")], 7);
}

#[test]
fn the_tightest_budget_for_the_reason_counts_and_none_is_no_limit() {
    check_empties(10, vec![], 10);
    check_empties(10, vec![budget("5"), budget("2"), budget("80%")], 2);
    check_empties(10, vec![for_reason("1", "Drifted")], 10);
    check_empties(10, vec![for_reason("1", "Empty"), budget("5")], 1);
    check_empties(10, vec![for_reason("1", "Underutilized"), budget("5")], 5);
}

#[test]
fn what_cannot_be_read_lets_nothing_go() {
    for bad in [budget("many"), budget("-1"), budget("101%"), budget("%"), budget("")] {
        check_empties(5, vec![bad], 0);
    }
    for (schedule, duration) in [
        ("* * * *", "1h"),
        ("61 * * * *", "1h"),
        ("0 0 * * 7", "1h"),
        ("@often", "1h"),
        ("@daily", "soon"),
        ("*/0 * * * *", "1h"),
        ("5-1 * * * *", "1h"),
    ] {
        check_empties(5, vec![at_times("3", schedule, duration)], 0);
    }
    check_empties(5, vec![Budget { schedule: Some("@daily".into()), ..budget("3") }], 0);
    let why = stays(&empties(2, vec![at_times("3", "61 * * * *", "1h")]), "n00", KeptCode::Budget);
    assert!(why.contains("minute") && why.contains("61"), "{why}");
}

#[test]
fn a_budget_counts_only_while_its_schedule_is_on() {
    // It is a Tuesday, ten in the morning.
    for (schedule, duration, on) in [
        ("0 9 * * *", "2h", true),
        ("0 9 * * *", "1h", false),
        ("0 10 * * *", "1m", true),
        ("1 10 * * *", "1h", false),
        ("0 9 * * 1-5", "8h", true),
        ("0 9 * * mon-fri", "8h", true),
        ("0 9 * * 0,6", "8h", false),
        ("0 9 * * SAT", "72h", false),
        ("0 9 * * SAT", "74h", true),
        ("0 0 17 * *", "24h", true),
        ("0 0 18 * *", "24h", false),
        ("0 0 17 nov *", "24h", true),
        ("0 0 17 12 *", "24h", false),
        // Of day and weekday one is enough, unless one of them is a star.
        ("0 0 1 * 2", "24h", true),
        ("0 0 17 * 5", "24h", true),
        ("0 0 1 * *", "24h", false),
        ("*/15 * * * *", "1m", true),
        ("*/7 9 * * *", "4m", false),
        ("@hourly", "1m", true),
        ("@daily", "10h", false),
        ("@daily", "10h1m", true),
        ("@weekly", "58h", false),
        ("@weekly", "59h", true),
        ("@monthly", "400h", true),
        ("@yearly", "24h", false),
        ("@annually", "8760h", true),
        ("? 9-17/2 * * *", "1h1m", true),
    ] {
        check_empties(5, vec![at_times("1", schedule, duration)], if on { 1 } else { 5 });
    }
}

#[test]
fn schedules_are_in_the_time_zone_of_the_pool() {
    let closed = vec![at_times("0", "0 9 * * *", "1h")];
    let mut world = empties(2, closed);
    // Ten in UTC is nine where clocks are an hour behind.
    assert_eq!(world.decide().disruptions.len(), 2);
    world.rules().time_zone = Ok(tz::TimeZone::fixed(tz::offset(-1)));
    assert_eq!(world.decide().disruptions.len(), 0);
    world.rules().time_zone = Err("Mars/Olympus is no time zone".into());
    let why = stays(&world, "n00", KeptCode::Budget);
    assert!(why.contains("Mars"), "{why}");
}

#[test]
fn nodes_that_go_or_are_not_ready_use_the_budget_up() {
    let mut world = empties(10, vec![budget("3")]);
    world.situation.inventory.nodes[0].ready = false;
    world.situation.provision.scene.nodes[1].deleting = true;
    // The one that is not ready goes without being counted once more, and one beside it.
    assert_eq!(gone(&world.decide()), BTreeSet::from(["n00".to_owned(), "n02".to_owned()]));
    world.situation.inventory.nodes[2].disrupted = true;
    assert_eq!(gone(&world.decide()), BTreeSet::from(["n00".to_owned()]));
    let why = stays(&world, "n05", KeptCode::Budget);
    assert!(why.contains("3 are going"), "{why}");
}

#[test]
fn reasons_share_what_a_budget_lets_go() {
    let mut world = empties(6, vec![budget("2")]);
    world.node("used", "xlarge").pod("p", 100);
    let decision = world.decide();
    assert_eq!((going(&decision, Reason::Empty), going(&decision, Reason::Underutilized)), (2, 0));
    stays(&world, "used", KeptCode::Budget);
}

#[test]
fn every_pool_has_its_own_budget() {
    let mut world = World::new();
    world.pool("other");
    for at in 0..4 {
        world.node(&format!("n{at}"), "small").node(&format!("other/o{at}"), "small");
    }
    world.situation.inventory.pools[0].budgets = vec![budget("1")];
    world.situation.inventory.pools[1].budgets = vec![budget("2")];
    let decision = world.decide();
    let of = |letter: char| gone(&decision).iter().filter(|name| name.starts_with(letter)).count();
    assert_eq!((of('n'), of('o')), (1, 2));
}

#[test]
fn a_node_that_is_not_ready_is_counted_once() {
    let mut world = World::new();
    for at in 0..5 {
        world.node(&format!("n{at}"), "medium").pod(&format!("p{at}"), 3500);
        world.last_claim().created_at = ago(60 * 24 * 40);
        world.last_node().ready = at > 2;
    }
    assert_eq!(going(&world.decide(), Reason::Expired), 5);
    world.rules().budgets = vec![budget("4")];
    assert_eq!(going(&world.decide(), Reason::Expired), 4);
    world.rules().budgets = vec![budget("2")];
    assert_eq!(going(&world.decide(), Reason::Expired), 0);
}

#[test]
fn an_hour_that_comes_twice_has_two_beginnings() {
    let zone = tz::TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
    for (schedule, lasts, at, on) in [
        ("0 * * * *", "30m", "2026-10-25T00:10:00Z", true),
        ("0 * * * *", "30m", "2026-10-25T01:10:00Z", true),
        ("0 * * * *", "30m", "2026-10-25T01:40:00Z", false),
        ("*/10 * * * *", "10m", "2026-10-25T01:35:00Z", true),
        ("@hourly", "1h", "2026-10-25T01:30:00Z", true),
    ] {
        assert_eq!(is_closed(&zone, schedule, lasts, at), on, "{schedule} {at}");
    }
}

#[test]
fn daylight_saving_leaves_out_no_night() {
    // In Paris clocks went back on 25 October 2026: two o'clock came twice.
    let zone = tz::TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
    for (at, on) in [("2026-10-25T00:30:00Z", true), ("2026-10-25T01:30:00Z", true), ("2026-10-25T03:30:00Z", false)] {
        assert_eq!(is_closed(&zone, "0 2 * * *", "2h", at), on, "{at}");
    }
}

/// Whether a budget of nothing holds empty nodes at a time, by its schedule.
fn is_closed(zone: &tz::TimeZone, schedule: &str, lasts: &str, at: &str) -> bool {
    let mut world = empties(2, vec![at_times("0", schedule, lasts)]);
    world.rules().time_zone = Ok(zone.clone());
    world.situation.provision.now = at.parse::<Timestamp>().unwrap();
    for here in &mut world.situation.inventory.nodes {
        here.claim = None;
        here.created_at = Timestamp::UNIX_EPOCH;
    }
    world.rules().expire_after = None;
    world.decide().disruptions.is_empty()
}
