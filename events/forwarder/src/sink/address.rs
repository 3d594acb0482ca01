//! Where a function is: a URL or a Lambda function, from what was written in a setting.

use url::Url;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    Http(Url),
    Lambda {
        /// An ARN.
        function: String,
        region: String,
    },
}

/// Why a text is no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AddressProblem(String);

/// Stands for the function's name.
const PLACEHOLDER: &str = "{function}";

impl Address {
    /// As it is, with the name in the place of `{function}`.
    pub fn exact(text: &str, function: &str) -> Result<Self, AddressProblem> {
        let text = text.replace(PLACEHOLDER, function);
        if text.starts_with("arn:") {
            return lambda(&text);
        }
        match Url::parse(&text) {
            Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(Address::Http(url)),
            _ => {
                let shown: String = text.chars().take(80).collect();
                Err(AddressProblem(format!(
                    "{shown:?} is neither a URL that begins with http:// or https://, nor a Lambda ARN"
                )))
            }
        }
    }

    /// What all functions share: the name is put in, or comes behind.
    pub fn of_base(text: &str, function: &str) -> Result<Self, AddressProblem> {
        if text.contains(PLACEHOLDER) {
            return Address::exact(text, function);
        }
        match Address::exact(text, function)? {
            Address::Http(mut url) => {
                if let Ok(mut path) = url.path_segments_mut() {
                    path.pop_if_empty().push(function);
                }
                Ok(Address::Http(url))
            }
            Address::Lambda { .. } => Err(AddressProblem(format!(
                "the Lambda ARN names one function for all: write {PLACEHOLDER} in its place"
            ))),
        }
    }

    /// Knative's sink: a Broker has a path, which it is found by; a service without one serves all functions.
    pub fn of_knative(text: &str, function: &str) -> Result<Self, AddressProblem> {
        match Address::exact(text, function)? {
            Address::Http(url) if url.path() == "/" && !text.contains(PLACEHOLDER) => Address::of_base(text, function),
            other => Ok(other),
        }
    }
}

/// `arn:aws:lambda:<region>:<account>:function:<name>`, perhaps with a version or alias.
fn lambda(arn: &str) -> Result<Address, AddressProblem> {
    let plain = arn.chars().all(|c| c.is_ascii_alphanumeric() || "-_:$.".contains(c));
    match arn.split(':').collect::<Vec<&str>>().as_slice() {
        [_, _, "lambda", region, _, "function", name, ..] if plain && !region.is_empty() && !name.is_empty() => {
            Ok(Address::Lambda { function: arn.to_owned(), region: (*region).to_owned() })
        }
        _ => Err(AddressProblem(
            "it begins as an ARN and is not one of a Lambda function, arn:aws:lambda:<region>:<account>:function:<name>".to_owned(),
        )),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    fn check(read: fn(&str, &str) -> Result<Address, AddressProblem>, text: &str, expected: &str) {
        let found = match read(text, "on-delete") {
            Ok(Address::Http(url)) => url.to_string(),
            Ok(Address::Lambda { function, region }) => format!("{region} {function}"),
            Err(problem) => problem.to_string(),
        };
        assert!(found.contains(expected), "{text}: {found}");
    }

    #[test]
    fn a_base_gets_the_functions_name_and_an_exact_address_does_not() {
        check(Address::of_base, "http://a:8080", "http://a:8080/on-delete");
        check(Address::of_base, "https://a/api/", "https://a/api/on-delete");
        check(Address::of_base, "http://{function}.ns.svc/", "http://on-delete.ns.svc/");
        check(Address::exact, "http://a/b?code=1", "http://a/b?code=1");
        check(Address::of_base, "ftp://a", "neither a URL");
        check(Address::of_base, "a:8080", "neither a URL");
    }

    #[test]
    fn a_broker_is_found_by_its_path_and_a_service_by_its_name() {
        check(Address::of_knative, "http://broker/ns/default", "http://broker/ns/default");
        check(
            Address::of_knative,
            "http://service.ns.svc.cluster.local",
            "http://service.ns.svc.cluster.local/on-delete",
        );
    }

    #[test]
    fn an_arn_names_region_and_function() {
        let arn = "arn:aws:lambda:eu-west-1:123456789012:function:";
        check(Address::of_base, &format!("{arn}{{function}}"), &format!("eu-west-1 {arn}on-delete"));
        check(Address::exact, &format!("{arn}x:live"), &format!("eu-west-1 {arn}x:live"));
        check(Address::of_base, &format!("{arn}x"), "write {function}");
        check(Address::exact, "arn:aws:sqs:eu-west-1:1:q", "is not one of a Lambda function");
        check(Address::exact, &format!("{arn}x/../y"), "is not one of a Lambda function");
    }
}
