//! What functions work with: the cluster, the providers, the node classes and the clock.
//!
//! Put together at the first event that needs them, and kept warm. Nothing in here remembers anything about a claim.

mod classes;
mod holders;
mod power;
mod racks;
mod repair;
mod requirements;
mod settings;

use act::Providers;
use cluster::{Cluster, ClusterError, EntraTokens, Kind, Way};
use decide::claim::{AlsoManage, Whose, depends_on_karpenter, whose};
use jiff::Timestamp;
use model::{Answer, Cap, Claim, Uid, place::Spread};
use provider::dressed;
use provider_aks::{AzureTokens, Tokens as _};
use std::{collections::BTreeSet, sync::Arc};
use tokio::sync::OnceCell;

pub use classes::Classes;
pub use holders::MachineHolds;
pub use power::Rack;
pub use requirements::{requirements_for, spot_taints};
pub use settings::WorkSettings;

/// Tells the time: the machine's, or a world's.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

pub struct Parts {
    pub cluster: Cluster,
    pub providers: Providers,
    pub classes: Classes,
    pub also_manage: AlsoManage,
    /// What is done about nodes that are not well.
    pub repair: Vec<decide::repair::Policy>,
    /// The node that this process runs on, where it knows.
    pub own_node: Option<String>,
    /// What all machines together may cost an hour.
    pub max_price: Option<Cap>,
    /// Of the cluster's scheduler, for pods that have no constraint of their own.
    pub default_spread: Vec<Spread>,
    pub clock: Clock,
}

impl Parts {
    pub fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Whose claim it is. Whether a Karpenter runs is looked up only where that makes a difference.
    pub async fn whose(&self, claim: &Claim) -> Result<Whose, ClusterError> {
        let asked = depends_on_karpenter(claim, self.also_manage);
        let karpenter_runs = asked && self.cluster.karpenter_leads(self.now()).await?;
        Ok(whose(claim, self.also_manage, karpenter_runs))
    }

    /// Those of many that are ours, by UID. Whether a Karpenter runs is looked up once at the most.
    pub async fn ours<'a>(
        &self,
        claims: impl Iterator<Item = &'a Claim> + Clone,
    ) -> Result<BTreeSet<Uid>, ClusterError> {
        let asked = claims.clone().any(|claim| depends_on_karpenter(claim, self.also_manage));
        let karpenter_runs = asked && self.cluster.karpenter_leads(self.now()).await?;
        let is_ours = |claim: &&Claim| matches!(whose(claim, self.also_manage, karpenter_runs), Whose::Ours(_));
        Ok(claims.filter(is_ours).map(|claim| claim.key.claim.clone()).collect())
    }

    /// From settings, over the network.
    pub async fn connect(settings: &WorkSettings) -> Result<Self, String> {
        let client = way(settings).connect().await.map_err(|error| error.to_string())?;
        let namespace = settings.namespace.clone().unwrap_or_else(|| client.default_namespace().to_owned());
        let cluster = Cluster::new(client, namespace);
        let clock: Clock = Arc::new(Timestamp::now);
        let limits = provider::Settings::default;
        let mut providers = Providers::default();
        let in_clouds = settings.aks.is_some() || settings.scaleway.is_some();
        let cluster_uid = if in_clouds { identity(&cluster).await? } else { None };
        // A provider is one line here.
        match settings.aks.clone() {
            Some(mut aks) => {
                aks.cluster_uid.clone_from(&cluster_uid);
                providers.add(dressed(provider_aks::Aks::connect(aks), limits()));
            }
            None => providers.lacks("aks", "ARM_SUBSCRIPTION_ID, ARM_RESOURCE_GROUP, AZURE_CLUSTER_NAME and LOCATION"),
        }
        match settings.scaleway.clone() {
            Some(mut scaleway) => {
                scaleway.cluster_uid = cluster_uid;
                providers.add(dressed(provider_scaleway::Scaleway::new(scaleway), limits()));
            }
            None => providers.lacks("scaleway", "SCW_SECRET_KEY and SCW_DEFAULT_PROJECT_ID"),
        }
        providers.add(dressed(
            Rack::connect(cluster.clone(), &settings.power, clock.clone()),
            provider::Settings::own_cluster(),
        ));
        let classes =
            Classes { scaleway_defaults: settings.scaleway_class.clone(), machines: settings.power.machines.clone() };
        let repair = settings.repair.clone().unwrap_or_else(decide::repair::built_in);
        Ok(Parts {
            cluster,
            providers,
            classes,
            also_manage: settings.also_manage,
            repair,
            own_node: settings.own_node.clone(),
            max_price: settings.max_price.clone(),
            default_spread: settings.default_spread.clone(),
            clock,
        })
    }
}

/// What tells this cluster from all others. Whoever may not read it works all the same, and takes nothing for a leak.
async fn identity(cluster: &Cluster) -> Result<Option<String>, String> {
    match cluster.identity().await {
        Ok(uid) => Ok(uid.map(|uid| uid.to_string())),
        Err(error) if matches!(error.kind, Kind::NotAllowed { .. }) => {
            tracing::warn!(%error, "machines without a claim are left alone: nobody can tell whose they are");
            Ok(None)
        }
        Err(error) => Err(error.to_string()),
    }
}

/// How these settings lead to the API server.
pub fn way(settings: &WorkSettings) -> Way {
    let entra = settings.entra.clone().map(|settings| {
        let tokens = Arc::new(AzureTokens::new(settings, Arc::new(provider_aks::Web::default())));
        let token: EntraTokens = Arc::new(move |scope| {
            let tokens = tokens.clone();
            Box::pin(async move { tokens.token(&scope).await.map_err(|error| error.to_string()) })
        });
        token
    });
    Way { kubeconfig: settings.kubeconfig.clone(), entra }
}

/// Parts that are there, or will be when they are first asked for.
#[derive(Clone)]
pub struct PartsSource {
    settings: Option<Arc<WorkSettings>>,
    parts: Arc<OnceCell<Arc<Parts>>>,
}

impl PartsSource {
    pub fn from_settings(settings: WorkSettings) -> Self {
        PartsSource { settings: Some(Arc::new(settings)), parts: Arc::new(OnceCell::new()) }
    }

    pub fn ready(parts: Parts) -> Self {
        PartsSource { settings: None, parts: Arc::new(OnceCell::new_with(Some(Arc::new(parts)))) }
    }

    /// An event that comes while the cluster cannot be reached has failed, and is sent again.
    pub async fn get(&self) -> Result<Arc<Parts>, Answer> {
        let connect = async || match &self.settings {
            Some(settings) => Parts::connect(settings).await.map(Arc::new),
            None => Err("there is no cluster".to_owned()),
        };
        self.parts.get_or_try_init(connect).await.cloned().map_err(Answer::failed)
    }
}
