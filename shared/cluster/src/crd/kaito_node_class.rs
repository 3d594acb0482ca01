//! `kaito.sh/v1alpha1` KaitoNodeClass: says that KAITO's own provisioner is meant, and nothing more.

use super::schema::{finished, with_default_spec};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{CustomResource, CustomResourceExt as _, KubeSchema};
use serde::{Deserialize, Serialize};

/// There is nothing to say.
#[derive(Debug, Clone, Default, CustomResource, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "kaito.sh",
    version = "v1alpha1",
    kind = "KaitoNodeClass",
    plural = "kaitonodeclasses",
    shortname = "knc",
    category = "karpenter",
    status = "KaitoNodeClassStatus",
    doc = "A KaitoNodeClass marks NodeClaims that KAITO made. Claims name one, but it need not exist.",
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct KaitoNodeClassSpec {}

/// There is nothing to report.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
pub struct KaitoNodeClassStatus {}

/// The API server adds an absent `spec`, which has nothing to say: KAITO's own objects leave it out.
pub(super) fn definition() -> CustomResourceDefinition {
    with_default_spec(finished(KaitoNodeClass::crd()))
}
