//! Where the cluster is, which providers are set up, and what else is managed: the variables of the systems we replace.

use cluster::scene::scheduler_config;
use decide::claim::AlsoManage;
use model::{Cap, place::Spread};
use provider_power::environment::{self, Environment};
use std::collections::BTreeMap;

use crate::settings::{Problem, SettingSource, add, optional};

/// Settings of the work itself, beside those of serving.
#[derive(Debug, Clone, Default)]
pub struct WorkSettings {
    pub kubeconfig: Option<String>,
    /// Who we are to Entra ID, for clusters whose API server asks it.
    pub entra: Option<provider_aks::Settings>,
    /// Where our own ConfigMap, Leases and Secrets are; else the namespace of the connection.
    pub namespace: Option<String>,
    pub aks: Option<provider_aks::Settings>,
    pub scaleway: Option<provider_scaleway::Settings>,
    /// What a ScalewayNodeClass leaves open, under the keys of the provider's class.
    pub scaleway_class: BTreeMap<String, String>,
    pub power: Environment,
    pub also_manage: AlsoManage,
    /// Instead of those that are built in.
    pub repair: Option<Vec<decide::repair::Policy>>,
    pub own_node: Option<String>,
    /// What all machines together may cost an hour.
    pub max_price: Option<Cap>,
    /// `SCHEDULER_CONFIG`: the default constraints of the cluster's scheduler.
    pub default_spread: Vec<Spread>,
}

/// A variable of ours, and the key of the provider's class that it is the default of.
const SCALEWAY_CLASS: [(&str, &str); 9] = [
    ("PILOTLIGHT_SCALEWAY_JOIN", "join"),
    ("PILOTLIGHT_SCALEWAY_JOIN_ENDPOINT", "join.endpoint"),
    ("PILOTLIGHT_SCALEWAY_JOIN_TOKEN", "join.token"),
    ("PILOTLIGHT_SCALEWAY_JOIN_CA_CERT_HASH", "join.ca-cert-hash"),
    ("PILOTLIGHT_SCALEWAY_JOIN_KUBERNETES_VERSION", "join.kubernetes-version"),
    ("PILOTLIGHT_SCALEWAY_JOIN_POOL_ID", "join.pool-id"),
    ("PILOTLIGHT_SCALEWAY_JOIN_POOL_REGION", "join.pool-region"),
    ("PILOTLIGHT_SCALEWAY_JOIN_SECRET_KEY", "join.secret-key"),
    ("PILOTLIGHT_SCALEWAY_IMAGE", "image"),
];

impl WorkSettings {
    pub(crate) fn read(source: &SettingSource, problems: &mut Vec<Problem>) -> Self {
        let is_set = |names: &[&str]| names.iter().any(|name| source.get(name).is_some());
        let aks =
            is_set(&["ARM_SUBSCRIPTION_ID", "ARM_RESOURCE_GROUP", "AZURE_CLUSTER_NAME"]).then(|| aks(source, problems));
        let scaleway = is_set(&["SCW_SECRET_KEY", "SCW_ACCESS_KEY"]).then(|| scaleway(source, problems));
        let class = SCALEWAY_CLASS.iter().filter_map(|(name, key)| Some(((*key).to_owned(), source.get(name)?)));
        WorkSettings {
            kubeconfig: source.get("KUBECONFIG"),
            entra: entra(source),
            namespace: source.get("PILOTLIGHT_NAMESPACE"),
            aks: aks.flatten(),
            scaleway: scaleway.flatten(),
            scaleway_class: class.collect(),
            power: power(source, problems),
            also_manage: also_manage(source, problems),
            repair: repair(source, problems),
            own_node: source.get("PILOTLIGHT_NODE_NAME"),
            max_price: max_price(source, problems),
            default_spread: optional(source, problems, "SCHEDULER_CONFIG", scheduler_config).unwrap_or_default(),
        }
    }
}

fn aks(source: &SettingSource, problems: &mut Vec<Problem>) -> Option<provider_aks::Settings> {
    let wrong = |found: Vec<provider_aks::Problem>| {
        for problem in found {
            problems.push(Problem::new(problem.variable, problem.problem, problem.example));
        }
    };
    provider_aks::Settings::read(|name| source.get(name)).map_err(wrong).ok()
}

/// Credentials of Azure, whatever cluster they are for. Where they are not complete there are none: nobody may ever need them.
fn entra(source: &SettingSource) -> Option<provider_aks::Settings> {
    const OF_A_CLUSTER: [&str; 4] = ["ARM_SUBSCRIPTION_ID", "ARM_RESOURCE_GROUP", "AZURE_CLUSTER_NAME", "LOCATION"];
    let nobodys = |name: &str| OF_A_CLUSTER.contains(&name).then(|| "none".to_owned());
    provider_aks::Settings::read(|name| source.get(name).or_else(|| nobodys(name))).ok()
}

fn scaleway(source: &SettingSource, problems: &mut Vec<Problem>) -> Option<provider_scaleway::Settings> {
    let wrong = |found: provider_scaleway::Problems| {
        for problem in found.0 {
            problems.push(Problem::new(problem.variable, problem.what, problem.example));
        }
    };
    provider_scaleway::Settings::from_lookup(|name| source.get(name)).map_err(wrong).ok()
}

fn power(source: &SettingSource, problems: &mut Vec<Problem>) -> Environment {
    let variables = source.all();
    match environment::read(variables.iter().map(|(name, value)| (name.as_str(), value.as_str()))) {
        Ok(environment) => environment,
        Err(error) => {
            add(problems, &error.variable, error.why);
            Environment::default()
        }
    }
}

fn repair(source: &SettingSource, problems: &mut Vec<Problem>) -> Option<Vec<decide::repair::Policy>> {
    const VARIABLE: &str = "PILOTLIGHT_REPAIR_POLICIES";
    let read = super::repair::policies(&source.get(VARIABLE)?);
    read.map_err(|why| add(problems, VARIABLE, why)).ok()
}

/// One that cannot be read stops the start: a process that forgot its cap would spend without one.
fn max_price(source: &SettingSource, problems: &mut Vec<Problem>) -> Option<Cap> {
    const VARIABLE: &str = "PILOTLIGHT_MAX_PRICE_PER_HOUR";
    let text = source.get(VARIABLE)?;
    Cap::read(&text).map_err(|why| add(problems, VARIABLE, why)).ok()
}

fn also_manage(source: &SettingSource, problems: &mut Vec<Problem>) -> AlsoManage {
    const VARIABLE: &str = "PILOTLIGHT_ALSO_MANAGE";
    let mut also = AlsoManage::default();
    let text = source.get(VARIABLE).unwrap_or_default();
    for word in text.split([',', ' ']).filter(|word| !word.is_empty()) {
        match word {
            "karpenter" => also.karpenter = true,
            "kaito-karpenter" => also.kaito_karpenter = true,
            other => add(problems, VARIABLE, format!("{other:?} is neither karpenter nor kaito-karpenter")),
        }
    }
    also
}
