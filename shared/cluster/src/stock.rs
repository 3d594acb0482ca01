//! What everybody remembers about stock: one ConfigMap, a line for each scope.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api,
    api::{ObjectMeta, Patch, PostParams},
};
use model::{OfferingId, ResourceVersion, Scope, StockLine, StockMemory, Unavailable};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;

use crate::{
    Cluster, ClusterError, FIELD_MANAGER, ask::Asking, change::patching, fields, launch_record::WrittenId, rights,
};

const NAME: &str = "pilotlight-stock";
/// How often a write that somebody else overtook is made again. The last does not insist on what it read.
const TRIES: usize = 3;
/// Of a scope's words in a key: with the hash it stays under the 253 that a key may have.
const LONGEST_WORDS: usize = 200;

type Lines = BTreeMap<String, String>;

impl Cluster {
    /// A line that cannot be read says nothing.
    pub async fn stock(&self) -> Result<StockMemory, ClusterError> {
        let lines = self.stock_map().await?.and_then(|map| map.data).unwrap_or_default();
        Ok(StockMemory { lines: lines.values().filter_map(|text| parse(text)).collect() })
    }

    /// Adds these lines and removes those whose time has passed. Where a scope is known to be unavailable for longer,
    /// that stays; where nothing changes, nothing is written.
    pub async fn remember(&self, lines: &[Unavailable], now: Timestamp) -> Result<(), ClusterError> {
        let mut tries = 1;
        while !lines.is_empty() {
            let written = match self.stock_map().await? {
                None => self.create_stock(lines).await,
                Some(map) => self.patch_stock(map, lines, now, tries < TRIES).await,
            };
            match written {
                // Somebody else made it, wrote to it or removed it in between.
                Err(error) if tries < TRIES && (error.is_conflict() || error.is_not_found()) => tries += 1,
                done => return done,
            }
        }
        Ok(())
    }

    /// Every line, also what cannot be read, and the version that they were read in; `None` where nothing is remembered.
    pub async fn stock_lines(&self) -> Result<Option<(Vec<StockLine>, ResourceVersion)>, ClusterError> {
        let asking = Asking::new(rights::GET_STOCK, "reading ConfigMap", NAME);
        let Some(map) = self.stock_map().await? else { return Ok(None) };
        let version = fields::version(&map.metadata).map_err(|why| asking.nonsense(why))?;
        let lines = map.data.unwrap_or_default().into_iter();
        Ok(Some((lines.map(|(key, text)| StockLine { line: parse(&text), key }).collect(), version)))
    }

    /// Removes these lines, unless somebody has written there since they were read.
    pub async fn forget(&self, keys: &[String], version: &ResourceVersion) -> Result<(), ClusterError> {
        let data: Map<String, Value> = keys.iter().map(|key| (key.clone(), Value::Null)).collect();
        let patch = json!({ "metadata": { "resourceVersion": version.as_str() }, "data": data });
        let asking = Asking::new(rights::PATCH_STOCK, "changing ConfigMap", NAME);
        match self.change(asking, self.config_maps().patch(NAME, &patching(), &Patch::Merge(patch))).await {
            Err(error) if !error.is_not_found() && !error.is_conflict() => Err(error),
            _ => Ok(()),
        }
    }

    async fn stock_map(&self) -> Result<Option<ConfigMap>, ClusterError> {
        let asking = Asking::new(rights::GET_STOCK, "reading ConfigMap", NAME);
        self.look_for(asking, self.config_maps().get(NAME)).await
    }

    async fn create_stock(&self, lines: &[Unavailable]) -> Result<(), ClusterError> {
        let asking = Asking::new(rights::CREATE_STOCK, "creating ConfigMap", NAME);
        let map = ConfigMap {
            metadata: ObjectMeta { name: Some(NAME.to_owned()), ..ObjectMeta::default() },
            data: Some(longest(lines, &Lines::new())),
            ..ConfigMap::default()
        };
        let how = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        self.change(asking, self.config_maps().create(&how, &map)).await.map(drop)
    }

