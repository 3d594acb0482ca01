//! Leases in our own namespace that say which claim has which machine. Made by one, seen by all.

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::{
    Api,
    api::{DeleteParams, ObjectMeta, PostParams, Preconditions},
};
use model::Uid;

use crate::{Cluster, ClusterError, FIELD_MANAGER, ask::Asking, rights};

/// Whose a Lease is after we tried to take it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    Ours,
    Others,
}

impl Cluster {
    /// Makes the Lease with this holder. Theirs already: already so. Somebody else's stays theirs.
    pub async fn take_lease(&self, name: &str, holder: &Uid) -> Result<Taken, ClusterError> {
        if let Some(held) = self.lease_holder(name).await? {
            return Ok(if held == *holder { Taken::Ours } else { Taken::Others });
        }
        let lease = Lease {
            metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
            spec: Some(LeaseSpec { holder_identity: Some(holder.to_string()), ..LeaseSpec::default() }),
        };
        let how = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        let asking = Asking::new(rights::CREATE_OWN_LEASE, "taking Lease", name);
        match self.change(asking, self.own_leases().create(&how, &lease)).await {
            Ok(_) => Ok(Taken::Ours),
            // Somebody was faster; whoever it was stands in it.
            Err(error) if error.is_conflict() => match self.lease_holder(name).await? {
                Some(held) if held == *holder => Ok(Taken::Ours),
                _ => Ok(Taken::Others),
            },
            Err(error) => Err(error),
        }
    }

    /// Removes the Lease if it is this holder's. None, or somebody else's: already so.
    pub async fn give_back_lease(&self, name: &str, holder: &Uid) -> Result<(), ClusterError> {
        let Some(lease) = self.lease(name).await?.filter(|lease| holder_of(lease).as_ref() == Some(holder)) else {
            return Ok(());
        };
        let asking = Asking::new(rights::DELETE_OWN_LEASE, "giving back Lease", name);
        let only_this = Preconditions { uid: lease.metadata.uid, resource_version: lease.metadata.resource_version };
        let how = DeleteParams::default().preconditions(only_this);
        match self.change(asking, self.own_leases().delete(name, &how)).await {
            Err(error) if !error.is_not_found() && !error.is_conflict() => Err(error),
            _ => Ok(()),
        }
    }

    /// `None` is a proof that nobody has it.
    pub async fn lease_holder(&self, name: &str) -> Result<Option<Uid>, ClusterError> {
        Ok(self.lease(name).await?.as_ref().and_then(holder_of))
    }

    async fn lease(&self, name: &str) -> Result<Option<Lease>, ClusterError> {
        let asking = Asking::new(rights::GET_OWN_LEASE, "reading Lease", name);
        self.look_for(asking, self.own_leases().get(name)).await
    }

    fn own_leases(&self) -> Api<Lease> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }
}

fn holder_of(lease: &Lease) -> Option<Uid> {
    Uid::new(lease.spec.as_ref()?.holder_identity.clone()?).ok()
}
