//! The rules for names: DNS-1123 subdomains and labels, qualified names and label values, with the server's messages.

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
    '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
    start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const LABEL_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
    alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
    validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const QUALIFIED_PART: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and \
    end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const QUALIFIED_FORM: &str = "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must \
    start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
    validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. \
    'example.com/MyName')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
    '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex \
    used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const CONFIG_KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. \
    'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

/// How the objects of a kind may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    Subdomain,
    Label,
    /// Services, whose names become DNS-1035 labels.
    Label1035,
    /// Only what a URL path cannot carry is refused.
    PathSegment,
}

/// What is wrong with a name; `prefix` when it is a generateName, which may end in a dash.
pub fn check_name(rule: NameRule, name: &str, prefix: bool) -> Vec<String> {
    let whole = if prefix && name.ends_with('-') { format!("{}a", &name[..name.len() - 1]) } else { name.to_owned() };
    match rule {
        NameRule::Subdomain => check_subdomain(&whole),
        NameRule::Label => check_label(&whole),
        NameRule::Label1035 => {
            let mut wrong = too_long(&whole, 63);
            if !whole.starts_with(|first: char| first.is_ascii_lowercase()) || !is_label(&whole) {
                wrong.push(LABEL_1035.to_owned());
            }
            wrong
        }
        NameRule::PathSegment => check_path_segment(&whole),
    }
}

pub fn check_subdomain(name: &str) -> Vec<String> {
    let mut wrong: Vec<String> = too_long(name, 253).iter().map(|said| said.replace("bytes", "characters")).collect();
    if !name.split('.').all(is_label) {
        wrong.push(SUBDOMAIN.to_owned());
    }
    wrong
}

/// The key of a label, an annotation, a taint: `name` or `example.com/name`.
pub fn check_qualified_name(name: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let part = match name.split('/').collect::<Vec<_>>().as_slice() {
        [part] => *part,
        [prefix, part] => {
            if prefix.is_empty() {
                wrong.push("prefix part must be non-empty".to_owned());
            } else {
                wrong.extend(check_subdomain(prefix).into_iter().map(|message| format!("prefix part {message}")));
            }
            *part
        }
        _ => return vec![QUALIFIED_FORM.to_owned()],
    };
    if part.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    } else if part.len() > 63 {
        wrong.push("name part must be no more than 63 bytes".to_owned());
    }
    if !is_qualified_part(part) {
        wrong.push(QUALIFIED_PART.to_owned());
    }
    wrong
}

/// The key of a label: a qualified name, in words of its own where it has too many parts.
pub fn check_label_key(name: &str) -> Vec<String> {
    let named = |message: String| message.replacen("a qualified name must", "a valid label key must", 1);
    check_qualified_name(name).into_iter().map(named).collect()
}

pub fn check_label_value(value: &str) -> Vec<String> {
    let mut wrong = too_long(value, 63);
    if !value.is_empty() && !is_qualified_part(value) {
        wrong.push(LABEL_VALUE.to_owned());
    }
    wrong
}

/// The keys of a ConfigMap and a Secret.
pub fn check_config_key(key: &str) -> Vec<String> {
    let mut wrong = too_long(key, 253);
    if key.is_empty() || !key.chars().all(|one| one.is_ascii_alphanumeric() || matches!(one, '-' | '_' | '.')) {
        wrong.push(CONFIG_KEY.to_owned());
    } else if matches!(key, "." | "..") {
        wrong.push(format!("must not be '{key}'"));
    } else if key.starts_with("..") {
        wrong.push("must not start with '..'".to_owned());
    }
    wrong
}

/// A namespace or an owner's name as a part of something longer: dots have their own words.
pub fn check_label(name: &str) -> Vec<String> {
    let mut wrong = too_long(name, 63);
    if !is_label(name) {
        let dotted = name.contains('.') && name.split('.').all(is_label);
        wrong.push(if dotted { "must not contain dots".to_owned() } else { LABEL.to_owned() });
    }
    wrong
}

fn check_path_segment(name: &str) -> Vec<String> {
    if matches!(name, "." | "..") {
        return vec![format!("may not be '{name}'")];
    }
    ["/", "%"].iter().filter(|bad| name.contains(**bad)).map(|bad| format!("may not contain '{bad}'")).collect()
}

fn too_long(text: &str, most: usize) -> Vec<String> {
    if text.len() > most { vec![format!("must be no more than {most} bytes")] } else { Vec::new() }
}

fn is_label(text: &str) -> bool {
    let inside = |one: char| one.is_ascii_lowercase() || one.is_ascii_digit();
    text.starts_with(inside) && text.ends_with(inside) && text.chars().all(|one| inside(one) || one == '-')
}

fn is_qualified_part(text: &str) -> bool {
    let inside = |one: char| one.is_ascii_alphanumeric();
    text.starts_with(inside)
        && text.ends_with(inside)
        && text.chars().all(|one| inside(one) || matches!(one, '-' | '_' | '.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_judged_by_their_rule() {
        let cases = [
            (NameRule::Subdomain, "a.b-c", false, 0),
            (NameRule::Subdomain, "A", false, 1),
            (NameRule::Subdomain, "", false, 1),
            (NameRule::Subdomain, "web-", true, 0),
            (NameRule::Subdomain, "web-", false, 1),
            (NameRule::Label, "a.b", false, 1),
            (NameRule::Label1035, "1a", false, 1),
            (NameRule::PathSegment, "A/b", false, 1),
            (NameRule::PathSegment, "system:x", false, 0),
        ];
        for (rule, name, prefix, wrong) in cases {
            assert_eq!(check_name(rule, name, prefix).len(), wrong, "{rule:?} {name}");
        }
    }

    #[test]
    fn label_keys_and_values_are_judged() {
        for (key, wrong) in [("app", 0), ("example.com/App_1", 0), ("/x", 1), ("a/b/c", 1), ("-x", 1), ("", 2)] {
            assert_eq!(check_qualified_name(key).len(), wrong, "{key}");
        }
        assert!(check_label_value("").is_empty());
        assert_eq!(check_label_value("a b").len(), 1);
        assert_eq!(check_config_key("..data").len(), 1);
    }
}
