//! Node classes in the files of a plan: what nodes made now would be, and what a cloud sells that is not listed.

use super::*;

/// One node of four processors with work on it, made of an AKSNodeClass.
fn cluster(pool: &str, class: &str, node: &str) -> String {
    let class_ref = "nodeClassRef: {group: karpenter.azure.com, kind: AKSNodeClass, name: default}";
    [
        format!(
            "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {{name: default}}\nspec: {{disruption: {{consolidateAfter: Never, budgets: [{{nodes: 100%}}]}}, template: {{spec: {{{class_ref}, requirements: [{pool}]}}}}}}\n"
        ),
        format!("apiVersion: karpenter.azure.com/v1beta1\nkind: AKSNodeClass\nmetadata: {{name: default}}\n{class}\n"),
        format!(
            "apiVersion: karpenter.sh/v1\nkind: NodeClaim\nmetadata: {{name: claim, labels: {{karpenter.sh/nodepool: default, karpenter.sh/capacity-type: on-demand, topology.kubernetes.io/zone: zone-a, {node}}}}}\nspec: {{{class_ref}, requirements: [], expireAfter: Never}}\nstatus: {{providerID: 'a://n', imageID: old}}\n"
        ),
        "apiVersion: v1\nkind: Node\nmetadata: {name: one}\nspec: {providerID: 'a://n'}\nstatus: {capacity: {cpu: 4, memory: 8Gi, pods: 110}, nodeInfo: {kubeletVersion: v1.33.0, architecture: amd64, bootID: b, containerRuntimeVersion: c, kernelVersion: k, kubeProxyVersion: '', machineID: m, operatingSystem: linux, osImage: o, systemUUID: u}}\n".to_owned(),
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {nodeName: one, containers: [{name: c, resources: {requests: {cpu: 3500m}}}]}\n".to_owned(),
    ]
    .join("---\n")
}

fn why(text: &str, catalogue: bool) -> String {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("cluster.yaml");
    fs::write(&file, text).unwrap();
    let types = folder().with_file_name("consolidate").join("catalog.json");
    let mut arguments = vec!["-f", file.to_str().unwrap(), "-o", "json", "--consolidate"];
    if catalogue {
        arguments.extend(["--catalog", types.to_str().unwrap()]);
    }
    let answer = json(&plan(&arguments));
    let gone = answer["disruptions"][0]["why"].as_str().map(str::to_owned);
    gone.unwrap_or_else(|| answer["kept"][0]["code"].as_str().unwrap_or_default().to_owned())
}

/// What the node stays for where nothing has drifted.
const STAYS: &str = "ConsolidateAfterNever";

#[test]
fn nodes_of_a_class_that_gives_another_image_or_version_now_have_drifted() {
    let of_type = "node.kubernetes.io/instance-type: m.medium";
    let told = |class: &str| why(&cluster("", class, of_type), true);
    assert_eq!(told("spec: {}"), STAYS);
    assert_eq!(told("status: {kubernetesVersion: 1.33.0, images: [{id: old}]}"), STAYS);
    assert!(told("status: {kubernetesVersion: 1.34.1}").starts_with("K8sVersionDrift"));
    assert!(told("status: {images: [{id: new}]}").starts_with("ImageDrift"));
}

#[test]
fn a_type_without_gpus_that_nobody_lists_is_not_gone() {
    let of_type = "node.kubernetes.io/instance-type: Standard_D4s_v5";
    assert_eq!(why(&cluster("", "spec: {}", of_type), false), STAYS);
}

#[test]
fn a_pool_of_a_family_without_gpus_gets_none() {
    let family = |name: &str| format!("{{key: karpenter.azure.com/sku-family, operator: In, values: ['{name}']}}");
    let made = |name: &str| {
        let waiting = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: waits}\nspec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}\n";
        let text = cluster(&family(name), "spec: {}", "node.kubernetes.io/instance-type: Standard_D4s_v5") + waiting;
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("cluster.yaml");
        fs::write(&file, text).unwrap();
        json(&plan(&["-f", file.to_str().unwrap(), "-o", "json"]))["claims"].as_array().map_or(0, Vec::len)
    };
    assert_eq!((made("D"), made("N")), (0, 1));
}
