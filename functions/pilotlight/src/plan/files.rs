//! Files, folders and standard input, document by document.

use serde_json::Value;
use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use super::manifest::Manifest;

const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];
/// More than any cluster has; a text that holds more than that is not read by accident.
const MOST_PARTS: usize = 100_000_000;

/// Everything in the order it is named; a folder in the order of its names.
pub fn read_all(paths: &[PathBuf], manifest: &mut Manifest) -> Result<(), String> {
    for path in paths {
        if path == Path::new("-") {
            let mut text = String::new();
            let read = io::stdin().read_to_string(&mut text);
            read.map_err(|error| format!("standard input cannot be read: {error}"))?;
            read_text("standard input", &text, false, manifest)?;
            continue;
        }
        let mut files = Vec::new();
        find(path, true, &mut files)?;
        for file in files {
            let name = file.display().to_string();
            let text = fs::read_to_string(&file).map_err(|error| format!("{name} cannot be read: {error}"))?;
            read_text(&name, &text, file.extension().is_some_and(|extension| extension == "json"), manifest)?;
        }
    }
    Ok(())
}

/// What a file named on the command line is called does not matter.
fn find(path: &Path, named: bool, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let cannot = |error: io::Error| format!("{} cannot be read: {error}", path.display());
    if !fs::metadata(path).map_err(cannot)?.is_dir() {
        let extension = path.extension().and_then(|extension| extension.to_str());
        if named || extension.is_some_and(|own| EXTENSIONS.contains(&own)) {
            files.push(path.to_owned());
        }
        return Ok(());
    }
    let entries = fs::read_dir(path).map_err(cannot)?.map(|entry| entry.map(|entry| entry.path()));
    let mut below = entries.collect::<Result<Vec<PathBuf>, io::Error>>().map_err(cannot)?;
    below.sort();
    below.iter().try_for_each(|entry| find(entry, false, files))
}

fn read_text(file: &str, text: &str, json: bool, manifest: &mut Manifest) -> Result<(), String> {
    for (index, document) in documents(text).into_iter().enumerate() {
        let at = format!("{file}, document {}", index + 1);
        let value = if json {
            serde_json::from_str(&document).map_err(|error| format!("{at}: {error}"))?
        } else {
            yaml(&document).map_err(|why| format!("{at}: {why}"))?
        };
        // Nothing but comments.
        if value != Value::Null {
            manifest.add(&at, value)?;
        }
    }
    Ok(())
}

/// A line of three dashes, and nothing but a comment after them, stands between documents.
fn documents(text: &str) -> Vec<String> {
    let mut documents = vec![String::new()];
    for line in text.split_inclusive('\n') {
        let rest = line.strip_prefix("---").map(str::trim);
        let separates = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('#'));
        match documents.last_mut() {
            Some(last) if separates && last.is_empty() => {}
            Some(last) if !separates => last.push_str(line),
            _ => documents.push(String::new()),
        }
    }
    documents.retain(|document| !document.is_empty());
    documents
}

/// One document of YAML, however large.
pub fn yaml(text: &str) -> Result<Value, String> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: MOST_PARTS,
            max_nodes: MOST_PARTS,
            max_total_scalar_bytes: MOST_PARTS * 10,
        },
        with_snippet: false,
    };
    if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(Value::Null);
    }
    serde_saphyr::from_str_with_options(text, options).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_stand_between_lines_of_dashes() {
        let check = |text: &str, expected: &[&str]| assert_eq!(documents(text), expected, "{text:?}");
        check("a: 1\n---\nb: 2\n", &["a: 1\n", "b: 2\n"]);
        check("---\na: 1\n--- # next\nb: 2", &["a: 1\n", "b: 2"]);
        check("a: |\n  ---\n", &["a: |\n  ---\n"]);
        check("", &[]);
    }
}
