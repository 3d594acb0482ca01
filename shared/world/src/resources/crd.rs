//! Custom resources: what one version of a CRD says about its objects (schema, columns, subresources, rules), and the
//! steps an object goes through on its way in: prune, default, validate.

mod cel_functions;
mod cel_values;
mod definition;
mod formats;
mod rules;
mod schema_defaults;
mod schema_prune;
mod schema_validate;

pub use definition::{default_definition, validate_definition};
pub use rules::Rules;
pub use schema_defaults::apply_defaults;
pub use schema_prune::{prune, unknown_fields};
pub use schema_validate::{validate_change, validate_schema};

use crate::resources::errors::FieldError;
use crate::resources::kinds::compare_versions;
use crate::resources::look::{at, items, text};
use serde_json::{Value, json};

/// What one version of a CRD says.
#[derive(Debug)]
pub struct CustomVersion {
    /// `schema.openAPIV3Schema`, or an object that keeps everything when the version has none.
    pub schema: Value,
    pub columns: Vec<Value>,
    pub scale: Option<ScalePaths>,
    pub rules: Rules,
    /// The old CRD-wide `spec.preserveUnknownFields`.
    pub preserve_unknown: bool,
    /// What may stand in a field selector, as `spec.kind`.
    pub selectable: Vec<String>,
    /// What users of this version are told.
    pub deprecation: Option<String>,
}

/// Where the scale subresource finds its numbers, as `.spec.replicas`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScalePaths {
    pub spec_replicas: String,
    pub status_replicas: String,
    pub label_selector: Option<String>,
}

impl CustomVersion {
    pub fn of(definition: &Value, version: &Value) -> Self {
        let schema = match at(version, &["schema", "openAPIV3Schema"]) {
            Value::Null => json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
            schema => schema.clone(),
        };
        let scale = at(version, &["subresources", "scale"]);
        let path = |name: &str| text(scale, &[name]).to_owned();
        CustomVersion {
            rules: Rules::of(&schema),
            columns: items(version, &["additionalPrinterColumns"]).to_vec(),
            scale: scale.is_object().then(|| ScalePaths {
                spec_replicas: path("specReplicasPath"),
                status_replicas: path("statusReplicasPath"),
                label_selector: Some(path("labelSelectorPath")).filter(|given| !given.is_empty()),
            }),
            preserve_unknown: at(definition, &["spec", "preserveUnknownFields"]) == true,
            selectable: items(version, &["selectableFields"])
                .iter()
                .map(|field| text(field, &["jsonPath"]).trim_start_matches('.').to_owned())
                .collect(),
            deprecation: (at(version, &["deprecated"]) == true).then(|| deprecation(definition, version)),
            schema,
        }
    }

    /// Drops what the schema does not know and fills in its defaults; the dropped paths come back for
    /// `fieldValidation`.
    pub fn decode(&self, object: &mut Value) -> Vec<String> {
        let dropped = if self.preserve_unknown { Vec::new() } else { prune(&self.schema, object) };
        apply_defaults(&self.schema, object);
        dropped
    }

    /// Schema first; the rules run only on an object whose shape is right, as they may assume it.
    pub fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = validate_change(&self.schema, object, old);
        if errors.is_empty() {
            return self.rules.validate(&self.schema, object, old);
        }
        if !self.rules.is_empty() {
            let detail = "some validation rules were not checked because the object was invalid; correct the existing \
                          errors to complete validation";
            errors.push(FieldError::invalid("<nil>", Value::Null, detail));
        }
        errors
    }
}

/// The words of the definition, or else which version to use instead: the newest that is served and not deprecated.
fn deprecation(definition: &Value, version: &Value) -> String {
    let given = text(version, &["deprecationWarning"]);
    if !given.is_empty() {
        return given.to_owned();
    }
    let (group, kind) = (text(definition, &["spec", "group"]), text(definition, &["spec", "names", "kind"]));
    let mut better: Vec<&str> = items(definition, &["spec", "versions"])
        .iter()
        .filter(|one| at(one, &["served"]) == true && at(one, &["deprecated"]) != true)
        .map(|one| text(one, &["name"]))
        .collect();
    better.sort_by(|left, right| compare_versions(left, right));
    let said = format!("{group}/{} {kind} is deprecated", text(version, &["name"]));
    match better.first() {
        Some(better) => format!("{said}; use {group}/{better} {kind}"),
        None => said,
    }
}