    async fn patch_stock(
        &self,
        map: ConfigMap,
        lines: &[Unavailable],
        now: Timestamp,
        insist: bool,
    ) -> Result<(), ClusterError> {
        let stood = map.data.unwrap_or_default();
        let added = longest(lines, &stood);
        let mut data: Map<String, Value> = added.into_iter().map(|(key, text)| (key, text.into())).collect();
        if insist {
            // Never of a line that somebody may have renewed in between.
            let over = stood.iter().filter(|(_, text)| parse(text).is_some_and(|line| line.until <= now));
            for (key, _) in over {
                data.entry(key.clone()).or_insert(Value::Null);
            }
        }
        if data.is_empty() {
            return Ok(());
        }
        let mut patch = json!({ "data": data });
        if insist {
            patch["metadata"] = json!({ "resourceVersion": map.metadata.resource_version });
        }
        let asking = Asking::new(rights::PATCH_STOCK, "changing ConfigMap", NAME);
        self.change(asking, self.config_maps().patch(NAME, &patching(), &Patch::Merge(patch))).await.map(drop)
    }

    fn config_maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }
}

/// The new lines that stand longer than what is known of their scope.
fn longest(lines: &[Unavailable], stood: &Lines) -> Lines {
    let mut longest: BTreeMap<String, &Unavailable> = BTreeMap::new();
    for line in lines {
        let known = longest.entry(key(&line.scope)).or_insert(line);
        if line.until > known.until {
            *known = line;
        }
    }
    let news = |key: &String, line: &Unavailable| {
        stood.get(key).and_then(|text| parse(text)).is_none_or(|known| known.until < line.until)
    };
    longest.into_iter().filter(|(key, line)| news(key, line)).map(|(key, line)| (key, written(line))).collect()
}

/// A ConfigMap's key may hold letters, digits, `-`, `_` and `.`: what a person needs to recognise the scope, and a hash
/// that tells apart what the letters do not.
fn key(scope: &Scope) -> String {
    let text = scope_value(scope).to_string();
    let hash: String = Sha256::digest(&text).iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let words: String = scope.to_string().chars().map(plain).take(LONGEST_WORDS).collect();
    format!("{words}.{hash}")
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "scope", rename_all = "kebab-case")]
enum WrittenScope {
    Offering(WrittenId),
    #[serde(rename_all = "camelCase")]
    InstanceType {
        provider: String,
        instance_type: String,
    },
    Family {
        provider: String,
        family: String,
    },
    Provider {
        provider: String,
    },
}

#[derive(Serialize, Deserialize)]
struct WrittenLine {
    #[serde(flatten)]
    scope: WrittenScope,
    until: String,
    reason: String,
}

fn scope_value(scope: &Scope) -> Value {
    json!(WrittenScope::from(scope))
}

fn written(line: &Unavailable) -> String {
    let Unavailable { scope, until, reason } = line;
    json!(WrittenLine { scope: scope.into(), until: until.to_string(), reason: reason.clone() }).to_string()
}

fn parse(text: &str) -> Option<Unavailable> {
    let WrittenLine { scope, until, reason } = serde_json::from_str(text).ok()?;
    let scope = match scope {
        WrittenScope::Offering(id) => Scope::Offering(OfferingId::try_from(id).ok()?),
        WrittenScope::InstanceType { provider, instance_type } => Scope::InstanceType { provider, instance_type },
        WrittenScope::Family { provider, family } => Scope::Family { provider, family },
        WrittenScope::Provider { provider } => Scope::Provider { provider },
    };
    Some(Unavailable { scope, until: until.parse().ok()?, reason })
}

impl From<&Scope> for WrittenScope {
    fn from(scope: &Scope) -> Self {
        match scope.clone() {
            Scope::Offering(id) => WrittenScope::Offering((&id).into()),
            Scope::InstanceType { provider, instance_type } => WrittenScope::InstanceType { provider, instance_type },
            Scope::Family { provider, family } => WrittenScope::Family { provider, family },
            Scope::Provider { provider } => WrittenScope::Provider { provider },
        }
    }
}
