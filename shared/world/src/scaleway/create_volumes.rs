//! The volumes a create body asks for, checked against what the type and the image allow.

use super::{
    answer::{Refusal, WrongArgument, invalid_arguments},
    catalogue::CommercialType,
    images::Image,
    request::text,
    state::VolumeKind,
};
use serde_json::{Map, Value, json};

/// A volume the body asks for: an existing one, or a new one of a kind and size.
pub(super) enum WantedVolume {
    Existing(String),
    New { kind: VolumeKind, size: u64, name: Option<String> },
}

pub(super) fn wanted_volumes(
    body: &Map<String, Value>,
    offered: &CommercialType,
    image: &Image,
) -> Result<Vec<(String, bool, WantedVolume)>, Refusal> {
    let mut templates = body.get("volumes").and_then(Value::as_object).cloned().unwrap_or_default();
    // Without a word about the root volume the image's own is taken.
    templates.entry("0").or_insert_with(|| json!({}));
    let mut wrong: Vec<WrongArgument> = Vec::new();
    let mut wanted = Vec::new();
    let (mut local, mut scratch) = (0, 0);
    for (key, template) in &templates {
        let empty = Map::new();
        let template = template.as_object().unwrap_or(&empty);
        let argument = |field: &str| format!("volumes.{key}.{field}");
        if key.parse::<u32>().is_err() {
            wrong.push((argument("key"), "format", "volumes are keyed 0, 1, …".to_owned()));
        }
        let boot = template.get("boot").and_then(Value::as_bool).unwrap_or(false);
        if let Some(id) = text(template, "id") {
            wanted.push((key.clone(), boot, WantedVolume::Existing(id.to_owned())));
            continue;
        }
        let kind = match text(template, "volume_type") {
            None if key == "0" && image.on_block_storage => VolumeKind::Block,
            None | Some("l_ssd") => VolumeKind::Local,
            Some("sbs_volume" | "sbs_snapshot") => VolumeKind::Block,
            Some("scratch") => VolumeKind::Scratch,
            Some(_) => {
                let help = "must be l_ssd, sbs_volume, scratch or sbs_snapshot";
                wrong.push((argument("volume_type"), "constraint", help.to_owned()));
                continue;
            }
        };
        if key == "0" && kind == VolumeKind::Block && !image.on_block_storage {
            wrong.push((
                "image".to_owned(),
                "constraint",
                "an instance_local image cannot boot from sbs_volume".to_owned(),
            ));
        }
        let size = template.get("size").and_then(Value::as_u64);
        if size.is_none() && key != "0" {
            wrong.push((argument("size"), "required", "size is required".to_owned()));
        }
        let size = size.unwrap_or_else(|| image.default_root_bytes());
        if size % 512 != 0 || size == 0 {
            wrong.push((argument("size"), "constraint", "must be a positive multiple of 512".to_owned()));
        }
        if key == "0" && size < image.default_root_bytes() {
            wrong.push((argument("size"), "constraint", "is smaller than the image".to_owned()));
        }
        match kind {
            VolumeKind::Local => local += size,
            VolumeKind::Scratch => scratch += size,
            VolumeKind::Block => {}
        }
        let name = text(template, "name").map(str::to_owned);
        wanted.push((key.clone(), boot, WantedVolume::New { kind, size, name }));
    }
    let gigabyte = 1_000_000_000;
    let scratch_volumes =
        wanted.iter().filter(|(_, _, one)| matches!(one, WantedVolume::New { kind: VolumeKind::Scratch, .. })).count();
    for (asked, limit, name) in [(local, offered.local_storage_gb, "l_ssd"), (scratch, offered.scratch_gb, "scratch")] {
        if asked > limit * gigabyte {
            let help = format!("{} allows at most {limit} GB of {name}", offered.name);
            wrong.push(("volumes".to_owned(), "constraint", help));
        }
    }
    if scratch_volumes > 1 {
        wrong.push(("volumes".to_owned(), "constraint", "at most one scratch volume".to_owned()));
    }
    if wrong.is_empty() { Ok(wanted) } else { Err(invalid_arguments(&wrong)) }
}
