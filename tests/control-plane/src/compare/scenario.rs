//! Scenarios as data: named sequences of requests, read from YAML.

use serde::Deserialize;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// One file: scenarios of one kind.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioFile {
    /// A row in the table of what was compared.
    pub kind: String,
    #[serde(default)]
    pub scenarios: Vec<Scenario>,
    /// Worlds of nodes and pods, for the schedulers.
    #[serde(default)]
    pub placements: Vec<Placement>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    pub name: String,
    pub steps: Vec<Step>,
}

/// One request. `${name}` stands for what an earlier step kept; `${ns}` is the scenario's own namespace.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// `METHOD /path?query`.
    pub send: String,
    /// What the body is: `json`, `yaml`, `merge`, `json-patch`, `strategic`, `apply`, or a media type.
    #[serde(default)]
    pub content: Option<String>,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The body as data. `{$use: kept, $set: {/pointer: value}, $drop: [/pointer]}` is a kept object, changed.
    #[serde(default)]
    pub body: Option<Value>,
    /// The body as it is, for bodies that are no JSON. `$repeat` is no variable: see `repeat`.
    #[serde(default)]
    pub text: Option<String>,
    /// A file of this repository as body: a custom resource definition.
    #[serde(default)]
    pub file: Option<PathBuf>,
    /// How often `text` is repeated, for bodies that are too large.
    #[serde(default)]
    pub repeat: Option<usize>,
    /// Kept from the answer: name to JSON pointer (empty: all of it).
    #[serde(default)]
    pub keep: BTreeMap<String, String>,
    /// Makes it a watch: so many events are waited for.
    #[serde(default)]
    pub events: Option<usize>,
    /// Sent while the watch is open.
    #[serde(default)]
    pub during: Vec<Step>,
    /// Asked again until the status is this: what a server does behind an answer takes a moment.
    #[serde(default)]
    pub until: Option<u16>,
    /// And until these pointers of the answer have these values.
    #[serde(default)]
    pub until_equal: BTreeMap<String, Value>,
    /// Only what the world shows is compared; list items are matched by name. For discovery: the world serves less.
    #[serde(default)]
    pub subset: bool,
    /// Only these parts of the answer are compared (JSON pointers); all of it if there are none.
    #[serde(default)]
    pub only: Vec<String>,
}

/// Nodes, pods that are placed already, and pods that a scheduler is asked about, each alone.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Placement {
    pub name: String,
    #[serde(default)]
    pub nodes: Vec<Value>,
    /// Anything else that must be there: `[path, object]`.
    #[serde(default)]
    pub objects: Vec<(String, Value)>,
    #[serde(default)]
    pub placed: Vec<Value>,
    pub pods: Vec<Value>,
}

#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    #[error("reading scenarios from {}: {why}", path.display())]
    Unreadable { path: PathBuf, why: String },
    #[error("{} is no list of scenarios: {why}", path.display())]
    NoScenarios { path: PathBuf, why: String },
}

/// Reads one file.
pub fn read(path: &Path) -> Result<ScenarioFile, ScenarioError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| ScenarioError::Unreadable { path: path.to_owned(), why: error.to_string() })?;
    // `y` and `n` are texts here, as they are to every reader of YAML 1.2.
    serde_saphyr::from_str_with_options(&text, serde_saphyr::options! { strict_booleans: true })
        .map_err(|error| ScenarioError::NoScenarios { path: path.to_owned(), why: error.to_string() })
}

/// All files of a folder that hold scenarios, by name.
pub fn read_all(folder: &Path) -> Result<Vec<ScenarioFile>, ScenarioError> {
    let unreadable =
        |error: std::io::Error| ScenarioError::Unreadable { path: folder.to_owned(), why: error.to_string() };
    let entries = std::fs::read_dir(folder).map_err(unreadable)?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    paths.retain(|path| path.file_name().is_some_and(|name| name != super::known::FILE));
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}
