//! A claim that went while its machine was being made: nothing of it may be left.

use core::time::Duration;
use decide::claim::provider_of_class;
use host::parts::Parts;
use model::{Answer, Gone, InstanceKey, NodeClaimChanged};

/// The claim is not there, so this is safe at any time: what carries its UID has no use any more.
pub async fn remove(parts: &Parts, event: &NodeClaimChanged) -> Answer {
    let object = &event.claim.object;
    let key = InstanceKey { claim: object.uid.clone(), name: object.name.clone() };
    let gone = |what: &str| format!("NodeClaim {} is gone{what}", key.name);
    let Some(provider) = provider_of_class(&event.claim.class) else { return Answer::nothing(gone("")) };
    let Ok(provider) = parts.providers.get(provider) else { return Answer::nothing(gone("")) };
    match provider.ensure_gone(&key, None).await {
        Ok(Gone::Confirmed) => Answer::nothing(gone(", and nothing of it is left")),
        Ok(Gone::InProgress { look_again_seconds, .. }) => Answer::Later {
            reason: gone("; its machine is on its way out"),
            after: Duration::from_secs(look_again_seconds.into()),
        },
        Err(error) => Answer::failed(gone(&format!(", and its machine has still to go: {error}"))),
    }
}
