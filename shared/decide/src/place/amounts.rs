//! Resources as rows of integers, one column for each resource that somebody asks for.

use model::place::{DeviceParts, Scene};
use model::{Quantity, Resources};

use super::hash::Map;

/// The column of the places for pods: every pod takes one.
pub const PODS: usize = 0;

/// One amount for each column: bytes for what is counted in bytes, thousandths for everything else.
pub type Row = Vec<i64>;

/// More than anything has; a few of these can be added without overflow.
const MOST: i64 = 1 << 60;

const ONE: i64 = 1000;

#[derive(Debug)]
pub struct Columns<'a> {
    names: Vec<&'a str>,
    ids: Map<&'a str, usize>,
    parts: Vec<(&'a DeviceParts, usize)>,
}

/// A share of one device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The column of the device.
    pub device: usize,
    pub amount: i64,
    pub per_device: i64,
}

impl Part {
    /// As that part of a whole device.
    pub fn of_whole(self) -> i64 {
        self.amount.saturating_mul(ONE) / self.per_device.max(1)
    }
}

impl<'a> Columns<'a> {
    /// The columns of what pods and DaemonSets ask for. What only nodes have, nobody counts.
    pub fn new(scene: &'a Scene) -> Self {
        let mut columns = Columns { names: vec![], ids: Map::default(), parts: vec![] };
        columns.learn("pods");
        for parts in &scene.device_parts {
            let device = columns.learn(&parts.device);
            columns.parts.push((parts, device));
        }
        for requests in
            scene.pods.iter().map(|pod| &pod.requests).chain(scene.daemons.iter().map(|daemon| &daemon.requests))
        {
            for (name, quantity) in requests {
                let is_part = columns.parts.iter().any(|(parts, _)| parts.resource == *name);
                if quantity.thousandths() > 0 && !is_part {
                    columns.learn(name);
                }
            }
        }
        columns
    }

    pub fn len(&self) -> usize {
        self.names.len()
    }

    pub fn names(&self) -> &[&'a str] {
        &self.names
    }

    pub fn column(&self, name: &str) -> Option<usize> {
        self.ids.get(name).copied()
    }

    /// What something can hold, or what a limit allows.
    pub fn row(&self, resources: &Resources) -> Row {
        let mut row = vec![0; self.names.len()];
        for (name, quantity) in resources {
            if let Some(column) = self.column(name) {
                row[column] = amount(name, *quantity);
            }
        }
        row
    }

    /// What a pod takes, its place among the pods included, and its share of a device apart.
    pub fn request(&self, resources: &Resources) -> (Row, Option<Part>) {
        let mut row = self.row(resources);
        row[PODS] = ONE;
        let part = self.parts.iter().find_map(|(parts, device)| {
            let share = amount(&parts.resource, *resources.get(&parts.resource)?);
            (share > 0).then_some(Part {
                device: *device,
                amount: share,
                per_device: amount(&parts.resource, parts.per_device),
            })
        });
        (row, part)
    }

    fn learn(&mut self, name: &'a str) -> usize {
        *self.ids.entry(name).or_insert_with(|| {
            self.names.push(name);
            self.names.len() - 1
        })
    }
}

/// One whole device.
pub fn one_device() -> i64 {
    ONE
}

/// An amount of a resource as a number. Bytes come whole, rounded up as Kubernetes does, so that petabytes fit.
pub fn amount(resource: &str, quantity: Quantity) -> i64 {
    let divisor = i128::from(divisor(resource));
    let amount = quantity.thousandths() / divisor + i128::from(quantity.thousandths() % divisor > 0);
    i64::try_from(amount).unwrap_or(MOST).clamp(0, MOST)
}

/// The other way round.
pub fn quantity(resource: &str, amount: i64) -> Quantity {
    Quantity::from_thousandths(i128::from(amount) * i128::from(divisor(resource)))
}

fn divisor(resource: &str) -> i64 {
    let in_bytes = matches!(resource, "memory" | "ephemeral-storage") || resource.starts_with("hugepages-");
    if in_bytes { 1000 } else { 1 }
}

pub fn add(row: &mut [i64], more: &[i64]) {
    for (amount, more) in row.iter_mut().zip(more) {
        *amount = amount.saturating_add(*more);
    }
}

pub fn subtract(row: &mut [i64], less: &[i64]) {
    for (amount, less) in row.iter_mut().zip(less) {
        *amount = amount.saturating_sub(*less);
    }
}

/// Resources that are scarce and dear: a machine with them is not opened for a pod that does not ask for them.
pub fn is_accelerator(name: &str) -> bool {
    let (domain, resource) = name.split_once('/').unwrap_or(("", name));
    !domain.is_empty()
        && (resource.contains("gpu")
            || resource.starts_with("mig-")
            || domain.contains("gpu")
            || matches!(
                name,
                "habana.ai/gaudi"
                    | "google.com/tpu"
                    | "aws.amazon.com/neuron"
                    | "aws.amazon.com/neuroncore"
                    | "aws.amazon.com/neurondevice"
            ))
}
