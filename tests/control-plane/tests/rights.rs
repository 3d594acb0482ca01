//! Least privilege, proved: what an account may do is what its process does, no line more and no line less.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use control_plane::{every_right, rights, site::FUNCTIONS, stagehand::on_site};

const SUPERVISOR: &str = env!("CARGO_BIN_EXE_control-plane");

#[test]
#[ignore = "needs a control plane: make cluster"]
fn what_a_function_may_do_is_what_it_does() {
    on_site(SUPERVISOR, |site| async move {
        every_right::use_everything(site).await;
        for function in FUNCTIONS {
            rights::check(site, function);
        }
    });
}

#[test]
#[ignore = "needs a control plane: make cluster"]
fn what_only_admission_asks_for_is_missed_when_it_is_taken_away() {
    on_site(SUPERVISOR, every_right::without_what_admission_asks_for);
}
