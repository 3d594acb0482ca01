//! A claim that cannot be read gets a condition and an Event that say so; nothing else of it is touched.

use jiff::Timestamp;
use kube::api::Patch;
use model::{Note, Truth};
use serde_json::json;

use crate::{Cluster, ClusterError, Malformed, ask::Asking, change::patching, fields::in_seconds, rights};

const REASON: &str = "Malformed";

impl Cluster {
    /// Said already: nothing is written.
    pub async fn refuse(&self, function: &str, malformed: &Malformed, now: Timestamp) -> Result<(), ClusterError> {
        let name = malformed.key.name.as_str();
        let asking = Asking::new(rights::GET_CLAIM, "reading NodeClaim", name);
        let Some(claim) = self.look_for(asking, self.claim_api().get(name)).await? else { return Ok(()) };
        let mut conditions = claim.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let said = |one: &serde_json::Value| one["type"] == "Launched" && one["message"] == malformed.why.as_str();
        if conditions.iter().any(said) {
            return Ok(());
        }
        let time = in_seconds(now).to_string();
        conditions.retain(|one| one["type"] != "Launched" && one["type"] != "Ready");
        for kind in ["Launched", "Ready"] {
            conditions.push(json!({
                "type": kind, "status": Truth::False.as_str(), "reason": REASON, "message": malformed.why,
                "lastTransitionTime": time,
            }));
        }
        let asking = Asking::new(rights::PATCH_CLAIM_STATUS, "writing the status of NodeClaim", name);
        let version = claim.metadata.resource_version;
        let patch = Patch::Merge(json!({
            "metadata": { "resourceVersion": version }, "status": { "conditions": conditions },
        }));
        self.change(asking, self.claim_api().patch_status(name, &patching(), &patch)).await?;
        let note = Note { warning: true, reason: REASON, text: malformed.why.clone() };
        self.note(function, &malformed.key, &note, now).await
    }
}
