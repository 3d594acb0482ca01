//! Which programs make a control plane, in which versions, and what each is built from.

/// One Go module of ours under `go/`, pinned by its go.sum, and the programs that come out of it.
pub struct Module {
    /// The folder under `go/`.
    pub folder: &'static str,
    pub programs: &'static [&'static str],
    /// What is asked to be built: `tool` for the tools of go.mod, `.` for the folder's own main.
    pub package: &'static str,
    /// Given to the linker: programs of Kubernetes learn their version from it.
    pub linker: &'static str,
}

/// As in `go/kubernetes/go.mod`; a test compares them.
pub const KUBERNETES: &str = "v1.36.3";

pub const MODULES: [Module; 3] = [
    Module { folder: "etcd", programs: &["etcd"], package: ".", linker: "-s -w" },
    Module {
        folder: "kubernetes",
        programs: &["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"],
        package: "tool",
        linker: "-s -w -X k8s.io/component-base/version.gitVersion=v1.36.3 \
                 -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36",
    },
    Module { folder: "kwok", programs: &["kwok"], package: "tool", linker: "-s -w" },
];

/// As in `go/karpenter/go.mod`; a test compares them.
pub const KARPENTER_VERSION: &str = "v1.14.1";

/// Karpenter with its KWOK provider, which is called as KWOK is. Only who measures it builds it.
pub const KARPENTER: Module = Module { folder: "karpenter", programs: &["kwok"], package: "tool", linker: "-s -w" };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_that_is_told_is_the_version_that_is_built() {
        let required = include_str!("../go/kubernetes/go.mod");
        assert!(required.contains(&format!("k8s.io/kubernetes {KUBERNETES}")));
        let required = include_str!("../go/karpenter/go.mod");
        assert!(required.contains(&format!("sigs.k8s.io/karpenter {KARPENTER_VERSION}")));
        assert!(MODULES[1].linker.contains(&format!("gitVersion={KUBERNETES} ")));
    }
}
