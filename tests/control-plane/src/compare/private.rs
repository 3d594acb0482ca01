//! The comparison on control planes of its own: an API server alone, and one with a scheduler.

use std::{io, path::Path, sync::Arc};

use super::{
    real::Real,
    run::{Cast, Outcome},
};
use crate::{Component, ControlPlane};

/// `supervisor` is the program `control-plane`.
pub async fn on_private_servers(supervisor: &Path, cast: &Cast<'_>, outcome: &mut Outcome) -> io::Result<()> {
    let alone = [Component::ControllerManager, Component::Kwok, Component::Scheduler];
    let server = ControlPlane::start(supervisor, &alone).await.map_err(io::Error::other)?;
    cast.play(Arc::new(Real::of(&server.facts.kubeconfig).await?), outcome).await?;
    drop(server);
    if cast.has_placements() {
        let with_scheduler = [Component::ControllerManager, Component::Kwok];
        let server = ControlPlane::start(supervisor, &with_scheduler).await.map_err(io::Error::other)?;
        cast.place(&Real::of(&server.facts.kubeconfig).await?, outcome).await?;
    }
    Ok(())
}
