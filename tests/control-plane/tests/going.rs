//! Nodes that are taken away on a real control plane, on each provider: idle ones, and one that is larger than it has to be, with a
//! replacement and a budget. What comes to them meanwhile survives, and so does the command whoever is killed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use control_plane::{chronicle::Chronicle, going, late, site::Site, stagehand::on_site, troupe::Cast};
use faults::Kind;

const SUPERVISOR: &str = env!("CARGO_BIN_EXE_control-plane");

macro_rules! goings {
    ($($name:ident, $together:ident: $life:expr;)+) => {$(
        #[test]
        #[ignore = "needs a control plane: make cluster"]
        fn $name() {
            on_site(SUPERVISOR, Cast::Apart, $life);
        }

        #[test]
        #[ignore = "needs a control plane: make cluster"]
        fn $together() {
            on_site(SUPERVISOR, Cast::Together, $life);
        }
    )+};
}

goings! {
    idle_nodes_of_every_provider_go,
    idle_nodes_of_every_provider_go_by_pilotlight_run: going::idle_nodes_go;
    oversize_nodes_are_replaced_first_and_drained_as_a_budget_lets_them,
    oversize_nodes_are_replaced_first_and_drained_as_a_budget_lets_them_by_pilotlight_run: going::oversize_nodes_are_replaced;
    pods_that_come_between_decision_and_taint_survive,
    pods_that_come_between_decision_and_taint_survive_by_pilotlight_run: late::pods_that_come_before_the_taint_survive;
    a_pod_that_comes_between_taint_and_deletion_survives,
    a_pod_that_comes_between_taint_and_deletion_survives_by_pilotlight_run: late::a_pod_that_tolerates_the_taint_survives;
    the_timer_is_killed_in_the_midst_of_a_command_and_the_node_is_replaced_all_the_same,
    pilotlight_run_is_killed_in_the_midst_of_a_command_and_the_node_is_replaced_all_the_same: replaced_by_a_mortal;
}

/// Whoever is to go on with a command is killed as soon as it has got somewhere; its turn has to pass each time, so each cast has phases of
/// its own.
async fn replaced_by_a_mortal(site: &Site) {
    const POOL: &str = "mortal";
    let (kind, phases) = match site.troupe.cast {
        Cast::Apart => (Kind::Scaleway, ["Recorded", "Making", "Deleting"]),
        Cast::Together => (Kind::Power, ["Tainted", "Waiting", "Deleting"]),
    };
    let chronicle = Chronicle::begin(site);
    let hits = async {
        for phase in phases {
            chronicle.until(site, &format!("pool/{POOL} {phase}")).await;
            site.troupe.kill_and_start(site.troupe.cast.ticked()).await.unwrap();
        }
    };
    tokio::join!(going::is_replaced(site, &chronicle, going::oversize(site, kind, POOL, 15)), hits);
}
