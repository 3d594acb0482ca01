//! Whole lives on a real control plane, of NodeClaims as others make them and of pods that wait, on each provider: with the
//! forwarder and the functions as processes of their own, and with `pilotlight run`. Beside pools and pods full of mistakes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use control_plane::{
    lives::{self, Life},
    pods,
    stagehand::on_site,
    troupe::Cast,
};

const SUPERVISOR: &str = env!("CARGO_BIN_EXE_control-plane");

macro_rules! lives {
    ($($name:ident on $cast:ident: $life:expr;)+) => {$(
        #[test]
        #[ignore = "needs a control plane: make cluster"]
        fn $name() {
            on_site(SUPERVISOR, Cast::$cast, $life);
        }
    )+};
}

lives! {
    a_claim_of_kaito_for_gpu_provisioner_becomes_an_aks_pool_and_goes on Apart:
        |site| lives::from_claim_to_nothing(site, Life::of_kaito("wskaito1"));
    a_claim_of_karpenter_becomes_an_aks_pool_and_goes on Apart:
        |site| lives::from_claim_to_nothing(site, Life::of_karpenter("karp1"));
    a_claim_by_hand_becomes_a_scaleway_instance_and_goes on Apart:
        |site| lives::from_claim_to_nothing(site, Life::scaleway("byhand1"));
    a_claim_by_hand_switches_a_machine_on_and_off on Apart:
        |site| lives::from_claim_to_nothing(site, Life::webhook(site, "rack-life", 1));
    a_redfish_machine_of_sushy_tools_is_switched_on_and_off on Apart: lives::redfish;
    a_budget_holds_the_drain_until_the_work_runs_elsewhere on Apart: lives::held_by_a_budget;
    pods_get_nodes_from_every_provider_and_all_goes_again on Apart: pods::of_every_provider;
    pods_get_nodes_from_every_provider_by_pilotlight_run on Together: pods::of_every_provider;
    a_claim_of_kaito_lives_and_goes_by_pilotlight_run on Together:
        |site| lives::from_claim_to_nothing(site, Life::of_kaito("wskaito1"));
    pods_that_cannot_be_served_are_told_why_within_a_second on Apart: pods::hopeless_pods_are_told_why;
    pods_that_cannot_be_served_are_told_why_within_a_second_by_pilotlight_run on Together: pods::hopeless_pods_are_told_why;
}
