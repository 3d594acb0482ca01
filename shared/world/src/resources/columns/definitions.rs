//! The columns of each built-in kind, as data.

use super::{Column, Description};
use Description::{Field, Text};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const POD_SPEC: &str = "io.k8s.api.core.v1.PodSpec";
const POD_STATUS: &str = "io.k8s.api.core.v1.PodStatus";
const NODE_STATUS: &str = "io.k8s.api.core.v1.NodeStatus";
const NODE_INFO: &str = "io.k8s.api.core.v1.NodeSystemInfo";
const SERVICE_SPEC: &str = "io.k8s.api.core.v1.ServiceSpec";
const EVENT: &str = "io.k8s.api.core.v1.Event";
const REFERENCE: &str = "io.k8s.api.core.v1.ObjectReference";
const PV_SPEC: &str = "io.k8s.api.core.v1.PersistentVolumeSpec";
const PV_STATUS: &str = "io.k8s.api.core.v1.PersistentVolumeStatus";
const PVC_STATUS: &str = "io.k8s.api.core.v1.PersistentVolumeClaimStatus";
const PVC_SPEC: &str = "io.k8s.api.core.v1.PersistentVolumeClaimSpec";
const DEPLOYMENT_SPEC: &str = "io.k8s.api.apps.v1.DeploymentSpec";
const DEPLOYMENT_STATUS: &str = "io.k8s.api.apps.v1.DeploymentStatus";
const REPLICA_SET_SPEC: &str = "io.k8s.api.apps.v1.ReplicaSetSpec";
const REPLICA_SET_STATUS: &str = "io.k8s.api.apps.v1.ReplicaSetStatus";
const DAEMON_SET_STATUS: &str = "io.k8s.api.apps.v1.DaemonSetStatus";
const DAEMON_SET_SPEC: &str = "io.k8s.api.apps.v1.DaemonSetSpec";
const REVISION: &str = "io.k8s.api.apps.v1.ControllerRevision";
const JOB_SPEC: &str = "io.k8s.api.batch.v1.JobSpec";
const JOB_STATUS: &str = "io.k8s.api.batch.v1.JobStatus";
const STORAGE_CLASS: &str = "io.k8s.api.storage.v1.StorageClass";
const ATTACHMENT_SPEC: &str = "io.k8s.api.storage.v1.VolumeAttachmentSpec";
const ATTACHMENT_SOURCE: &str = "io.k8s.api.storage.v1.VolumeAttachmentSource";
const ATTACHMENT_STATUS: &str = "io.k8s.api.storage.v1.VolumeAttachmentStatus";
const PRIORITY_CLASS: &str = "io.k8s.api.scheduling.v1.PriorityClass";

const NAME: Column =
    Column { name: "Name", value_type: "string", format: "name", priority: 0, description: Field(META, "name") };
const AGE: Column = string("Age", Field(META, "creationTimestamp"));
const CONTAINERS: Column = wide("Containers", Text("Names of each container in the template."));
const IMAGES: Column = wide("Images", Text("Images referenced by each container in the template."));

const fn string(name: &'static str, description: Description) -> Column {
    Column { name, value_type: "string", format: "", priority: 0, description }
}

const fn integer(name: &'static str, description: Description) -> Column {
    Column { name, value_type: "integer", format: "", priority: 0, description }
}

const fn wide(name: &'static str, description: Description) -> Column {
    Column { name, value_type: "string", format: "", priority: 1, description }
}

/// The columns of a built-in kind; kinds without their own get name and time of creation.
pub fn of_kind(kind: &str) -> &'static [Column] {
    COLUMNS.iter().find(|(known, _)| *known == kind).map_or(&[NAME, CREATED_AT], |(_, columns)| columns)
}

const CREATED_AT: Column = Column {
    name: "Created At",
    value_type: "date",
    format: "",
    priority: 0,
    description: Field(META, "creationTimestamp"),
};

