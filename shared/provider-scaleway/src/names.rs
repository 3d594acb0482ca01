//! Names people use and the names Scaleway uses: commercial types, capacity types, zones, provider IDs.

use model::CapacityType;
use std::collections::BTreeMap;

use crate::catalogue;

pub const INSTANCE_TYPE_LABEL: &str = "node.kubernetes.io/instance-type";
/// What the README of scw-karpenter uses. It is read, and never written: Karpenter's own rules refuse it.
pub const OLD_INSTANCE_TYPE_LABEL: &str = "karpenter.sh/instance-type";
pub const CAPACITY_TYPE_LABEL: &str = "karpenter.sh/capacity-type";
/// What scw-karpenter calls its only capacity type.
pub const OLD_CAPACITY_TYPE: &str = "scaleway-gpu";

/// The smallest type of each family, under the name people say.
const SHORT_NAMES: [(&str, &str); 6] = [
    ("l4", "L4-1-24G"),
    ("l40s", "L40S-1-48G"),
    ("h100", "H100-1-80G"),
    ("h100-sxm", "H100-SXM-2-80G"),
    ("b300", "B300-SXM-2-288G"),
    ("render", "RENDER-S"),
];

/// The commercial type that a text means: a short name, or a real type in any case. An unknown one is given back in
/// upper case, as Scaleway writes types, for it may be newer than this table.
pub fn commercial_type(text: &str) -> String {
    let lower = text.trim().to_ascii_lowercase();
    match SHORT_NAMES.iter().find(|(short, _)| *short == lower) {
        Some((_, real)) => (*real).to_owned(),
        None => match catalogue::bundled_type(&lower) {
            Some(known) => known.name.to_owned(),
            None => lower.to_ascii_uppercase(),
        },
    }
}

/// The capacity type that a text means; `scaleway-gpu` is on-demand. `None` for what Scaleway does not sell.
pub fn capacity_type(text: &str) -> Option<CapacityType> {
    let known = text == OLD_CAPACITY_TYPE || text == CapacityType::OnDemand.as_str();
    known.then_some(CapacityType::OnDemand)
}

/// The commercial type that labels or requirements ask for, under either key.
pub fn commercial_type_in(labels: &BTreeMap<String, String>) -> Option<String> {
    let named = labels.get(INSTANCE_TYPE_LABEL).or_else(|| labels.get(OLD_INSTANCE_TYPE_LABEL));
    named.map(|text| commercial_type(text))
}

/// `scaleway://instance/fr-par-2/6f1c0d3e-…`, as Scaleway's controllers write it.
pub fn provider_id(zone: &str, server: &str) -> String {
    format!("scaleway://instance/{zone}/{server}")
}

/// Zone and server of a provider ID. The old form without a zone has none.
pub fn parse_provider_id(text: &str) -> Option<(Option<&str>, &str)> {
    let rest = text.strip_prefix("scaleway://")?;
    let parts: Vec<&str> = rest.split('/').collect();
    match parts.as_slice() {
        ["instance", zone, server] if is_zone(zone) && is_uuid(server) => Some((Some(zone), server)),
        [server] if is_uuid(server) => Some((None, server)),
        _ => None,
    }
}

/// `fr-par` of `fr-par-2`.
pub fn region_of(zone: &str) -> &str {
    zone.rsplit_once('-').map_or(zone, |(region, _)| region)
}

/// `xx-yyy-n`. Zones that did not exist when this was written are zones too.
pub fn is_zone(text: &str) -> bool {
    let letters = |part: &str, count: usize| part.len() == count && part.bytes().all(|byte| byte.is_ascii_lowercase());
    let parts: Vec<&str> = text.split('-').collect();
    match parts.as_slice() {
        [country, city, number] => {
            letters(country, 2)
                && letters(city, 3)
                && (1..=2).contains(&number.len())
                && number.bytes().all(|byte| byte.is_ascii_digit())
        }
        _ => false,
    }
}

pub fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_and_real_types_are_understood_in_any_case() {
        for (text, real) in [
            ("l4", "L4-1-24G"),
            ("L40S", "L40S-1-48G"),
            ("h100", "H100-1-80G"),
            ("H100-sxm", "H100-SXM-2-80G"),
            ("b300", "B300-SXM-2-288G"),
            ("render", "RENDER-S"),
            ("h100-sxm-8-80g", "H100-SXM-8-80G"),
            ("render-s", "RENDER-S"),
            ("x900-1-1t", "X900-1-1T"),
        ] {
            assert_eq!(commercial_type(text), real);
        }
    }

    #[test]
    fn both_label_keys_name_a_type_and_the_real_one_wins() {
        let labels = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect::<BTreeMap<_, _>>()
        };
        let old = (OLD_INSTANCE_TYPE_LABEL, "l4");
        assert_eq!(commercial_type_in(&labels(&[old])).as_deref(), Some("L4-1-24G"));
        let both = labels(&[old, (INSTANCE_TYPE_LABEL, "l40s")]);
        assert_eq!(commercial_type_in(&both).as_deref(), Some("L40S-1-48G"));
        assert_eq!(commercial_type_in(&labels(&[])), None);
    }

    #[test]
    fn the_old_capacity_type_is_on_demand_and_spot_is_not_sold() {
        for (text, expected) in [
            ("scaleway-gpu", Some(CapacityType::OnDemand)),
            ("on-demand", Some(CapacityType::OnDemand)),
            ("spot", None),
            ("reserved", None),
        ] {
            assert_eq!(capacity_type(text), expected, "{text}");
        }
    }

    #[test]
    fn provider_ids_are_read_in_both_forms() {
        let server = "6f1c0d3e-1111-4222-8333-944444444444";
        let written = provider_id("fr-par-2", server);
        assert_eq!(parse_provider_id(&written), Some((Some("fr-par-2"), server)));
        assert_eq!(parse_provider_id(&format!("scaleway://{server}")), Some((None, server)));
        for bad in ["aws:///eu/i-1", "scaleway://baremetal/fr-par-2/x", "scaleway://instance/fr-par-2/x"] {
            assert_eq!(parse_provider_id(bad), None, "{bad}");
        }
    }
}
