//! Changing: bringing the one server of a key into being, and making sure that nothing of a key is left.

use async_trait::async_trait;
use jiff::SignedDuration;
use model::{Ensured, Gone, InstanceKey, InstanceRequest, Progress, Rebooted};
use provider::{Change, ProviderError, Retry};

use crate::Scaleway;
use crate::look::instance_of;
use crate::note::{Cause, Note};
use crate::plan::Plan;
use crate::wire::Server;

/// Scaleway asks for no more than five requests a second and polls every five seconds itself.
const LOOK_AGAIN_SECONDS: u32 = 5;

/// A server gets its slot when it is powered on. One that has not started by then will not: there is no stock.
const MOST_TIME_TO_START: SignedDuration = SignedDuration::from_secs(300);

/// A poweron that was accepted shows at once; this much is granted to a read that is behind.
const TIME_TO_SHOW: SignedDuration = SignedDuration::from_secs(4);

#[async_trait]
impl Change for Scaleway {
    async fn ensure(&self, request: &InstanceRequest, progress: Option<&Progress>) -> Result<Ensured, ProviderError> {
        let plan = Plan::of(request, self.api.settings().default_zone.as_deref())?;
        let note = Note::read(progress).unwrap_or_default();
        if let Some(cause) = note.given_up.clone() {
            return self.give_up(&plan, cause, note).await;
        }
        let noted = self.server_in_note(&request.key, &note).await?;
        if let Some(server) = noted.as_ref().filter(|server| server.state != "running") {
            let others = note.others;
            return self.advance(&plan, server, note).await.map(|reached| carried(reached, server, others));
        }
        // A list of all zones comes before every create, and once more before the end: that is what keeps it to one.
        let mut servers = self.servers_of(&request.key, &self.zones).await?;
        servers.extend(noted.filter(|noted| !servers.iter().any(|server| server.id == noted.id)));
        self.settle(&plan, servers, note).await
    }

    async fn ensure_gone(&self, key: &InstanceKey, progress: Option<&Progress>) -> Result<Gone, ProviderError> {
        let mut note = Note::read(progress).unwrap_or_default();
        // While it is on its way out there is nothing else to do, and one request to know it.
        let noted = self.server_in_note(key, &note).await?;
        let look_again_seconds = LOOK_AGAIN_SECONDS;
        if noted.as_ref().is_some_and(|server| server.state == "stopping" && !note.volumes.is_empty()) {
            return Ok(Gone::InProgress { progress: note.write(), look_again_seconds });
        }
        if noted.is_none() {
            // It is gone, or it was never ours; either way there is no need to ask for it again.
            note.server.clear();
        }
        let mut zones = self.zones.clone();
        if !note.zone.is_empty() && !zones.contains(&note.zone) {
            zones.push(note.zone.clone());
        }
        let removal = self.remove(key, &zones, Some(&note), None).await?;
        if let Some((zone, server)) = removal.oldest {
            (note.zone, note.server) = (zone, server);
        }
        note = Note { volumes: removal.volumes, powered_on: None, given_up: None, ..note };
        match removal.nothing_left {
            true => Ok(Gone::Confirmed),
            false => Ok(Gone::InProgress { progress: note.write(), look_again_seconds }),
        }
    }

    async fn reboot(&self, key: &InstanceKey, operation: &str) -> Result<Rebooted, ProviderError> {
        self.reboot_server(key, operation).await
    }
}

impl Scaleway {
    /// One server out of those that are there: none is made, all but the oldest are removed.
    async fn settle(&self, plan: &Plan<'_>, servers: Vec<Server>, note: Note) -> Result<Ensured, ProviderError> {
        let key = &plan.request.key;
        let differs = |server: &Server| {
            server.zone != plan.zone || !server.commercial_type.eq_ignore_ascii_case(&plan.offering.instance_type)
        };
        // What an earlier attempt made for another offering, and never started, is of no use to this one.
        let (stale, usable): (Vec<Server>, Vec<Server>) =
            servers.into_iter().partition(|server| server.state == "stopped" && differs(server));
        let stale_left = !usable.is_empty() && !stale.is_empty();
        let made = match usable.is_empty() {
            false => None,
            true => {
                if !stale.is_empty() && !self.remove(key, &self.zones, None, None).await?.nothing_left {
                    return Ok(in_progress(&Note::default()));
                }
                match self.create(plan).await {
                    Ok(server) => Some(server),
                    Err(error) => return self.fail(plan, error, note_of_zone(&plan.zone)).await,
                }
            }
        };
        let mut candidates = usable;
        if let Some(made) = made {
            candidates = match self.servers_of(key, core::slice::from_ref(&plan.zone)).await {
                Ok(found) => found,
                Err(error) => return self.fail(plan, error, note_of(&made)).await,
            };
            if !candidates.iter().any(|server| server.id == made.id) {
                candidates.push(made);
            }
        }
        candidates.sort_by(|one, other| (one.created_at(), &one.id).cmp(&(other.created_at(), &other.id)));
        let Some(keep) = candidates.first() else { return Ok(in_progress(&note)) };
        let alone = (candidates.len() == 1 && !stale_left && !note.others)
            || self.remove(key, &self.zones, None, Some(keep)).await?.nothing_left;
        let note = if note.server == keep.id { note } else { Note::default() };
        self.advance(plan, keep, note).await.map(|reached| carried(reached, keep, !alone))
    }

