//! The launch record as it stands in the annotation `pilotlight.dev/launch`: small JSON, versioned, in a fixed order.
//!
//! Fields may be added in version 1 as long as this code may ignore them; what must not be ignored is another version.

use jiff::{Timestamp, civil::Date};
use model::{
    Arch, Attempt, CapacityType, Gpu, Launch, LaunchRecord, Offering, OfferingId, Price, Progress, Resources, Stock,
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt::Display, str::FromStr};

use crate::error::cut;

const VERSION: u32 = 1;

/// What the annotation says.
pub(crate) fn read(text: Option<&str>) -> Launch {
    match text.map(parse) {
        None => Launch::NotBegun,
        Some(Ok(record)) => Launch::Recorded(Box::new(record)),
        Some(Err(why)) => Launch::Unreadable { why: cut(&why) },
    }
}

/// What is to stand in the annotation.
pub(crate) fn write(record: &LaunchRecord) -> Result<String, serde_json::Error> {
    serde_json::to_string(&Written::from(record))
}

fn parse(text: &str) -> Result<LaunchRecord, String> {
    let Versioned { v } = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if v != VERSION {
        return Err(format!(
            "it is of version {v}, and this program reads version {VERSION}: is an older one running?"
        ));
    }
    serde_json::from_str::<Written>(text).map_err(|error| error.to_string())?.try_into()
}