const COLUMNS: &[(&str, &[Column])] = &[
    (
        "Pod",
        &[
            NAME,
            string("Ready", Text("The aggregate readiness state of this pod for accepting traffic.")),
            string("Status", Text("The aggregate status of the containers in this pod.")),
            string(
                "Restarts",
                Text(
                    "The number of times the containers in this pod have been restarted and when the last container in \
                     this pod has restarted.",
                ),
            ),
            AGE,
            wide("IP", Field(POD_STATUS, "podIP")),
            wide("Node", Field(POD_SPEC, "nodeName")),
            wide("Nominated Node", Field(POD_STATUS, "nominatedNodeName")),
            wide("Readiness Gates", Field(POD_SPEC, "readinessGates")),
        ],
    ),
    (
        "Node",
        &[
            NAME,
            string("Status", Text("The status of the node")),
            string("Roles", Text("The roles of the node")),
            AGE,
            string("Version", Field(NODE_INFO, "kubeletVersion")),
            wide("Internal-IP", Field(NODE_STATUS, "addresses")),
            wide("External-IP", Field(NODE_STATUS, "addresses")),
            wide("OS-Image", Field(NODE_INFO, "osImage")),
            wide("Kernel-Version", Field(NODE_INFO, "kernelVersion")),
            wide("Container-Runtime", Field(NODE_INFO, "containerRuntimeVersion")),
        ],
    ),
    (
        "Deployment",
        &[
            NAME,
            string("Ready", Text("Number of the pod with ready state")),
            string("Up-to-date", Field(DEPLOYMENT_STATUS, "updatedReplicas")),
            string("Available", Field(DEPLOYMENT_STATUS, "availableReplicas")),
            AGE,
            CONTAINERS,
            IMAGES,
            wide("Selector", Field(DEPLOYMENT_SPEC, "selector")),
        ],
    ),
    (
        "ReplicaSet",
        &[
            NAME,
            integer("Desired", Field(REPLICA_SET_SPEC, "replicas")),
            integer("Current", Field(REPLICA_SET_STATUS, "replicas")),
            integer("Ready", Field(REPLICA_SET_STATUS, "readyReplicas")),
            AGE,
            CONTAINERS,
            IMAGES,
            wide("Selector", Field(REPLICA_SET_SPEC, "selector")),
        ],
    ),
    ("StatefulSet", &[NAME, string("Ready", Text("Number of the pod with ready state")), AGE, CONTAINERS, IMAGES]),
    (
        "DaemonSet",
        &[
            NAME,
            integer("Desired", Field(DAEMON_SET_STATUS, "desiredNumberScheduled")),
            integer("Current", Field(DAEMON_SET_STATUS, "currentNumberScheduled")),
            integer("Ready", Field(DAEMON_SET_STATUS, "numberReady")),
            integer("Up-to-date", Field(DAEMON_SET_STATUS, "updatedNumberScheduled")),
            integer("Available", Field(DAEMON_SET_STATUS, "numberAvailable")),
            string("Node Selector", Field(POD_SPEC, "nodeSelector")),
            AGE,
            CONTAINERS,
            IMAGES,
            wide("Selector", Field(DAEMON_SET_SPEC, "selector")),
        ],
    ),
    (
        "Job",
        &[
            NAME,
            string("Status", Text("Status of the job.")),
            string("Completions", Field(JOB_STATUS, "succeeded")),
            string("Duration", Text("Time required to complete the job.")),
            AGE,
            CONTAINERS,
            IMAGES,
            wide("Selector", Field(JOB_SPEC, "selector")),
        ],
    ),
    (
        "ControllerRevision",
        &[
            NAME,
            string("Controller", Text("Controller of the object")),
            string("Revision", Field(REVISION, "revision")),
            AGE,
        ],
    ),
    (
        "PodDisruptionBudget",
        &[
            NAME,
            string("Min Available", Text("The minimum number of pods that must be available.")),
            string("Max Unavailable", Text("The maximum number of pods that may be unavailable.")),
            integer("Allowed Disruptions", Text("Calculated number of pods that may be disrupted at this time.")),
            AGE,
        ],
    ),
    (
        "Service",
        &[
            NAME,
            string("Type", Field(SERVICE_SPEC, "type")),
            string("Cluster-IP", Field(SERVICE_SPEC, "clusterIP")),
            string("External-IP", Field(SERVICE_SPEC, "externalIPs")),
            string("Port(s)", Field(SERVICE_SPEC, "ports")),
            AGE,
            wide("Selector", Field(SERVICE_SPEC, "selector")),
        ],
    ),
    (
        "Event",
        &[
            string("Last Seen", Field(EVENT, "lastTimestamp")),
            string("Type", Field(EVENT, "type")),
            string("Reason", Field(EVENT, "reason")),
            string("Object", Field(EVENT, "involvedObject")),
            wide("Subobject", Field(REFERENCE, "fieldPath")),
            wide("Source", Field(EVENT, "source")),
            string("Message", Field(EVENT, "message")),
            wide("First Seen", Field(EVENT, "firstTimestamp")),
            wide("Count", Field(EVENT, "count")),
            Column { priority: 1, ..NAME },
        ],
    ),
    (
        "PersistentVolume",
        &[
            NAME,
            string("Capacity", Field(PV_SPEC, "capacity")),
            string("Access Modes", Field(PV_SPEC, "accessModes")),
            string("Reclaim Policy", Field(PV_SPEC, "persistentVolumeReclaimPolicy")),
            string("Status", Field(PV_STATUS, "phase")),
            string("Claim", Field(PV_SPEC, "claimRef")),
            string("StorageClass", Text("StorageClass of the pv")),
            string("VolumeAttributesClass", Text("VolumeAttributesClass of the pv")),
            string("Reason", Field(PV_STATUS, "reason")),
            AGE,
            wide("VolumeMode", Field(PV_SPEC, "volumeMode")),
        ],
    ),
    (
        "PersistentVolumeClaim",
        &[
            NAME,
            string("Status", Field(PVC_STATUS, "phase")),
            string("Volume", Field(PVC_SPEC, "volumeName")),
            string("Capacity", Field(PVC_STATUS, "capacity")),
            string("Access Modes", Field(PVC_STATUS, "accessModes")),
            string("StorageClass", Text("StorageClass of the pvc")),
            string("VolumeAttributesClass", Text("VolumeAttributesClass of the pvc")),
            AGE,
            wide("VolumeMode", Field(PVC_SPEC, "volumeMode")),
        ],
    ),
    (
        "StorageClass",
        &[
            NAME,
            string("Provisioner", Field(STORAGE_CLASS, "provisioner")),
            string("ReclaimPolicy", Field(STORAGE_CLASS, "reclaimPolicy")),
            string("VolumeBindingMode", Field(STORAGE_CLASS, "volumeBindingMode")),
            string("AllowVolumeExpansion", Field(STORAGE_CLASS, "allowVolumeExpansion")),
            AGE,
        ],
    ),
    (
        "CSINode",
        &[NAME, integer("Drivers", Text("Drivers indicates the number of CSI drivers registered on the node")), AGE],
    ),
    (
        "VolumeAttachment",
        &[
            NAME,
            Column { format: "name", ..string("Attacher", Field(ATTACHMENT_SPEC, "attacher")) },
            string("PV", Field(ATTACHMENT_SOURCE, "persistentVolumeName")),
            string("Node", Field(ATTACHMENT_SPEC, "nodeName")),
            Column { value_type: "boolean", ..string("Attached", Field(ATTACHMENT_STATUS, "attached")) },
            AGE,
        ],
    ),
    ("Namespace", &[NAME, string("Status", Text("The status of the namespace")), AGE]),
    ("ConfigMap", &[NAME, string("Data", Field("io.k8s.api.core.v1.ConfigMap", "data")), AGE]),
    (
        "Secret",
        &[
            NAME,
            string("Type", Field("io.k8s.api.core.v1.Secret", "type")),
            string("Data", Field("io.k8s.api.core.v1.Secret", "data")),
            AGE,
        ],
    ),
    ("ServiceAccount", &[NAME, AGE]),
    ("Lease", &[NAME, string("Holder", Field("io.k8s.api.coordination.v1.LeaseSpec", "holderIdentity")), AGE]),
    (
        "PriorityClass",
        &[
            NAME,
            Column { value_type: "integer", ..string("Value", Field(PRIORITY_CLASS, "value")) },
            Column { value_type: "boolean", ..string("Global-Default", Field(PRIORITY_CLASS, "globalDefault")) },
            AGE,
            string("PreemptionPolicy", Field(PRIORITY_CLASS, "preemptionPolicy")),
        ],
    ),
];
