//! What is on offer in these tests, and the verbs to ask for it.

use decide::ladder::{Ladder, Preference, Wanted, ladder};
use jiff::{Timestamp, civil::date};
use model::{
    Arch, Attempt, CapacityType, Claim, ClassRef, InstanceKey, ObjectName, Offering, OfferingId, Operator, Price,
    Quantity, Requirement, Resources, Scope, Stock, StockMemory, Uid, Unavailable,
};

use crate::common;

pub const A100: &str = "Standard_NC24ads_A100_v4";
pub const A100_X2: &str = "Standard_NC48ads_A100_v4";
pub const A100_X4: &str = "Standard_NC96ads_A100_v4";
pub const H100_X8: &str = "Standard_ND96isr_H100_v5";

pub fn now() -> Timestamp {
    at("12:00")
}

/// A time of that day, or of the day it names.
pub fn at(time: &str) -> Timestamp {
    let day = if time.contains('T') { "" } else { "2026-11-17T" };
    format!("{day}{time}:00Z").parse().unwrap()
}

/// A region of Azure: sizes with one, two and four A100 in two zones and regional, on demand and spot; one with eight H100,
/// regional and on demand only.
pub fn azure() -> Vec<Offering> {
    let mut all = vec![];
    for (size, gpus, price) in [(A100, 1, 3_673_000), (A100_X2, 2, 7_346_000), (A100_X4, 4, 14_692_000)] {
        for zone in [None, Some("westeurope-1"), Some("westeurope-2")] {
            all.push(aks(size, zone, CapacityType::OnDemand, gpus, price));
            all.push(aks(size, zone, CapacityType::Spot, gpus, price / 4));
        }
    }
    all.push(aks(H100_X8, None, CapacityType::OnDemand, 8, 98_320_000));
    all
}

pub fn scaleway() -> Vec<Offering> {
    let types: [(&str, i128, u64, &[&str]); 4] = [
        ("L4-1-24G", 1, 787_500, &["fr-par-1", "fr-par-2"]),
        ("L4-4-24G", 4, 3_150_000, &["fr-par-1", "fr-par-2"]),
        ("L40S-1-48G", 1, 1_469_900, &["fr-par-2", "pl-waw-2"]),
        ("H100-SXM-8-80G", 8, 25_330_800, &["fr-par-2"]),
    ];
    let pairs = types.into_iter().flat_map(|one| one.3.iter().map(move |zone| (one, *zone)));
    pairs
        .map(|((name, gpus, price, _), zone)| {
            let mut offering = offering("scaleway", name, Some(zone), CapacityType::OnDemand, gpus);
            offering.price = Some(euros(price));
            offering.labels.insert("topology.kubernetes.io/zone".into(), zone.into());
            offering.labels.insert("topology.kubernetes.io/region".into(), zone[..6].into());
            offering
        })
        .collect()
}

/// Machines of one's own; the second says in which rack it stands.
pub fn rack() -> Vec<Offering> {
    ["node-a", "node-b"]
        .map(|name| {
            let mut offering = offering("power", name, None, CapacityType::OnDemand, 2);
            offering.price = Some(dollars(0));
            offering.labels.insert("kubernetes.io/hostname".into(), name.into());
            if name == "node-b" {
                offering.labels.insert("rack".into(), "r2".into());
            }
            offering
        })
        .to_vec()
}

pub fn aks(size: &str, zone: Option<&str>, kind: CapacityType, gpus: i128, price: u64) -> Offering {
    let mut offering = offering("aks", size, zone, kind, gpus);
    offering.price = Some(dollars(price));
    let model = if size == H100_X8 { "H100" } else { "A100" };
    let labels = [
        ("topology.kubernetes.io/region", "westeurope"),
        ("topology.kubernetes.io/zone", zone.unwrap_or("0")),
        ("karpenter.azure.com/sku-name", size),
        ("karpenter.azure.com/sku-gpu-name", model),
        (model::stock::QUOTA_FAMILY, if kind == CapacityType::Spot { "lowPriorityCores" } else { model }),
    ];
    offering.labels.extend(labels.map(|(key, value)| (key.to_owned(), value.to_owned())));
    offering
}

fn offering(provider: &str, name: &str, zone: Option<&str>, kind: CapacityType, gpus: i128) -> Offering {
    let labels = [
        ("node.kubernetes.io/instance-type", name),
        ("kubernetes.io/arch", "amd64"),
        ("kubernetes.io/os", "linux"),
        ("karpenter.sh/capacity-type", kind.as_str()),
    ];
    Offering {
        id: OfferingId {
            provider: provider.into(),
            instance_type: name.into(),
            zone: zone.map(str::to_owned),
            capacity_type: kind,
        },
        gpu: None,
        capacity: resources(&[
            ("cpu", &(24 * gpus).to_string()),
            ("memory", &format!("{}Mi", 208_384 * gpus)),
            ("pods", "110"),
            ("ephemeral-storage", "128Gi"),
            ("nvidia.com/gpu", &gpus.to_string()),
        ]),
        arch: Arch::Amd64,
        price: None,
        labels: labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        stock: Stock::Unknown,
    }
}

