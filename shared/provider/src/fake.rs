//! A provider in memory: the shortest one that keeps the whole contract, over a cloud that can be made to fail.
//!
//! It is shipped beside the port for the tests of everybody who uses a provider, and as the pattern for a new one. Making a
//! machine takes a volume, a server and a power-on, in that order, so there is something to leave behind at every step.

mod cloud;
mod subject;

use async_trait::async_trait;
use model::{
    Ensured, Gone, Instance, InstanceKey, InstanceRequest, InstanceState, Offering, Owned, Progress, Rebooted,
};

use crate::{Change, Look, Provider, ProviderError, Retry};
pub use cloud::{FakeCloud, Kind, NAME, Thing};

/// How soon it is worth asking again.
const LOOK_AGAIN_SECONDS: u32 = 10;

/// One handle on a fake cloud. It remembers nothing: all it knows, it reads by the key.
#[derive(Clone)]
pub struct Fake {
    cloud: FakeCloud,
}

impl Fake {
    pub fn new(cloud: FakeCloud) -> Self {
        Fake { cloud }
    }

    /// The next step for a server that exists and is ours.
    fn go_on(&self, server: &Thing) -> Result<Ensured, ProviderError> {
        match server.state {
            InstanceState::Running => return Ok(Ensured::Running(server.instance())),
            // Exists and is off: the power-on is a request of its own, and may have been lost.
            InstanceState::Stopped | InstanceState::Failed => self.cloud.power_on(server.id)?,
            // One that is going away is waited for: only then is its name free.
            InstanceState::Starting | InstanceState::Stopping => {}
        }
        let progress = Progress(server.id.to_string());
        Ok(Ensured::InProgress { progress, look_again_seconds: LOOK_AGAIN_SECONDS })
    }

    fn make(&self, request: &InstanceRequest, found: &[Thing]) -> Result<Ensured, ProviderError> {
        let key = &request.key;
        // A volume without a server is what an earlier attempt left: it is used, not doubled.
        let ours = found.iter().find(|thing| thing.kind == Kind::Volume && thing.is_of(key));
        let volume = match ours {
            Some(volume) => volume.id,
            None => self.cloud.create_volume(key)?,
        };
        match self.cloud.create_server(key, &request.offering.id) {
            Ok(server) => self.go_on(&server),
            Err(error) if error.retry() == Retry::NextOffering => {
                // Only when nothing is left may the next offering be tried. If this fails, its error is the answer: the
                // caller comes again with the same request and ends here again.
                self.cloud.delete(volume)?;
                Err(error)
            }
            Err(error) => Err(error),
        }
    }
}

#[async_trait]
impl Look for Fake {
    async fn offerings(&self) -> Result<Vec<Offering>, ProviderError> {
        self.cloud.offerings()
    }

    async fn observe(&self, key: &InstanceKey) -> Result<Option<Instance>, ProviderError> {
        let found = self.cloud.list(key)?;
        Ok(found.iter().find(|thing| thing.kind == Kind::Server && thing.is_of(key)).map(Thing::instance))
    }

    async fn owned(&self) -> Result<Vec<Owned>, ProviderError> {
        let mut owned = vec![];
        let mut after = None;
        loop {
            let page = self.cloud.list_page(after)?;
            let Some(last) = page.last() else { return Ok(owned) };
            after = Some(last.id);
            owned.extend(page.iter().filter_map(|thing| {
                let instance = (thing.kind == Kind::Server).then(|| thing.instance());
                Some(Owned { key: thing.owner.clone()?, instance, what: thing.to_string(), is_of_this_cluster: true })
            }));
        }
    }
}

#[async_trait]
impl Change for Fake {
    async fn ensure(&self, request: &InstanceRequest, progress: Option<&Progress>) -> Result<Ensured, ProviderError> {
        let key = &request.key;
        if !self.cloud.knows(&request.offering.id) {
            let doing = format!("making {} of {}", key.name, request.offering.id);
            return Err(ProviderError::InvalidRequest {
                doing,
                why: "there is no such offering: see offerings()".into(),
            });
        }
        // Progress only saves a search. It may be old, so that what it leads to must still be ours.
        if let Some(id) = progress.and_then(|progress| progress.0.parse().ok())
            && let Some(server) = self.cloud.get(id)?.filter(|server| server.is_of(key))
        {
            return self.go_on(&server);
        }
        let found = self.cloud.list(key)?;
        match found.iter().find(|thing| thing.kind == Kind::Server) {
            Some(server) if server.is_of(key) => self.go_on(server),
            Some(foreign) => Err(foreign.conflict(format!("making {}", key.name))),
            None => self.make(request, &found),
        }
    }

    async fn ensure_gone(&self, key: &InstanceKey, _progress: Option<&Progress>) -> Result<Gone, ProviderError> {
        let found = self.cloud.list(key)?;
        let (ours, foreign): (Vec<Thing>, Vec<Thing>) = found.into_iter().partition(|thing| thing.is_of(key));
        if ours.is_empty() {
            return match foreign.first() {
                Some(foreign) => Err(foreign.conflict(format!("removing {}", key.name))),
                None => Ok(Gone::Confirmed),
            };
        }
        let server = ours.iter().find(|thing| thing.kind == Kind::Server);
        let mut rest = ours.iter().filter(|thing| thing.kind != Kind::Server);
        match server {
            // What hangs on a server can only be deleted after it.
            Some(server) if server.state == InstanceState::Stopping => {}
            Some(server) => self.cloud.delete(server.id)?,
            None => rest.try_for_each(|thing| self.cloud.delete(thing.id))?,
        }
        // Never `Confirmed` here: that is said only by a call that looked and found nothing.
        let look_again_seconds = if server.is_some() { LOOK_AGAIN_SECONDS } else { 1 };
        Ok(Gone::InProgress { progress: Progress("deleting".into()), look_again_seconds })
    }

    async fn reboot(&self, key: &InstanceKey, operation: &str) -> Result<Rebooted, ProviderError> {
        let found = self.cloud.list(key)?;
        let server = found.iter().find(|thing| thing.kind == Kind::Server && thing.is_of(key));
        match server {
            None => Ok(Rebooted::NotAble { why: "there is no server".into() }),
            Some(server) if server.rebooted_by.as_deref() == Some(operation) => Ok(Rebooted::Issued),
            Some(server) if server.state == InstanceState::Running => {
                self.cloud.reboot(server.id, operation)?;
                Ok(Rebooted::Issued)
            }
            Some(_) => Ok(Rebooted::InProgress { look_again_seconds: LOOK_AGAIN_SECONDS }),
        }
    }
}

impl Provider for Fake {
    fn name(&self) -> &'static str {
        NAME
    }

    fn can_reboot(&self) -> bool {
        true
    }
}
