//! The providers that this process was set up with, by name.

use model::{Failure, Retry};
use provider::Provider;
use std::{collections::BTreeMap, sync::Arc};

#[derive(Clone, Default)]
pub struct Providers {
    by_name: BTreeMap<&'static str, Arc<dyn Provider>>,
    /// What to set so that one that is missing is there.
    missing: BTreeMap<&'static str, &'static str>,
}

impl Providers {
    pub fn add(&mut self, provider: Arc<dyn Provider>) {
        self.by_name.insert(provider.name(), provider);
    }

    /// A provider that was not set up, and how it would be.
    pub fn lacks(&mut self, name: &'static str, set: &'static str) {
        self.missing.insert(name, set);
    }

    pub fn get(&self, name: &str) -> Result<&Arc<dyn Provider>, Box<Failure>> {
        self.by_name.get(name).ok_or_else(|| {
            let set = self.missing.get(name).map(|set| format!("; set {set}")).unwrap_or_default();
            Box::new(Failure {
                reason: "ProviderNotConfigured",
                message: format!("the provider {name} is not set up here{set}"),
                // Not `Unauthorized`, but just as much a person's work.
                retry: Retry::SameAfter(core::time::Duration::from_secs(60)),
                scope: None,
                limit: None,
            })
        })
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Provider>> {
        self.by_name.values()
    }
}
