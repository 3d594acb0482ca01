//! What can be bought, from a file: our own format, or the instance types of Karpenter's KWOK provider.
//!
//! One file is for all pools, and nothing is held back from its types but what DaemonSets need.

use cluster::crd::NodePool;
use model::{
    Offering, Taint,
    place::{Catalogue, OfferingRef},
};
use std::{collections::BTreeMap, fs, path::Path};

use super::files;

mod kwok;
mod own;

/// The catalogues, and who buys from which.
#[derive(Debug, Default)]
pub struct Market {
    pub catalogues: Vec<Catalogue>,
    /// Machines that exist once each.
    pub machines: Vec<Offering>,
    /// Beside the catalogues: prices as they stand in the file, to the last digit.
    prices: Vec<Vec<Vec<f64>>>,
    buys: Buys,
}

#[derive(Debug, Default)]
pub enum Buys {
    /// Every pool from the first.
    #[default]
    All,
    /// By the kind and the name of its node class; or why nothing is known of it.
    ByClass(BTreeMap<(String, String), Result<usize, String>>),
}

impl Market {
    /// The error names the file and the entry.
    pub fn from_file(path: &Path) -> Result<Self, String> {
        let name = path.display();
        let text = fs::read_to_string(path).map_err(|error| format!("{name} cannot be read: {error}"))?;
        let value = match serde_json::from_str(&text) {
            Ok(value) => value,
            // What is meant as JSON is told where it is broken; anything else may be YAML.
            Err(error) if text.trim_start().starts_with(['[', '{']) => return Err(format!("{name}: {error}")),
            Err(_) => files::yaml(&text).map_err(|why| format!("{name}: {why}"))?,
        };
        if value.is_null() {
            return Err(format!("{name} is empty: write types: and what there is to buy, or leave --catalog out"));
        }
        let read = if value.is_array() { kwok::read(value) } else { own::read(value) };
        let (catalogue, prices) = read.map_err(|why| format!("{name}: {why}"))?;
        Ok(Market { catalogues: vec![catalogue], prices: vec![prices], ..Market::default() })
    }

    pub fn by_class(
        catalogues: Vec<Catalogue>,
        machines: Vec<Offering>,
        classes: BTreeMap<(String, String), Result<usize, String>>,
    ) -> Self {
        Market { catalogues, machines, prices: vec![], buys: Buys::ByClass(classes) }
    }

    pub fn of_pool(&self, pool: &NodePool) -> Result<usize, String> {
        let class = &pool.spec.template.spec.node_class_ref;
        match &self.buys {
            Buys::All => Ok(0),
            Buys::ByClass(classes) => match classes.get(&(class.kind.clone(), class.name.clone())) {
                Some(known) => known.clone(),
                None => Err(format!("nobody knows what a {} offers: pass --catalog", class.kind)),
            },
        }
    }

    /// What the cloud of a pool puts on spot machines; nothing is known of a catalogue from a file.
    pub fn spot_taints(&self, pool: &NodePool) -> Vec<Taint> {
        let azures =
            ["karpenter.azure.com", "kaito.sh"].contains(&pool.spec.template.spec.node_class_ref.group.as_str());
        match &self.buys {
            Buys::ByClass(_) if azures => host::parts::spot_taints(provider_aks::PROVIDER),
            Buys::ByClass(_) | Buys::All => vec![],
        }
    }

    /// An hour of it; `None` where nobody knows.
    pub fn price(&self, catalogue: usize, of: OfferingRef) -> Option<f64> {
        let (kind, offering) = (of.instance_type as usize, of.offering as usize);
        let as_written = self.prices.get(catalogue).and_then(|types| types.get(kind)).and_then(|all| all.get(offering));
        as_written.copied().or_else(|| {
            let found = self.catalogues.get(catalogue)?.types.get(kind)?.offerings.get(offering)?;
            found.price.map(|millionths| millionths as f64 / 1e6)
        })
    }
}

/// Money as the solve counts it.
fn millionths(price: f64) -> Option<u64> {
    (price.is_finite() && (0.0..1e12).contains(&price)).then(|| (price * 1e6).round() as u64)
}
