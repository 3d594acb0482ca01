//! Our custom resources on a real API server: the same promises as on the world's.

#![allow(clippy::panic)]

use control_plane::{Component, ControlPlane, stagehand};
use kube::Client;
use spec::custom_resources;
use std::path::Path;

/// An API server of its own for each: they all want it empty.
fn on_a_server<F: Future<Output = ()>>(test: impl FnOnce(Client) -> F) {
    stagehand::block_on(async {
        let without = [Component::ControllerManager, Component::Scheduler, Component::Kwok];
        let supervisor = Path::new(env!("CARGO_BIN_EXE_control-plane"));
        let server = ControlPlane::start(supervisor, &without).await.unwrap_or_else(|why| panic!("{why}"));
        let client = server.client().await.unwrap_or_else(|why| panic!("{why}"));
        custom_resources::install(&client).await;
        test(client).await;
    });
}

macro_rules! on_a_real_server {
    ($($promise:ident),+ $(,)?) => {$(
        #[test]
        #[ignore = "needs a control plane: make cluster"]
        fn $promise() {
            on_a_server(|client| async move { custom_resources::$promise(&client).await });
        }
    )+};
}

on_a_real_server!(
    what_is_good_is_taken_and_what_is_not_is_refused_in_known_words,
    a_claim_gets_its_defaults_and_its_spec_cannot_change,
    a_pool_gets_karpenters_defaults_and_unknown_fields_are_dropped,
    tables_have_karpenters_columns,
);
