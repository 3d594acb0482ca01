//! `x-kubernetes-validations`: CEL rules on any part of a schema, with transition rules over `oldSelf`.

use super::cel_functions::{ENVIRONMENT, context};
use super::cel_values::to_cel;
use super::schema_validate::matching_item;
use crate::resources::errors::{FieldError, Reason};
use crate::resources::look::{at, items, text};
use cel::objects::OptionalValue;
use cel::{Context, ExecutionError, Program, Value as CelValue};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// All rules of one schema, compiled once, by their text.
#[derive(Debug, Default)]
pub struct Rules {
    programs: HashMap<String, Result<Program, String>>,
}

/// A place in the object: its value now and before, and how errors call it.
struct Place<'a> {
    schema: &'a Value,
    value: &'a Value,
    old: Option<&'a Value>,
    path: String,
}

impl Rules {
    pub fn of(schema: &Value) -> Self {
        let mut rules = Rules::default();
        rules.collect(schema);
        rules
    }

    fn collect(&mut self, schema: &Value) {
        for rule in items(schema, &["x-kubernetes-validations"]) {
            for source in [text(rule, &["rule"]), text(rule, &["messageExpression"])] {
                if !source.is_empty() && !self.programs.contains_key(source) {
                    let compiled = ENVIRONMENT.compile(source).map_err(|error| error.to_string());
                    self.programs.insert(source.to_owned(), compiled);
                }
            }
        }
        match schema {
            Value::Object(map) => map.values().for_each(|inner| self.collect(inner)),
            Value::Array(list) => list.iter().for_each(|inner| self.collect(inner)),
            _ => {}
        }
    }

    /// Sources that do not parse, with the parser's words: the server refuses a CRD that has any.
    pub fn broken(&self) -> impl Iterator<Item = (&str, &str)> {
        self.programs.iter().filter_map(|(source, program)| Some((source.as_str(), program.as_ref().err()?.as_str())))
    }

    pub fn is_empty(&self) -> bool {
        self.programs.is_empty()
    }

    pub fn validate(&self, schema: &Value, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if !self.programs.is_empty() {
            self.walk(&context(), &Place { schema, value: object, old, path: String::new() }, &mut errors);
        }
        errors
    }

    fn walk(&self, root: &Context, place: &Place, errors: &mut Vec<FieldError>) {
        if place.value.is_null() {
            return;
        }
        self.judge(root, place, errors);
        for part in items(place.schema, &["allOf"]) {
            self.walk(
                root,
                &Place { schema: part, value: place.value, old: place.old, path: place.path.clone() },
                errors,
            );
        }
        match place.value {
            Value::Array(list) => {
                let schema = at(place.schema, &["items"]);
                for (index, value) in list.iter().enumerate() {
                    let old = matching_item(place.schema, value, place.old);
                    self.walk(root, &Place { schema, value, old, path: format!("{}[{index}]", place.path) }, errors);
                }
            }
            Value::Object(map) => {
                let properties = at(place.schema, &["properties"]);
                let additional = at(place.schema, &["additionalProperties"]);
                for (name, value) in map {
                    let old = place.old.and_then(|old| old.get(name));
                    if let Some(schema) = properties.get(name) {
                        let path = if place.path.is_empty() { name.clone() } else { format!("{}.{name}", place.path) };
                        self.walk(root, &Place { schema, value, old, path }, errors);
                    } else if additional.is_object() {
                        let path = format!("{}[{name}]", place.path);
                        self.walk(root, &Place { schema: additional, value, old, path }, errors);
                    }
                }
            }
            _ => {}
        }
    }