    /// The next step of a server, by the state it is in.
    async fn advance(&self, plan: &Plan<'_>, server: &Server, note: Note) -> Result<Ensured, ProviderError> {
        let now = (self.now)();
        match server.state.as_str() {
            "running" => {
                if plan.class.joined {
                    self.forget_user_data(server).await?;
                }
                Ok(Ensured::Running(instance_of(server)))
            }
            "starting" => {
                // Scaleway's clock may be ahead of ours: what begins later than now has begun now.
                let modified_at = server.modified_at().map(|at| at.min(now));
                let since = note.powered_on_at().or(modified_at);
                if since.is_some_and(|since| now.duration_since(since) > MOST_TIME_TO_START) {
                    return self.give_up(plan, Cause::NoStock, Note { powered_on: None, ..note_of(server) }).await;
                }
                let powered_on = note.powered_on.or(modified_at.map(|at| at.as_second()));
                Ok(in_progress(&Note { powered_on, ..note_of(server) }))
            }
            "stopped" => match note.powered_on_at() {
                // It was started and is found stopped again: it got no slot.
                Some(at) if now.duration_since(at) >= TIME_TO_SHOW => {
                    self.give_up(plan, Cause::NoStock, note_of(server)).await
                }
                Some(_) => Ok(in_progress(&note)),
                None => self.start(plan, server).await,
            },
            // We stop a server only to give it up, so this is an attempt that somebody of us gave up.
            "stopping" | "stopped in place" => self.give_up(plan, Cause::NoStock, note_of(server)).await,
            other => Err(ProviderError::Unauthorized {
                doing: format!("starting server {}", server.id),
                why: format!("it is {other}: ask Scaleway's support"),
            }),
        }
    }

    async fn start(&self, plan: &Plan<'_>, server: &Server) -> Result<Ensured, ProviderError> {
        let started = match self.prepare(plan, server).await {
            Ok(true) => self.power_on(plan, server).await,
            Ok(false) => return Ok(in_progress(&Note::default())),
            Err(error) => Err(error),
        };
        match started {
            Ok(true) => Ok(in_progress(&Note { powered_on: Some((self.now)().as_second()), ..note_of(server) })),
            Ok(false) => Ok(in_progress(&note_of(server))),
            Err(error) => self.fail(plan, error, note_of(server)).await,
        }
    }

    /// After an error that ends the attempt nobody comes again with this request, so what was made goes first.
    async fn fail(&self, plan: &Plan<'_>, error: ProviderError, note: Note) -> Result<Ensured, ProviderError> {
        match Cause::of(&error) {
            Some(cause) => self.give_up(plan, cause, note).await,
            None => Err(error),
        }
    }

    /// Takes away what a failed attempt left, and only then says that it has failed.
    async fn give_up(&self, plan: &Plan<'_>, cause: Cause, note: Note) -> Result<Ensured, ProviderError> {
        let removed = self.remove(&plan.request.key, &self.zones, Some(&note), None).await;
        let mut wait = LOOK_AGAIN_SECONDS;
        let volumes = match removed {
            Ok(removal) if removal.nothing_left => {
                return Err(cause.into_error(format!("starting {}", plan.name()), &plan.offering));
            }
            Ok(removal) => removal.volumes,
            // The attempt has failed whatever becomes of the cleaning, which goes on with the next call.
            Err(error) => match error.retry() {
                Retry::SameAfter(after) => {
                    wait = wait.max(u32::try_from(after.as_secs()).unwrap_or(u32::MAX));
                    note.volumes.clone()
                }
                Retry::ReadBack => note.volumes.clone(),
                Retry::NextOffering | Retry::Never => return Err(error),
            },
        };
        let progress = Note { volumes, given_up: Some(cause), ..note }.write();
        Ok(Ensured::InProgress { progress, look_again_seconds: wait })
    }
}

fn note_of(server: &Server) -> Note {
    let root = server.volumes.get("0").filter(|volume| volume.volume_type.starts_with("sbs"));
    Note {
        zone: server.zone.clone(),
        server: server.id.clone(),
        volumes: root.map(|volume| volume.id.clone()).into_iter().collect(),
        ..Note::default()
    }
}

/// A server runs only once the others are gone; until then the progress remembers them.
fn carried(reached: Ensured, server: &Server, others: bool) -> Ensured {
    match reached {
        reached if !others => reached,
        Ensured::Running(_) => in_progress(&Note { others, ..note_of(server) }),
        Ensured::InProgress { progress, .. } => {
            in_progress(&Note { others, ..Note::read(Some(&progress)).unwrap_or_default() })
        }
    }
}

fn note_of_zone(zone: &str) -> Note {
    Note { zone: zone.to_owned(), ..Note::default() }
}

fn in_progress(note: &Note) -> Ensured {
    Ensured::InProgress { progress: note.write(), look_again_seconds: LOOK_AGAIN_SECONDS }
}
