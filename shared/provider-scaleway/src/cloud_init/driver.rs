//! NVIDIA's driver and container toolkit, for images that come without them.

use super::Steps;

pub(super) fn steps() -> Steps {
    let commands = [
        "curl -fsSL https://nvidia.github.io/libnvidia-container/gpgkey | gpg --dearmor -o /usr/share/keyrings/nvidia-container-toolkit.gpg",
        "echo 'deb [signed-by=/usr/share/keyrings/nvidia-container-toolkit.gpg] https://nvidia.github.io/libnvidia-container/stable/deb/amd64 /' > /etc/apt/sources.list.d/nvidia-container-toolkit.list",
        "apt-get update",
        "DEBIAN_FRONTEND=noninteractive apt-get install -y ubuntu-drivers-common nvidia-container-toolkit",
        "ubuntu-drivers install",
        "modprobe nvidia",
    ];
    Steps { files: Vec::new(), commands: commands.map(|command| format!("[sh, -c, {}]", quoted(command))).to_vec() }
}

/// A JSON string is a YAML string.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
