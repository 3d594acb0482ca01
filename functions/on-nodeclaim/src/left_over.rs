//! A claim that went while its machine was being made: nothing of it may be left.

use cluster::ClaimRead;
use core::time::Duration;
use decide::claim::provider_of_class;
use host::parts::Parts;
use model::{Answer, Gone, InstanceKey, NodeClaimChanged};
use provider::ProviderError;

/// What carries the UID of a claim that is not there has no use any more. An event is only a hint, so that the UID is nobody's
/// is looked up first.
pub async fn remove(parts: &Parts, event: &NodeClaimChanged) -> Answer {
    let object = &event.claim.object;
    let key = InstanceKey { claim: object.uid.clone(), name: object.name.clone() };
    let gone = |what: &str| format!("NodeClaim {} is gone{what}", key.name);
    match parts.cluster.claims().await {
        Ok(claims) if claims.iter().map(ClaimRead::key).any(|known| known.claim == key.claim) => {
            return Answer::nothing(format!("the UID of the event is not that of NodeClaim {}", key.name));
        }
        Ok(_) => {}
        // Then nobody knows which claims there are, and what has none must not be guessed.
        Err(error) if error.is_not_found() => {
            return Answer::nothing(gone(", and this cluster serves no NodeClaims"));
        }
        Err(error) => return Answer::failed(error.to_string()),
    }
    let Some(provider) = provider_of_class(&event.claim.class) else { return Answer::nothing(gone("")) };
    let Ok(provider) = parts.providers.get(provider) else { return Answer::nothing(gone("")) };
    match provider.ensure_gone(&key, None).await {
        Ok(Gone::Confirmed) => Answer::nothing(gone(", and nothing of it is left")),
        Ok(Gone::InProgress { look_again_seconds, .. }) => Answer::Later {
            reason: gone("; its machine is on its way out"),
            after: Duration::from_secs(look_again_seconds.into()),
        },
        // Nothing under such a key can be ours: asking again would change nothing.
        Err(ProviderError::Conflict { .. } | ProviderError::InvalidRequest { .. }) => Answer::nothing(gone("")),
        Err(error) => Answer::failed(gone(&format!(", and its machine has still to go: {error}"))),
    }
}
