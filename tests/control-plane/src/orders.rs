//! What is said between whoever wants a control plane and the process that holds it: one line of JSON each.

use serde::{Deserialize, Serialize};

use crate::supervisor::Facts;

/// On standard input of the supervisor. Its end is the order to stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "order", content = "component")]
pub enum Order {
    /// Ends a component at once and leaves it so.
    Kill(String),
    /// Starts it, after ending it at once if it runs.
    Restart(String),
    /// The folder with the logs is to stay.
    KeepFolder,
}

/// On its standard output: how the start went, then one for each order.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reply {
    Ready(Facts),
    Done,
    Failed(String),
}
