//! The clusters that functions under test work on: an empty one, and none at all.

use host::{PartsSource, parts::WorkSettings};
use world::{World, WorldOptions};

/// A cluster and its clouds with nothing of ours in them. Has to be called in a runtime.
pub fn empty_cluster() -> PartsSource {
    stage::source(&World::start(WorldOptions::default()), "test").expect("the parts fit the world")
}

/// As in a process that nobody told where the cluster is.
pub fn no_cluster() -> PartsSource {
    PartsSource::from_settings(WorkSettings::default())
}
