//! Whose claim it is.

use decide::claim::{AlsoManage, Ours, Whose, depends_on_karpenter, whose};
use model::{Claim, ClassRef, Operator, Requirement, names};

use crate::fixture::{asked, name, text};

const KAITO: (&str, &str) = ("kaito.sh", "KaitoNodeClass");
const AZURE: (&str, &str) = ("karpenter.azure.com", "AKSNodeClass");
const OTHER: (&str, &str) = ("karpenter.k8s.aws", "EC2NodeClass");
const NOBODY_ELSE: AlsoManage = AlsoManage { karpenter: false, kaito_karpenter: false };

fn claim((group, kind): (&str, &str), labels: &[(&str, &str)]) -> Claim {
    let class = ClassRef { group: group.into(), kind: kind.into(), name: name("whatever") };
    Claim { class, labels: text(labels), requirements: vec![], ..asked().claim }
}

fn asking_for(class: (&str, &str), operator: Operator, capacity_type: &str) -> Claim {
    let requirement = Requirement { key: names::CAPACITY_TYPE.into(), operator, values: vec![capacity_type.into()] };
    Claim { requirements: vec![requirement], ..claim(class, &[]) }
}

fn ours(provider: &'static str) -> Whose {
    Whose::Ours(Ours { provider, like_gpu_provisioner: false })
}

fn as_gpu_provisioner() -> Whose {
    Whose::Ours(Ours { provider: "aks", like_gpu_provisioner: true })
}

fn others(reason: &str) -> Whose {
    Whose::Others { reason: reason.into() }
}

#[test]
fn gpu_provisioners_claims_are_known_by_its_class_or_by_either_label_whatever_its_value() {
    let cases = [
        claim(KAITO, &[]),
        claim(AZURE, &[(names::KAITO_WORKSPACE, "")]),
        claim(AZURE, &[(names::KAITO_RAGENGINE, "rag"), (names::NODE_POOL, "kaito")]),
        claim(OTHER, &[(names::KAITO_WORKSPACE, "falcon")]),
    ];
    for claim in cases {
        for karpenter_runs in [false, true] {
            assert_eq!(whose(&claim, NOBODY_ELSE, karpenter_runs), as_gpu_provisioner(), "{claim:?}");
        }
        assert!(!depends_on_karpenter(&claim, NOBODY_ELSE));
    }
}

#[test]
fn kaitos_karpenter_mode_keeps_its_claims_unless_we_are_to_have_them() {
    let label = "karpenter.kaito.sh/workspace-name";
    let also = AlsoManage { kaito_karpenter: true, ..NOBODY_ELSE };
    let its = others("its label karpenter.kaito.sh/workspace-name says that KAITO's Karpenter mode looks after it");
    for (class, labels, then) in [
        (AZURE, vec![(label, "a"), (names::NODE_POOL, "pool")], ours("aks")),
        (AZURE, vec![(label, ""), (names::KAITO_WORKSPACE, "a")], as_gpu_provisioner()),
        (KAITO, vec![(label, "a")], as_gpu_provisioner()),
    ] {
        assert_eq!(whose(&claim(class, &labels), NOBODY_ELSE, false), its);
        assert_eq!(whose(&claim(class, &labels), also, false), then);
    }
}

#[test]
fn a_running_karpenter_keeps_the_claims_of_its_pools_unless_we_are_to_have_them() {
    let pooled = claim(AZURE, &[(names::NODE_POOL, "gpu")]);
    let its = others("a Karpenter is running in this cluster and looks after the pools of AKSNodeClass");
    assert_eq!(whose(&pooled, NOBODY_ELSE, true), its);
    assert!(depends_on_karpenter(&pooled, NOBODY_ELSE));
    assert_eq!(whose(&pooled, NOBODY_ELSE, false), ours("aks"));

    let also = AlsoManage { karpenter: true, ..NOBODY_ELSE };
    assert_eq!(whose(&pooled, also, true), ours("aks"));
    assert!(!depends_on_karpenter(&pooled, also), "nobody has to look for it");
}

#[test]
fn whether_a_karpenter_runs_makes_no_difference_to_any_other_claim() {
    let pool = [(names::NODE_POOL, "gpu")];
    for (claim, expected) in [
        (claim(AZURE, &[]), ours("aks")),
        (claim(("pilotlight.dev", "ScalewayNodeClass"), &pool), ours("scaleway")),
        (claim(("pilotlight.dev", "PowerNodeClass"), &pool), ours("power")),
    ] {
        assert!(!depends_on_karpenter(&claim, NOBODY_ELSE));
        assert_eq!(whose(&claim, NOBODY_ELSE, true), expected);
        assert_eq!(whose(&claim, NOBODY_ELSE, false), expected);
    }
}

#[test]
fn scw_karpenters_claims_are_known_by_their_capacity_type_under_any_class() {
    assert_eq!(whose(&asking_for(OTHER, Operator::In, "scaleway-gpu"), NOBODY_ELSE, false), ours("scaleway"));
    assert_eq!(whose(&asking_for(AZURE, Operator::In, "scaleway-gpu"), NOBODY_ELSE, false), ours("aks"), "class first");
    for left_alone in [asking_for(OTHER, Operator::NotIn, "scaleway-gpu"), asking_for(OTHER, Operator::In, "spot")] {
        assert!(matches!(whose(&left_alone, NOBODY_ELSE, false), Whose::Others { .. }), "{left_alone:?}");
    }
}

#[test]
fn a_class_that_nobody_here_knows_is_left_alone() {
    let also = AlsoManage { karpenter: true, kaito_karpenter: true };
    for class in [OTHER, ("karpenter.azure.com", "KaitoNodeClass"), ("", ""), ("pilotlight.dev", "AKSNodeClass")] {
        let reason = format!("{}.{} is not a node class of ours", class.1, class.0);
        assert_eq!(whose(&claim(class, &[(names::NODE_POOL, "gpu")]), also, false), others(&reason));
    }
}