    fn judge(&self, root: &Context, place: &Place, errors: &mut Vec<FieldError>) {
        let rules = items(place.schema, &["x-kubernetes-validations"]);
        if rules.is_empty() {
            return;
        }
        let schema_type = text(place.schema, &["type"]);
        let here = if place.path.is_empty() { "<nil>" } else { &place.path };
        let current = to_cel(place.schema, place.value);
        let before = place.old.filter(|old| !old.is_null()).map(|old| to_cel(place.schema, old));
        for rule in rules {
            let program = match self.programs.get(text(rule, &["rule"])) {
                Some(Ok(program)) => program,
                Some(Err(error)) => {
                    errors.push(FieldError::invalid(here, schema_type, &format!("rule compile error: {error}")));
                    continue;
                }
                None => continue,
            };
            let is_transition = program.references().has_variable("oldSelf");
            let old_is_optional = at(rule, &["optionalOldSelf"]) == true;
            if is_transition && before.is_none() && !old_is_optional {
                continue;
            }
            let mut scope = root.new_inner_scope();
            scope.add_variable_from_value("self", current.clone());
            if old_is_optional {
                let optional = before.clone().map_or_else(OptionalValue::none, OptionalValue::of);
                scope.add_variable_from_value("oldSelf", CelValue::Opaque(Arc::new(optional)));
            } else if let Some(before) = &before {
                scope.add_variable_from_value("oldSelf", before.clone());
            }
            // A part that did not change keeps the right to be as it is, unless the rule is about the change.
            let ratcheted = !is_transition && place.old == Some(place.value);
            match program.execute(&scope) {
                Ok(CelValue::Bool(true)) => {}
                Ok(_) if ratcheted => {}
                Ok(_) => errors.push(self.refusal(rule, &scope, place)),
                Err(error) => errors.push(FieldError::invalid(here, schema_type, &trouble(&error, rule))),
            }
        }
    }

    fn refusal(&self, rule: &Value, scope: &Context, place: &Place) -> FieldError {
        let value = place.value.clone();
        let field = match (place.path.as_str(), text(rule, &["fieldPath"])) {
            ("", "") => "<nil>".to_owned(),
            (path, "") => path.to_owned(),
            ("", below) => plain_path(below).trim_start_matches('.').to_owned(),
            (path, below) => format!("{path}{}", plain_path(below)),
        };
        let from_expression = match self.programs.get(text(rule, &["messageExpression"])) {
            Some(Ok(program)) => program.execute(scope).ok(),
            _ => None,
        };
        let detail = match from_expression {
            Some(CelValue::String(words)) if !words.trim().is_empty() && !words.trim().contains('\n') => {
                words.trim().to_owned()
            }
            _ => match text(rule, &["message"]).trim() {
                "" => format!("failed rule: {}", text(rule, &["rule"]).trim()),
                message => message.to_owned(),
            },
        };
        match text(rule, &["reason"]) {
            "FieldValueForbidden" => FieldError::forbidden(&field, &detail),
            "FieldValueRequired" => FieldError::required(&field, &detail),
            "FieldValueDuplicate" => FieldError::new(Reason::Duplicate, &field, value, ""),
            // Only what is one word or number is repeated.
            _ if value.is_object() || value.is_array() => FieldError::invalid(&field, value, &detail).shown_as(""),
            _ => FieldError::invalid(&field, value, &detail),
        }
    }
}

/// `.spec['a.b']` as field errors write it: `.spec[a.b]`.
fn plain_path(path: &str) -> String {
    path.replace("['", "[").replace("']", "]")
}

/// A rule that could not be evaluated, in cel-go's words where they differ from the crate's.
fn trouble(error: &ExecutionError, rule: &Value) -> String {
    let rule = match text(rule, &["message"]).trim() {
        "" => text(rule, &["rule"]).trim(),
        message => message,
    };
    match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key} evaluating rule: {rule}"),
        ExecutionError::DivisionByZero(_) => format!("division by zero evaluating rule: {rule}"),
        ExecutionError::RemainderByZero(_) => format!("modulus by zero evaluating rule: {rule}"),
        ExecutionError::Overflow(..) => format!("integer overflow evaluating rule: {rule}"),
        ExecutionError::IndexOutOfBounds(CelValue::Int(index)) => {
            format!("index out of bounds: {index} evaluating rule: {rule}")
        }
        ExecutionError::NoSuchOverload(_) => format!(
            "'no such overload': call arguments did not match a supported operator, function or macro signature for \
             rule: {rule}"
        ),
        ExecutionError::FunctionError { message, .. } => format!("{message} evaluating rule: {rule}"),
        other => format!("{other} evaluating rule: {rule}"),
    }
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
