//! The GPU pods of the openb trace, all at once, on machines with eight GPUs, 96 CPUs and 384 GiB.

use std::collections::BTreeMap;

use model::place::{Catalogue, DeviceParts, InstanceType, Offered, PodToPlace, Scene};
use model::{CapacityType, Namespace, ObjectName, Quantity, Uid};

use super::mix::{amounts, pool};
use crate::Result;

const GPU: &str = "nvidia.com/gpu";
const SHARE: &str = "example.com/gpu-milli";
const MEBI: i128 = 1 << 20;

/// CPU in thousandths, memory in MiB, GPUs.
const MACHINE: (i128, i128, i128) = (96_000, 384 * 1024, 8);

/// The scene of a file `name,cpu_milli,memory_mib,num_gpu,gpu_milli,…`: pods that ask for GPUs and fit a machine.
pub fn scene(csv: &str) -> Result<Scene> {
    let mut pods = vec![];
    for (at, line) in csv.lines().enumerate().skip(1) {
        pods.extend(pod(at, line).map_err(|cause| format!("line {}: {cause}", at + 1))?);
    }
    let (cpu, memory, gpus) = MACHINE;
    let capacity = amounts(&[("cpu", cpu), ("memory", memory * MEBI * 1000), (GPU, gpus * 1000), ("pods", 1_000_000)]);
    let offered = Offered {
        zone: None,
        capacity_type: CapacityType::OnDemand,
        price: Some(20_000_000),
        available: true,
        requirements: vec![],
        reservation: None,
    };
    let machine = InstanceType {
        name: "eight-gpus".into(),
        requirements: vec![],
        allocatable: capacity.clone(),
        capacity,
        volume_limits: BTreeMap::new(),
        offerings: vec![offered],
    };
    let parts =
        DeviceParts { resource: SHARE.into(), device: GPU.into(), per_device: Quantity::from_thousandths(1_000_000) };
    let catalogues = vec![Catalogue { types: vec![machine], complete: true }];
    Ok(Scene { pods, pools: vec![pool("gpus")?], catalogues, device_parts: vec![parts], ..Scene::default() })
}

/// Nothing for a pod without GPUs, or larger than a machine.
fn pod(at: usize, line: &str) -> Result<Option<PodToPlace>> {
    let mut fields = line.split(',').skip(1).map(|field| field.parse::<i128>());
    let mut next = || fields.next().ok_or("a field is missing")?.map_err(|cause| cause.to_string());
    let (cpu, memory, gpus, milli) = (next()?, next()?, next()?, next()?);
    let too_large = cpu > MACHINE.0 || memory > MACHINE.1 || gpus > MACHINE.2;
    if gpus == 0 || too_large {
        return Ok(None);
    }
    let name = format!("pod-{at:05}");
    let mut pod = PodToPlace::new(Namespace::new("default")?, ObjectName::new(name.clone())?, Uid::new(name)?);
    let device = if milli < 1000 { (SHARE, milli * 1000) } else { (GPU, gpus * 1000) };
    pod.requests = amounts(&[("cpu", cpu), ("memory", memory * MEBI * 1000), device]);
    Ok(Some(pod))
}
