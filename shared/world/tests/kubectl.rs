//! A tour with the real kubectl, over loopback and TLS: what people type works here as it does on a cluster.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{Tour, machine};
use serde_json::Value;

const CRD: &str = r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.dev}
spec:
  group: example.dev
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, shortNames: [wd]}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      additionalPrinterColumns:
        - {name: Size, type: integer, jsonPath: .spec.size}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              description: What is wanted.
              required: [size]
              properties:
                size: {type: integer, minimum: 1, description: How large.}
                colour: {type: string, default: red, enum: [red, blue]}
              x-kubernetes-validations:
                - {rule: "self.size < 10 || self.colour == 'blue'", message: large widgets are blue}
            status:
              type: object
              properties:
                ready: {type: boolean}
"#;

const DEPLOYMENT: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: main, image: nginx, resources: {requests: {cpu: 100m}}}]
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tour() {
    let Some(tour) = Tour::start().await else { return };
    tour.world.fleet().join(machine("node-a"));
    tour.world.fleet().join(machine("node-b"));

    // Looking around.
    tour.says("version", &["Server Version"]).await;
    tour.says("api-resources", &["pods", "po", "deployments", "deploy", "apps/v1"]).await;
    tour.says("explain pod.spec.nodeName", &["nodeName", "<string>"]).await;
    tour.says("wait --for=condition=Ready node/node-a node/node-b --timeout=60s", &["condition met"]).await;
    tour.says("get nodes", &["node-a", "Ready"]).await;
    tour.says("get nodes -o wide", &["INTERNAL-IP", "node-b"]).await;
    tour.says("get ns", &["default", "kube-system", "Active"]).await;

    // A workload, applied, waited for, scaled, changed.
    tour.feeds("apply -f -", DEPLOYMENT, &["deployment.apps/web created"]).await;
    tour.feeds("apply -f -", DEPLOYMENT, &["deployment.apps/web unchanged"]).await;
    tour.says("rollout status deployment/web --timeout=60s", &["successfully rolled out"]).await;
    tour.says("get pods -l app=web", &["1/1", "Running"]).await;
    tour.says("get deploy,rs,pods", &["deployment.apps/web", "2/2"]).await;
    tour.says("describe deployment web", &["Replicas:", "2 desired"]).await;
    let pod = tour.says("get pods -l app=web -o jsonpath={.items[0].metadata.name}", &["web-"]).await;
    tour.says(&format!("describe pod {pod}"), &["Node:", "Scheduled", "Successfully assigned"]).await;
    tour.says("scale deployment/web --replicas=3", &["scaled"]).await;
    tour.says("rollout status deployment/web --timeout=60s", &["successfully rolled out"]).await;
    tour.says("set image deployment/web main=nginx:2", &["image updated"]).await;
    tour.says("rollout status deployment/web --timeout=60s", &["successfully rolled out"]).await;
    tour.says("patch deployment web --type=merge -p {\"metadata\":{\"labels\":{\"a\":\"b\"}}}", &["patched"]).await;
    tour.says(
        "patch deployment web --type=json -p [{\"op\":\"remove\",\"path\":\"/metadata/labels/a\"}]",
        &["patched"],
    )
    .await;
    tour.says("label node node-a colour=green", &["labeled"]).await;
    tour.says("get nodes -l colour=green -o name", &["node/node-a"]).await;
    tour.says("annotate deployment web note=hello", &["annotated"]).await;

    // Server-side apply, and its conflicts.
    // What was scaled and set above belongs to others now, so it takes force.
    tour.fails("apply --server-side --field-manager=one -f -", DEPLOYMENT, &["conflict", ".spec.replicas"]).await;
    tour.feeds("apply --server-side --force-conflicts --field-manager=one -f -", DEPLOYMENT, &["applied"]).await;
    let three = DEPLOYMENT.replace("replicas: 2", "replicas: 4");
    tour.fails("apply --server-side --field-manager=two -f -", &three, &["conflict", ".spec.replicas"]).await;
    tour.feeds("apply --server-side --force-conflicts --field-manager=two -f -", &three, &["serverside-applied"]).await;

    // A custom resource, with defaults, validation and columns.
    tour.feeds("apply -f -", CRD, &["customresourcedefinition.apiextensions.k8s.io/widgets.example.dev created"]).await;
    tour.says("wait --for=condition=Established crd/widgets.example.dev --timeout=30s", &["condition met"]).await;
    let widget = "apiVersion: example.dev/v1\nkind: Widget\nmetadata: {name: w}\nspec: {size: 3}\n";
    tour.feeds("apply -f -", widget, &["widget.example.dev/w created"]).await;
    tour.says("get wd", &["SIZE", "3"]).await;
    tour.says("get widget w -o jsonpath={.spec.colour}", &["red"]).await;
    tour.fails("apply -f -", &widget.replace("size: 3", "size: 0"), &["spec.size", "greater than or equal to 1"]).await;
    tour.fails("apply -f -", &widget.replace("size: 3", "size: 30"), &["large widgets are blue"]).await;
    tour.feeds("apply --server-side -f -", &widget.replace("size: 3", "size: 4"), &["serverside-applied"]).await;
    tour.says("explain widget.spec.size", &["How large"]).await;
    tour.says("patch widget w --subresource=status --type=merge -p {\"status\":{\"ready\":true}}", &["patched"]).await;
    tour.says("wait --for=jsonpath={.status.ready}=true widget/w --timeout=10s", &["condition met"]).await;
    tour.says("delete widget w", &["deleted"]).await;
    tour.fails("get widget w", "", &["NotFound"]).await;

    // A node is emptied.
    tour.says("cordon node-a", &["node/node-a cordoned"]).await;
    tour.says("get node node-a", &["Ready,SchedulingDisabled"]).await;
    tour.says("drain node-a --ignore-daemonsets --delete-emptydir-data --timeout=60s", &["drained"]).await;
    let left = tour.says("get pods -A --field-selector spec.nodeName=node-a -o json", &[]).await;
    let left: Value = serde_json::from_str(&left).unwrap();
    assert_eq!(left["items"].as_array().map(Vec::len), Some(0), "{left}");
    tour.says("uncordon node-a", &["uncordoned"]).await;
    tour.says("events --for pod/none", &["No events"]).await;
    tour.says("get events", &["Scheduled"]).await;

    // Watching, and the end.
    tour.says("get deploy -w --request-timeout=2s", &["web"]).await;
    tour.says("delete deployment web --wait --timeout=60s", &["deleted"]).await;
    tour.says("wait --for=delete pod -l app=web --timeout=60s", &[]).await;
    tour.says("create namespace gone", &["created"]).await;
    tour.says("create configmap c --from-literal=a=b -n gone", &["created"]).await;
    tour.says("delete namespace gone --wait --timeout=60s", &["deleted"]).await;
    tour.fails("get configmap c -n gone", "", &["NotFound"]).await;
}
