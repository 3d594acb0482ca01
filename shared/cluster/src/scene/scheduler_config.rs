//! `SCHEDULER_CONFIG`: the default constraints of the scheduler, in the document that Karpenter reads too.

use k8s_openapi::api::core::v1::TopologySpreadConstraint;
use model::place::Spread;
use serde::Deserialize;

use super::rules::{each, spread};

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Config {
    #[serde(default)]
    pod_topology_spread: PodTopologySpread,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PodTopologySpread {
    #[serde(default)]
    default_constraints: Vec<TopologySpreadConstraint>,
}

/// The constraints of `podTopologySpread.defaultConstraints` in a YAML text; none in an empty one. The error names the field.
pub fn scheduler_config(text: &str) -> Result<Vec<Spread>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let config: Config = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
    each("podTopologySpread.defaultConstraints", &config.pod_topology_spread.default_constraints, spread)
}
