//! Whole lives of NodeClaims on a real control plane: as others make them, on each provider, drained by the real eviction API.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use control_plane::{
    lives::{self, Life},
    stagehand::on_site,
};

const SUPERVISOR: &str = env!("CARGO_BIN_EXE_control-plane");

macro_rules! lives {
    ($($name:ident: $life:expr;)+) => {$(
        #[test]
        #[ignore = "needs a control plane: make cluster"]
        fn $name() {
            on_site(SUPERVISOR, |site| lives::from_claim_to_nothing(site, $life));
        }
    )+};
}

lives! {
    a_claim_of_kaito_for_gpu_provisioner_becomes_an_aks_pool_and_goes: Life::of_kaito("wskaito1");
    a_claim_of_karpenter_becomes_an_aks_pool_and_goes: Life::of_karpenter("karp1");
    a_claim_by_hand_becomes_a_scaleway_instance_and_goes: Life::scaleway("byhand1");
    a_claim_by_hand_switches_a_machine_on_and_off: Life::webhook("rack-life");
}

#[test]
#[ignore = "needs a control plane: make cluster"]
fn a_redfish_machine_of_sushy_tools_is_switched_on_and_off() {
    on_site(SUPERVISOR, lives::redfish);
}

#[test]
#[ignore = "needs a control plane: make cluster"]
fn a_budget_holds_the_drain_until_the_work_runs_elsewhere() {
    on_site(SUPERVISOR, lives::held_by_a_budget);
}
