//! The rules, held against this repository. A failure lists every offence and says what to do.

use std::sync::LazyLock;

use tidy::repository::Repository;
use tidy::{
    Failure, function_shape, length, links, machine_paths, openings, orphans, packages, purity, samples, top_level,
    verdict,
};

type Verdict = Result<(), Failure>;

static REPOSITORY: LazyLock<Result<Repository, String>> = LazyLock::new(Repository::read);

fn repository() -> Result<&'static Repository, String> {
    REPOSITORY.as_ref().map_err(Clone::clone)
}

#[test]
fn dependencies_point_only_downwards() -> Verdict {
    verdict("direction of dependencies", packages::offences(&repository()?.packages))
}

#[test]
fn pure_crates_link_nothing_that_can_do_io() -> Verdict {
    let repository = repository()?;
    let mut offences = vec![];
    // A pure crate that is not written yet has nothing to be checked.
    for package in repository.packages.iter().filter(|package| packages::PURE.contains(&package.name.as_str())) {
        offences.extend(purity::offences_in_pure(&package.name, &repository.linked_by(&package.name)?));
    }
    verdict("purity of model and decide", offences)
}

#[test]
fn one_tls_stack_is_linked() -> Verdict {
    let lock = repository()?.texts.get("Cargo.lock").ok_or_else(|| "Cargo.lock is missing: commit it".to_owned())?;
    verdict("forbidden crates", purity::offences_in_lock(lock))
}

#[test]
fn files_are_short() -> Verdict {
    let sources = repository()?.texts_ending(".rs");
    verdict("file length", sources.flat_map(|(path, text)| length::offences(path, text)).collect())
}

#[test]
fn line_one_says_what_a_file_is_for() -> Verdict {
    let files = repository()?.texts_ending("");
    verdict("line one", files.flat_map(|(path, text)| openings::offences(path, text)).collect())
}

#[test]
fn every_source_file_is_compiled() -> Verdict {
    let repository = repository()?;
    let sources = repository.texts_ending(".rs").map(|(path, text)| (path.to_owned(), text.to_owned())).collect();
    let targets = repository.packages.iter().flat_map(|package| &package.targets);
    let roots: Vec<String> = targets.map(|target| target.root.clone()).collect();
    verdict("orphan files", orphans::offences(&sources, &roots))
}

#[test]
fn samples_are_named_after_their_function() -> Verdict {
    let files =
        repository()?.texts_ending("").filter_map(|(path, text)| Some((path.strip_prefix("events/samples/")?, text)));
    let samples: Vec<(String, String)> =
        files.filter(|(file, _)| *file != "README.md").map(|(file, text)| (file.to_owned(), text.to_owned())).collect();
    verdict("samples", samples::offences(&samples))
}

#[test]
fn the_top_level_holds_what_it_should() -> Verdict {
    verdict("top level", top_level::offences(repository()?.paths.iter().map(String::as_str)))
}

#[test]
fn functions_have_one_shape() -> Verdict {
    let repository = repository()?;
    verdict("shape of functions", function_shape::offences(&repository.texts, &repository.packages))
}

#[test]
fn links_lead_somewhere() -> Verdict {
    let repository = repository()?;
    verdict("links", links::offences(&repository.texts, &repository.paths))
}

#[test]
fn no_file_knows_the_machine_it_was_written_on() -> Verdict {
    let files = repository()?.texts_ending("");
    verdict("machine paths", files.flat_map(|(path, text)| machine_paths::offences(path, text)).collect())
}
