//! One offering a machine: it is there or it is not, and costs what its energy costs.

use crate::machine::Machine;
use jiff::civil::Date;
use model::{CapacityType, Gpu, Offering, OfferingId, Price, Stock};

/// The first part of every offering's name.
pub const PROVIDER: &str = "power";

pub(crate) fn offering(machine: &Machine, stock: Stock, today: Date) -> Offering {
    let config = &machine.config;
    let mut labels = config.labels.clone();
    let arch = config.arch.as_str();
    let of_its_own = [
        ("node.kubernetes.io/instance-type", machine.name.as_str()),
        ("karpenter.sh/capacity-type", CapacityType::OnDemand.as_str()),
        ("kubernetes.io/arch", arch),
        ("kubernetes.io/os", "linux"),
        ("kubernetes.io/hostname", machine.node.as_str()),
    ];
    labels.extend(of_its_own.map(|(key, value)| (key.to_owned(), value.to_owned())));
    Offering {
        id: offering_id(machine),
        gpu: Some(Gpu {
            model: config.gpu.model.clone(),
            count: config.gpu.count,
            memory_mib: config.gpu.memory_mib,
            mig_capable: config.gpu.mig_capable,
        }),
        capacity: machine.capacity.clone(),
        arch: machine.arch,
        price: Some(price(machine, today)),
        labels,
        stock,
    }
}

pub(crate) fn offering_id(machine: &Machine) -> OfferingId {
    OfferingId {
        provider: PROVIDER.to_owned(),
        instance_type: machine.name.clone(),
        zone: None,
        capacity_type: CapacityType::OnDemand,
    }
}

/// Watts times the price of energy; a machine of which neither is known has been paid for, so it costs nothing.
fn price(machine: &Machine, today: Date) -> Price {
    match &machine.config.energy {
        Some(energy) => Price {
            millionths_per_hour: u64::from(energy.watts).saturating_mul(energy.millionths_per_kwh).div_ceil(1000),
            currency: energy.currency.clone(),
            as_of: energy.as_of,
        },
        None => Price { millionths_per_hour: 0, currency: "USD".to_owned(), as_of: today },
    }
}
