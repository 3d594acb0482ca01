//! A catalogue of a dozen types: small and large, of two architectures, with GPUs whole and in slices, in up to three zones.

use serde_json::{Value, json};

use super::Theme;
use super::draw::Draw;

pub const ZONES: &[&str] = &["zone-a", "zone-b", "zone-c"];
pub const PRODUCT: &str = "nvidia.com/gpu.product";

struct Shape {
    name: &'static str,
    arch: &'static str,
    cpu: usize,
    memory: usize,
    pods: usize,
    price: f64,
    gpu: Option<(&'static str, usize, &'static str)>,
}

const fn shape(name: &'static str, cpu: usize, memory: usize, pods: usize, price: f64) -> Shape {
    Shape { name, arch: "amd64", cpu, memory, pods, price, gpu: None }
}

const SHAPES: &[Shape] = &[
    shape("m.small", 2, 4, 20, 0.10),
    shape("m.medium", 4, 8, 30, 0.19),
    shape("m.large", 8, 16, 58, 0.37),
    shape("m.xlarge", 16, 64, 110, 0.80),
    shape("c.large", 8, 8, 58, 0.30),
    shape("r.large", 4, 32, 58, 0.45),
    Shape { arch: "arm64", ..shape("a.medium", 4, 8, 30, 0.15) },
    Shape { arch: "arm64", ..shape("a.large", 8, 16, 58, 0.29) },
];

const GPU_SHAPES: &[Shape] = &[
    Shape { gpu: Some(("nvidia.com/gpu", 1, "L4")), ..shape("g.one", 8, 32, 58, 1.1) },
    Shape { gpu: Some(("nvidia.com/gpu", 4, "L4")), ..shape("g.four", 32, 128, 110, 4.0) },
    Shape { gpu: Some(("nvidia.com/gpu", 8, "H100")), ..shape("h.eight", 96, 768, 110, 24.0) },
    Shape { gpu: Some(("nvidia.com/mig-1g.5gb", 7, "A100")), ..shape("mig.seven", 12, 96, 110, 3.2) },
];

pub fn types(draw: &mut Draw, themes: &[Theme]) -> Vec<Value> {
    let mut shapes = draw.some(SHAPES);
    if themes.contains(&Theme::Gpu) {
        shapes.extend(draw.some(GPU_SHAPES));
    }
    let zones = draw.some(ZONES);
    shapes.into_iter().map(|shape| one(draw, shape, &zones)).collect()
}

fn one(draw: &mut Draw, shape: &Shape, zones: &[&&str]) -> Value {
    let mut resources = json!({
        "cpu": shape.cpu.to_string(), "memory": format!("{}Gi", shape.memory), "pods": shape.pods.to_string(),
        "ephemeral-storage": "100Gi",
    });
    if let Some((resource, count, _)) = shape.gpu {
        resources[resource] = json!(count.to_string());
    }
    let mut offerings = Vec::new();
    for zone in zones {
        for (capacity_type, factor) in [("spot", 0.4), ("on-demand", 1.0)] {
            if draw.chance(12) {
                continue;
            }
            let mut requirements = vec![
                json!({"key": "karpenter.sh/capacity-type", "operator": "In", "values": [capacity_type]}),
                json!({"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}),
            ];
            if let Some((_, _, product)) = shape.gpu {
                requirements.push(json!({"key": PRODUCT, "operator": "In", "values": [product]}));
            }
            let percent = 90 + draw.below(21);
            let price =
                (shape.price * factor * 1000.0).round() * f64::from(u32::try_from(percent).unwrap_or(100)) / 100_000.0;
            offerings.push(json!({"Price": price, "Available": !draw.chance(8), "Requirements": requirements}));
        }
    }
    json!({
        "name": shape.name, "architecture": shape.arch, "operatingSystems": ["linux"], "resources": resources,
        "offerings": offerings,
    })
}