pub fn dollars(millionths_per_hour: u64) -> Price {
    Price { millionths_per_hour, currency: "USD".into(), as_of: date(2026, 11, 1) }
}

pub fn euros(millionths_per_hour: u64) -> Price {
    Price { currency: "EUR".into(), ..dollars(millionths_per_hour) }
}

pub fn resources(amounts: &[(&str, &str)]) -> Resources {
    amounts.iter().map(|(name, amount)| ((*name).to_owned(), amount.parse::<Quantity>().unwrap())).collect()
}

/// A claim in the making, and what is known when its ladder is asked for.
#[derive(Debug)]
pub struct Ask {
    claim: Claim,
    compatible_with_gpu_provisioner: bool,
    preference: Preference,
    stock: StockMemory,
    tried: Vec<Attempt>,
}

/// A claim with these requirements, each as `key operator values…`.
pub fn claim(requirements: &[&str]) -> Ask {
    let requirements = requirements.iter().map(|text| {
        let mut words = text.split(' ');
        let (key, operator) = (words.next().unwrap().to_owned(), words.next().unwrap().parse::<Operator>().unwrap());
        Requirement { key, operator, values: words.map(str::to_owned).collect() }
    });
    let claim = Claim {
        key: InstanceKey { claim: Uid::new("0b5c1c9e").unwrap(), name: ObjectName::new("ws1a2b3c4d5").unwrap() },
        created_at: now(),
        class: ClassRef {
            group: "kaito.sh".into(),
            kind: "KaitoNodeClass".into(),
            name: ObjectName::new("default").unwrap(),
        },
        requirements: requirements.collect(),
        ..common::claim("ws1a2b3c4d5")
    };
    Ask {
        claim,
        compatible_with_gpu_provisioner: false,
        preference: Preference::Price,
        stock: StockMemory::default(),
        tried: vec![],
    }
}

/// What KAITO writes for a workspace.
pub fn kaito(size: &str) -> Ask {
    let mut ask = claim(&[
        "karpenter.sh/nodepool In kaito",
        &format!("node.kubernetes.io/instance-type In {size}"),
        "kubernetes.io/os In linux",
        &format!("karpenter.azure.com/sku-name In {size}"),
    ])
    .requesting(&[("storage", "1024Gi")])
    .labelled("karpenter.sh/nodepool", "kaito")
    .labelled("kaito.sh/workspace", "falcon");
    ask.compatible_with_gpu_provisioner = true;
    ask
}

impl Ask {
    pub fn requesting(mut self, amounts: &[(&str, &str)]) -> Self {
        self.claim.requests.extend(resources(amounts));
        self
    }

    pub fn labelled(mut self, key: &str, value: &str) -> Self {
        self.claim.labels.insert(key.into(), value.into());
        self
    }

    pub fn of_class(mut self, group: &str, kind: &str) -> Self {
        (self.claim.class.group, self.claim.class.kind) = (group.into(), kind.into());
        self
    }

    pub fn preferring_listed(mut self) -> Self {
        self.preference = Preference::Listed;
        self
    }

    pub fn with_zone(mut self, zone: &str) -> Self {
        let (key, values) = ("topology.kubernetes.io/zone".to_owned(), vec![zone.to_owned()]);
        self.claim.requirements.push(Requirement { key, operator: Operator::In, values });
        self
    }

    pub fn remembering(mut self, scope: Scope, until: &str, reason: &str) -> Self {
        self.stock.lines.push(Unavailable { scope, until: at(until), reason: reason.into() });
        self
    }

    pub fn having_tried(mut self, offering: &Offering, when: &str, reason: &str) -> Self {
        self.tried.push(Attempt { offering: offering.id.clone(), reason: reason.into(), at: at(when) });
        self
    }

    pub fn of(&self, offerings: &[Offering]) -> Ladder {
        let wanted = Wanted {
            claim: &self.claim,
            requirements: &self.claim.requirements,
            compatible_with_gpu_provisioner: self.compatible_with_gpu_provisioner,
            preference: self.preference,
        };
        ladder(&wanted, offerings, &self.stock, &self.tried, now())
    }

    pub fn gets(&self, offerings: &[Offering], expected: &[&str]) {
        let found: Vec<String> = self.of(offerings).rungs.iter().map(|rung| rung.id.to_string()).collect();
        assert_eq!(found, expected, "{:?}", self.claim.requirements);
    }

    pub fn is_told(&self, offerings: &[Offering], reason: &str, message: &str) {
        let ladder = self.of(offerings);
        assert_eq!(ladder.why(), (reason, message.to_owned()));
        assert!(message.chars().count() <= 300, "{} letters", message.chars().count());
        let named: Vec<&OfferingId> = ladder.misfits.iter().map(|misfit| &misfit.offering).collect();
        assert!(ladder.rungs.is_empty() && (named.is_empty() || named.len() == offerings.len()));
    }
}
