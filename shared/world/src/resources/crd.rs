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
        let errors = validate_change(&self.schema, object, old);
        if errors.is_empty() { self.rules.validate(&self.schema, object, old) } else { errors }
    }
}
