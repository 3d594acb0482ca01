//! What the variable KUBECONFIG can hold: paths, as kubectl takes them; the document itself; or the document in base64, as
//! platforms that have no files hand it over.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use kube::{
    Config,
    config::{KubeConfigOptions, Kubeconfig, KubeconfigError},
};
use std::path::Path;

use crate::connect::ConnectError;

/// Every kubeconfig names clusters.
const MARK: &str = "clusters";

pub(crate) async fn from_kubeconfig(value: &str) -> Result<Config, ConnectError> {
    let options = KubeConfigOptions::default();
    match document(value) {
        Some(text) => {
            let unreadable = |why: KubeconfigError| ConnectError::Inline { why: kind_of(&why) };
            let kubeconfig = Kubeconfig::from_yaml(&text).map_err(unreadable)?;
            Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(unreadable)
        }
        None => {
            let failed = |path: &Path, why| ConnectError::Kubeconfig { path: path.to_owned(), why };
            let mut merged = Kubeconfig::default();
            for path in std::env::split_paths(value).filter(|path| !path.as_os_str().is_empty()) {
                let next = Kubeconfig::read_from(&path).map_err(|why| failed(&path, why))?;
                merged = merged.merge(next).map_err(|why| failed(&path, why))?;
            }
            Config::from_custom_kubeconfig(merged, &options).await.map_err(|why| failed(Path::new(value), why))
        }
    }
}

pub(crate) fn in_pod() -> Result<Config, ConnectError> {
    Config::incluster().map_err(|why| ConnectError::Nowhere { why })
}

/// The document, if the value is one and not a list of paths.
fn document(value: &str) -> Option<String> {
    let text = value.trim();
    let is_document = |text: &str| text.contains(MARK) && (text.starts_with('{') || text.contains('\n'));
    if is_document(text) {
        return Some(text.to_owned());
    }
    let packed: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    let unpacked = STANDARD.decode(packed).ok().and_then(|bytes| String::from_utf8(bytes).ok())?;
    is_document(unpacked.trim()).then_some(unpacked)
}

/// What is wrong, without the words of the parser: it repeats what it could not read.
fn kind_of(error: &KubeconfigError) -> String {
    match error {
        KubeconfigError::CurrentContextNotSet => "it has no current-context".to_owned(),
        KubeconfigError::LoadContext(name) => format!("its context {name:?} is not there"),
        KubeconfigError::LoadClusterOfContext(name) => format!("its cluster {name:?} is not there"),
        KubeconfigError::ReadConfig(_, path) => format!("the file {} cannot be read", path.display()),
        KubeconfigError::Parse(_) => "it is not YAML of that shape".to_owned(),
        KubeconfigError::MissingClusterUrl => "its cluster has no server".to_owned(),
        _ => "its certificates or addresses cannot be read".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const YAML: &str = "apiVersion: v1\nkind: Config\nclusters: []\n";

    #[test]
    fn a_value_is_a_document_or_a_list_of_paths() {
        let packed = STANDARD.encode(YAML);
        let folded = format!("{}\n{}", &packed[..20], &packed[20..]);
        for document_given in [YAML, "{\"clusters\": []}", packed.as_str(), folded.as_str()] {
            assert!(document(document_given).is_some_and(|text| text.contains("clusters")), "{document_given}");
        }
        for paths in ["/home/me/.kube/config", "a:b", "clusters.yaml", "", "Y2x1c3RlcnM="] {
            assert_eq!(document(paths), None, "{paths}");
        }
    }
}
