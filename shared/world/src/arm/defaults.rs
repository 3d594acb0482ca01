//! An Azure in good health: the default options, with the figures Microsoft documents where it documents them.

use super::options::{
    ArmOptions, DeleteWhenBusy, Federated, Identity, Limits, MigStrategy, Quota, QuotaAnswer, Rate, Rates, Span,
    SystemPool, Timings, Tokens,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

const fn seconds(least: u64, most: u64) -> Span {
    (Duration::from_secs(least), Duration::from_secs(most))
}

impl Default for Timings {
    fn default() -> Self {
        Timings {
            boot: seconds(90, 240),
            settle: seconds(5, 30),
            gpu: seconds(20, 90),
            failure: seconds(20, 90),
            update: seconds(5, 20),
            stop: seconds(20, 60),
            delete: seconds(30, 120),
            spot_life: None,
            latency: (Duration::ZERO, Duration::ZERO),
            poll_after: Some(Duration::from_secs(10)),
        }
    }
}

impl Default for Rates {
    fn default() -> Self {
        let rate = |size, per_second| Some(Rate { size, per_second });
        Rates {
            reads: rate(250.0, 25.0),
            writes: rate(200.0, 10.0),
            deletes: rate(200.0, 10.0),
            put_agent_pool: rate(20.0, 1.0 / 60.0),
            operation_status: rate(200.0, 2.0),
        }
    }
}

impl Default for ArmOptions {
    fn default() -> Self {
        ArmOptions {
            base_url: None,
            tenant: "11111111-1111-4111-8111-111111111111".into(),
            subscription: "22222222-2222-4222-8222-222222222222".into(),
            resource_group: "world".into(),
            cluster: "world".into(),
            location: "eastus".into(),
            zones: ["1", "2", "3"].map(String::from).to_vec(),
            kubernetes_version: "1.34.2".into(),
            system_pool: Some(SystemPool { name: "nodepool1".into(), size: "Standard_D4s_v5".into(), count: 1 }),
            identities: vec![Identity {
                client_id: "33333333-3333-4333-8333-333333333333".into(),
                object_id: "44444444-4444-4444-8444-444444444444".into(),
                secret: Some("world-secret".into()),
                federated: vec![Federated { issuer: None, subject: None }],
                managed: true,
            }],
            tokens: Tokens {
                life: Duration::from_secs(3599),
                told_life: None,
                client_clock_ahead: 0,
                audiences: ["https://management.azure.com", "https://management.core.windows.net"]
                    .map(String::from)
                    .to_vec(),
                identity_header: "world-identity-header".into(),
            },
            denied_actions: BTreeSet::new(),
            limits: Limits {
                pools: 100,
                nodes_in_a_pool: 1000,
                operations: 1,
                page: 50,
                sizes_page: 500,
                prices_page: 1000,
                max_pods: 110,
            },
            quota: Quota {
                families: BTreeMap::new(),
                family_default: 1000,
                regional: 10_000,
                low_priority: 1000,
                answer: QuotaAnswer::Preflight,
            },
            restricted_sizes: BTreeSet::new(),
            rates: Rates::default(),
            timings: Timings::default(),
            delete_when_busy: DeleteWhenBusy::Preempts,
            mig_strategy: MigStrategy::Mixed,
            gpu_operator: false,
            enveloped_errors: false,
            faults: Vec::new(),
        }
    }
}
