//! Our own rule: the decision that on-idle-timer makes, asked with what the week shows of the cluster.

use decide::{disruption, provision};
use jiff::Timestamp;

use super::{play::Command, site::Site};
use crate::Result;

/// The commands to begin now, and the minute at which the same cluster would be decided differently.
pub fn decide(site: &Site<'_>) -> Result<(Vec<Command>, Option<u32>)> {
    let seen = site.look();
    let inventory = site.take_stock(&seen)?;
    let situation = disruption::Situation {
        provision: provision::Situation {
            scene: seen.scene,
            pools: site.clouds.iter().map(|cloud| cloud.facts.clone()).collect(),
            claims: vec![],
            now: site.time(),
        },
        inventory,
    };
    let decision = disruption::decide(&situation, &mut || true);
    let number = |name: &str| site.nodes.iter().find(|(_, node)| node.there.name.as_str() == name).map(|(at, _)| *at);
    let command = |one: &model::disruption::Disruption| Command {
        nodes: one.nodes.iter().filter_map(|leaving| number(leaving.node.as_str())).collect(),
        replacements: one.replacements.iter().map(|one| one.planned.clone()).collect(),
    };
    let look_again = decision.look_again.map(minute_of);
    Ok((decision.disruptions.iter().map(command).collect(), look_again))
}

/// The first whole minute that is not before it.
fn minute_of(time: Timestamp) -> u32 {
    u32::try_from(time.as_second().div_euclid(60) + i64::from(time.as_second() % 60 != 0)).unwrap_or(u32::MAX)
}
