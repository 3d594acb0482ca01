//! Which packages exist, where they live, and which may depend on which: only strictly downwards.

use crate::Offence;
use crate::workspace::{Dependency, DependencyKind, Package};

/// The layers, highest first. A package may use those in the rows below its own and none in its own row. Packages stand here before
/// they exist, so that their place is decided once. Test crates are not listed: they may use everything, and nothing may use them.
pub const LAYERS: &[&[&str]] = &[
    // All the others in one binary.
    &["functions/pilotlight"],
    // Goes on with whatever a lost event left, by the very functions that the event was for.
    &["functions/on-idle-timer"],
    &[
        "functions/on-pending-pod",
        "functions/on-nodeclaim",
        "functions/on-workspace",
        "functions/on-delete",
        "events/forwarder",
    ],
    &["shared/stage"],
    &["shared/host"],
    &["shared/provider-aks", "shared/provider-scaleway", "shared/provider-power", "shared/world"],
    &["shared/act"],
    &["shared/cluster", "shared/provider", "events/schema"],
    &["shared/decide"],
    &["shared/model"],
];

/// Whose tests must not look upwards either: they are understood, and checked, with nothing above them built.
pub const PURE: &[&str] = &["model", "decide"];

/// Every package is in the table, in its folder, and points only downwards.
pub fn offences(packages: &[Package]) -> Vec<Offence> {
    packages.iter().flat_map(|package| of_package(package, packages)).collect()
}

fn of_package(package: &Package, all: &[Package]) -> Vec<Offence> {
    let mut offences = misplaced(package);
    for dependency in &package.dependencies {
        let Some(used) = all.iter().find(|other| other.name == dependency.on) else { continue };
        offences.extend(misdirected(package, dependency, used));
    }
    offences
}

fn misplaced(package: &Package) -> Vec<Offence> {
    let Package { name, folder, .. } = package;
    let mut offences = vec![];
    if folder.rsplit('/').next() != Some(name) {
        offences.push(format!("{folder} holds a package named {name}: give folder and package the same name"));
    }
    if !package.is_test_crate() && layer(folder).is_none() {
        offences.push(format!("{folder} has no layer: add it to LAYERS in tests/tidy/src/packages.rs"));
    }
    offences
}

fn misdirected(from: &Package, dependency: &Dependency, to: &Package) -> Option<Offence> {
    if from.is_test_crate() || from.name == to.name {
        return None;
    }
    let (user, used) = (&from.name, &to.name);
    let development = dependency.kind == DependencyKind::Development;
    if to.is_test_crate() {
        let product = format!("{user} depends on the test crate {used}: move what it needs to shared/");
        return (!development).then_some(product);
    }
    if development && !PURE.contains(&user.as_str()) {
        return None;
    }
    // A package without a layer is an offence of its own; nothing more can be said about its direction.
    let (above, below) = (layer(&from.folder)?, layer(&to.folder)?);
    if below > above {
        return None;
    }
    let relation = if below == above { "is in the same layer" } else { "is above it" };
    let part = if development { "in its tests, " } else { "" };
    Some(format!(
        "{user} depends on {used}, which {relation}: {part}use only what is below, or move the shared part down"
    ))
}

/// How deep a package lies; greater is lower.
fn layer(folder: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&folder))
}

#[cfg(test)]
mod tests {
    use super::offences;
    use crate::workspace::{Package, package};

    fn check(packages: &[Package], expected: &[&str]) {
        let found = offences(packages);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (offence, part) in found.iter().zip(expected) {
            assert!(offence.contains(part), "{offence:?} does not say {part:?}");
        }
    }

    fn model() -> Package {
        package("shared/model", &[], &[])
    }

    #[test]
    fn downwards_is_allowed_over_any_distance_and_foreign_crates_have_no_layer() {
        let function = package("functions/on-delete", &["host", "model", "serde"], &[]);
        check(&[function, package("shared/host", &["model"], &[]), model()], &[]);
    }

    #[test]
    fn upwards_is_an_offence() {
        let host = package("shared/host", &[], &[]);
        check(&[package("events/schema", &["host"], &[]), host], &["schema depends on host, which is above it"]);
    }

    #[test]
    fn sideways_is_an_offence() {
        let neighbours = [package("shared/cluster", &["schema"], &[]), package("events/schema", &[], &[])];
        check(&neighbours, &["cluster depends on schema, which is in the same layer"]);
        let functions = [package("functions/on-delete", &["forwarder"], &[]), package("events/forwarder", &[], &[])];
        check(&functions, &["on-delete depends on forwarder, which is in the same layer"]);
    }

    #[test]
    fn all_in_one_may_use_every_function_and_the_timer_those_it_carries_on_for_but_not_the_other_way_round() {
        let one = package("functions/pilotlight", &["on-delete", "forwarder"], &[]);
        check(&[one.clone(), package("functions/on-delete", &[], &[]), package("events/forwarder", &[], &[])], &[]);
        check(&[one, package("functions/on-delete", &["pilotlight"], &[])], &["on-delete depends on pilotlight"]);
        let timer = package("functions/on-idle-timer", &["on-delete"], &[]);
        check(&[timer.clone(), package("functions/on-delete", &[], &[])], &[]);
        check(
            &[timer, package("functions/on-delete", &["on-idle-timer"], &[])],
            &["on-delete depends on on-idle-timer"],
        );
    }

    #[test]
    fn tests_may_look_upwards_except_those_of_pure_crates() {
        let host = package("shared/host", &[], &[]);
        check(&[package("events/schema", &[], &["host"]), host.clone()], &[]);
        check(
            &[package("shared/model", &[], &["host"]), host],
            &["model depends on host, which is above it: in its tests"],
        );
    }

    #[test]
    fn test_crates_may_use_anything_and_only_tests_may_use_them() {
        let bench = package("tests/bench", &["host", "tidy"], &[]);
        check(&[bench.clone(), package("shared/host", &[], &[]), package("tests/tidy", &[], &[])], &[]);
        check(&[package("shared/host", &[], &["bench"]), bench.clone()], &[]);
        check(&[package("shared/host", &["bench"], &[]), bench], &["host depends on the test crate bench"]);
    }

    #[test]
    fn a_package_outside_the_table_or_under_another_name_is_an_offence() {
        check(&[package("shared/utils", &[], &[])], &["shared/utils has no layer: add it to LAYERS"]);
        let renamed = Package { name: "words".into(), ..model() };
        check(&[renamed], &["shared/model holds a package named words"]);
    }
}
