//! Least privilege, proved: what an account may do is what its process does, no line more and no line less.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use control_plane::{every_right, rights, site::Site, stagehand::on_site, troupe::Cast};

const SUPERVISOR: &str = env!("CARGO_BIN_EXE_control-plane");

async fn what_they_may_do_is_what_they_do(site: &Site) {
    every_right::use_everything(site).await;
    for account in site.troupe.cast.members() {
        rights::check(site, account);
    }
}

#[test]
#[ignore = "needs a control plane: make cluster"]
fn what_each_process_may_do_is_what_it_does() {
    on_site(SUPERVISOR, Cast::Apart, what_they_may_do_is_what_they_do);
}

#[test]
#[ignore = "needs a control plane: make cluster"]
fn what_pilotlight_run_may_do_is_what_it_does() {
    on_site(SUPERVISOR, Cast::Together, what_they_may_do_is_what_they_do);
}

#[test]
fn pilotlight_run_may_do_what_its_parts_may_and_no_more() {
    let parts: std::collections::BTreeSet<_> =
        Cast::Apart.members().iter().flat_map(|account| rights::granted(account)).collect();
    let whole = rights::granted("pilotlight");
    assert_eq!(whole, rights::without_what_is_granted_everywhere(parts));
}

#[test]
#[ignore = "needs a control plane: make cluster"]
fn what_only_admission_asks_for_is_missed_when_it_is_taken_away() {
    on_site(SUPERVISOR, Cast::Apart, every_right::without_what_admission_asks_for);
}
