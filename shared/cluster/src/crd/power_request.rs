//! One request of a PowerNodeClass: what is sent, who we say we are, and how the answer is read.

use super::secrets::SecretKeyReference;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub(super) const URL: &str = r"^https?://[^\s@]+$";

/// One request. ${machine}, ${node}, ${class}, ${claim}, ${action} and ${requestId} are filled in; the URL takes the first
/// three only.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = (
    "!has(self.headers) || self.headers.all(name, name.lowerAscii() != 'authorization')",
    "the header authorization is made from auth: a secret does not stand in a node class"
))]
pub struct PowerRequest {
    /// The HTTP method.
    #[serde(default = "default_method")]
    #[schemars(extend("enum" = ["GET", "POST", "PUT", "PATCH", "DELETE"]))]
    pub method: String,
    /// Where it is sent.
    #[schemars(length(max = 2048), regex(pattern = URL))]
    pub url: String,
    /// Headers beside authorization.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 32))]
    pub headers: BTreeMap<String, String>,
    /// The body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16_384))]
    pub body: Option<String>,
    /// Who we say we are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<PowerAuth>,
    /// PEM certificates. With them, only these authorities are trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_ref: Option<SecretKeyReference>,
    /// The status codes that mean it worked; any 2xx if there are none here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20), inner(range(min = 100, max = 599)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub success: Vec<u16>,
    /// How long an answer may take. 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 60))]
    pub timeout_seconds: Option<u32>,
    /// A JSON pointer, as in /error. If something is there, it failed in spite of a good status code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256), regex(pattern = "^/"))]
    pub failure_pointer: Option<String>,
}

/// How power is read. Exactly one of pointer and regex is set. What is neither on nor off is unknown.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = ("has(self.pointer) != has(self.regex)", "exactly one of pointer and regex must be set"))]
pub struct PowerStatus {
    /// The request that is answered with the state.
    pub request: PowerRequest,
    /// The state is a text in a JSON answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<PowerStatusPointer>,
    /// The state is found by searching the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regex: Option<PowerStatusRegex>,
}

/// The state is a text in a JSON answer.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PowerStatusPointer {
    /// A JSON pointer, as in /data/status.
    #[schemars(length(max = 256), regex(pattern = "^/"))]
    pub at: String,
    /// What stands there when there is power.
    #[schemars(length(min = 1, max = 20), inner(length(max = 128)))]
    pub on_values: Vec<String>,
    /// What stands there when there is none.
    #[schemars(length(min = 1, max = 20), inner(length(max = 128)))]
    pub off_values: Vec<String>,
    /// What stands there on the way to on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20), inner(length(max = 128)))]
    pub turning_on_values: Vec<String>,
    /// What stands there on the way to off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20), inner(length(max = 128)))]
    pub turning_off_values: Vec<String>,
}

/// The state is found by searching the answer.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PowerStatusRegex {
    /// Found in the answer when there is power.
    #[schemars(length(min = 1, max = 256))]
    pub on_pattern: String,
    /// Found in the answer when there is none.
    #[schemars(length(min = 1, max = 256))]
    pub off_pattern: String,
}

/// Who we say we are. Exactly one way is set.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = (
    "[has(self.basic), has(self.bearer), has(self.header), has(self.hmac), has(self.maasKey)].filter(x, x).size() == 1",
    "exactly one of basic, bearer, header, hmac and maasKey must be set"
))]
pub struct PowerAuth {
    /// A user and a password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basic: Option<BasicAuth>,
    /// A bearer token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bearer: Option<SecretAuth>,
    /// A header of your choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<HeaderAuth>,
    /// A signature over the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hmac: Option<HmacAuth>,
    /// An API key of MAAS, consumer:token:secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maas_key: Option<SecretAuth>,
}

/// A secret alone.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretAuth {
    /// Where the secret is.
    pub secret_ref: SecretKeyReference,
}

/// A user and a password.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct BasicAuth {
    /// The user's name, which is not secret.
    #[schemars(length(min = 1, max = 256))]
    pub user: String,
    /// Where the password is.
    pub secret_ref: SecretKeyReference,
}

/// A header of your choice.
#[derive(Debug, Clone, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeaderAuth {
    /// The name of the header.
    #[schemars(length(min = 1, max = 128), regex(pattern = "^[A-Za-z0-9-]+$"))]
    pub name: String,
    /// Where the whole value of the header is.
    pub secret_ref: SecretKeyReference,
}

/// A signature over the body.
#[derive(Debug, Clone, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct HmacAuth {
    /// standardWebhooks signs as standardwebhooks.com says; bmclib as bmclib's RPC does.
    pub style: HmacStyle,
    /// Where the key is. It is taken as the text it is.
    pub secret_ref: SecretKeyReference,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum HmacStyle {
    StandardWebhooks,
    Bmclib,
}

fn default_method() -> String {
    "POST".to_owned()
}
