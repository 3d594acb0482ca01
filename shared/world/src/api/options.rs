//! The options of writing verbs, checked before anything is read: dry run, field manager, field validation, force.

use super::{patching::PatchType, request::Query, status::Failure};
use crate::resources::errors::{FieldError, Reason, invalid_status};
use serde_json::json;

/// Which verb the options are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Options {
    Create,
    Update,
    Patch(PatchType),
}

const LONGEST_MANAGER: usize = 128;
const VALIDATIONS: [&str; 4] = ["", "Ignore", "Strict", "Warn"];

pub fn check(options: Options, query: &Query) -> Result<(), Failure> {
    let mut errors = Vec::new();
    let manager = query.get("fieldManager").unwrap_or_default();
    match options {
        Options::Patch(PatchType::Apply) if manager.is_empty() => {
            errors.push(FieldError::required("fieldManager", "is required for apply patch"));
        }
        Options::Patch(kind) if kind != PatchType::Apply && query.given("force").is_some() => {
            errors.push(FieldError::forbidden("force", "may not be specified for non-apply patch"));
        }
        _ => {}
    }
    if manager.len() > LONGEST_MANAGER {
        errors.push(FieldError::too_long("fieldManager", LONGEST_MANAGER as u64));
    }
    for (place, character) in manager.char_indices().filter(|(_, character)| character.is_control()) {
        let detail = format!("invalid character U+{:04X} (at position {place})", u32::from(character));
        errors.push(FieldError::invalid("fieldManager", manager, &detail));
    }
    if let Some(wrong) = query.given("dryRun").filter(|given| *given != "All") {
        errors.push(dry_run_error(wrong));
    }
    let validation = query.get("fieldValidation").unwrap_or_default();
    if !VALIDATIONS.contains(&validation) {
        errors.push(FieldError::not_supported("fieldValidation", validation, &VALIDATIONS));
    }
    let kind = match options {
        Options::Create => "CreateOptions",
        Options::Update => "UpdateOptions",
        Options::Patch(_) => "PatchOptions",
    };
    refuse(kind, &errors)
}

pub fn dry_run_error(given: &str) -> FieldError {
    FieldError::new(Reason::NotSupported, "dryRun", json!([given]), "supported values: \"All\"")
}

/// Nothing, or the refusal of these options.
pub fn refuse(kind: &str, errors: &[FieldError]) -> Result<(), Failure> {
    if errors.is_empty() {
        return Ok(());
    }
    Err(Failure::from_status(&invalid_status("meta.k8s.io", kind, "", errors)))
}
