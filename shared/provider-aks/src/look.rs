//! Reading pools and operations, and the one way to delete a pool.

use core::time::Duration;
use model::{Instance, InstanceKey, OfferingId, Owned};
use provider::ProviderError;

use crate::{
    Aks,
    client::{Answer, Condition, Failure},
    create::{Operation, operation_of},
    errors::{self, About, Meaning},
    names::{self, Owner},
    pool::Pool,
    quota::{self, QuotaSeen},
};

impl Aks {
    /// The pool of that name; `None` proves that there is none in a cluster that exists.
    pub(crate) async fn pool(&self, doing: &str, name: &str) -> Result<Option<Pool>, ProviderError> {
        let refusal = match self.client.get(doing, &self.client.pool_url(name)).await {
            Ok(answer) => {
                let pool = Pool::read(&answer.body, &self.client.settings.location);
                let why = || "a pool without a name".to_owned();
                return pool
                    .map(Some)
                    .ok_or_else(|| ProviderError::Unavailable { doing: doing.to_owned(), why: why() });
            }
            Err(Failure::Refused(refusal)) => refusal,
            Err(Failure::Other(error)) => return Err(error),
        };
        if refusal.status == 404 && errors::meaning(&refusal).0 == Meaning::Absent {
            return Ok(None);
        }
        // The front door says this of a missing pool and of a missing cluster. The cluster itself tells which.
        if refusal.status == 404 && refusal.has("ResourceNotFound") {
            let cluster = self.client.get(doing, &self.client.cluster_url()).await;
            return cluster.map(|_| None).map_err(|failure| failure.into_error(doing, About::default()));
        }
        Err(errors::error(doing, &refusal, About::default()))
    }

    /// Where an operation stands. Without an address, or with one of another host, only the pool tells.
    pub(crate) async fn operation(&self, doing: &str, url: Option<&str>) -> Result<Operation, ProviderError> {
        let Some(url) = url.filter(|url| self.client.trusts(url)) else { return Ok(Operation::Unknown) };
        match self.client.get(doing, url).await {
            Ok(answer) => Ok(operation_of(&answer.body, answer.retry_after)),
            Err(Failure::Refused(refusal)) if refusal.status == 404 => Ok(Operation::Unknown),
            Err(failure) => Err(failure.into_error(doing, About::default())),
        }
    }

    /// Deletes a pool that was just read and found to be ours, and only if it is still that one.
    pub(crate) async fn delete_pool(&self, doing: &str, pool: &Pool) -> Result<Answer, Failure> {
        let condition = pool.etag.clone().map(Condition::Unchanged);
        self.client.delete(doing, &self.client.pool_url(&pool.name), condition).await
    }

    /// The quota an offering does not fit into, if there is one.
    pub(crate) async fn shortfall(
        &self,
        offering: &OfferingId,
        not_older: Duration,
    ) -> Result<Option<QuotaSeen>, ProviderError> {
        Ok(quota::shortfall(&self.usages(not_older).await?, offering))
    }

    pub(crate) async fn observe_key(&self, key: &InstanceKey) -> Result<Option<Instance>, ProviderError> {
        let name = names::pool_name(key);
        let doing = format!("looking for agent pool {name} of claim {}", key.name);
        let pool = self.pool(&doing, &name).await?;
        Ok(pool.filter(|pool| pool.owner(key, None) == Owner::Ours).map(|pool| pool.instance()))
    }

    pub(crate) async fn owned_pools(&self) -> Result<Vec<Owned>, ProviderError> {
        let doing = format!("listing the agent pools of {}", self.client.settings.cluster);
        let pools = self.client.list(&doing, self.client.pools_url(), "value", "nextLink").await;
        let pools = pools.map_err(|failure| failure.into_error(&doing, About::default()))?;
        let owned = pools.iter().filter_map(|json| {
            let pool = Pool::read(json, &self.client.settings.location)?;
            let (own, said) = (self.client.settings.cluster_uid.as_deref(), pool.cluster_uid());
            // One that another cluster had made is that cluster's, whose claims we do not see.
            if own.zip(said).is_some_and(|(own, said)| own != said) {
                return None;
            }
            let key = pool.key()?;
            let what = format!("agent pool {}", pool.name);
            let is_of_this_cluster = own.is_some() && own == said;
            Some(Owned { key, instance: Some(pool.instance()), what, is_of_this_cluster })
        });
        Ok(owned.collect())
    }
}
