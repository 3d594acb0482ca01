//! Where settings come from: the environment first, then the file.

use std::{collections::BTreeMap, env};

use super::{CATALOGUE, FORWARDER, Problem, add};

/// Names and values, already merged.
#[derive(Debug, Clone, Default)]
pub struct SettingSource {
    environment: BTreeMap<String, String>,
    file: BTreeMap<String, String>,
}

impl SettingSource {
    pub fn from_env() -> Self {
        // A variable that is not UTF-8 cannot be one of ours.
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        SettingSource { environment: env::vars_os().filter_map(text).collect(), file: BTreeMap::new() }
    }

    /// For tests and for programs that embed the host.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let environment = pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        SettingSource { environment, file: BTreeMap::new() }
    }

    /// An empty value is no value: that is how charts and templates leave a setting out.
    pub fn get(&self, variable: &str) -> Option<String> {
        let values = [self.environment.get(variable), self.file.get(variable)];
        values.into_iter().flatten().map(|value| value.trim()).find(|value| !value.is_empty()).map(str::to_owned)
    }

    /// All of them, the environment's before the file's.
    pub(crate) fn all(&self) -> BTreeMap<String, String> {
        self.file.iter().chain(&self.environment).map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// A name of ours that does not exist is a slip; other names belong to other programs that share the file.
    pub(super) fn add_file(&mut self, file: BTreeMap<String, String>, problems: &mut Vec<Problem>) {
        for name in file.keys().filter(|name| name.starts_with("PILOTLIGHT_")) {
            if !CATALOGUE.iter().chain(&FORWARDER).any(|known| known.variable == name) {
                let shown: String = name.chars().take(80).collect();
                add(problems, &shown, "is in the file of PILOTLIGHT_CONFIG, and no setting has this name".to_owned());
            }
        }
        self.file = file;
    }
}
