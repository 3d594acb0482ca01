//! The ledger: one ConfigMap in our own namespace, an entry for each claim that may have a machine under a cap.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api,
    api::{ObjectMeta, Patch, PostParams},
};
use model::{Entry, Ledger, ResourceVersion, Uid};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

use crate::{Cluster, ClusterError, FIELD_MANAGER, ask::Asking, change::patching, fields, rights};

const NAME: &str = "pilotlight-spending";

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    millionths_per_hour: u64,
    currency: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pool: Option<String>,
    at: String,
}

impl Cluster {
    /// The ledger and its version; `None` where there is none. An entry that cannot be read is an error: money that cannot be
    /// counted must not be spent.
    pub async fn spending(&self) -> Result<Option<(Ledger, ResourceVersion)>, ClusterError> {
        let asking = Asking::new(rights::GET_STOCK, "reading ConfigMap", NAME);
        let Some(map) = self.look_for(asking, self.spending_maps().get(NAME)).await? else { return Ok(None) };
        let version = fields::version(&map.metadata).map_err(|why| asking.nonsense(why))?;
        let entries = map.data.unwrap_or_default().into_iter().map(|(key, text)| read(&key, &text));
        let entries = entries.collect::<Result<_, _>>().map_err(|why| asking.nonsense(why))?;
        Ok(Some((Ledger(entries), version)))
    }

    /// Writes what is new and crosses out what is not in it any more, against the version that `before` was read in: a conflict
    /// if somebody wrote there since.
    pub async fn write_spending(
        &self,
        before: &Ledger,
        version: Option<&ResourceVersion>,
        after: &Ledger,
    ) -> Result<(), ClusterError> {
        let asking = Asking::new(rights::CREATE_STOCK, "creating ConfigMap", NAME);
        let Some(version) = version else {
            let data: BTreeMap<String, String> =
                after.0.iter().map(|(uid, entry)| (uid.to_string(), written(entry))).collect();
            let metadata = ObjectMeta { name: Some(NAME.to_owned()), ..ObjectMeta::default() };
            let map = ConfigMap { metadata, data: Some(data), ..ConfigMap::default() };
            let how = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
            return self.change(asking, self.spending_maps().create(&how, &map)).await.map(drop);
        };
        let gone = before.0.keys().filter(|uid| !after.0.contains_key(uid)).map(|uid| (uid.to_string(), Value::Null));
        let new = after.0.iter().filter(|(uid, entry)| before.0.get(uid) != Some(entry));
        let data: Map<String, Value> =
            gone.chain(new.map(|(uid, entry)| (uid.to_string(), written(entry).into()))).collect();
        // Even where nothing changes: that nobody wrote meanwhile is what is asked.
        let patch = json!({ "metadata": { "resourceVersion": version.as_str() }, "data": data });
        let asking = Asking::new(rights::PATCH_STOCK, "changing ConfigMap", NAME);
        let written = self.change(asking, self.spending_maps().patch(NAME, &patching(), &Patch::Merge(patch))).await;
        written.map(drop)
    }

    fn spending_maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }
}

fn written(entry: &Entry) -> String {
    let Entry { millionths_per_hour, currency, pool, at } = entry.clone();
    json!(Written { millionths_per_hour, currency, pool, at: at.to_string() }).to_string()
}

fn read(key: &str, text: &str) -> Result<(Uid, Entry), String> {
    let wrong = |why: String| format!("the entry {key:.128} cannot be read ({why}); remove it if its machine is gone");
    let uid = Uid::new(key).map_err(|error| wrong(error.to_string()))?;
    let Written { millionths_per_hour, currency, pool, at } =
        serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
    let at = at.parse().map_err(|_| wrong("at is no time".to_owned()))?;
    Ok((uid, Entry { millionths_per_hour, currency, pool, at }))
}
