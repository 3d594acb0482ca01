//! What each cloud holds under our keys: listed once a tick, for all duties.

use futures_util::future::join_all;
use model::Owned;
use std::collections::BTreeMap;
use tokio::sync::OnceCell;

use crate::read::Tick;

/// By provider. One that could not be listed whole is a problem, and not in it.
#[derive(Debug, Clone, Default)]
pub struct Clouds {
    pub listed: BTreeMap<&'static str, Vec<Owned>>,
    /// By provider, in words.
    pub problems: BTreeMap<&'static str, String>,
}

#[derive(Default)]
pub struct CloudsOnce(OnceCell<Clouds>);

impl Tick {
    pub async fn clouds(&self) -> &Clouds {
        let list = async || {
            let lists = self.parts.providers.iter().map(|one| async { (one.name(), one.owned().await) });
            let mut clouds = Clouds::default();
            for (name, list) in join_all(lists).await {
                match list {
                    Ok(owned) => _ = clouds.listed.insert(name, owned),
                    Err(error) => {
                        _ = clouds.problems.insert(name, format!("nobody knows what {name} holds: {error}"));
                    }
                }
            }
            clouds
        };
        self.clouds.0.get_or_init(list).await
    }
}
