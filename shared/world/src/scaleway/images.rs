//! Images: the marketplace that turns labels into IDs, and the image a server carries.

use super::{
    Scaleway,
    answer::{Outcome, found, not_found},
    catalogue,
    request::{Call, paged_in_body},
};
use crate::chance::Chance;
use serde_json::{Value, json};

/// An image of one label, zone and kind. Its ID follows from the seed and these three.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Image {
    pub id: String,
    pub label: &'static str,
    pub name: &'static str,
    pub zone: String,
    pub on_block_storage: bool,
    /// Driver and container toolkit are in the image.
    pub with_gpu_driver: bool,
    pub root_snapshot: String,
}

/// label, name, has the GPU driver
const LABELS: [(&str, &str, bool); 4] = [
    ("ubuntu_jammy", "Ubuntu 22.04 Jammy Jellyfish", false),
    ("ubuntu_jammy_gpu_os_12", "Ubuntu Jammy GPU OS 12", true),
    ("ubuntu_noble", "Ubuntu 24.04 Noble Numbat", false),
    ("ubuntu_noble_gpu_os_12", "Ubuntu Noble GPU OS 12", true),
];

const PUBLISHER: &str = "51b656e3-4865-41e8-adbc-0c45bdd780db";

impl Image {
    pub fn kind(&self) -> &'static str {
        if self.on_block_storage { "instance_sbs" } else { "instance_local" }
    }

    pub fn default_root_bytes(&self) -> u64 {
        if self.with_gpu_driver { 20_000_000_000 } else { 10_000_000_000 }
    }

    fn fits(&self, offered: &catalogue::CommercialType) -> bool {
        // GPU images are for GPU types; without local disk only block images boot.
        offered.arch == "x86_64"
            && (self.with_gpu_driver <= offered.gpu.is_some())
            && (self.on_block_storage || offered.local_storage_gb > 0)
    }

    pub fn to_json(&self) -> Value {
        let root = if self.on_block_storage { "sbs_snapshot" } else { "l_ssd" };
        let root_size = if self.on_block_storage { 0 } else { self.default_root_bytes() };
        json!({
            "id": self.id, "name": self.name, "organization": PUBLISHER, "project": PUBLISHER, "public": true,
            "arch": "x86_64", "state": "available", "tags": [], "zone": self.zone, "from_server": "",
            "root_volume": {"id": self.root_snapshot, "name": "", "size": root_size, "volume_type": root},
            "extra_volumes": {}, "default_bootscript": null,
            "creation_date": "2025-11-12T09:11:41.420846+00:00", "modification_date": "2025-11-12T09:11:41.420846+00:00",
        })
    }
}

pub(super) fn images_in(chance: &Chance, zone: &str) -> Vec<Image> {
    let labels = LABELS.iter().flat_map(|label| [true, false].map(|on_block_storage| (label, on_block_storage)));
    labels
        .map(|(&(label, name, with_gpu_driver), on_block_storage)| {
            let stream = chance.stream(&format!("image/{label}/{zone}/{on_block_storage}"));
            Image {
                id: stream.uuid(),
                label,
                name,
                zone: zone.to_owned(),
                on_block_storage,
                with_gpu_driver,
                root_snapshot: stream.uuid(),
            }
        })
        .collect()
}

impl Scaleway {
    /// `GET /marketplace/v2/local-images`, and one image by its ID after it.
    pub(super) fn marketplace(&self, call: &Call<'_>, id: Option<&str>) -> Outcome {
        let zones: Vec<&str> = call.query.get("zone").map_or_else(|| catalogue::ZONES.to_vec(), |zone| vec![zone]);
        let images = zones.iter().flat_map(|zone| images_in(&self.inner.chance, zone));
        if let Some(id) = id {
            let image = images.into_iter().find(|image| image.id == id);
            return found(&local_image(&image.ok_or_else(|| not_found("MarketplaceLocalImage", id))?));
        }
        let label = call.query.get("image_label");
        if let Some(label) = label.filter(|label| !LABELS.iter().any(|known| known.0 == *label)) {
            return Err(not_found("MarketplaceImage", label));
        }
        let kind = call.query.get("type");
        let mut wanted: Vec<Image> = images
            .filter(|image| {
                label.is_none_or(|label| image.label == label) && kind.is_none_or(|kind| image.kind() == kind)
            })
            .collect();
        if call.query.get("order_by") == Some("type_asc") {
            wanted.sort_by_key(|image| image.kind());
        }
        paged_in_body(&call.query, "local_images", &wanted.iter().map(local_image).collect::<Vec<_>>())
    }

    /// `GET /images/{id}` of the Instance API.
    pub(super) fn instance_image(&self, call: &Call<'_>, id: &str) -> Outcome {
        let image = images_in(&self.inner.chance, call.zone).into_iter().find(|image| image.id == id);
        found(&json!({"image": image.ok_or_else(|| not_found("instance_image", id))?.to_json()}))
    }
}

fn local_image(image: &Image) -> Value {
    let types: Vec<&str> = catalogue::sold_in(&image.zone)
        .into_iter()
        .filter(|one| image.fits(one))
        .map(|one| one.name.as_str())
        .collect();
    json!({"id": image.id, "arch": "x86_64", "zone": image.zone, "compatible_commercial_types": types,
           "label": image.label, "type": image.kind()})
}
