//! CustomResourceDefinition objects themselves: their defaults, and what the server refuses to install.

use super::{Rules, validate_schema};
use crate::resources::errors::FieldError;
use crate::resources::look::{at, default_text, default_to, has, items, text};
use crate::resources::names::{NameRule, check_name, check_subdomain};
use serde_json::{Value, json};

pub fn default_definition(definition: &mut Value) {
    let spec = &mut definition["spec"];
    if !spec.is_object() {
        return;
    }
    default_to(spec, "conversion", json!({"strategy": "None"}));
    let kind = text(spec, &["names", "kind"]).to_owned();
    if !kind.is_empty() {
        default_text(&mut spec["names"], "singular", &kind.to_lowercase());
        default_text(&mut spec["names"], "listKind", &format!("{kind}List"));
    }
}

pub fn validate_definition(definition: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let group = text(definition, &["spec", "group"]);
    let plural = text(definition, &["spec", "names", "plural"]);
    let name = text(definition, &["metadata", "name"]);
    let wanted = format!("{plural}.{group}");
    if name != wanted {
        errors.push(FieldError::invalid("metadata.name", name, "must be spec.names.plural+\".\"+spec.group"));
    }
    if group.is_empty() {
        errors.push(FieldError::required("spec.group", ""));
    } else if let Some(wrong) = check_subdomain(group).into_iter().next() {
        errors.push(FieldError::invalid("spec.group", group, &wrong));
    } else if !group.contains('.') {
        errors.push(FieldError::invalid("spec.group", group, "should be a domain with at least one dot"));
    }
    match text(definition, &["spec", "scope"]) {
        "" => errors.push(FieldError::required("spec.scope", "")),
        "Cluster" | "Namespaced" => {}
        other => errors.push(FieldError::not_supported("spec.scope", other, &["Cluster", "Namespaced"])),
    }
    if at(definition, &["spec", "preserveUnknownFields"]) == true {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                      spec.versions[*].schema instead";
        errors.push(FieldError::invalid("spec.preserveUnknownFields", true, detail));
    }
    validate_versions(definition, &mut errors);
    for (field, lower) in [("plural", true), ("singular", true), ("kind", false), ("listKind", false)] {
        let path = format!("spec.names.{field}");
        let given = text(definition, &["spec", "names", field]);
        let label = if lower { given.to_owned() } else { given.to_lowercase() };
        if given.is_empty() {
            errors.push(FieldError::required(&path, ""));
        } else if let Some(wrong) = check_name(NameRule::Label1035, &label, false).into_iter().next() {
            errors.push(FieldError::invalid(&path, given, &wrong));
        }
    }
    errors
}

fn validate_versions(definition: &Value, errors: &mut Vec<FieldError>) {
    let versions = items(definition, &["spec", "versions"]);
    let stored = versions.iter().filter(|version| at(version, &["storage"]) == true).count();
    if stored != 1 {
        errors.push(FieldError::invalid(
            "spec.versions",
            Value::Array(versions.to_vec()),
            "must have exactly one version marked as storage version",
        ));
    }
    if stored == 0 {
        let detail = "must have at least one stored version";
        errors.push(FieldError::invalid("status.storedVersions", Value::Null, detail));
    }
    for (index, version) in versions.iter().enumerate() {
        let path = format!("spec.versions[{index}]");
        let name = text(version, &["name"]);
        if versions[..index].iter().any(|other| text(other, &["name"]) == name) {
            errors.push(FieldError::invalid(
                "spec.versions",
                Value::Array(versions.to_vec()),
                "must contain unique version names",
            ));
        }
        // What all versions share is kept, and named, once.
        let shared = |field: &str| versions.iter().all(|one| at(one, &[field]) == at(version, &[field]));
        let schema_path = if shared("schema") {
            "spec.validation.openAPIV3Schema".to_owned()
        } else {
            format!("{path}.schema.openAPIV3Schema")
        };
        let columns_path = if shared("additionalPrinterColumns") { "spec" } else { path.as_str() };
        if index == 0 || !shared("additionalPrinterColumns") {
            validate_columns(version, columns_path, errors);
        }
        let wrong = check_name(NameRule::Label1035, name, false);
        errors.extend(wrong.iter().map(|wrong| FieldError::invalid(&format!("{path}.name"), name, wrong)));
        if index == 0 {
            errors.extend(wrong.iter().map(|wrong| FieldError::invalid("spec.version", name, wrong)));
        } else if shared("schema") {
            continue;
        }
        let schema = at(version, &["schema", "openAPIV3Schema"]);
        if !has(version, &["schema", "openAPIV3Schema"]) {
            errors.push(FieldError::required(&format!("{path}.schema.openAPIV3Schema"), ""));
            continue;
        }
        if text(schema, &["type"]) != "object" {
            errors.push(FieldError::invalid(
                &format!("{schema_path}.type"),
                text(schema, &["type"]),
                "must be object at the root",
            ));
        }
        validate_structure(schema, &schema_path, errors);
    }
}

