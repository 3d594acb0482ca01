//! The simple JSON paths of printer columns and scale subresources: `.spec.replicas`, `['a.b']`, `[0]`, `[*]` and
//! `[?(@.type=="Ready")]`.

use serde_json::Value;

/// All values the path leads to, in order; none when a step leads nowhere or the path is not understood.
pub fn find<'a>(path: &str, object: &'a Value) -> Vec<&'a Value> {
    let Some(steps) = parse(path) else { return Vec::new() };
    let mut found = vec![object];
    for step in &steps {
        found = found.into_iter().flat_map(|value| take(step, value)).collect();
    }
    found
}

#[derive(Debug, PartialEq)]
enum Step {
    Field(String),
    Index(i64),
    Each,
    Where { path: String, operator: String, wanted: Value },
}

fn take<'a>(step: &Step, value: &'a Value) -> Vec<&'a Value> {
    match step {
        Step::Field(name) => value.get(name).into_iter().collect(),
        Step::Index(index) => {
            let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
            let length = list.len() as i64;
            let place = if *index < 0 { length + index } else { *index };
            usize::try_from(place).ok().and_then(|place| list.get(place)).into_iter().collect()
        }
        Step::Each => match value {
            Value::Array(list) => list.iter().collect(),
            Value::Object(map) => map.values().collect(),
            _ => Vec::new(),
        },
        Step::Where { path, operator, wanted } => {
            let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
            list.iter()
                .filter(|item| find(path, item).first().is_some_and(|one| holds(one, operator, wanted)))
                .collect()
        }
    }
}

fn holds(value: &Value, operator: &str, wanted: &Value) -> bool {
    let order = match (value.as_f64(), wanted.as_f64()) {
        (Some(one), Some(other)) => one.partial_cmp(&other),
        _ => value.as_str().zip(wanted.as_str()).map(|(one, other)| one.cmp(other)),
    };
    match operator {
        "==" => value == wanted,
        "!=" => value != wanted,
        "<" => order.is_some_and(|order| order.is_lt()),
        "<=" => order.is_some_and(|order| order.is_le()),
        ">" => order.is_some_and(|order| order.is_gt()),
        ">=" => order.is_some_and(|order| order.is_ge()),
        // `[?(@.x)]` asks only whether there is one.
        _ => true,
    }
}

fn parse(path: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let mut rest = path.trim();
    rest = rest.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')).unwrap_or(rest);
    rest = rest.strip_prefix('$').unwrap_or(rest);
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let end = closing(inside)?;
            steps.push(parse_bracket(inside[..end].trim())?);
            rest = &inside[end + 1..];
        } else {
            let (name, after) = parse_name(rest.strip_prefix('.').unwrap_or(rest));
            match name.as_str() {
                "" if after.is_empty() || after.starts_with('[') => {}
                "" => return None,
                "*" => steps.push(Step::Each),
                _ => steps.push(Step::Field(name)),
            }
            rest = after;
        }
    }
    Some(steps)
}

/// A field name up to the next dot or bracket; `\.` is a dot of the name.
fn parse_name(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut characters = text.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '\\' => name.extend(characters.next().map(|(_, escaped)| escaped)),
            '.' | '[' => return (name, &text[index..]),
            plain => name.push(plain),
        }
    }
    (name, "")
}

/// The place of the bracket that closes, quotes and inner brackets left aside.
fn closing(inside: &str) -> Option<usize> {
    let mut depth = 0;
    let mut quote = None;
    for (index, character) in inside.char_indices() {
        match (quote, character) {
            (Some(open), close) if open == close => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(character),
            (None, '[') => depth += 1,
            (None, ']') if depth == 0 => return Some(index),
            (None, ']') => depth -= 1,
            (None, _) => {}
        }
    }
    None
}

fn parse_bracket(inside: &str) -> Option<Step> {
    if inside == "*" {
        return Some(Step::Each);
    }
    if let Some(name) = unquote(inside) {
        return Some(Step::Field(name.replace("\\.", ".")));
    }
    if let Some(condition) = inside.strip_prefix("?(").and_then(|rest| rest.strip_suffix(')')) {
        for operator in ["==", "!=", "<=", ">=", "<", ">"] {
            if let Some((path, wanted)) = condition.split_once(operator) {
                let wanted = wanted.trim();
                let wanted = match unquote(wanted) {
                    Some(text) => Value::String(text.to_owned()),
                    None => serde_json::from_str(wanted).ok()?,
                };
                let path = path.trim().trim_start_matches('@').to_owned();
                return Some(Step::Where { path, operator: operator.to_owned(), wanted });
            }
        }
        let path = condition.trim().trim_start_matches('@').to_owned();
        return Some(Step::Where { path, operator: String::new(), wanted: Value::Null });
    }
    inside.parse().ok().map(Step::Index)
}

fn unquote(text: &str) -> Option<&str> {
    let single = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    single.or_else(|| text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_lead_where_kubectl_says_they_do() {
        let object = json!({"metadata": {"labels": {"a.b/c": "label"}}, "spec": {"n": 3, "list": [{"v": 1}, {"v": 2}]},
            "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "False"}]}});
        let cases = [
            (".spec.n", json!([3])),
            ("spec.n", json!([3])),
            ("{.spec.n}", json!([3])),
            (".metadata.labels.a\\.b/c", json!(["label"])),
            (".metadata.labels['a\\.b/c']", json!(["label"])),
            (".spec.list[1].v", json!([2])),
            (".spec.list[-1].v", json!([2])),
            (".spec.list[*].v", json!([1, 2])),
            (".status.conditions[?(@.type==\"Ready\")].status", json!(["True"])),
            (".status.conditions[?(@.type=='Other')].status", json!(["False"])),
            (".spec.list[?(@.v>1)].v", json!([2])),
            (".spec.absent.n", json!([])),
            (".spec.list[", json!([])),
        ];
        for (path, expected) in cases {
            assert_eq!(json!(find(path, &object)), expected, "{path}");
        }
    }
}
