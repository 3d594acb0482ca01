//! The definitions on the world's API server. The same on a real one: tests/control-plane.

use kube::Client;
use spec::custom_resources;
use world::{World, WorldOptions};

async fn cluster() -> (World, Client) {
    let world = World::start(WorldOptions::default());
    let client = world.client("tester");
    custom_resources::install(&client).await;
    (world, client)
}

macro_rules! on_the_world {
    ($($promise:ident),+ $(,)?) => {$(
        #[tokio::test(start_paused = true)]
        async fn $promise() {
            let (_world, client) = cluster().await;
            custom_resources::$promise(&client).await;
        }
    )+};
}

on_the_world!(
    what_is_good_is_taken_and_what_is_not_is_refused_in_known_words,
    a_claim_gets_its_defaults_and_its_spec_cannot_change,
    a_pool_gets_karpenters_defaults_and_unknown_fields_are_dropped,
    tables_have_karpenters_columns,
);