/// Looked at first: nothing else is known of another version.
#[derive(Deserialize)]
struct Versioned {
    v: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    v: u32,
    epoch: u32,
    begun_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    accepted_at: Option<String>,
    deadline: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    progress: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    told_joined: bool,
    offering: WrittenOffering,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tried: Vec<WrittenAttempt>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrittenOffering {
    #[serde(flatten)]
    id: WrittenId,
    arch: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gpu: Option<WrittenGpu>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    capacity: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    price: Option<WrittenPrice>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<String, String>,
    stock: String,
}

/// The name of an offering; stock memory writes it like this too.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WrittenId {
    provider: String,
    instance_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    zone: Option<String>,
    capacity_type: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrittenGpu {
    model: String,
    count: u32,
    memory_mib: u64,
    #[serde(default, skip_serializing_if = "is_false")]
    mig_capable: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrittenPrice {
    millionths_per_hour: u64,
    currency: String,
    as_of: String,
}

#[derive(Serialize, Deserialize)]
struct WrittenAttempt {
    #[serde(flatten)]
    offering: WrittenId,
    reason: String,
    at: String,
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_false(flag: &bool) -> bool {
    !flag
}

const ARCHITECTURES: [(Arch, &str); 2] = [(Arch::Amd64, "amd64"), (Arch::Arm64, "arm64")];
const STOCKS: [(Stock, &str); 4] = [
    (Stock::Available, "available"),
    (Stock::Scarce, "scarce"),
    (Stock::Shortage, "shortage"),
    (Stock::Unknown, "unknown"),
];

fn word<T: PartialEq>(table: &[(T, &'static str)], value: &T) -> String {
    table.iter().find(|(known, _)| known == value).map_or_else(String::new, |(_, word)| (*word).to_owned())
}

fn meaning<T: Copy>(table: &[(T, &'static str)], field: &str, text: &str) -> Result<T, String> {
    let found = table.iter().find(|(_, word)| *word == text).map(|(value, _)| *value);
    found.ok_or_else(|| format!("{field}: {text:?} is not known"))
}

fn parsed<T: FromStr<Err: Display>>(field: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|error| format!("{field}: {error}"))
}

impl From<&LaunchRecord> for Written {
    fn from(record: &LaunchRecord) -> Self {
        let LaunchRecord { epoch, offering, begun_at, accepted_at, deadline, progress, tried, told_joined } = record;
        let tried = tried.iter().map(|Attempt { offering, reason, at }| WrittenAttempt {
            offering: offering.into(),
            reason: reason.clone(),
            at: at.to_string(),
        });
        Written {
            v: VERSION,
            epoch: *epoch,
            begun_at: begun_at.to_string(),
            accepted_at: accepted_at.as_ref().map(Timestamp::to_string),
            deadline: deadline.to_string(),
            progress: progress.as_ref().map(|Progress(text)| text.clone()),
            told_joined: *told_joined,
            offering: offering.into(),
            tried: tried.collect(),
        }
    }
}

impl From<&Offering> for WrittenOffering {
    fn from(offering: &Offering) -> Self {
        let Offering { id, gpu, capacity, arch, price, labels, stock } = offering;
        WrittenOffering {
            id: id.into(),
            arch: word(&ARCHITECTURES, arch),
            gpu: gpu.as_ref().map(|Gpu { model, count, memory_mib, mig_capable }| WrittenGpu {
                model: model.clone(),
                count: *count,
                memory_mib: *memory_mib,
                mig_capable: *mig_capable,
            }),
            capacity: capacity.iter().map(|(name, amount)| (name.clone(), amount.to_string())).collect(),
            price: price.as_ref().map(|Price { millionths_per_hour, currency, as_of }| WrittenPrice {
                millionths_per_hour: *millionths_per_hour,
                currency: currency.clone(),
                as_of: as_of.to_string(),
            }),
            labels: labels.clone(),
            stock: word(&STOCKS, stock),
        }
    }
}

impl From<&OfferingId> for WrittenId {
    fn from(id: &OfferingId) -> Self {
        let OfferingId { provider, instance_type, zone, capacity_type } = id;
        WrittenId {
            provider: provider.clone(),
            instance_type: instance_type.clone(),
            zone: zone.clone(),
            capacity_type: capacity_type.as_str().to_owned(),
        }
    }
}

impl TryFrom<Written> for LaunchRecord {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let Written { v: _, epoch, begun_at, accepted_at, deadline, progress, told_joined, offering, tried } = written;
        let attempt = |WrittenAttempt { offering, reason, at }| {
            Ok(Attempt { offering: OfferingId::try_from(offering)?, reason, at: parsed("tried.at", &at)? })
        };
        Ok(LaunchRecord {
            epoch,
            offering: offering.try_into()?,
            begun_at: parsed("begunAt", &begun_at)?,
            accepted_at: accepted_at.map(|at| parsed("acceptedAt", &at)).transpose()?,
            deadline: parsed("deadline", &deadline)?,
            progress: progress.map(Progress),
            tried: tried.into_iter().map(attempt).collect::<Result<_, String>>()?,
            told_joined,
        })
    }
}

impl TryFrom<WrittenOffering> for Offering {
    type Error = String;

    fn try_from(written: WrittenOffering) -> Result<Self, String> {
        let WrittenOffering { id, arch, gpu, capacity, price, labels, stock } = written;
        let amount = |(name, text): (String, String)| {
            parsed(&format!("offering.capacity.{name}"), &text).map(|amount| (name, amount))
        };
        let priced = |WrittenPrice { millionths_per_hour, currency, as_of }| {
            parsed::<Date>("offering.price.asOf", &as_of).map(|as_of| Price { millionths_per_hour, currency, as_of })
        };
        Ok(Offering {
            id: id.try_into()?,
            gpu: gpu.map(|WrittenGpu { model, count, memory_mib, mig_capable }| Gpu {
                model,
                count,
                memory_mib,
                mig_capable,
            }),
            capacity: capacity.into_iter().map(amount).collect::<Result<Resources, String>>()?,
            arch: meaning(&ARCHITECTURES, "offering.arch", &arch)?,
            price: price.map(priced).transpose()?,
            labels,
            stock: meaning(&STOCKS, "offering.stock", &stock)?,
        })
    }
}

impl TryFrom<WrittenId> for OfferingId {
    type Error = String;

    fn try_from(written: WrittenId) -> Result<Self, String> {
        let WrittenId { provider, instance_type, zone, capacity_type } = written;
        let capacity_type: CapacityType = parsed("capacityType", &capacity_type)?;
        Ok(OfferingId { provider, instance_type, zone, capacity_type })
    }
}

#[cfg(test)]
#[path = "launch_record_tests.rs"]
mod tests;
