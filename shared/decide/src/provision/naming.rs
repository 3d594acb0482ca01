//! Names of claims: the same decision has the same name, whoever makes it and however often.

use model::{ObjectName, Uid, place::PoolRequirement};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;

/// Of a pool's name in a claim's: with the rest it stays under the 63 of a label.
const LONGEST_POOL: usize = 50;
const HASH_BYTES: usize = 5;

/// `<pool>-<ten hexadecimal digits>` of pool, pods and requirements. A name that another claim has, one that is on its way out
/// for example, is passed over for the next.
pub(super) fn claim_name(
    pool: &ObjectName,
    pods: &[&Uid],
    requirements: &[PoolRequirement],
    taken: &BTreeSet<ObjectName>,
) -> ObjectName {
    let mut pods: Vec<&str> = pods.iter().map(|uid| uid.as_str()).collect();
    pods.sort_unstable();
    let nth = |number: u32| {
        let mut hash = Sha256::new();
        let mut part = |text: &str| {
            hash.update(text.as_bytes());
            hash.update([0]);
        };
        part(pool.as_str());
        pods.iter().for_each(|uid| part(uid));
        for one in requirements {
            part(&one.requirement.key);
            part(one.requirement.operator.as_str());
            one.requirement.values.iter().for_each(|value| part(value));
        }
        if number > 0 {
            part(&number.to_string());
        }
        let digits: String = hash.finalize().iter().take(HASH_BYTES).map(|byte| format!("{byte:02x}")).collect();
        ObjectName::new(format!("{}-{digits}", prefix(pool.as_str())))
    };
    // A pool's name is one already, so its beginning with digits behind it is one too.
    (0..).map_while(|number| nth(number).ok()).find(|name| !taken.contains(name)).unwrap_or_else(|| pool.clone())
}

/// Dots would make a name that no label and no host can have.
fn prefix(pool: &str) -> String {
    let cut: String = pool.chars().take(LONGEST_POOL).map(|c| if c == '.' { '-' } else { c }).collect();
    cut.trim_end_matches('-').to_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use model::{Operator, Requirement};

    fn name(pool: &str, pods: &[&str], values: &[&str], taken: &[&ObjectName]) -> ObjectName {
        let pods: Vec<Uid> = pods.iter().map(|uid| Uid::new(*uid).unwrap()).collect();
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        let requirement = Requirement { key: "zone".into(), operator: Operator::In, values };
        let taken = taken.iter().map(|name| (*name).clone()).collect();
        claim_name(&ObjectName::new(pool).unwrap(), &pods.iter().collect::<Vec<_>>(), &[requirement.into()], &taken)
    }

    #[test]
    fn the_same_decision_has_the_same_name_in_whatever_order_its_pods_come() {
        let one = name("gpu", &["a", "b"], &["1"], &[]);
        assert_eq!(one, name("gpu", &["b", "a"], &["1"], &[]));
        assert!(one.as_str().starts_with("gpu-") && one.as_str().len() == "gpu-".len() + 10, "{one}");
        for other in [
            name("gpu2", &["a", "b"], &["1"], &[]),
            name("gpu", &["a"], &["1"], &[]),
            name("gpu", &["ab"], &["1"], &[]),
            name("gpu", &["a", "b"], &["2"], &[]),
        ] {
            assert_ne!(one, other);
        }
    }

    #[test]
    fn a_name_that_is_taken_is_passed_over_always_for_the_same() {
        let first = name("gpu", &["a"], &["1"], &[]);
        let second = name("gpu", &["a"], &["1"], &[&first]);
        assert_ne!(first, second);
        assert_eq!(second, name("gpu", &["a"], &["1"], &[&first]));
        assert_ne!(second, name("gpu", &["a"], &["1"], &[&first, &second]));
    }

    #[test]
    fn every_pool_gives_a_name_that_a_label_can_hold() {
        for pool in ["a", "a.b.c", &"x".repeat(63), &format!("{}-{}", "y".repeat(49), "z".repeat(13))] {
            let name = name(pool, &["a"], &[], &[]);
            assert!(name.as_str().len() <= 63 && !name.as_str().contains(['.']), "{name}");
        }
    }
}