fn validate_columns(version: &Value, path: &str, errors: &mut Vec<FieldError>) {
    const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
    for (index, column) in items(version, &["additionalPrinterColumns"]).iter().enumerate() {
        let field = |name: &str| format!("{path}.additionalPrinterColumns[{index}].{name}");
        let (kind, json_path) = (text(column, &["type"]), text(column, &["jsonPath"]));
        if text(column, &["name"]).is_empty() {
            errors.push(FieldError::required(&field("name"), ""));
        }
        if kind.is_empty() {
            let detail = format!("must be one of {}", TYPES.join(","));
            errors.push(FieldError::required(&field("type"), &detail));
        } else if !TYPES.contains(&kind) {
            errors.push(FieldError::invalid(&field("type"), kind, &format!("must be one of {}", TYPES.join(","))));
        }
        if json_path.is_empty() {
            errors.push(FieldError::required(&field("JSONPath"), ""));
        } else if !json_path.starts_with('.') {
            let detail = "must be a simple json path starting with .";
            errors.push(FieldError::invalid(&field("JSONPath"), json_path, detail));
        }
    }
}

/// A structural schema says the type of everything, and every rule in it parses.
fn validate_structure(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let any_type = at(schema, &["x-kubernetes-int-or-string"]) == true
        || at(schema, &["x-kubernetes-preserve-unknown-fields"]) == true;
    if text(schema, &["type"]).is_empty() && !any_type {
        errors.push(FieldError::required(&format!("{path}.type"), "must not be empty for specified object fields"));
    }
    const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
    let kind = text(schema, &["type"]);
    if !kind.is_empty() && !TYPES.contains(&kind) {
        errors.push(FieldError::not_supported(&format!("{path}.type"), kind, &TYPES));
    }
    if has(schema, &["default"]) {
        for wrong in validate_schema(schema, at(schema, &["default"])) {
            let field = if wrong.field == "<nil>" { String::new() } else { format!(".{}", wrong.field) };
            errors.push(FieldError { field: format!("{path}.default{field}"), ..wrong });
        }
    }
    if text(schema, &["type"]) == "array" && !has(schema, &["items"]) {
        errors.push(FieldError::required(&format!("{path}.items"), "must be specified"));
    }
    for (index, rule) in items(schema, &["x-kubernetes-validations"]).iter().enumerate() {
        let alone = json!({"x-kubernetes-validations": [rule]});
        for (source, trouble) in Rules::of(&alone).broken() {
            let field = format!("{path}.x-kubernetes-validations[{index}].rule");
            errors.push(FieldError::invalid(&field, source, &format!("compilation failed: {trouble}")));
        }
    }
    if let Some(properties) = at(schema, &["properties"]).as_object() {
        for (name, inner) in properties {
            validate_structure(inner, &format!("{path}.properties[{name}]"), errors);
        }
    }
    for below in ["items", "additionalProperties"] {
        if at(schema, &[below]).is_object() {
            validate_structure(at(schema, &[below]), &format!("{path}.{below}"), errors);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toy() -> Value {
        let mut definition = json!({"metadata": {"name": "toys.example.com"}, "spec": {"group": "example.com",
            "scope": "Namespaced", "names": {"plural": "toys", "kind": "Toy"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema":
                {"type": "object", "properties": {"spec": {"type": "object"}}}}}]}});
        default_definition(&mut definition);
        definition
    }

    #[test]
    fn a_good_definition_passes_and_is_defaulted() {
        assert_eq!(validate_definition(&toy()), []);
        assert_eq!(toy()["spec"]["conversion"], json!({"strategy": "None"}));
        assert_eq!(toy()["spec"]["names"]["listKind"], "ToyList");
    }

    #[test]
    fn a_bad_definition_is_refused_field_by_field() {
        let cases: [(&str, Value, &str); 5] = [
            ("/metadata/name", json!("toy.example.com"), "metadata.name"),
            ("/spec/group", json!("example"), "spec.group"),
            ("/spec/scope", json!("Galaxy"), "spec.scope"),
            ("/spec/versions/0/storage", json!(false), "spec.versions"),
            (
                "/spec/versions/0/schema/openAPIV3Schema/properties/spec",
                json!({"x-kubernetes-validations": []}),
                "spec.validation.openAPIV3Schema.properties[spec].type",
            ),
        ];
        for (pointer, value, field) in cases {
            let mut definition = toy();
            if let Some(place) = definition.pointer_mut(pointer) {
                *place = value;
            }
            assert!(validate_definition(&definition).iter().any(|error| error.field == field), "{field}");
        }
    }
}
