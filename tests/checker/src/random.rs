//! Random worlds, small ones to be run by the hundred: a cluster as YAML and a catalogue as JSON. The same seed makes the same world.
//!
//! A world has a few themes, so that what goes wrong can be seen: everything at once hides everything.

mod draw;
mod machines;
mod pods;
mod pools;
mod running;
mod types;

use std::path::{Path, PathBuf};
use std::{fs, io};

use serde_json::Value;

use draw::Draw;

/// What a world is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Theme {
    Selectors,
    Taints,
    Weights,
    Limits,
    MinValues,
    Gpu,
    Daemons,
    Nodes,
    InFlight,
    Leaving,
    SpreadZone,
    SpreadHost,
    Affinity,
    AntiAffinity,
    Volumes,
    Ports,
    Preferences,
    Malformed,
    // What a cluster that runs is about besides.
    PodBudgets,
    NodeBudgets,
    DoNotDisrupt,
    Drift,
    Expiry,
    Balanced,
    WhenEmpty,
    Waits,
    Restless,
    MovesGpus,
    SpotToSpot,
    Costs,
    Unready,
}

const THEMES: &[Theme] = &[
    Theme::Selectors,
    Theme::Taints,
    Theme::Weights,
    Theme::Limits,
    Theme::MinValues,
    Theme::Gpu,
    Theme::Daemons,
    Theme::Nodes,
    Theme::InFlight,
    Theme::Leaving,
    Theme::SpreadZone,
    Theme::SpreadHost,
    Theme::Affinity,
    Theme::AntiAffinity,
    Theme::Volumes,
    Theme::Ports,
    Theme::Preferences,
    Theme::Malformed,
];

/// Themes of clusters that run. The first ones are about what pods demand.
const RUNNING: &[Theme] = &[
    Theme::Selectors,
    Theme::Taints,
    Theme::Weights,
    Theme::Limits,
    Theme::MinValues,
    Theme::Gpu,
    Theme::Daemons,
    Theme::SpreadZone,
    Theme::SpreadHost,
    Theme::Affinity,
    Theme::AntiAffinity,
    Theme::Volumes,
    Theme::Ports,
    Theme::Leaving,
    Theme::PodBudgets,
    Theme::NodeBudgets,
    Theme::DoNotDisrupt,
    Theme::Drift,
    Theme::Expiry,
    Theme::Balanced,
    Theme::WhenEmpty,
    Theme::Waits,
    Theme::Restless,
    Theme::MovesGpus,
    Theme::SpotToSpot,
    Theme::Costs,
    Theme::Unready,
];

/// Themes in which nothing but resources, taints and selectors binds: [`crate::exact`] knows their best plan.
const PLAIN: &[Theme] = &[Theme::Selectors, Theme::Taints, Theme::Gpu, Theme::Nodes];

#[derive(Debug, Clone)]
pub struct World {
    pub seed: u64,
    pub themes: Vec<Theme>,
    /// Kubernetes YAML, many documents.
    pub cluster: String,
    /// Instance types, in the JSON of Karpenter's KWOK provider.
    pub catalog: String,
}

impl World {
    /// Any world: 5 to 60 pods, one to five themes.
    pub fn random(seed: u64) -> Self {
        let mut draw = Draw::new(seed);
        let count = 1 + draw.below(5);
        let themes = (0..count).map(|_| *draw.pick(THEMES)).collect();
        Self::build(seed, draw, themes, 60)
    }

    /// A world in which nothing but resources, taints and selectors binds, with at most 12 pods.
    pub fn plain(seed: u64) -> Self {
        let mut draw = Draw::new(seed);
        let count = draw.below(3);
        let themes = (0..count).map(|_| *draw.pick(PLAIN)).collect();
        Self::build(seed, draw, themes, 12)
    }

    /// A cluster that runs: 2 to 12 nodes with pods on them that keep every rule, none to five themes.
    pub fn running(seed: u64) -> Self {
        let mut draw = Draw::new(seed);
        let count = draw.below(6);
        let mut themes: Vec<Theme> = (0..count).map(|_| *draw.pick(RUNNING)).collect();
        themes.sort_unstable();
        themes.dedup();
        let types = types::types(&mut draw, &themes);
        let objects = running::objects(&mut draw, &themes, &types);
        Self::written(seed, themes, &objects, &types)
    }

    fn build(seed: u64, mut draw: Draw, mut themes: Vec<Theme>, most: usize) -> Self {
        themes.sort_unstable();
        themes.dedup();
        let types = types::types(&mut draw, &themes);
        let mut objects: Vec<Value> = pools::pools(&mut draw, &themes);
        objects.extend(machines::machines(&mut draw, &themes, &types));
        objects.extend(pods::pods(&mut draw, &themes, most));
        Self::written(seed, themes, &objects, &types)
    }

    fn written(seed: u64, themes: Vec<Theme>, objects: &[Value], types: &[Value]) -> Self {
        let documents: Vec<String> =
            objects.iter().map(|object| serde_saphyr::to_string(object).unwrap_or_default()).collect();
        let catalog = serde_json::to_string_pretty(types).unwrap_or_default();
        Self { seed, themes, cluster: documents.join("---\n"), catalog }
    }

    /// Writes `cluster.yaml` and `catalog.json` into a directory, and says where they are.
    pub fn write(&self, directory: &Path) -> io::Result<(PathBuf, PathBuf)> {
        fs::create_dir_all(directory)?;
        let (cluster, catalog) = (directory.join("cluster.yaml"), directory.join("catalog.json"));
        fs::write(&cluster, format!("# Seed {}, themes {:?}\n{}", self.seed, self.themes, self.cluster))?;
        fs::write(&catalog, &self.catalog)?;
        Ok((cluster, catalog))
    }
}
