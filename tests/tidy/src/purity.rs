//! Crates that must not be linked: nothing that can do IO below `decide`, and one TLS stack (rustls with ring) everywhere.

use crate::Offence;

/// What would let a pure crate wait, talk or parse the outside world's text. The standard library is fine.
pub const FORBIDDEN_IN_PURE: &[&str] = &[
    "async-std",
    "axum",
    "futures",
    "futures-util",
    "getrandom",
    "http",
    "hyper",
    "hyper-util",
    "kube",
    "k8s-openapi",
    "lambda_runtime",
    "log",
    "mio",
    "reqwest",
    "rustls",
    "serde-saphyr",
    "serde_json",
    "smol",
    "socket2",
    "tokio",
    "tower",
    "tracing",
    "ureq",
];

/// A second TLS or crypto stack: more to patch, larger binaries, and two rustls providers in one process panic at run time.
pub const FORBIDDEN_EVERYWHERE: &[&str] = &["aws-lc-rs", "aws-lc-sys", "native-tls", "openssl", "openssl-sys"];

/// `linked` are the crates in the normal dependency tree of the pure package `name`, itself included.
pub fn offences_in_pure(name: &str, linked: &[String]) -> Vec<Offence> {
    linked
        .iter()
        .filter(|krate| FORBIDDEN_IN_PURE.contains(&krate.as_str()))
        .map(|krate| {
            format!("{name} links {krate}, and must stay pure: `cargo tree -p {name} -e normal -i {krate}` shows through what")
        })
        .collect()
}

/// `lock` is the text of Cargo.lock, which names every crate of every feature and target.
pub fn offences_in_lock(lock: &str) -> Vec<Offence> {
    lock.lines()
        .filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'))
        .filter(|krate| FORBIDDEN_EVERYWHERE.contains(krate))
        .map(|krate| {
            format!(
                "Cargo.lock has {krate}: leave out the default features that bring it; \
                 `cargo tree --workspace --all-features --target all -i {krate}` shows through what"
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{offences_in_lock, offences_in_pure};

    #[test]
    fn a_pure_crate_that_links_a_runtime_is_an_offence() {
        let linked = ["decide", "model", "jiff", "tokio", "serde_json"].map(String::from);
        let offences = offences_in_pure("decide", &linked);
        assert_eq!(offences.len(), 2);
        assert!(offences[0].starts_with("decide links tokio"), "{offences:?}");
    }

    #[test]
    fn similar_names_are_not_taken_for_forbidden_ones() {
        assert!(offences_in_pure("model", &["model", "httparse", "tokio-macros"].map(String::from)).is_empty());
        assert!(offences_in_lock("name = \"openssl-probe\"\nversion = \"1\"").is_empty());
    }

    #[test]
    fn a_second_tls_stack_in_the_lock_file_is_an_offence() {
        let lock =
            "[[package]]\nname = \"aws-lc-rs\"\n\n[[package]]\nname = \"ring\"\n\n[[package]]\nname = \"openssl\"\n";
        let offences = offences_in_lock(lock);
        assert_eq!(offences.len(), 2);
        assert!(offences[0].starts_with("Cargo.lock has aws-lc-rs"), "{offences:?}");
    }
}
